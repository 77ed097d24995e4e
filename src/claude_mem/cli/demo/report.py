"""The demo's report, as text of 80 columns. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from claude_mem.cli import columns, memories, say
from claude_mem.cli.demo.hidden import HIDDEN, INSTEAD, KEPT, Search
from claude_mem.cli.demo.recalled import Recalled
from claude_mem.cli.demo.replay import Answered, Run
from claude_mem.cli.demo.stored import StoredEvent, StoredObservation, StoredSession, StoredSummary

WIDTH = 80
SHOWN = 4  # events of a turn after its prompt; of more, one less and how many there were
WORDS = {"session_start": "start", "session_end": "end", "subagent_stop": "subagent"}


@dataclass(frozen=True, slots=True)
class Report:
    hooks: list[Answered]
    bare: list[Run]
    drained_after_s: float
    observed_after_s: float
    session: StoredSession
    events: list[StoredEvent]
    observations: list[StoredObservation]
    summaries: list[StoredSummary]
    recalled: Recalled
    search: Search

    @property
    def problems(self) -> list[str]:
        """What a demo must not show."""
        wrong = []
        if any(
            hook.code != 0 or hook.answer != {"continue": True, "suppressOutput": True} for hook in self.hooks
        ):
            wrong.append("a hook failed or gave a wrong answer")
        wrong += [f"{what} was found" for what, text in HIDDEN.items() if _is_found(self.search, text)]
        if not self.search.found[KEPT] or not self.search.indexed[KEPT]:
            wrong.append(f"the search finds nothing, not even {KEPT!r}")
        if not self.observations or not self.summaries:
            wrong.append("nothing was remembered")
        if any(observation.provider != "offline" for observation in self.observations):
            wrong.append("somebody else than the offline observer was asked")
        if not self.recalled.context:
            wrong.append("the next session was told nothing")
        if not self.recalled.found or not self.recalled.history:
            wrong.append("what was remembered was not found again")
        return wrong


def _is_found(search: Search, text: str) -> bool:
    return bool(search.found[text] or search.indexed[text])


def hooks(report: Report) -> str:
    return (
        f"Hooks   {len(report.hooks)} run, each a process of its own; all answered and left with 0\n"
        f"Worker  started by the first hook; had it all {report.drained_after_s:.1f} s after the last one,\n"
        f"        and had made memory of it all after {report.observed_after_s:.1f} s"
    )


def events(report: Report, paint: say.Paint) -> str:
    session = report.session
    lines = [
        f"Session {session.id[:8]}, project {session.project}: {session.status}, "
        f"{say.many(session.prompts, 'prompt')}, {say.many(len(report.events), 'event')} kept",
        "",
    ]
    for number, turn in groupby(report.events, key=lambda event: event.prompt):
        first, *rest = turn
        lines.append(_row(str(number or ""), first, paint))
        shown = rest if len(rest) <= SHOWN else rest[: SHOWN - 1]
        lines += [_row("", event, paint) for event in shown]
        if len(rest) > len(shown):
            lines.append(paint("dim", f"      … and {len(rest) - len(shown)} more"))
    return "\n".join(lines)


def _row(turn: str, event: StoredEvent, paint: say.Paint) -> str:
    row = f"  {turn:>2}  {event.tool or WORDS.get(event.kind, event.kind):<9}"
    room = WIDTH - len(row) - 6
    row += f"{say.fit(_what(event), room - 1):<{room}}{event.state}"
    return paint("bold" if event.kind == "prompt" else "dim", row)


def _what(event: StoredEvent) -> str:
    if event.private:
        return "(private: no text, and nothing of what its tools did)"
    return f"{event.what} (failed)" if event.kind == "tool_failure" else event.what


def remembered(report: Report, paint: say.Paint) -> str:
    observations = say.many(len(report.observations), "observation")
    summaries = say.many(len(report.summaries), "summary", "summaries")
    lines = [f"What became of them, by the offline observer: {observations}, {summaries}", ""]
    for observation in report.observations:
        lines.append(f"  {observation.type:<8}" + paint("bold", say.fit(observation.title, WIDTH - 10)))
        for line in (observation.subtitle, ", ".join(observation.files)):
            lines += [" " * 10 + say.fit(line, WIDTH - 10)] if line else []
    for summary in report.summaries:
        lines.append("")
        for place, (name, said) in enumerate(summary.fields.items()):
            turn = "" if place else str(summary.prompt)
            lines.append(f"  {turn:>2}  {name.replace('_', ' '):<14}{say.fit(said, WIDTH - 20)}")
    return "\n".join(lines)


def hidden(report: Report, paint: say.Paint) -> str:
    lines = [
        f"Looked for in all {report.search.files} files of the data directory, byte by byte, and in the\n"
        "full-text index, word by word:",
        "",
    ]
    for what, text in HIDDEN.items():
        there = _is_found(report.search, text)
        verdict = paint("red", "FOUND    ") if there else paint("green", "not there")
        instead = INSTEAD.get(what, "")
        lines.append(f"  {verdict}  {what:<39}{instead if report.search.found.get(instead) else ''}".rstrip())
    lines.append(f"  there      {KEPT!r}, said openly: the search does find things")
    return "\n".join(lines)


def cost(report: Report) -> str:
    bare = _medians(report.bare)
    rows = [
        ("python -I -S -c pass", bare),
        ("a hook", _medians([hook for hook in report.hooks if not hook.careful])),
        ("a hook that has to scrub", _medians([hook for hook in report.hooks if hook.careful])),
    ]
    lines = [
        "What a hook costs: medians, a bare interpreter run beside each",
        "",
        f"{'time':>40}{'processor':>20}",
    ]
    for name, (wall, cpu) in rows:
        lines.append(f"  {name:<26}{_beside(wall, bare[0])}{_beside(cpu, bare[1])}".rstrip())
    return "\n".join(lines)


def _medians(runs: Sequence[Run]) -> tuple[float, float]:
    return statistics.median(run.wall_ms for run in runs), statistics.median(run.cpu_ms for run in runs)


def _beside(value: float, bare: float) -> str:
    ratio = "" if value == bare or not bare else f"x {value / bare:.2f}"
    return f"{value:>9.1f} ms  {ratio:<6}"


def context(report: Report) -> str:
    return _quoted(
        "The next session in that directory is told, before its first prompt:", report.recalled.context
    )


def reminder(report: Report) -> str:
    """Empty when nothing came in time: no prompt is kept waiting."""
    recalled = report.recalled
    introduction = f"Prompted “{recalled.prompt}”, it is told:"
    return _quoted(introduction, recalled.reminder) if recalled.reminder else ""


def found(report: Report, now: float, paint: say.Paint) -> str:
    recalled = report.recalled
    command = f"claude-mem search '{recalled.question}'"
    return _listed(f"Anybody may ask: {command}", recalled.found, now, paint)


def history(report: Report, now: float, paint: say.Paint) -> str:
    recalled = report.recalled
    return _listed(f"And about a file: claude-mem file {recalled.file}", recalled.history, now, paint)


def _quoted(introduction: str, text: str) -> str:
    lines = [say.fit(introduction, WIDTH), ""]
    for line in text.splitlines():
        item = line.removeprefix("- ")
        indent = "  " if item == line else "    "
        first, *rest = columns.wrap(item, WIDTH, indent) or [""]
        lines += [first if item == line else f"  - {first.lstrip()}", *rest]
    return "\n".join(lines)


def _listed(introduction: str, results: Sequence[memories.Result], now: float, paint: say.Paint) -> str:
    table = memories.table(results, now, WIDTH - 2, paint)
    return "\n".join([say.fit(introduction, WIDTH), "", *(f"  {line}" for line in table.splitlines())])
