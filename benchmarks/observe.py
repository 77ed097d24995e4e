"""Measures how fast the offline observer reads real sessions, compared with `json.loads`, and its yield.

    python benchmarks/observe.py [FOLDER OF TRANSCRIPTS]
    python benchmarks/observe.py --ablate             what each part of it brings in findability

Every transcript is replayed into the events its hooks would have reported, cut at each Stop, and observed.
The baseline parses the same tool inputs and answers and does nothing with them. Target: 500 events a second.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any, TypeVar

import corpora
import observation_quality
from claude_mem.agents import hook_payload
from claude_mem.agents.claude_code import transcripts
from claude_mem.model.events import Event, Kind
from claude_mem.model.memory import Batch, Findings
from claude_mem.observe.offline import Offline, commands, extract, message, titles, turns
from claude_mem.observe.tool_calls import parse_all
from measure import machine, table

TRANSCRIPTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
T = TypeVar("T")
ROUNDS = 5
TARGET = 500


def main(folder: Path) -> int:
    sessions = {path.name[:8]: list(batches(path)) for path in sorted(folder.glob("*.jsonl*"))}
    if not sessions:
        print(f"no transcripts in {folder}", file=sys.stderr)
        return 2
    rows, totals, kinds = [], Counter[str](), Counter[str]()
    for name, found in sessions.items():
        memories, observing = best(observed, found)
        _, parsing = best(parsed, found)
        events = sum(len(batch.events) for batch in found)
        uses = sum(event.tool is not None for batch in found for event in batch.events)
        observations = [observation for memory in memories for observation in memory.observations]
        kinds.update(observation.type for observation in observations)
        totals.update(
            events=events,
            uses=uses,
            kept=len(observations),
            observing=int(observing * 1e9),
            parsing=int(parsing * 1e9),
        )
        rows.append(row(name, events, uses, len(observations), observing, parsing))
    seconds, baseline = totals["observing"] / 1e9, totals["parsing"] / 1e9
    rows.append(row("all", totals["events"], totals["uses"], totals["kept"], seconds, baseline))
    head = (
        "session",
        "events",
        "tool uses",
        "observations",
        "per 100 uses",
        "events/s",
        "json.loads events/s",
        "times the baseline",
    )
    print(table(head, rows))
    print()
    print(
        table(
            ("type", "observations", "share"),
            [(kind, str(n), f"{n / kinds.total():.0%}") for kind, n in kinds.most_common()],
        )
    )
    print()
    met = totals["events"] / seconds >= TARGET
    print(f"{machine()}; best of {ROUNDS}; target {TARGET} events/s: {'met' if met else 'MISSED'}")
    return 0 if met else 1


def batches(path: Path) -> Iterator[Batch]:
    """A session's events, cut at each Stop as the policy does."""
    gathered: list[Event] = []
    request: str | None = None
    for recorded in transcripts.read(path):
        event = hook_payload.parse(recorded.event, recorded.payload, id=recorded.id, at=recorded.at)
        if event is None:
            continue
        request = event.text if event.kind is Kind.PROMPT else request
        gathered.append(event)
        if event.kind is Kind.STOP:
            yield _batch(gathered, request)
            gathered = []
    if gathered:
        yield _batch(gathered, request)


def _batch(events: list[Event], request: str | None) -> Batch:
    folder = next((event.cwd for event in events if event.cwd), "") or ""
    return Batch(
        folder.replace("\\", "/").rstrip("/").split("/")[-1], events[0].session, tuple(events), request
    )


def observed(found: list[Batch]) -> list[Findings]:
    for cached in (message.statements, turns.file_kind):
        cached.cache_clear()  # each round as cold as a first one
    observer = Offline()
    recorded: tuple[str, ...] = ()
    memories = []
    for batch in found:
        known = Batch(batch.project, batch.session, batch.events, batch.request, recorded)
        memory = observer.observe(known, parse_all(batch.events))
        recorded += tuple(observation.title or "" for observation in memory.observations)
        memories.append(memory)
    return memories


def parsed(found: list[Batch]) -> None:
    """The baseline: the same texts, parsed and dropped."""
    for event in (event for batch in found for event in batch.events):
        for text in (event.tool.input, event.tool.response) if event.tool else ():
            if text and text[:1] in "{[":
                json.loads(text)


def best(work: Callable[[list[Batch]], T], found: list[Batch]) -> tuple[T, float]:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        result = work(found)
        took.append(time.perf_counter() - began)
    return result, min(took)


def row(
    name: str, events: int, uses: int, observations: int, observing: float, parsing: float
) -> tuple[str, ...]:
    density = f"{100 * observations / uses:.1f}" if uses else "–"
    speeds = (f"{events / observing:,.0f}", f"{events / parsing:,.0f}", f"{observing / parsing:.0f}")
    return (name, str(events), str(uses), str(observations), density, *speeds)


FIELDS = ("title", "subtitle", "narrative", "facts", "files_modified", "files_read", "summaries")
ASKED = ("commits", "files", "natural")
# What each part of the observer does, done by nobody.
PARTS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "titles from the message": (titles, "from_message", lambda *_, **__: ("", "")),
    "titles from the request": (titles, "requested", lambda *_, **__: ""),
    "commits": (commands, "commits", lambda *_: []),
    "tests and checks": (commands, "judge", lambda *_: None),
    "discoveries": (extract, "_found", lambda *_: iter(())),
    "decisions": (extract, "_decided", lambda *_: iter(())),
    "points as facts": (extract, "_stated", lambda *_: []),
    "reasons as narrative": (extract, "_narrative", lambda *_: ""),
    "summaries": (extract, "summarize", lambda *_: None),
}


def ablate() -> int:
    """any@5 of sessions by plain BM25 over what the observer made of them, the average of the projects: with
    all of it, without a field of the memory, without a part of the observer."""
    memories = _observed_all()
    variants = {"all": FIELDS, **{f"without the {p}": tuple(set(FIELDS) - {p}) for p in FIELDS}}
    rows = [_ablated(name, memories, fields) for name, fields in variants.items()]
    for name, (module, function, nothing) in PARTS.items():
        whole = getattr(module, function)
        setattr(module, function, nothing)
        rows.append(_ablated(f"no {name}", _observed_all(), FIELDS))
        setattr(module, function, whole)
    print(table(("memory", *ASKED, "observations", "characters"), rows))
    return 0


def _observed_all() -> dict[str, dict[str, Any]]:
    message.statements.cache_clear()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "memories.json"
        observation_quality.observe(out)
        memories: dict[str, dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
        return memories


def _ablated(name: str, memories: dict[str, dict[str, Any]], fields: tuple[str, ...]) -> tuple[str, ...]:
    texts = _texts(memories, fields)
    size = sum(map(len, texts.values())) // 1000
    count = sum(len(memory["observations"]) for memory in memories.values())
    return (name, *(f"{value:.1f}" for value in _findable(texts)), f"{count:,}", f"{size:,} k")


def _texts(memories: dict[str, dict[str, Any]], parts: tuple[str, ...]) -> dict[str, str]:
    """By session: the words of those parts of all its turns' memories."""
    found: dict[str, list[str]] = {}
    for id, memory in memories.items():
        words = found.setdefault(id.rpartition("/")[0], [])
        for observation in memory["observations"]:
            words += [str(observation[part] or "") for part in parts if part != "summaries"]
        words += [str(each) for each in memory["summaries"]] if "summaries" in parts else []
    return {session: " ".join(words) for session, words in found.items()}


def _findable(texts: dict[str, str]) -> list[float]:
    found: dict[str, list[float]] = {kind: [] for kind in ASKED}
    for name in corpora.CODE:
        db = sqlite3.connect(":memory:")
        db.execute("CREATE VIRTUAL TABLE memory USING fts5(session UNINDEXED, said, tokenize='porter')")
        mine = [(id.rpartition("/")[2], text) for id, text in texts.items() if id.startswith(f"{name}/")]
        db.executemany("INSERT INTO memory VALUES (?, ?)", mine)
        for kind, questions in corpora.code(name).questions.items():
            hits = [bool(_first(db, each.text) & {gold[:13] for gold in each.gold}) for each in questions]
            found.get(kind, []).append(100 * mean(hits))
    return [mean(found[kind]) for kind in ASKED]


def _first(db: sqlite3.Connection, question: str, most: int = 5) -> set[str]:
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
    query = "SELECT session FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT ?"
    return {session for (session,) in db.execute(query, (words, most))} if words else set()


if __name__ == "__main__":
    if "--ablate" in sys.argv:
        sys.exit(ablate())
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else TRANSCRIPTS))
