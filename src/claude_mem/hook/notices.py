"""The messages shown to the user, once, at the start of a session, if recording has a problem."""

from __future__ import annotations

import posix

from claude_mem.hook import drop_counters, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


STOPPED_BY = {
    "spool_full": "the spool is full, because the worker is not draining it",
    "disk_full": "the disk is full",
    "io_error": "the data directory is not writable",
    "late": "writing took too long",
    "unreadable": "the hook's input is not a JSON object with a session_id",
    "crashed": "the hook failed",
}
LOST_BY = {
    "spool_full": "the spool was full",
    "disk_full": "the disk was full",
    "io_error": "the data directory was not writable",
    "late": "writing took too long",
    "unreadable": "the hook's input could not be read",
    "crashed": "the hook failed",
}
START_LINE = b"CLAUDE_MEM_START_LINE"
MOST_LINES = 10  # that the worker may leave
LONGEST_LINE = 800
MOST_BYTES = MOST_LINES * LONGEST_LINE * 4  # in UTF-8


def describe(reason: str, error: BaseException) -> str:
    """One sentence: what, why, where, and what to do next."""
    directory = paths.data_directory(posix.environ).decode(errors="replace")
    why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    return f"claude-mem is not recording: {STOPPED_BY[reason]}{why}: {directory}. Run: claude-mem doctor"


def with_message(message: str, answer: bytes) -> bytes:
    """A hook's answer, with `message` added: for the user, not for the model."""
    import json  # few starts have something to show

    return answer.rstrip()[:-1] + b', "systemMessage": ' + json.dumps(message).encode() + b"}\n"


def start_line(settings: bytes, answer: bytes) -> str:
    """`mem: 3 memories, 1 open item`, if the user wants to see what a session starts with; otherwise empty.
    `settings`: the content of settings.json; `answer`: the one with the context."""
    setting: object = posix.environ.get(START_LINE, b"").decode(errors="replace")
    if not setting and START_LINE not in settings:
        return ""
    import json

    try:
        setting = setting or json.loads(settings).get(START_LINE.decode())
        context = str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return ""
    about = context.partition("\nMemory of ")[2].partition("\n")[0]
    counts = about.rpartition(". Quoted evidence ")[0].rpartition(": ")[2]
    return f"mem: {counts}" if setting == "on" and counts else ""


def pending(problem: tuple[str, str] | None) -> tuple[str, Callable[[], None]]:
    """The notices for a session's start, one line each, and what to call after they were shown: the current
    problem (its reason, and a sentence), the notices that the worker left, and what could not be saved since
    the last start."""
    left, file = _left()
    new = drop_counters.news()
    before = dict(new)
    if problem and problem[0] in before:
        before[problem[0]] -= 1  # this start, which the problem is about
    sentences = (problem[1] if problem else "", left, _missed(before, records_again=problem is None))

    def mark_shown() -> None:
        _remove(file)
        drop_counters.mark_shown(new)

    return "\n".join(filter(None, sentences)), mark_shown


def _missed(losses: dict[str, int], *, records_again: bool) -> str:
    reasons = {reason: number for reason, number in losses.items() if number}
    if not reasons:
        return ""
    total = sum(reasons.values())
    events = "1 event" if total == 1 else f"{total} events"
    why = ", ".join(
        LOST_BY[reason] if len(reasons) == 1 else f"{LOST_BY[reason]} ({number})"
        for reason, number in reasons.items()
    )
    recovery = " Recording works again." if records_again else ""
    return f"claude-mem could not save {events}: {why}.{recovery} Run: claude-mem doctor"


def _left() -> tuple[str, int]:
    """The notice that the worker left, and its file."""
    try:
        fd = posix.open(paths.NOTICE, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW | posix.O_NONBLOCK)
    except OSError:
        return "", 0
    try:
        found = posix.fstat(fd)
        if found.st_mode & 0o170000 != 0o100000:
            return "", 0  # a pipe, which would keep its reader waiting
        return posix.read(fd, MOST_BYTES).decode(errors="replace").strip(), found.st_ino
    except OSError:
        return "", 0
    finally:
        posix.close(fd)


def _remove(file: int) -> None:
    """Removes the notice, but not one that the worker has left since, because that was not shown."""
    try:
        if file and posix.lstat(paths.NOTICE).st_ino == file:
            posix.unlink(paths.NOTICE)
    except OSError:
        pass  # shown again rather than not at all


def age(seconds: float) -> str:
    """`40 s`, `3 min`, `5 h`, `12 days`."""
    seconds = max(0.0, seconds)
    for least, unit, name in ((172_800, 86_400, "days"), (7_200, 3_600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds)} s"
