"""Decides what the user is told when recording has a problem: once, plainly, at the start of a session."""

from __future__ import annotations

import posix

from claude_mem.capture import drops, places

SAYS = {
    "spool_full": "the spool is full, because no worker drains it",
    "disk_full": "the disk is full",
    "io_error": "the data directory cannot be written",
    "late": "writing took too long",
    "unreadable": "the hook was given something that is not JSON",
    "crashed": "the hook failed",
}
SAID = {
    "spool_full": "the spool was full",
    "disk_full": "the disk was full",
    "io_error": "the data directory could not be written",
    "late": "writing took too long",
    "crashed": "the hook failed",
}
MOST_BYTES = 2000


def describe(reason: str, error: BaseException) -> str:
    """One sentence: what, why, where, and what to do next."""
    directory = places.data_directory(posix.environ).decode(errors="replace")
    why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    return f"claude-mem is not recording: {SAYS[reason]}{why}: {directory}. Run: claude-mem doctor"


def tell(message: str, answer: bytes) -> bytes:
    """A hook's answer, with `message` added: for the user, not for the model."""
    import json  # few starts have something to tell

    return answer.rstrip()[:-1] + b', "systemMessage": ' + json.dumps(message).encode() + b"}\n"


def take(problem: str | None) -> str | None:
    """At a session's start: the problem of this moment, else what the worker left to be told, else what could
    not be kept since the last start. Each is told once."""
    left, dropped = _take(), drops.take_news()
    return problem or left or (_missed(*dropped) if dropped else None)


def _missed(number: int, mostly: str) -> str:
    events = "1 event" if number == 1 else f"{number} events"
    return f"claude-mem could not keep {events}: {SAID[mostly]}. It records again. Run: claude-mem doctor"


def _take() -> str:
    try:
        fd = posix.open(places.NOTICE, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        message = posix.read(fd, MOST_BYTES).decode(errors="replace").strip()
    finally:
        posix.close(fd)
    try:
        posix.unlink(places.NOTICE)
    except OSError:
        pass  # told again rather than not at all
    return message
