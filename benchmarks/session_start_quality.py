"""Measures whether sessions start with the lines that readers want.

    python benchmarks/session_start_quality.py starts FOLDER --seed 7 --count 25
    python benchmarks/session_start_quality.py table FOLDER      what the readers found

Sessions of the seven projects are put into a store in their order, observed offline, and what the product
would inject is rendered before some of them, drawn by seed; readers see those lines, what the last session
was about and what the next one asked. A reader writes verdicts-SHEET-NAME.jsonl beside the sheets.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec

import corpora
import observation_quality
from claude_mem.model.events import Kind, Origin
from claude_mem.recall.filter_resolver import FilterResolver
from claude_mem.recall.inject import Injector
from claude_mem.recall.search import Search
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import NewEvent
from claude_mem.wiring import observer_setup
from retrievers import no_git

SHEET = 5
EARLIEST = 4  # sessions a project has had before one of its starts is drawn

RUBRIC = """\
# How to judge the start of a session

You are the developer who opens this project on that day. A tool put the numbered lines in front of your agent
before the session's first prompt. Below them: how the session before had ended, and what was asked next. The
tool could not know what would be asked.

A line is *wanted* if it helps to carry on with the project: where the work stands, what was done and why,
what was decided, what is open, or a finding you may need. It is *not wanted* if you would cut it: it says
nothing, is a fragment you cannot understand, repeats another line, is about an errand, or is open or true no
longer by what the evidence shows. That the next session turned to something else is no fault of a line.

For each start write one JSON line; name every line that is not wanted, with a reason of a few words:

    {"start": 3, "unwanted": {"4": "fragment", "7": "repeats 2"}, "untrue": [7]}

`untrue`: lines that the evidence contradicts. Judge every start. `{}` and `[]` if nothing is wrong. Write
your lines to verdicts-SHEET-NAME.jsonl beside the sheet (sheet-3.md, by anna: verdicts-3-anna.jsonl).
"""


def sessions(project: str) -> list[dict[str, Any]]:
    with gzip.open(corpora.DATA / "codemem" / f"{project}.sessions.jsonl.gz", "rt", encoding="utf-8") as file:
        read = [json.loads(line) for line in file]
    for each in read:
        each["at"] = corpora._ms(each["started"])
        each["turns"] = [
            [msgspec.structs.replace(event, at=each["at"] + event.at * 1000) for event in turn["events"]]
            for turn in observation_quality._of_project(project, each)
        ]
    return sorted((each for each in read if each["turns"]), key=lambda each: each["at"])


def drawn(seed: int, count: int) -> dict[str, set[int]]:
    """Which of a project's sessions are shown."""
    chance = random.Random(seed)
    places = {name: range(EARLIEST, len(sessions(name))) for name in observation_quality.PROJECTS}
    share = -(-count // len(places))
    found = [(name, at) for name, all in places.items() for at in chance.sample(all, min(share, len(all)))]
    chance.shuffle(found)
    return {name: {at for other, at in found[:count] if other == name} for name in places}


def starts(folder: Path, seed: int, count: int) -> None:
    texts: list[tuple[str, int]] = []
    for project, places in drawn(seed, count).items():
        for before, following, context in rendered(project, places):
            texts.append(_start(project, before, following, context))
    random.Random(seed).shuffle(texts)
    observation_quality.write_sheets(
        folder, RUBRIC, [f"# Start {number}\n{text}" for number, (text, _) in enumerate(texts, 1)], SHEET
    )
    lines = {str(number): count for number, (_, count) in enumerate(texts, 1)}
    observation_quality._key(folder).write_text(json.dumps({"lines": lines}))


def rendered(project: str, places: set[int]) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """(the session before, the one that starts, what it is told), for each place."""
    now = 0
    origin = Origin(key=f"judged/{project}", name=project, root="")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        with SqliteStore.open(home / "claude-mem.db", clock=lambda: now, backups=home / "b") as store:
            settings = Settings(home, provider="offline")
            pump = observer_setup.build(
                settings, store, mode=observer_setup.mode_of(settings), notify=print
            ).pump
            injector = Injector(
                store=store,
                search=Search(store.memories, lambda: now, None, no_git),
                resolver=FilterResolver(
                    store=store, clock=lambda: now, zone=lambda: UTC, key_of=str, facts_of=lambda _root: None
                ),
                check_staleness=no_git,
                origin_of=lambda cwd: Origin(key=cwd, name=cwd, root=""),
                is_excluded=lambda *_where: False,
                clock=lambda: now,
                zone=lambda: UTC,
                note=lambda _injection: None,
            )
            every = sessions(project)[: max(places, default=-1) + 1]
            for at, session in enumerate(every):
                now = session["at"]
                while store.queue.figures().ready:
                    pump.step()
                if at in places and (kept := store.projects.find(project)):
                    yield every[at - 1], session, injector.start(kept, plain=True).text
                store.events.accept([NewEvent(event, origin) for turn in session["turns"] for event in turn])


def _start(project: str, before: dict[str, Any], following: dict[str, Any], context: str) -> tuple[str, int]:
    lines, count = [], 0
    for line in context.splitlines():
        count += line.startswith("- ")
        lines.append(f"[{count}] {line[2:]}" if line.startswith("- ") else line)
    last = [event for turn in before["turns"] for event in turn]
    prompts = [event for turn in following["turns"] for event in turn if event.kind is Kind.PROMPT]
    parts = [
        f"(project {project})",
        "## What the session was told",
        *lines,
        "## How the session before had gone",
        *(
            f"{'USER' if event.kind is Kind.PROMPT else 'AGENT'}: {_cut(event.text, 900)}"
            for event in [event for event in last if event.text][-8:]
        ),
        "## What the session that starts asked first",
        *(f"USER: {_cut(event.text, 700)}" for event in prompts[:2]),
    ]
    return "\n".join(parts), count


def _cut(text: str | None, most: int) -> str:
    flat = " ".join((text or "").split())
    return flat if len(flat) <= most else f"{flat[:most]} …"


def table(folder: Path) -> None:
    key = json.loads(observation_quality._key(folder).read_text())
    verdicts = [
        json.loads(line)
        for path in sorted(folder.glob("verdicts-*.jsonl"))
        for line in path.read_text().splitlines()
        if line.strip().startswith("{")
    ]
    line_count = sum(key["lines"][str(each["start"])] for each in verdicts)
    unwanted = sum(len(each["unwanted"]) for each in verdicts)
    untrue = sum(len(each.get("untrue", ())) for each in verdicts)
    wanted = 100 * (line_count - unwanted) / max(1, line_count)
    print(
        f"{len(verdicts)} verdicts on {len({each['start'] for each in verdicts})} starts, {line_count} lines"
    )
    print(f"wanted {wanted:.0f} of 100; untrue {untrue}")
    by_start: dict[int, list[set[str]]] = {}
    for each in verdicts:
        by_start.setdefault(each["start"], []).append(set(each["unwanted"]))
    pairs = [(start, found) for start, found in by_start.items() if len(found) > 1]
    lines = sum(key["lines"][str(start)] for start, _ in pairs)
    apart = sum(len(found[0] ^ found[1]) for _, found in pairs)
    if pairs:
        print(f"two readers agree on {100 * (lines - apart) / max(1, lines):.0f} of 100 lines")


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("starts")
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("--seed", type=int, default=7)
    drawing.add_argument("--count", type=int, default=25)
    commands.add_parser("table").add_argument("folder", type=Path)
    asked = parser.parse_args(list(arguments))
    if asked.command == "table":
        table(asked.folder)
    else:
        starts(asked.folder, asked.seed, asked.count)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
