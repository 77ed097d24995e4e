"""What the demo shows: the session's memory, what was hidden, what hooks cost, what the next session gets."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from claude_mem.cli import memories, output
from claude_mem.cli.demo.replay import HIDDEN, INSTEAD, PUBLIC, ProcessRun, Replay

WIDTH = 80
ANSWER = {"continue": True, "suppressOutput": True}


def problems(replay: Replay) -> list[str]:
    """What a demo must not show."""
    session = replay.session
    wrong = {
        "a hook failed or gave a wrong answer": any(
            hook.code != 0 or hook.answer != ANSWER for hook in replay.hooks
        ),
        **{f"{what} was found": bool(replay.found[text]) for what, text in HIDDEN.items()},
        f"the scan finds nothing, not even {PUBLIC!r}": not replay.found[PUBLIC],
        "no observations or summaries were stored": not session["observations"] or not session["summaries"],
        "an observer other than the offline one was used": any(
            observation["provider"] != "offline" for observation in session["observations"]
        ),
        "nothing was injected into the next session": not replay.context,
        "search did not find what was stored": not replay.results or not replay.history,
    }
    return [problem for problem, is_so in wrong.items() if is_so]


def render(replay: Replay, paint: output.Paint) -> str:
    def table(introduction: str, results: Sequence[memories.Result]) -> str:
        lines = memories.table(results, WIDTH - 2, paint).splitlines()
        return "\n".join([output.fit(introduction, WIDTH), "", *(f"  {line}" for line in lines)])

    session = replay.session["session"]
    memory = [*replay.session["prompts"], *replay.session["observations"], *replay.session["summaries"]]
    memory.sort(key=lambda each: (each["created_at_epoch"], each["kind"] != "prompt"))
    parts = (
        f"Hooks   {len(replay.hooks)} run, each in its own process; all answered and exited 0\n"
        f"Worker  started by the first hook; stored it all {replay.drained_after_s:.1f} s after the last\n"
        f"        hook, and had observed everything after {replay.observed_after_s:.1f} s",
        table(
            f"Session {session['id'][:8]}, {session['project']}: {session['status']}, "
            f"{output.plural(session['prompts'], 'prompt')} (1 private), "
            f"{output.plural(session['observations'], 'observation')}",
            memory,
        ),
        _hidden(replay, paint),
        _cost(replay),
        _quoted("Injected into the next session there, before its first prompt:", replay.context),
        # Empty if it did not come in time: no prompt is kept waiting.
        _quoted(f"Injected with the prompt “{replay.prompt}”:", replay.reminder) if replay.reminder else "",
        table(f"Search it: claude-mem search '{replay.query}'", replay.results),
        table(f"Show a file's history: claude-mem file {replay.file}", replay.history),
    )
    return "\n\n".join(filter(None, parts))


def _hidden(replay: Replay, paint: output.Paint) -> str:
    lines = [f"Searched for in all {replay.files} files of the data directory, byte by byte:", ""]
    for what, text in HIDDEN.items():
        verdict = paint("red", "FOUND    ") if replay.found[text] else paint("green", "not found")
        instead = INSTEAD.get(what, "")
        lines.append(f"  {verdict}  {what:<39}{instead if replay.found.get(instead) else ''}".rstrip())
    return "\n".join([*lines, f"  found      {PUBLIC!r}, which was not private: the search works"])


def _cost(replay: Replay) -> str:
    def medians(runs: list[ProcessRun]) -> tuple[float, float]:
        return statistics.median(run.wall_ms for run in runs), statistics.median(run.cpu_ms for run in runs)

    def beside(value: float, bare: float) -> str:
        ratio = "" if value == bare or not bare else f"x {value / bare:.2f}"
        return f"{value:>9.1f} ms  {ratio:<6}"

    bare = medians(replay.bare)
    rows: dict[str, Any] = {
        "python -I -S -c pass": bare,
        "a hook": medians([hook for hook in replay.hooks if not hook.scrubs]),
        "a hook that scrubs": medians([hook for hook in replay.hooks if hook.scrubs]),
    }
    lines = ["What a hook costs (medians, next to a bare interpreter)", "", f"{'time':>40}{'processor':>20}"]
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
