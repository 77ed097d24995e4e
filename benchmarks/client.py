"""Measures our hooks in the real Claude Code, with the client's own clock, compared with an empty Python
script.

    python benchmarks/client.py
    python benchmarks/client.py --calls 100 --rounds 5

The same script is played to three homes in turn: without hooks, with `python -I -S -c pass` for a hook, and
with claude-mem installed. A hook takes from the client's `hook_started` to its `hook_response`; beside it
stands the `durationMs` of its transcript, where it writes one (not for a hook that prints nothing). Target:
the median of each hook of a tool call is at most twice that of the bare one. The second table is what is left
of it in the end: the time from one request of the model to the next.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.claude import Claude, Playing
from tests.harness.model_script import Request, Say, Step, Use
from tests.harness.model_server import ModelServer

from measure import machine, table

MOST = 2.0
NONE, BARE, OURS = "none", "python -I -S -c pass", "claude-mem"
ROWS = {
    "PostToolUse:Bash": "after a command",
    "PreToolUse:Read": "before a Read, worker answers",
    "PostToolUse:Read": "after a Read",
    "UserPromptSubmit": "prompt, worker answers",
    "SessionStart:startup": "a session's start",
    "Stop": "the end of a turn",
}
JUDGED = ("PostToolUse:Bash", "PreToolUse:Read", "PostToolUse:Read")


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds, by the hook's name, and between two requests by the tool that was used there."""

    hooks: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    own: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    gaps: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def play(claude: Claude, times: Times, steps: Sequence[Say]) -> None:
    """One `claude -p`; what it took is added to `times`."""
    playing, requested = Playing(steps), [(0.0, "")]

    def script(request: Request) -> Step:
        now, (before, tool) = time.perf_counter(), requested[-1]
        if tool:
            times.gaps[tool].append((now - before) * 1000)
        step = playing(request)
        requested.append((now, step.uses[0].name if isinstance(step, Say) and step.uses else ""))
        return step

    began: dict[str, float] = {}
    with ModelServer(script) as server, claude.started(server, "Do the same thing again.") as process:
        assert process.stdout
        for line in process.stdout:
            now, message = time.perf_counter(), json.loads(line)
            if message.get("subtype") == "hook_started":
                began[message["hook_id"]] = now
            elif message.get("subtype") == "hook_response":
                assert message["outcome"] == "success", message
                times.hooks[message["hook_name"]].append((now - began[message["hook_id"]]) * 1000)
    assert process.returncode == 0
    for name, took_ms in _own_figures(claude, message["session_id"]):
        times.own[name].append(took_ms)


def _own_figures(claude: Claude, session: str) -> Iterator[tuple[str, float]]:
    (transcript,) = claude.config.glob(f"projects/*/{session}.jsonl")
    for line in transcript.read_text().splitlines():
        record = json.loads(line)
        if record.get("subtype") == "stop_hook_summary":
            yield from (("Stop", each["durationMs"]) for each in record["hookInfos"])
        attached = record.get("attachment", {})
        if attached.get("type") == "hook_success" and attached["hookEvent"] != "Stop":
            yield attached["hookName"], attached["durationMs"]


@contextmanager
def home(folder: Path, kind: str) -> Iterator[Claude]:
    """A throwaway home, with that kind of hooks; ours with a worker that is up and knows a session."""
    claude = Claude(folder / kind.replace(" ", ""))
    try:
        if kind == BARE:
            python = str(Path(sys.executable).resolve())  # a version manager's shim costs more than all else
            entry = {"type": "command", "command": python, "args": ["-I", "-S", "-c", "pass"], "timeout": 10}
            events: dict[str, list[dict[str, object]]] = {
                name.partition(":")[0]: [{"matcher": "", "hooks": [entry]}] for name in ROWS
            }
            events["PreToolUse"] = [{"matcher": "Read", "hooks": [entry]}]
            (claude.config / "settings.json").write_text(json.dumps({"hooks": events}))
        elif kind == OURS:
            claude.connect()
        play(claude, Times(), work(claude, 2))
        if kind == OURS:
            claude.settle()
        yield claude
    finally:
        claude.end()


def work(claude: Claude, calls: int) -> list[Say]:
    """So many commands, each in a request of its own, and half as many reads."""
    read = {"file_path": str(claude.project / "README.md")}
    uses = [Use("Bash", {"command": "true"}) for _ in range(calls)]
    uses += [Use("Read", read) for _ in range(calls // 2)]
    return [*(Say("", uses=(use,)) for use in uses), Say("Done.")]


def p90(figures: Sequence[float]) -> float:
    return statistics.quantiles(figures, n=10)[-1] if len(figures) > 1 else figures[0]


def hooks_table(bare: Times, ours: Times) -> str:
    rows = []
    for name, means in ROWS.items():
        usual, taken, own = bare.hooks[name], ours.hooks[name], ours.own.get(name)
        ratio = statistics.median(taken) / statistics.median(usual)
        verdict = f"<= {MOST}: {'met' if ratio <= MOST else 'MISSED'}" if name in JUDGED else ""
        rows.append(
            (
                f"{means} ({len(taken)})",
                *(f"{ms:.1f}" for each in (usual, taken) for ms in (statistics.median(each), p90(each))),
                f"{statistics.median(own):.0f}" if own else "-",
                f"{ratio:.2f}",
                verdict,
            )
        )
    head = ("", "bare, median", "p90", "ours, median", "p90", "durationMs", "ours / bare", "target")
    return table(head, rows)


def gaps_table(times: dict[str, Times]) -> str:
    rows = []
    for tool in ("Bash", "Read"):
        medians = {kind: statistics.median(each.gaps[tool]) for kind, each in times.items()}
        added = [f"+{medians[kind] - medians[NONE]:.1f}" for kind in (BARE, OURS)]
        rows.append((tool, *(f"{ms:.1f}" for ms in medians.values()), *added))
    return table(("", "no hooks", "bare", "ours", "bare adds", "ours adds"), rows)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--calls", type=int, default=40, help="commands in a run; half as many reads (40)")
    options.add_argument("--rounds", type=int, default=3, help="such runs in each home (3)")
    options.add_argument("--starts", type=int, default=15, help="short sessions in each home (15)")
    args = options.parse_args()
    times = {kind: Times() for kind in (NONE, BARE, OURS)}
    with (
        tempfile.TemporaryDirectory() as folder,
        home(Path(folder), NONE) as none,
        home(Path(folder), BARE) as bare,
        home(Path(folder), OURS) as ours,
    ):
        homes = dict(zip(times, (none, bare, ours), strict=True))
        for _ in range(args.rounds):
            for kind, claude in homes.items():
                play(claude, times[kind], work(claude, args.calls))
        for _ in range(args.starts):
            for kind, claude in homes.items():
                play(claude, times[kind], [Say("Done.")])
    print(f"The real client, {args.rounds} x {args.calls} commands in turn. {machine()}\n")
    print("Milliseconds of each hook, by the client's own events:\n")
    print(hooks_table(times[BARE], times[OURS]))
    print("\nMilliseconds from one request of the model to the next (median), by what was done in between:\n")
    print(gaps_table(times))


if __name__ == "__main__":
    main()
