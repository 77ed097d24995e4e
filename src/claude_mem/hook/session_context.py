"""Finds the context for a session's start. The worker renders it ahead of time, so none is needed then.

    context/<SHA-1 of the working directory>     what is worth knowing there
    context/s-<SHA-1 of the session's id>        that session's own memory, for when it was compacted

    <stamp: 16 hexadecimal digits>
    {"continue": true, …}                        the hook's whole answer; empty when there is nothing to tell

The stamp goes into the spool with the event: so the worker learns what was shown, also if it was down.
"""

from __future__ import annotations

import posix

from claude_mem.hook import json_peek, paths, worker_link

MOST_BYTES = 64 << 10
STAMP = 16
_HEX = b"0123456789abcdef"


def find(payload: bytes, agent: str = paths.CLAUDE_CODE) -> tuple[bytes, bytes | None, bool]:
    """For a session's start: the stamp of what was rendered for it, the answer that shows that, and whether
    the worker is to be queried instead; with both, if it answers."""
    source = json_peek.member(payload, b"source")
    directory = json_peek.text_of(json_peek.member(payload, b"cwd"))
    if source in (b'"resume"', b'"fork"'):
        return b"", None, True  # the client replays what was told; only the worker knows what is new
    files = [paths.directory_context(directory, agent)] if directory else []
    if source == b'"compact"':
        session = json_peek.text_of(json_peek.member(payload, b"session_id"))
        files.insert(0, paths.session_context(session))
    for file in files:
        try:
            stamp, shown = _read(file)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return b"", None, False  # damaged, or not ours: the worker writes it anew
        return stamp if shown else b"", shown, False
    if agent != paths.CLAUDE_CODE and source != b'"compact"':
        # The agent's first session here: the worker names who did what; without one, what is there will do.
        _, shown, asks = find(payload)
        return b"", shown, asks or shown is not None
    return b"", None, bool(directory)


def of_no_session(head: bytes) -> tuple[bytes, bytes | None, bool]:
    """A start's payload that somebody typed, who has no session, by its directory alone; the answer, and
    whether the worker is to be queried instead."""
    import json

    from claude_mem.hook import json_text

    given = json_text.parse(head.decode(errors="replace")) or {}
    cwd = given.get("cwd") or posix.environ.get(b"PWD", b"").decode(errors="replace")
    payload = json.dumps({"source": "startup", "cwd": cwd}, separators=(",", ":")).encode()
    _, shown, asks = find(payload)
    return payload, shown, asks


def _read(file: str) -> tuple[bytes, bytes | None]:
    """The stamp, and the answer if there is something to inject. Raises ValueError if it is no rendering."""
    fd = posix.open(file, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW | posix.O_NONBLOCK)
    try:
        content = posix.read(fd, MOST_BYTES)
    finally:
        posix.close(fd)
    stamp, newline, line = content.partition(b"\n")
    if not newline or len(stamp) != STAMP or stamp.strip(_HEX):
        raise ValueError("not a rendered context")
    return stamp, worker_link.checked_answer(b"SessionStart", line)
