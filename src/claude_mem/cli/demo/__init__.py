"""`claude-mem demo`: replays a recorded session through the real hooks and worker, and shows the result."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from claude_mem import __version__
from claude_mem.agents import short_id
from claude_mem.cli import memory_text, output
from claude_mem.cli.commands import OK, WRONG, Commands
from claude_mem.cli.demo import replay
from claude_mem.cli.demo.replay import HIDDEN, INSTEAD, PUBLIC, ProcessRun, Replay

WIDTH = 80
ANSWER = {"continue": True, "suppressOutput": True}


def add(commands: Commands) -> None:
    parser = commands.add(
        "demo",
        more=(
            "Runs the real hook command and a real worker in a throwaway data directory: no\n"
            "account, no network, your own memory untouched. Leaves nothing behind."
        ),
        example="claude-mem demo",
        run=_run,
    )
    keep = "keep the directory and leave its worker running, to look around"
    parser.add_argument("--keep", action="store_true", help=keep)


def _run(args: argparse.Namespace) -> int:
    payloads = replay.recorded()
    show = output.message if args.json else print
    show(
        f"claude-mem {__version__}: a recorded session of {len(payloads)} events runs through the real hook\n"
        "command into a throwaway data directory. No account, no network.\n"
    )
    with replay.throwaway_directory(keep=args.keep) as data_dir:
        made = replay.play(payloads, data_dir)
        text = render(made, output.Paint(sys.stdout))
        output.result(to_builtins(made), text, as_json=args.json)
        if args.keep:
            show(
                "\nThe data directory is still there and its worker is running. Look around:\n\n"
                f"  export CLAUDE_MEM_DATA_DIR={data_dir}\n"
                "  claude-mem doctor\n"
                "  claude-mem timeline\n"
                "  claude-mem search why did the test fail\n\n"
                "When you are done:\n\n"
                f"  claude-mem worker stop && rm -r {data_dir.parent} && unset CLAUDE_MEM_DATA_DIR"
            )
    if not args.keep:
        show("\nThe worker was stopped and the data directory removed.")
    wrong = problems(made)
    for problem in wrong:
        output.message(f"claude-mem: the demo failed: {problem}.")
    return WRONG if wrong else OK


def problems(made: Replay) -> list[str]:
    """What a demo must not show."""
    session = made.session
    wrong = {
        "a hook failed or gave a wrong answer": any(
            hook.code != 0 or hook.answer != ANSWER for hook in made.hooks
        ),
        **{f"{what} was found": bool(made.found[text]) for what, text in HIDDEN.items()},
        f"the scan finds nothing, not even {PUBLIC!r}": not made.found[PUBLIC],
        "no observations or summaries were stored": not session["observations"] or not session["summaries"],
        "an observer other than the offline one was used": any(
            observation["provider"] != "offline" for observation in session["observations"]
        ),
        "nothing was injected into the next session": not made.context,
        "search did not find what was stored": not made.results or not made.history,
    }
    return [problem for problem, is_so in wrong.items() if is_so]


def render(made: Replay, paint: output.Paint) -> str:
    def table(introduction: str, results: Sequence[memory_text.Result]) -> str:
        lines = memory_text.table(results, WIDTH - 2, paint).splitlines()
        return "\n".join([output.fit(introduction, WIDTH), "", *(f"  {line}" for line in lines)])

    session = made.session["session"]
    memory = [*made.session["prompts"], *made.session["observations"], *made.session["summaries"]]
    memory.sort(key=lambda each: (each["created_at_epoch"], each["kind"] != "prompt"))
    parts = (
        f"Hooks   {len(made.hooks)} run, each in its own process; all answered and exited 0\n"
        f"Worker  started by the first hook; stored everything {made.drained_after_s:.1f} s after the last\n"
        f"        hook, and had observed everything after {made.observed_after_s:.1f} s",
        table(
            f"Session {short_id(session['id'])}, {session['project']}: {session['status']}, "
            f"{output.plural(session['prompts'], 'prompt')} (1 private), "
            f"{output.plural(session['observations'], 'observation')}",
            memory,
        ),
        _hidden(made, paint),
        _cost(made),
        _quoted("Injected into the next session there, before its first prompt:", made.context),
        # Empty if it did not come in time: no prompt waits for it.
        _quoted(f"Injected with the prompt “{made.prompt}”:", made.reminder) if made.reminder else "",
        table(f"Search it: claude-mem search '{made.query}'", made.results),
        table(f"Show a file's history: claude-mem file {made.file}", made.history),
    )
    return "\n\n".join(filter(None, parts))


def _hidden(made: Replay, paint: output.Paint) -> str:
    lines = [f"Searched for in all {made.files} files of the data directory, byte by byte:", ""]
    for what, text in HIDDEN.items():
        verdict = paint("red", "FOUND    ") if made.found[text] else paint("green", "not found")
        instead = INSTEAD.get(what, "")
        lines.append(f"  {verdict}  {what:<39}{instead if made.found.get(instead) else ''}".rstrip())
    return "\n".join([*lines, f"  found      {PUBLIC!r}, which was not private: the search works"])


def _cost(made: Replay) -> str:
    def medians(runs: list[ProcessRun]) -> tuple[float, float]:
        return statistics.median(run.wall_ms for run in runs), statistics.median(run.cpu_ms for run in runs)

    def beside(value: float, bare: float) -> str:
        ratio = "" if value == bare or not bare else f"x {value / bare:.2f}"
        return f"{value:>9.1f} ms  {ratio:<6}"

    bare = medians(made.bare)
    rows: dict[str, Any] = {
        "python -I -S -c pass": bare,
        "a hook": medians([hook for hook in made.hooks if not hook.scrubs]),
        "a hook that scrubs": medians([hook for hook in made.hooks if hook.scrubs]),
    }
    lines = [
        "What a hook costs (medians, compared with a bare interpreter)",
        "",
        f"{'time':>40}{'processor':>20}",
    ]
    for name, (wall, cpu) in rows.items():
        lines.append(f"  {name:<26}{beside(wall, bare[0])}{beside(cpu, bare[1])}".rstrip())
    return "\n".join(lines)


def _quoted(introduction: str, text: str) -> str:
    lines = [output.fit(introduction, WIDTH), ""]
    for line in text.splitlines():
        item = line.removeprefix("- ")
        indent = "  " if item == line else "    "
        first, *rest = output.wrap(item, WIDTH, indent) or [""]
        lines += [first if item == line else f"  - {first.lstrip()}", *rest]
    return "\n".join(lines)
