"""What the demo shows: events, observations, what was kept out, and what hooks cost."""

from __future__ import annotations

import json
import sqlite3
import stat
import statistics
from collections.abc import Sequence
from contextlib import closing
from importlib import resources
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from claude_mem.cli import memories, output
from claude_mem.cli.demo.replay import Answered, Recalled, Run
from claude_mem.hook import paths


class StoredSession(Struct, frozen=True):
    id: str
    project: str
    status: str
    prompts: int


class StoredEvent(Struct, frozen=True):
    prompt: int
    kind: str
    tool: str | None
    what: str  # one line, for people
    private: bool
    state: str


class StoredObservation(Struct, frozen=True):
    type: str
    title: str
    subtitle: str
    files: list[str]
    provider: str


class StoredSummary(Struct, frozen=True):
    prompt: int
    fields: dict[str, str]  # those that were filled in


class Stored(Struct, frozen=True):
    session: StoredSession
    events: list[StoredEvent]
    observations: list[StoredObservation]
    summaries: list[StoredSummary]


SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def read_stored(database: Path) -> Stored:
    with _opened(database) as db:
        id_, project, status, prompts, cwd = db.execute(_query("session")).fetchone()
        rows = db.execute(_query("events")).fetchall()
        observations = db.execute(_query("observations")).fetchall()
        summaries = db.execute(_query("summaries")).fetchall()
    events = [
        StoredEvent(prompt, kind, tool, _line(tool_input, text, cwd), bool(private), state)
        for prompt, kind, tool, tool_input, text, private, state in rows
    ]
    return Stored(
        StoredSession(id_, project, status, prompts),
        events,
        [
            StoredObservation(type_, title or "", subtitle or "", _files(modified, read_), provider)
            for type_, title, subtitle, modified, read_, provider in observations
        ],
        [
            StoredSummary(prompt, {name: said for name, said in zip(SUMMARY, told, strict=True) if said})
            for prompt, *told in summaries
        ],
    )


def _opened(database: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True))


def _files(modified: str, read_: str) -> list[str]:
    """Those it changed; of one that changed none, those it read."""
    found: list[str] = json.loads(modified) or json.loads(read_)
    return found


def _line(tool_input: str | None, text: str | None, cwd: str) -> str:
    """What a tool was asked to do in one line, else what was said."""
    try:
        asked = json.loads(tool_input or "{}")
    except ValueError:
        asked = {}
    file = str(asked.get("file_path") or "").removeprefix(f"{cwd}/")
    return str(asked.get("command") or file or text or "")


def _query(name: str) -> str:
    script = (resources.files(__package__) / "show.sql").read_text(encoding="utf-8")
    return script.partition(f"-- name: {name}\n")[2].partition("-- name:")[0]


HIDDEN = {
    "a name inside <private> in a prompt": "Harbour Foods",
    "tool output of an entirely private turn": "31 percent off",
    "a password in a test's output": "t1de-p00l-9921",
    "a token in the output of git push": "ghp_ThisTokenIsMadeUpForTheDemo",
    "the contents of a .env file": "correct-horse-7731",
}
INSTEAD = {
    "a password in a test's output": "[redacted:url-password]",
    "a token in the output of git push": "[redacted:github-token]",
    "the contents of a .env file": "[excluded: contents of .env]",
}
"""What replaces some of them."""
KEPT = "parse_weight"
"""Not private, and all over the session: a search that finds this would find the others."""


class HiddenSearch(Struct, frozen=True):
    files: int
    found: dict[str, int]  # what was looked for, and in how many files it is
    indexed: dict[str, int]  # and in how many texts the index has its words, one after the other


def search_hidden(data_dir: Path) -> HiddenSearch:
    contents = [content for path in data_dir.rglob("*") if (content := _content(path)) is not None]
    wanted = (*HIDDEN.values(), *INSTEAD.values(), KEPT)
    found = {text: sum(text.encode() in content for content in contents) for text in wanted}
    with _opened(data_dir / paths.DATABASE) as db:
        count, texts = _query("indexed"), (*HIDDEN.values(), KEPT)
        indexed = {text: db.execute(count, {"phrase": f'"{text}"'}).fetchone()[0] for text in texts}
    return HiddenSearch(len(contents), found, indexed)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except FileNotFoundError:
        return None  # the worker is at work: a file being written has its real name by now


WIDTH = 80
SHOWN = 4  # events of a turn after its prompt; of more, one less and how many there were
WORDS = {"session_start": "start", "session_end": "end", "subagent_stop": "subagent"}


class Report(Struct, frozen=True):
    hooks: list[Answered]
    bare: list[Run]
    drained_after_s: float
    observed_after_s: float
    session: StoredSession
    events: list[StoredEvent]
    observations: list[StoredObservation]
    summaries: list[StoredSummary]
    recalled: Recalled
    search: HiddenSearch

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
            wrong.append(f"the scan finds nothing, not even {KEPT!r}")
        if not self.observations or not self.summaries:
            wrong.append("no observations or summaries were stored")
        if any(observation.provider != "offline" for observation in self.observations):
            wrong.append("an observer other than the offline one was used")
        if not self.recalled.context:
            wrong.append("nothing was injected into the next session")
        if not self.recalled.found or not self.recalled.history:
            wrong.append("search did not find what was stored")
        return wrong


def _is_found(search: HiddenSearch, text: str) -> bool:
    return bool(search.found[text] or search.indexed[text])


def hooks(report: Report) -> str:
    return (
        f"Hooks   {len(report.hooks)} run, each in its own process; all answered and exited 0\n"
        f"Worker  started by the first hook; stored it all {report.drained_after_s:.1f} s after the last\n"
        f"        hook, and had observed everything after {report.observed_after_s:.1f} s"
    )


def events(report: Report, paint: output.Paint) -> str:
    session = report.session
    lines = [
        f"Session {session.id[:8]}, project {session.project}: {session.status}, "
        f"{output.plural(session.prompts, 'prompt')}, {output.plural(len(report.events), 'event')} stored",
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


def _row(turn: str, event: StoredEvent, paint: output.Paint) -> str:
    row = f"  {turn:>2}  {event.tool or WORDS.get(event.kind, event.kind):<9}"
    room = WIDTH - len(row) - 6
    row += f"{output.fit(_event_text(event), room - 1):<{room}}{event.state}"
    return paint("bold" if event.kind == "prompt" else "dim", row)


def _event_text(event: StoredEvent) -> str:
    if event.private:
        return "(private: no text and no tool use is stored)"
    return f"{event.what} (failed)" if event.kind == "tool_failure" else event.what


def remembered(report: Report, paint: output.Paint) -> str:
    observations = output.plural(len(report.observations), "observation")
    summaries = output.plural(len(report.summaries), "summary", "summaries")
    lines = [f"Written by the offline observer: {observations}, {summaries}", ""]
    for observation in report.observations:
        lines.append(f"  {observation.type:<8}" + paint("bold", output.fit(observation.title, WIDTH - 10)))
        for line in (observation.subtitle, ", ".join(observation.files)):
            lines += [" " * 10 + output.fit(line, WIDTH - 10)] if line else []
    for summary in report.summaries:
        lines.append("")
        for place, (name, said) in enumerate(summary.fields.items()):
            turn = "" if place else str(summary.prompt)
            lines.append(f"  {turn:>2}  {name.replace('_', ' '):<14}{output.fit(said, WIDTH - 20)}")
    return "\n".join(lines)


def hidden(report: Report, paint: output.Paint) -> str:
    lines = [
        f"Searched for in all {report.search.files} files of the data directory, byte by byte, and in\n"
        "the full-text index, word by word:",
        "",
    ]
    for what, text in HIDDEN.items():
        there = _is_found(report.search, text)
        verdict = paint("red", "FOUND    ") if there else paint("green", "not found")
        instead = INSTEAD.get(what, "")
        lines.append(f"  {verdict}  {what:<39}{instead if report.search.found.get(instead) else ''}".rstrip())
    lines.append(f"  found      {KEPT!r}, which was not private: the search works")
    return "\n".join(lines)


def cost(report: Report) -> str:
    bare = _medians(report.bare)
    rows = [
        ("python -I -S -c pass", bare),
        ("a hook", _medians([hook for hook in report.hooks if not hook.careful])),
        ("a hook that scrubs", _medians([hook for hook in report.hooks if hook.careful])),
    ]
    lines = [
        "What a hook costs (medians, next to a bare interpreter)",
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
    return _quoted("Injected into the next session there, before its first prompt:", report.recalled.context)


def reminder(report: Report) -> str:
    """Empty when nothing came in time: no prompt is kept waiting."""
    recalled = report.recalled
    introduction = f"Injected with the prompt “{recalled.prompt}”:"
    return _quoted(introduction, recalled.reminder) if recalled.reminder else ""


def found(report: Report, now: float, paint: output.Paint) -> str:
    recalled = report.recalled
    command = f"claude-mem search '{recalled.question}'"
    return _listed(f"Search it: {command}", recalled.found, now, paint)


def history(report: Report, now: float, paint: output.Paint) -> str:
    recalled = report.recalled
    return _listed(f"Show a file's history: claude-mem file {recalled.file}", recalled.history, now, paint)


def _quoted(introduction: str, text: str) -> str:
    lines = [output.fit(introduction, WIDTH), ""]
    for line in text.splitlines():
        item = line.removeprefix("- ")
        indent = "  " if item == line else "    "
        first, *rest = output.wrap(item, WIDTH, indent) or [""]
        lines += [first if item == line else f"  - {first.lstrip()}", *rest]
    return "\n".join(lines)


def _listed(introduction: str, results: Sequence[memories.Result], now: float, paint: output.Paint) -> str:
    table = memories.table(results, now, WIDTH - 2, paint)
    return "\n".join([output.fit(introduction, WIDTH), "", *(f"  {line}" for line in table.splitlines())])
