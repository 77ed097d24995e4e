"""Measures whether "(read, not verified)" is correct: memories sampled by seed, judged by readers without it.

    python benchmarks/unverified_mark_quality.py sheets FOLDER --seed 7 --count 100 [--shown SEED …]
                                                 [--without FOLDER …] [--cap 65]
    python benchmarks/unverified_mark_quality.py table FOLDER      what the readers found, beside our marks

`sheets` draws from all memories of the seven projects and the transcripts that were not shown before; as
many of them are without a changed file, where most errors are, as among all memories. It writes parts of 25
memories with compact evidence, each below the rubric; the key beside the folder has each one's turn and our
mark. A reader writes verdicts-READER-PART.jsonl into the folder. `--without` leaves out the turns of other
folders' keys; `--shown` those of samples whose sheets are gone, as far as their seeds tell; `--cap` is the
most that one project gets. `table` counts the wrong marks of each reader, and marks the memories anew, so
that a changed rule can be held against the verdicts.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import observation_quality
from claude_mem.model.events import Event, Kind
from claude_mem.model.full_text import significant_words
from claude_mem.model.memory import Batch, Findings, Observation
from claude_mem.observe import evidence
from claude_mem.observe.offline import Offline
from claude_mem.observe.tool_calls import ParsedEvent, ToolKind, parse_all

SHEET = 25
MOST_EVIDENCE = 2_500  # characters of one memory's evidence
MOST_ASKED, MOST_SAID, MOST_BEFORE = 450, 800, 160
MOST_COMMAND, MOST_PRINTED = 190, 200
MOST_NAMES = 10

RUBRIC = """\
# Should this memory be marked "(read, not verified)"?

Each memory below was saved by a tool from one turn of a coding agent. Above it is the evidence: what the user
asked, what the agent did (edits, commands, what it read, in the order it began), and its last message.

The rule: what the user said, what the agent edited or committed, and what a test or a command that was run
showed, is verified: `plain`. What the agent merely read somewhere (files, web pages, issues, commits and
words of others, a subagent's report) and repeated is not: `mark`. So is a claim that nothing in the turn
supports.

Judge what the memory mainly says: its title, and most of what stands below it. An edit or a run supports what
the memory tells of it, not whatever was read beside it. Most of the evidence has no tool output: a command
that runs something counts as having shown what the last message says it showed. Long lists are shortened;
"more" says by how much.

For each memory write one JSON line to verdicts-READER-PART.jsonl beside this file, READER being your name
and PART the number of this part; the id is the number in "# Memory 12":

    {"id": 12, "verdict": "mark", "why": "few words"}

`verdict` is `mark`, `plain`, or `unclear` if a careful reader could decide either way or the evidence does
not tell. Judge all of them, each by itself. Do not look at the key, the code or the docs of the tool.
"""


class Drawable(NamedTuple):
    turn: observation_quality.Turn
    seen: list[ParsedEvent]
    findings: Findings
    made: Observation

    @property
    def is_marked(self) -> bool:
        return self.findings.source_of(self.made) == "external"

    @property
    def said(self) -> str:
        """What tells a turn from others: a session that is forked repeats the same."""
        events: list[Event] = self.turn["events"]
        last = [event.text for event in events if event.kind is Kind.STOP and event.text]
        return last[-1] if last else "\n".join(event.text or "" for event in events)


def everything() -> Iterator[Drawable]:
    """All memories of all turns, with what supports them."""
    for _, session in observation_quality.turns():
        before = ""
        for turn in session:
            events: list[Event] = turn["events"]
            turn["before"] = before
            before = next((e.text for e in reversed(events) if e.kind is Kind.STOP and e.text), "")
            seen = parse_all(events)
            prompt = next((event.text for event in events if event.kind is Kind.PROMPT), None)
            batch = Batch(turn["source"], events[0].session, tuple(events), prompt, ())
            findings = evidence.with_provenance(Offline().observe(batch, seen), seen)
            for made in findings.observations:
                yield Drawable(turn, seen, findings, made)


def sheets(
    folder: Path, seed: int, count: int, seeds: list[int], without: list[Path], cap: int | None
) -> None:
    memories = list(everything())
    shown = {
        each["turn"]
        for path in without
        for each in json.loads(observation_quality._key(path).read_text()).values()
    } | _shown_by(seeds, memories)
    texts = {each.said for each in memories if each.turn["id"] in shown}
    pool = [each for each in memories if each.turn["id"] not in shown and each.said not in texts]
    unchanged = mean(not each.made.files_modified for each in memories)
    chosen = _drawn(pool, random.Random(seed), count, unchanged, cap or count)
    entries = [f"# Memory {number}\n{_shown(each)}" for number, each in enumerate(chosen, 1)]
    folder.mkdir(parents=True, exist_ok=True)
    for part, start in enumerate(range(0, len(entries), SHEET), 1):
        (folder / f"part{part}.md").write_text("\n\n".join([RUBRIC, *entries[start : start + SHEET]]))
    key = {str(number): _keyed(each) for number, each in enumerate(chosen, 1)}
    observation_quality._key(folder).write_text(json.dumps(key, indent=1))
    print("all memories:")
    _print_strata({str(number): _keyed(each) for number, each in enumerate(memories)})
    print(f"{len(memories)} memories, {len(shown)} turns shown before, {len(pool)} memories to draw from")
    _print_strata(key)


def _drawn(
    pool: list[Drawable], chance: random.Random, count: int, unchanged: float, cap: int
) -> list[Drawable]:
    """One memory of a turn and its copies; as many without a changed file as among all memories. With a
    cap below the count the largest project comes last: it gets what the others leave, up to the cap."""
    chance.shuffle(pool)
    single = list({each.said: each for each in pool}.values())
    if cap < count:
        sizes = Counter(each.turn["source"] for each in single)
        single.sort(key=lambda each: each.turn["source"] == sizes.most_common(1)[0][0])
    taken: Counter[str] = Counter()
    chosen: list[Drawable] = []
    for is_changed, wanted in ((False, round(count * unchanged)), (True, count)):
        for each in single:
            source = each.turn["source"]
            if bool(each.made.files_modified) is is_changed and len(chosen) < wanted and taken[source] < cap:
                taken[source] += 1
                chosen.append(each)
    return chance.sample(chosen, len(chosen))


def _keyed(each: Drawable) -> dict[str, Any]:
    return {
        "turn": each.turn["id"],
        "title": each.made.title,
        "source": each.turn["source"],
        "changed": bool(each.made.files_modified),
        "tools": sum(call is not None for _, call in each.seen),
        "marked": each.is_marked,
    }


def _shown_by(seeds: Iterable[int], memories: list[Drawable]) -> set[str]:
    """The turns of earlier samples, drawn again as they were then: up to half of a sample's hundred from
    turns that changed no file. What was remembered then may have differed: some more of each kind are left
    out.
    """
    by_turn: dict[str, Drawable] = {}
    for each in memories:
        by_turn.setdefault(each.turn["id"], each)
    shown: set[str] = set()
    said: set[str] = set()
    for seed in seeds:
        new = [
            by_turn[turn["id"]]
            for turn in observation_quality.drawn(seed, 800, set())
            if turn["id"] in by_turn
        ]
        new = [each for each in new if each.said not in said]
        others = [each for each in new if not each.made.files_modified][:60]
        changed = [each for each in new if each.made.files_modified][: 125 - len(others)]
        shown |= {each.turn["id"] for each in (*others, *changed)}
        said |= {each.said for each in (*others, *changed)}
    return shown


def _shown(each: Drawable) -> str:
    memory = observation_quality._memory({"observations": [_builtins(each.made)]})
    return "\n".join((f"(project {each.turn['source']})", _evidence(each), "### Memory", memory))


def _builtins(made: Observation) -> dict[str, Any]:
    parts = ("type", "title", "subtitle", "narrative", "facts", "files_modified")
    return {part: getattr(made, part) for part in parts}


def _evidence(each: Drawable) -> str:
    """What was asked, done, looked at and said. Of many commands, those nearest to the memory's words."""
    made, events = each.made, [event for event, _ in each.seen]
    prompts = "\n".join(e.text or "" for e in events if e.kind is Kind.PROMPT)
    lines = ["### Evidence"]
    if each.turn["before"] and len(prompts) < 2 * MOST_BEFORE:
        lines.append(f"(the agent had said before: … {_flat(each.turn['before'])[-MOST_BEFORE:]})")
    lines.append(f"USER ASKED: {_cut(prompts, MOST_ASKED)}")
    words = significant_words(" ".join(filter(None, (made.title, made.narrative, *made.facts))))
    last = [e.text for e in events if e.kind is Kind.STOP and e.text]
    last_message = f"AGENT'S LAST MESSAGE: {_cut(last[-1], MOST_SAID)}" if last else "(no last message)"
    room = MOST_EVIDENCE - sum(map(len, lines)) - len(last_message)
    return "\n".join((*lines, *_calls(each.seen, words, room), last_message))


def _calls(seen: list[ParsedEvent], words: frozenset[str], room: int) -> list[str]:
    """Files by what was done to them, other calls one by one; each group stands where it began."""
    groups: dict[str, list[str]] = {}
    single: list[tuple[int, str]] = []
    places: dict[str, int] = {}
    for at, (event, call) in enumerate(seen):
        if call is None:
            continue
        failed = " FAILED" if event.kind is Kind.TOOL_FAILURE or call.failed else ""
        if call.kind in (ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE) and call.path:
            name = f"{call.tool.name}{failed}"
            groups.setdefault(name, []).append("/".join(call.path.replace("\\", "/").split("/")[-2:]))
            places.setdefault(name, at)
            continue
        given = call.command or call.word("input") or call.tool.input or ""
        description = call.word("description") if call.command else ""
        line = f"{call.tool.name}{failed}: {_cut(given, MOST_COMMAND)}"
        line += f" ({_cut(description, 80)})" if description else ""
        printed = _flat(call.text())
        line += (
            f" => {printed[:MOST_PRINTED]}{' …' if len(printed) > MOST_PRINTED else ''}" if printed else ""
        )
        single.append((at, line))
    lines = [(places[name], _files(name, paths)) for name, paths in groups.items()]
    room -= sum(len(line) for _, line in lines)
    nearest = sorted(single, key=lambda pair: -len(significant_words(pair[1]) & words))
    left: Counter[str] = Counter()
    for at, line in nearest:
        if room - len(line) >= 0:
            lines.append((at, line))
            room -= len(line)
        else:
            left[" ".join(line.split()[:2])] += 1
    more = (
        [f"({left.total()} more: {', '.join(f'{n} x {name}' for name, n in left.most_common(6))})"]
        if left
        else []
    )
    return [line for _, line in sorted(lines)] + more


def _files(name: str, paths: list[str]) -> str:
    counted = Counter(paths)
    names = [f"{path} x{n}" if n > 1 else path for path, n in counted.items()]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{name}: {', '.join(names[:MOST_NAMES])}{more}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, most: int) -> str:
    """Both ends: a message ends with what it came to."""
    flat = _flat(text)
    return flat if len(flat) <= most else f"{flat[: most * 3 // 4]} […] {flat[-most // 4 :]}"


def table(folder: Path) -> None:
    key: dict[str, dict[str, Any]] = json.loads(observation_quality._key(folder).read_text())
    verdicts: dict[str, list[str]] = {}
    readers: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("verdicts-*.jsonl")):
        for line in path.read_text().splitlines():
            if line.strip().startswith("{"):
                given = json.loads(line)
                verdicts.setdefault(str(given["id"]), []).append(given["verdict"])
                readers.setdefault(path.stem.split("-")[1], {})[str(given["id"])] = given["verdict"]
    _print_strata(key)
    for reader, found in readers.items():
        _print_reader(reader, found, key)
    today = {each.turn["id"] + (each.made.title or ""): each.is_marked for each in everything()}
    now = {id: today.get(each["turn"] + (each["title"] or "")) for id, each in key.items()}
    for name, marks in (("as drawn", {id: each["marked"] for id, each in key.items()}), ("today", now)):
        print(f"\n{name}: wrong of judged; mark too many, mark missing")
        for stratum, ids in _strata(key).items():
            given = [(marks[id], verdict) for id in ids for verdict in verdicts.get(id, ())]
            judged = [(mark, verdict) for mark, verdict in given if verdict != "unclear" and mark is not None]
            many = sum(bool(mark) and verdict == "plain" for mark, verdict in judged)
            missing = sum(not mark and verdict == "mark" for mark, verdict in judged)
            share = 100 * (many + missing) / max(1, len(judged))
            print(
                f"  {stratum:32} {many + missing:3} of {len(judged):3} ({share:.1f}); {many}, {missing};"
                f" unclear {sum(verdict == 'unclear' for _, verdict in given)}"
            )
    pairs = [given for given in verdicts.values() if len(given) > 1]
    if pairs:
        print(f"\nreaders agree on {sum(len(set(given)) == 1 for given in pairs)} of {len(pairs)} memories")


def _print_reader(reader: str, found: dict[str, str], key: dict[str, dict[str, Any]]) -> None:
    judged = {id: verdict == "mark" for id, verdict in found.items() if verdict != "unclear"}
    wrong = [id for id, is_marked in judged.items() if is_marked != key[id]["marked"]]
    print(f"\nreader {reader}: as drawn {len(wrong)} wrong of {len(judged)}, {len(found)} read")
    print(f"  missed: {', '.join(sorted(set(key) - set(found), key=int)) or 'none'}")
    for id in wrong:
        is_ours = "marked" if key[id]["marked"] else "not marked"
        print(f"  {id:>3} {is_ours}, reader says {found[id]}: {key[id]['title']}")


def _strata(key: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"all": list(key)}
    for id, each in key.items():
        found.setdefault("with a changed file" if each["changed"] else "without a changed file", []).append(
            id
        )
        found.setdefault(f"project {each['source']}", []).append(id)
        if not each["tools"]:
            found.setdefault("of a turn without tools", []).append(id)
    return found


def _print_strata(key: dict[str, dict[str, Any]]) -> None:
    for stratum, ids in _strata(key).items():
        print(f"  {stratum:32} {len(ids):3}, marked {sum(key[id]['marked'] for id in ids)}")


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("sheets")
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("--seed", type=int, default=7)
    drawing.add_argument("--count", type=int, default=100)
    drawing.add_argument("--shown", type=int, nargs="*", default=[])
    drawing.add_argument("--without", type=Path, nargs="*", default=[])
    drawing.add_argument("--cap", type=int)
    commands.add_parser("table").add_argument("folder", type=Path)
    options = parser.parse_args(list(arguments))
    if options.command == "sheets":
        sheets(options.folder, options.seed, options.count, options.shown, options.without, options.cap)
    else:
        table(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
