"""The state of recording, worker and queue; and `claude-mem statusline`, which shows it in one line.

Cheap enough for every redraw of a status line: it starts nothing, writes nothing, and waits for the worker
for at most an eighth of a second.
"""

from __future__ import annotations

import posix
import time

from claude_mem.hook import paths, pause, spool_writer, stdin
from claude_mem.hook.notices import age

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from claude_mem.cli.commands import Commands


QUICK_S = 0.125
NO_DISK = 16 << 20  # bytes; with less it counts as full
HEALTH_REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

AWAKE, ASLEEP, BUSY = "awake", "asleep", "busy"


class QuickStatus:
    """None: not known."""

    def __init__(self) -> None:
        self.paused: str | None = None  # by what: the variable, or the path of a switch
        self.since: float | None = None  # in seconds of the epoch
        self.problem: str | None = None  # why nothing is recorded, although it should be
        self.worker = ASLEEP
        self.queued = 0  # events that are not memory yet
        self.parked = 0
        self.fallback = 0  # of those parked: the offline observer took over, for replies could not be read
        self.observer: str | None = None  # who makes memory of it
        self.hindered: str | None = None  # why what is recorded does not become memory
        self.spent_up = False
        self.tokens: int | None = None  # today's
        self.usd: float | None = None


def quick_look(environ: dict[bytes, bytes], session: str) -> QuickStatus:
    """Changes into the data directory, if there is one."""
    seen = QuickStatus()
    if paths.is_off(environ):
        seen.paused = "CLAUDE_MEM_OFF"
        return seen
    try:
        posix.chdir(paths.data_directory(environ))
    except FileNotFoundError:
        return seen  # the first hook makes it
    except OSError as error:
        seen.problem = error.strerror
        return seen
    if paths.is_there(paths.OFF):
        _read_switches(seen, session)
    seen.problem = _problem()
    seen.queued = _ledger()[1]
    _query_worker(seen)
    return seen


def _read_switches(seen: QuickStatus, session: str) -> None:
    for switch in (pause.ALL, pause.path(session)) if session else (pause.ALL,):
        if paths.is_there(switch):
            seen.paused = switch
            try:
                seen.since = posix.lstat(switch).st_mtime
            except OSError:
                seen.since = None  # it cannot be looked at, and so counts as set
            return


def _problem() -> str | None:
    directory = posix.stat(".")
    if directory.st_uid != posix.geteuid():
        return "the data directory belongs to another user"
    disk = posix.statvfs(".")
    if disk.f_flag & posix.ST_RDONLY or not posix.access(".", posix.W_OK):
        return "the data directory is not writable"
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < NO_DISK:
        return "disk full"
    _, files, size, most_files, most_bytes = _ledger()
    return "the spool is full" if files >= most_files or size >= most_bytes else None


def _ledger() -> tuple[int, int, int, int, int]:
    try:
        fd = posix.open(paths.LEDGER, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except OSError:
        return spool_writer.parse_ledger(b"")
    try:
        return spool_writer.parse_ledger(posix.pread(fd, 256, 0))
    finally:
        posix.close(fd)


def _query_worker(seen: QuickStatus) -> None:
    try:
        health = _health()
    except (FileNotFoundError, ConnectionRefusedError):
        return
    except (OSError, ValueError):
        seen.worker = BUSY
        return
    seen.worker = AWAKE
    queue, observer = health.get("queue") or {}, health.get("observer") or {}
    seen.queued = sum(queue.get(name) or 0 for name in ("spooled", "ready", "leased"))
    seen.parked, seen.fallback = queue.get("parked") or 0, queue.get("fallback") or 0
    seen.observer = observer.get("provider")
    seen.hindered = health.get("reason") or observer.get("paused")
    seen.spent_up = bool(observer.get("spentUp"))
    today = observer.get("spentToday") or {}
    seen.tokens, seen.usd = today.get("tokens"), today.get("usd")


def _health() -> dict[str, Any]:
    """Raises OSError, also ValueError, if the worker does not answer in time, or not as it should."""
    import json

    from claude_mem.cli.bridge import exchange

    reply = exchange(HEALTH_REQUEST, QUICK_S)
    found = json.loads(reply.body) if reply and reply.status == 200 else None
    if not isinstance(found, dict):
        raise ConnectionAbortedError("not a valid answer from the worker")
    return found


READ_WITHIN_S = 0.1  # the client writes at once; this is for one that never closes the pipe
ALL_WITHIN_S = 0.4  # whatever hangs: a disk, the worker
LONGEST_REASON = 60
UNKNOWN = "mem ?"

GREEN, YELLOW, RED, DIM = "32", "33", "31", "2"

HELP = """\
Reads the JSON that Claude Code passes to a status line. It starts no worker,
waits for nothing and always exits 0. In ~/.claude/settings.json:

  {"statusLine": {"type": "command", "command": "claude-mem statusline"}}

If you have your own status line, end its script with this, where $input is what
it read from stdin:

  printf ' %s' "$(printf '%s' "$input" | claude-mem statusline)"

  mem ● claude · 3 queued         recording; three events are waiting
  mem ◐ claude · 4 failed         recording; to see why: claude-mem queue list
  mem ● worker asleep             recording; the next hook starts the worker
  mem ○ off                       paused; to resume: claude-mem on
  mem ! not recording: disk full  to fix it: claude-mem doctor"""


def add(commands: Commands) -> None:
    commands.add(
        "statusline",
        more=HELP,
        example='echo \'{"session_id":"s1"}\' | claude-mem statusline',
        run=lambda _: main(),
        json=False,
    )


def main() -> int:
    """Prints one line; always returns 0."""
    line = UNKNOWN
    try:
        stdin.deadline(ALL_WITHIN_S)
        line = status_line(quick_look(posix.environ, _session()), time.time())
    except BaseException:  # noqa: S110 - a status line that fails is no line at all
        pass
    stdin.deadline(0)
    if not posix.environ.get(b"NO_COLOR"):
        line = _painted(line)
    try:  # noqa: SIM105 - contextlib costs as much as all of this
        posix.write(1, line.encode() + b"\n")
    except OSError:
        pass  # nobody reads it any more
    return 0


def _session() -> str:
    """The session whose status the client shows; empty: unknown."""
    given = b"" if posix.isatty(0) else stdin.read(READ_WITHIN_S).head
    stdin.deadline(ALL_WITHIN_S - READ_WITHIN_S)
    import json

    try:
        session = json.loads(given).get("session_id")
    except (ValueError, AttributeError, RecursionError):
        session = None
    if isinstance(session, str) and session:
        return session
    return posix.environ.get(b"CLAUDE_CODE_SESSION_ID", b"").decode(errors="replace")


def status_line(seen: QuickStatus, now: float) -> str:
    """In plain text."""
    if seen.paused:
        scope = "" if seen.paused in (pause.ALL, "CLAUDE_MEM_OFF") else " for this session"
        since = f" · {age(now - seen.since)}" if seen.since is not None else ""
        return f"mem ○ off{scope}{since}"
    if seen.problem:
        return f"mem ! not recording: {seen.problem}"
    if seen.hindered:
        return f"mem ! not remembering: {_short(seen.hindered)}"
    parts = [seen.observer] if seen.observer else []
    parts += [f"{seen.queued:,} queued"] if seen.queued else []
    parts += [f"replies unreadable: {seen.fallback:,} processed offline"] if seen.fallback else []
    parts += [f"{seen.parked - seen.fallback:,} failed"] if seen.parked > seen.fallback else []
    parts += [f"worker {seen.worker}"] if seen.worker != AWAKE else []
    parts += [f"${seen.usd:,.2f} today"] if seen.usd is not None and seen.usd >= 0.005 else []
    parts += ["budget used up"] if seen.spent_up else []
    mark = "◐" if seen.parked else "●"
    return " ".join([f"mem {mark}", " · ".join(parts)]).rstrip()


def _short(sentence: str) -> str:
    first = " ".join(sentence.split())
    return first if len(first) <= LONGEST_REASON else first[: LONGEST_REASON - 1].rstrip() + "…"


def _painted(line: str) -> str:
    for mark, colour in (("●", GREEN), ("◐", YELLOW), ("○", YELLOW), ("!", RED), ("?", YELLOW)):
        if line.startswith(f"mem {mark}"):
            rest = line.removeprefix(f"mem {mark}")
            tail = f"\x1b[{DIM}m{rest}\x1b[0m" if rest else ""
            return f"\x1b[{DIM}mmem\x1b[0m \x1b[{colour}m{mark}\x1b[0m{tail}"
    return line
