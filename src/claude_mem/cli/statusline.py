"""`claude-mem statusline`: one short line for the client's status line.

The client runs it again and again, so it is sent on its way before the rest of the command line is loaded.
"""

from __future__ import annotations

import posix
import time

from claude_mem.cli import glance
from claude_mem.cli.glance import Glance
from claude_mem.hook import pause, stdin
from claude_mem.hook.notices import age

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from claude_mem.cli.commands import Commands

READ_WITHIN_S = 0.1  # the client writes at once; this is for one that never closes the pipe
ALL_WITHIN_S = 0.4  # whatever hangs: a disk, the worker
LONGEST_REASON = 60
UNKNOWN = "mem ?"

GREEN, YELLOW, RED, DIM = "32", "33", "31", "2"

HELP = """\
Reads on standard input what Claude Code tells a status line. Starts no worker,
waits for nothing, and always exits 0. In ~/.claude/settings.json:

  {"statusLine": {"type": "command", "command": "claude-mem statusline"}}

If you have a status line of your own, end its script with this, and keep what
it is given in $input:

  printf ' %s' "$(printf '%s' "$input" | claude-mem statusline)"

  mem ● 3 queued · $0.02 today    it records; three events are not memory yet
  mem ● worker asleep             it records; the next hook starts the worker
  mem ○ off                       it is paused: claude-mem on
  mem ! not recording: disk full  claude-mem doctor says what to do"""


def add(commands: Commands) -> None:
    commands.add(
        "statusline",
        more=HELP,
        example='echo \'{"session_id":"s1"}\' | claude-mem statusline',
        run=_run,
    )


def _run(_: argparse.Namespace) -> int:
    return main()


def main() -> int:
    """Always 0, always one line."""
    line = UNKNOWN
    try:
        stdin.deadline(ALL_WITHIN_S)
        line = render(glance.look(posix.environ, _session()), time.time())
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
    """Of which session the client shows the status; empty when it does not say."""
    given = b"" if posix.isatty(0) else stdin.read(READ_WITHIN_S)[0]
    stdin.deadline(ALL_WITHIN_S - READ_WITHIN_S)
    import json

    try:
        told = json.loads(given)
        session = told.get("session_id")
    except (ValueError, AttributeError, RecursionError):
        session = None
    if isinstance(session, str) and session:
        return session
    return posix.environ.get(b"CLAUDE_CODE_SESSION_ID", b"").decode(errors="replace")


def render(seen: Glance, now: float) -> str:
    """In plain text."""
    if seen.paused:
        whose = "" if seen.paused in (pause.ALL, "CLAUDE_MEM_OFF") else " for this session"
        since = f" · {age(now - seen.since)}" if seen.since is not None else ""
        return f"mem ○ off{whose}{since}"
    if seen.problem:
        return f"mem ! not recording: {seen.problem}"
    if seen.hindered:
        return f"mem ! not remembering: {_short(seen.hindered)}"
    said = [f"{seen.queued:,} queued"] if seen.queued else []
    said += [f"{seen.parked:,} given up"] if seen.parked else []
    said += [f"worker {seen.worker}"] if seen.worker != glance.AWAKE else []
    said += [f"${seen.usd:,.2f} today"] if seen.usd is not None and seen.usd >= 0.005 else []
    said += ["budget spent"] if seen.spent_up else []
    return " ".join(["mem ●", " · ".join(said)]).rstrip()


def _short(sentence: str) -> str:
    first = " ".join(sentence.split())
    return first if len(first) <= LONGEST_REASON else first[: LONGEST_REASON - 1].rstrip() + "…"


def _painted(line: str) -> str:
    for mark, colour in (("●", GREEN), ("○", YELLOW), ("!", RED), ("?", YELLOW)):
        if line.startswith(f"mem {mark}"):
            rest = line.removeprefix(f"mem {mark}")
            tail = f"\x1b[{DIM}m{rest}\x1b[0m" if rest else ""
            return f"\x1b[{DIM}mmem\x1b[0m \x1b[{colour}m{mark}\x1b[0m{tail}"
    return line
