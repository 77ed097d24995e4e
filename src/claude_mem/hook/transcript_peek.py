"""Reads from an agent's own transcript what its hooks do not report: the prompt, or the last message."""

from __future__ import annotations

import posix

from claude_mem.hook import json_text, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TAIL = 512 << 10
MOST_BYTES = 8 << 20

_AFTER_A_PROMPT = (b"UserPromptSubmit", b"PreToolUse", b"PostToolUse", b"PostToolUseFailure", b"Stop")
MAY_FOLLOW_A_PROMPT = (b"SessionStart", *_AFTER_A_PROMPT)
"""Events before which there may have been a prompt, of an agent whose hooks report no prompts."""


def unreported_prompt(event: bytes, marker: str, prompt: Callable[[], bytes | None]) -> bytes | None:
    """Returns the prompt that an event follows, once: `asked/<session>` marks that the turn's prompt is
    recorded."""
    if event == b"SessionStart":
        try:
            posix.unlink(f"{paths.TURN_MARKERS}/{marker}")
        except OSError:
            pass  # there is none
        return None
    is_known = paths.is_there(f"{paths.TURN_MARKERS}/{marker}")
    found = None if is_known or event == b"UserPromptSubmit" else prompt()
    if found or event == b"UserPromptSubmit":
        paths.leave_marker(paths.TURN_MARKERS, marker)
    return found


def last_lines(path: object) -> Iterator[dict[str, object]]:
    """Yields the JSON objects of a file's last lines, last first; none if it cannot be read."""
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


def read_object(path: object) -> dict[str, object]:
    """Returns a file's JSON object; an empty one if it cannot be read."""
    try:
        text = paths.content(path, MOST_BYTES) if isinstance(path, str) else b""
    except (OSError, ValueError):
        return {}
    return json_text.parse(text.decode(errors="replace")) or {}


def member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def texts(content: object) -> str:
    """Returns the text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    found = [member(block, "text") for block in blocks if member(block, "type") == "text"]
    return "\n".join(text for text in found if isinstance(text, str))
