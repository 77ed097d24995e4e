"""Marks the private turns of a session, so that nothing of them is recorded.

A fully private prompt leaves a marker named after its session. The hooks of the tools used in that turn find
it and record nothing. The marker stays after that turn, because a later compaction would repeat private text.
A turn that is one of our own commands is not recorded either, and is marked while it lasts.

    <state, fixed width>\n<hex of a private prompt's id>\n…

The state is changed in place, which works on a full disk. An empty marker (a new one, or one that a full disk
left empty) counts as private.
"""

from __future__ import annotations

import posix

from claude_mem.hook import paths

PRIVATE = "private"  # the current turn is private, and its prompt's id is among those that follow
UNNAMED = "unnamed"  # the current turn is private, and its prompt had no id: whatever follows belongs to it
OPEN = "open"
OURS = "ours"  # the current turn is one of our commands; nothing in the session was private
WIDTH = 16
MOST_BYTES = 256 << 10


def file_name(session: str) -> str:
    """A safe file name for a session id, which is untrusted text."""
    plain = 0 < len(session) <= 64 and all(c.isascii() and (c.isalnum() or c in "-_") for c in session)
    return session if plain else "x" + encoded_id(session)[:200]


def path(session: str) -> str:
    """The path of the session's marker."""
    return f"{paths.PRIVATE}/{file_name(session)}"


def is_marked(session: str) -> bool:
    return paths.is_there(path(session))


def encoded_id(text: str) -> str:
    """An id in the format of a marker."""
    return text.encode(errors="replace").hex()


def covers(marker: tuple[str, tuple[str, ...]], prompt_id: str | None) -> bool:
    """Whether something done for `prompt_id` belongs, or may belong, to a marked turn."""
    state, ids = marker
    if state == UNNAMED:
        return True
    if not prompt_id:
        # Also in a public turn, if private ones had ids: the event may be late and belong to one of those.
        return state != OPEN or any(ids)
    return encoded_id(prompt_id) in ids


_IMAGE = "[Image #"


def is_wholly_private(prompt: str) -> bool:
    from claude_mem.privacy import tags

    left, _, hid_private = tags.strip(prompt)
    return hid_private and is_blank(left)


def is_blank(words: str) -> bool:
    """Whether no letter and no digit is left of a prompt, apart from the client's mark of a picture and the
    name of a slash command, neither of which reveals anything."""
    first, _, rest = words.lstrip().partition(" ")
    if first.startswith("/") and all(letter.isalnum() or letter in "_-:." for letter in first[1:]):
        words = rest
    while (at := words.find(_IMAGE)) >= 0:
        number, closed, rest = words[at + len(_IMAGE) :].partition("]")
        if not closed or not number.isdigit():
            return False
        words = words[:at] + rest
    return not any(letter.isalnum() for letter in words)


class FileMarks:
    """Which turns of which sessions are private. For hooks, which are a process each: a file a session, in
    the data directory."""

    def read(self, session: str) -> tuple[str, tuple[str, ...]] | None:
        """The state of the session's turn, and its private prompts' ids in hex; None: nothing was private."""
        try:
            fd = _open(session, posix.O_RDONLY | posix.O_NONBLOCK)
        except FileNotFoundError:
            return None
        try:
            return _content(fd)
        finally:
            posix.close(fd)

    def note(self, session: str, state: str, prompt_id: str | None = None) -> None:
        """Sets the state of the session's turn, and saves a private prompt's id."""
        try:
            posix.mkdir(paths.PRIVATE, 0o700)
        except FileExistsError:
            pass
        written = False
        while not written:
            fd = _open(session, posix.O_RDWR | posix.O_CREAT | posix.O_NONBLOCK)
            try:
                posix.lockf(fd, posix.F_LOCK, 0)  # two prompts at once: neither id may be lost
                if posix.fstat(fd).st_nlink:  # else it was cleared while we waited
                    _write(fd, state, prompt_id)
                    written = True
            finally:
                posix.close(fd)

    def any_session(self) -> bool:
        """Whether any session is marked."""
        try:
            return bool(posix.listdir(paths.PRIVATE))
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def clear(self, session: str) -> None:
        """Ends the mark of one of our own commands. Private turns stay marked."""
        try:
            fd = _open(session, posix.O_RDWR | posix.O_NONBLOCK)
        except FileNotFoundError:
            return
        try:
            posix.lockf(fd, posix.F_LOCK, 0)
            if _content(fd)[0] == OURS and posix.fstat(fd).st_nlink:
                posix.unlink(path(session))
        finally:
            posix.close(fd)


class MemoryMarks:
    """The same in memory, for imports of past sessions. Each import starts without marks, so that
    importing twice gives the same result."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[str, tuple[str, ...]]] = {}

    def read(self, session: str) -> tuple[str, tuple[str, ...]] | None:
        return self._sessions.get(session)

    def note(self, session: str, state: str, prompt_id: str | None = None) -> None:
        _, ids = self._sessions.get(session, ("", ()))
        if prompt_id and encoded_id(prompt_id) not in ids:
            ids = (*ids, encoded_id(prompt_id))
        self._sessions[session] = state, ids

    def any_session(self) -> bool:
        return bool(self._sessions)

    def clear(self, session: str) -> None:
        if self._sessions.get(session, ("", ()))[0] == OURS:
            del self._sessions[session]


Marks = FileMarks | MemoryMarks


def had_private_turns(marks: Marks, session: str) -> bool:
    """Whether this turn of the session, or an earlier one, was private."""
    marker = marks.read(session)
    if marker is None or marker[0] == OURS:
        return False
    return marker[0] != OPEN or any(marker[1])


def _open(session: str, flags: int) -> int:
    """Opens a session's marker, in a folder that is no link and is not replaced by one meanwhile."""
    folder = paths.open_folder(paths.PRIVATE)
    try:
        flags |= posix.O_CLOEXEC | posix.O_NOFOLLOW
        return posix.open(file_name(session), flags, 0o600, dir_fd=folder)
    finally:
        posix.close(folder)


def _write(fd: int, state: str, prompt_id: str | None) -> None:
    posix.pwrite(fd, f"{state:<{WIDTH}}\n".encode(), 0)
    if prompt_id and encoded_id(prompt_id) not in _content(fd)[1]:
        posix.pwrite(fd, f"{encoded_id(prompt_id)}\n".encode(), posix.fstat(fd).st_size)


def _content(fd: int) -> tuple[str, tuple[str, ...]]:
    state, *ids = posix.pread(fd, MOST_BYTES, 0).decode(errors="replace").split("\n")
    state = state.strip()
    return state if state in (PRIVATE, OPEN, OURS) else UNNAMED, tuple(ids)
