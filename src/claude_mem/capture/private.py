"""Remembers which turns of a session are private, so that nothing of them is recorded.

A wholly private prompt leaves a marker named by its session; the hooks of the tools used in that turn find it
and leave. The marker stays for the session's life: a later compaction would summarise the private turn too.
"""

from __future__ import annotations

import posix

from claude_mem.capture import places

MOST_BYTES = 64 << 10


def path(session: str) -> str:
    """Where the session's marker lies; a session id is a stranger's text, so it is spelled safely."""
    plain = 0 < len(session) <= 64 and all(c.isascii() and (c.isalnum() or c in "-_") for c in session)
    return f"{places.PRIVATE}/" + (session if plain else "x" + session.encode(errors="replace").hex()[:200])


def is_marked(session: str) -> bool:
    try:
        posix.lstat(path(session))
    except OSError:
        return False
    return True


def read(session: str) -> tuple[bool, tuple[str, ...]] | None:
    """Whether the session's current turn is private, and the ids of all private prompts; None: no marker."""
    try:
        fd = posix.open(path(session), posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        first, *ids = posix.read(fd, MOST_BYTES).decode(errors="replace").splitlines() or ["private"]
    finally:
        posix.close(fd)
    return first == "private", tuple(ids)


def write(session: str, turn_is_private: bool, prompt_ids: tuple[str, ...]) -> None:
    """Set the marker; it is there, whole, before this returns."""
    try:
        posix.mkdir(places.PRIVATE, 0o700)
    except FileExistsError:
        pass
    target = path(session)
    temporary = f"{target}.{posix.getpid()}.tmp"
    fd = posix.open(
        temporary, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600
    )
    try:
        lines = ("private" if turn_is_private else "open", *prompt_ids[-1000:])
        posix.write(fd, "\n".join(lines).encode(errors="replace"))
    finally:
        posix.close(fd)
    posix.rename(temporary, target)


def covers(marker: tuple[bool, tuple[str, ...]], prompt_id: str | None) -> bool:
    """Whether something done for `prompt_id` belongs to a private turn. Without an id: to the current one."""
    turn_is_private, ids = marker
    return prompt_id in ids if prompt_id and ids else turn_is_private
