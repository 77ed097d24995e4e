"""Looks into an agent's own transcript for what its hooks do not say: the prompt, or the last message."""

from __future__ import annotations

import posix

from claude_mem.hook import json_text, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TAIL = 512 << 10
WHOLE = 8 << 20

_AFTER_A_PROMPT = (b"UserPromptSubmit", b"PreToolUse", b"PostToolUse", b"PostToolUseFailure", b"Stop")
TELLING = (b"SessionStart", *_AFTER_A_PROMPT)
"""Events after which an agent whose hooks report no prompts may have one to look for."""


def unreported_prompt(event: bytes, marker: str, prompt: Callable[[], bytes | None]) -> bytes | None:
    """The prompt that an event follows, once. `asked/<session>`: its prompt is known."""
    if event == b"SessionStart":
        try:
            posix.unlink(f"{paths.ASKED}/{marker}")
        except OSError:
            pass  # there is none
        return None
    is_known = paths.is_there(f"{paths.ASKED}/{marker}")
    found = None if is_known or event == b"UserPromptSubmit" else prompt()
    if found or event == b"UserPromptSubmit":
        leave_marker(marker)
    return found


def leave_marker(name: str) -> None:
    """In `asked/`."""
    try:
        posix.mkdir(paths.ASKED, 0o700)
    except FileExistsError:
        pass
    folder = paths.open_folder(paths.ASKED)
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW
        posix.close(posix.open(name, flags, 0o600, dir_fd=folder))
    finally:
        posix.close(folder)


def last_lines(path: object) -> Iterator[dict[str, object]]:
    """The JSON objects of a file's last lines, from its end; nothing of what cannot be read."""
    if not isinstance(path, str):
        return
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except (OSError, ValueError):
        return
    try:
        found = posix.fstat(fd)
        if found.st_mode & 0o170000 != 0o100000:
            return
        start = max(0, found.st_size - TAIL)
        text = posix.pread(fd, TAIL, start)
    except OSError:
        return
    finally:
        posix.close(fd)
    lines = text.split(b"\n")[1 if start else 0 :]  # the first may be half a line
    for line in reversed(lines):
        each = json_text.parse(line.decode(errors="replace")) if line else None
        if each is not None:
            yield each


def whole(path: object) -> dict[str, object]:
    """A file's JSON object; an empty one for what cannot be read."""
    try:
        text = paths.content(path, WHOLE) if isinstance(path, str) else b""
    except (OSError, ValueError):
        return {}
    return json_text.parse(text.decode(errors="replace")) or {}


def member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def texts(content: object) -> str:
    """The text of a message's content: of its blocks, or as it is."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    found = [member(block, "text") for block in blocks if member(block, "type") == "text"]
    return "\n".join(text for text in found if isinstance(text, str))
