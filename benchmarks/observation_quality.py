"""Measures the quality of the offline observer's memories: turns sampled by seed, judged blind by readers.

    python benchmarks/observation_quality.py observe OUT.json    observe every turn with this tree's code
    python benchmarks/observation_quality.py sheets OLD.json NEW.json FOLDER --seed 7 --turns 60
                                             [--without FOLDER]
    python benchmarks/observation_quality.py table FOLDER        what the readers found

`observe` runs with any tree's observer on PYTHONPATH, so an older commit's output is made from a worktree of
it. `sheets` writes rubric.md and sheets of 10 turns: the evidence of each turn and two memories in random
order without labels. A reader writes verdicts-SHEET-NAME.jsonl beside them, one line for each turn. `table`
compares them with FOLDER-key.json beside the folder, which readers do not open. Turns are drawn from the data
alone, whatever was observed; `--without` leaves out those that another folder's sheets have shown.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

import corpora
from claude_mem.agents import hook_payload
from claude_mem.agents.claude_code import transcripts
from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.memory import Batch, Findings
from claude_mem.observe.offline import Offline
from claude_mem.observe.tool_calls import parse_all

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PROJECTS = (
    "clustercockpit-cc-backend",
    "context-evaluator",
    "eitatech-gatomia-vscode",
    "entire-cli",
    "entityprocess-agentv",
    "oh-my-posh",
    "savekirk-session-bridge",
)
SHEET = 10
LONGEST_TEXT = 1_500  # of the corpus
Turn = dict[str, Any]

RUBRIC = """\
# How to judge

You are a colleague who joins this project next month. Each turn below shows its evidence (what the user
asked, which tools ran, the agent's last message) and two memories of it, A and B: what a tool saved so that
later sessions find it again. Either may be "(nothing)". You do not know which program wrote which. Judge
each by itself first, then compare.

For each turn write one JSON line:

    {"turn": 12, "a": "useful", "b": "junk", "a_true": true, "b_true": true, "a_title": true,
     "b_title": false, "prefer": "a", "why": "one short sentence"}

- a, b: `useful` (a colleague would thank you for finding this later), `so-so` (harmless, little in it),
  `junk` (noise: where instead of what, a fragment, an errand, nobody would want it). For "(nothing)": `right`
  if nothing was worth saving in this turn, `missed` if something was.
- a_true, b_true: false only if the memory says something that the evidence contradicts, or pins a result on
  the wrong thing. Leaving something out is not untrue. For "(nothing)": true.
- a_title, b_title: does the title (of the first observation) say what happened or was found, so that you
  would recognise it in a list? For "(nothing)": true.
- prefer: `a`, `b` or `same`: which would you rather have in the project's memory. "(nothing)" is better than
  junk and worse than something useful.

Read the evidence before the memories. Be strict about junk and about truth. Judge every turn. Write your
lines to verdicts-SHEET-NAME.jsonl beside the sheet (of sheet-3.md, by anna: verdicts-3-anna.jsonl).
"""


def turns() -> Iterator[tuple[str, list[Turn]]]:
    """(source, the turns of one session), from the seven projects and the transcripts."""
    for name in PROJECTS:
        with gzip.open(DATA / "codemem" / f"{name}.sessions.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                yield name, list(_of_project(name, json.loads(line)))
    for path in sorted((DATA / "transcripts").glob("*.jsonl*")):
        yield "transcripts", list(_of_transcript(path))


def _of_project(project: str, session: dict[str, Any]) -> Iterator[Turn]:
    """The corpus has what a tool was given, not what it answered; the last text of a turn is its end."""
    root = _root(session)
    current: list[Event] = []
    number = 0
    for at, (kind, text) in enumerate(session["events"]):
        following = session["events"][at + 1][0] if at + 1 < len(session["events"]) else "prompt"
        id, where = f"{session['session_id']}-{at:06d}", root or "/project"
        if kind == "prompt":
            if current:
                yield _turn(project, session["session_id"], number, current)
                number += 1
            current = [Event(id, at, Kind.PROMPT, session["session_id"], cwd=where, text=text)]
        elif kind == "tool":
            tool = _tool(text)
            current.append(Event(id, at, Kind.TOOL_USE, session["session_id"], cwd=where, tool=tool))
        elif following == "prompt":
            said = _whole_sentences(text)
            current.append(Event(id, at, Kind.STOP, session["session_id"], cwd=where, text=said))
    if current:
        yield _turn(project, session["session_id"], number, current)


def _whole_sentences(text: str) -> str:
    """The corpus cuts texts, in the middle of a word; no client does."""
    end = max(text.rfind("\n"), text.rfind(". ") + 1)
    return text[:end] if len(text) >= LONGEST_TEXT and end > 0 else text


def _root(session: dict[str, Any]) -> str:
    """Where the project lay: what stands before the files it is known to have touched."""
    found: Counter[str] = Counter()
    for kind, text in session["events"]:
        words = text.split(None, 2) if kind == "tool" else []
        path = words[1].replace("\\", "/") if len(words) > 1 else ""
        for file in session["files_touched"] if path.startswith("/") or path[1:3] == ":/" else ():
            if path.endswith(f"/{file}"):
                found[path[: -len(file) - 1]] += 1
    return found.most_common(1)[0][0] if found else next(iter(session.get("cwds") or ()), "")


# The corpus puts what an agent says of a command in front of it: "Run the tests go test ./...".
_PROGRAMS = (
    "agent-browser awk bash bd brew bun bunx cargo cat cd chmod cp curl deno docker echo entire eslint "
    "export fd ffmpeg gh git go gofmt golangci-lint grep jq just kill kubectl ln ls lsof mise mkdir mv "
    "mypy nl node npm npx nu openssl perl pip pnpm printf ps psql pwd pwsh pytest python python3 rg rm "
    "rmdir rtk ruby ruff sed sh sips sleep sqlite3 stat sudo tar tmux touch tsc unzip uv vale vitest wc "
    "wget workmux wsl xargs yarn zsh"
)
_ALSO_WORDS = (
    "command cut date diff file find for head if make read set sort source tail test time tree type which "
    "while"
)
_DESCRIBED = re.compile(
    r"([A-Z][A-Za-z]*-?[a-z]*,?\s[^\n]*?|[A-Z][a-z]+)\s+(?=(?:[A-Za-z_]\w*=\S*;?\s+)*(?:"
    rf"(?:{_PROGRAMS.replace(' ', '|')})(?:\s|$)"
    rf"|(?:{_ALSO_WORDS.replace(' ', '|')})\s+(?:-|[./~\"'$\[]|\w+ in )"
    r"|\.?/\w\S*/\S+\s|[A-Za-z_]\w*=|\"[^\"]+/[^\"]+\"\s))"
)


def _tool(text: str) -> ToolCall:
    name, _, rest = text.partition(" ")
    found = re.match(r"(.+?\.\w{1,8})(?=\s|$)|\S+", rest.strip())
    path, more = (found[0], rest.strip()[found.end() :]) if found else ("", "")
    if name in ("Bash", "PowerShell"):
        said = _DESCRIBED.match(rest.strip())
        command = rest.strip()[said.end() if said else 0 :]
        given = {"command": command, "description": said[1]} if said else {"command": command}
    elif name.lower() in corpora.FILE_TOOLS:
        kind = corpora.FILE_TOOLS[name.lower()]
        given = {"file_path": path.strip()}
        given |= {} if kind == "Read" else {"content" if kind == "Write" else "new_string": more.strip()}
    else:
        given = {"input": rest.strip()}
    return ToolCall(name, json.dumps(given, ensure_ascii=False), None, None)


def _of_transcript(path: Path) -> Iterator[Turn]:
    gathered: list[Event] = []
    number = 0
    for recorded in transcripts.read(path):
        event = hook_payload.parse(recorded.event, recorded.payload, id=recorded.id, at=recorded.at)
        if event is None:
            continue
        if event.kind is Kind.PROMPT and any(each.kind is Kind.PROMPT for each in gathered):
            yield _turn("transcripts", path.name[:8], number, gathered)
            gathered, number = [], number + 1
        gathered.append(event)
    if gathered:
        yield _turn("transcripts", path.name[:8], number, gathered)


def _turn(source: str, session: str, number: int, events: list[Event]) -> Turn:
    return {"id": f"{source}/{session[:13]}/{number}", "source": source, "events": list(events)}


def observe(out: Path) -> None:
    """Each turn's memory; what the user refuted later is gone."""
    memories_by_id: dict[str, Any] = {}
    for _, session in turns():
        recorded: list[tuple[str, str]] = []  # turn, title
        memories: dict[str, Findings] = {}
        for turn in session:
            events: list[Event] = turn["events"]
            folder = next((event.cwd for event in events if event.cwd), "") or ""
            project = folder.replace("\\", "/").rstrip("/").split("/")[-1]
            request = next((event.text for event in events if event.kind is Kind.PROMPT), None)
            titles = tuple(title for _, title in recorded[-30:])
            batch = Batch(project, events[0].session, tuple(events), request, titles)
            memory = Offline().observe(batch, parse_all(events))
            gone = {old for _, old in getattr(memory, "replaces", ())}
            if not _refutes(request or ""):
                gone = set()  # told again, with its commit: what this turn had told was no less true
            for at, title in recorded:
                if title in gone:
                    left = tuple(each for each in memories[at].observations if each.title != title)
                    memories[at] = msgspec.structs.replace(memories[at], observations=left)
            recorded = [pair for pair in recorded if pair[1] not in gone]
            recorded += [(turn["id"], each.title or "") for each in memory.observations]
            memories[turn["id"]] = memory
        memories_by_id.update((id, msgspec.to_builtins(memory)) for id, memory in memories.items())
    out.write_text(json.dumps(memories_by_id), encoding="utf-8")


def _refutes(request: str) -> bool:
    module = "claude_mem.observe.offline.request"  # which older trees do not have
    return find_spec(module) is not None and bool(import_module(module).refutes(request))


def _is_eligible(turn: Turn) -> bool:
    """Something happened in it: tools ran, or more than a few words were said."""
    tools = sum(event.tool is not None for event in turn["events"])
    said = max((len(event.text or "") for event in turn["events"] if event.kind is Kind.STOP), default=0)
    return tools >= 3 or said >= 400


def drawn(seed: int, count: int, shown: set[str]) -> list[Turn]:
    by_source: dict[str, list[Turn]] = {}
    for source, session in turns():
        for turn, before, following in zip(session, [None, *session], [*session[1:], None], strict=False):
            turn["next"] = next((e.text for e in following["events"] if e.text), "") if following else ""
            said = [e.text for e in before["events"] if e.kind is Kind.STOP and e.text] if before else []
            turn["before"] = said[-1] if said else ""
            by_source.setdefault(source, []).extend([turn] if _is_eligible(turn) else [])
    chance = random.Random(seed)
    found: list[Turn] = []
    for source in sorted(by_source):
        pool = [turn for turn in by_source[source] if turn["id"] not in shown]
        found += chance.sample(pool, min(len(pool), -(-count // len(by_source))))
    chance.shuffle(found)
    return found[:count]


def sheets(old: Path, new: Path, folder: Path, seed: int, count: int, without: list[Path]) -> None:
    memories = {"old": json.loads(old.read_text()), "new": json.loads(new.read_text())}
    shown = {
        id for each in without for id in json.loads(_key(each).read_text()).values() for id in [id["id"]]
    }
    chance = random.Random(seed + 1)
    key: dict[str, dict[str, str]] = {}
    texts: list[str] = []
    for number, turn in enumerate(drawn(seed, count, shown), 1):
        first, second = chance.sample(("old", "new"), 2)
        key[str(number)] = {"id": turn["id"], "a": first, "b": second}
        told = [
            f"### Memory {name}\n{_memory(memories[which][turn['id']])}"
            for name, which in (("A", first), ("B", second))
        ]
        texts.append("\n".join([f"# Turn {number} (project {turn['source']})", _evidence(turn), *told]))
    write_sheets(folder, RUBRIC, texts, SHEET)
    _key(folder).write_text(json.dumps(key, indent=1))


def write_sheets(folder: Path, rubric: str, texts: list[str], size: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rubric.md").write_text(rubric)
    for start in range(0, len(texts), size):
        (folder / f"sheet-{start // size + 1}.md").write_text("\n\n".join(texts[start : start + size]))


def _key(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-key.json")


def _evidence(turn: Turn) -> str:
    events: list[Event] = turn["events"]
    lines = ["### Evidence"]
    lines += [f"(the agent had said before: … {turn['before'][-500:]})"] if turn.get("before") else []
    tools = [event for event in events if event.tool]
    for event in events:
        if event.kind is Kind.PROMPT:
            lines.append(f"USER ASKED: {(event.text or '')[:1_500]}")
    for event in tools[:12] + (tools[-28:] if len(tools) > 40 else tools[12:]):
        assert event.tool is not None
        given = " ".join((event.tool.input or "").split())
        said = given[: 1_200 if "git commit" in given else 220]
        failed = " FAILED" if event.kind is Kind.TOOL_FAILURE else ""
        got = " ".join((event.tool.response or "").split())
        lines.append(
            f"TOOL{failed} {event.tool.name} {said}" + (f" => {got[:160]} … {got[-160:]}" if got else "")
        )
    if len(tools) > 40:
        lines.append(f"({len(tools)} tool calls in all)")
    last = [event.text or "" for event in events if event.kind is Kind.STOP]
    lines.append(
        f"AGENT'S LAST MESSAGE: {last[-1][:3_500]}"
        if last
        else "(no last message: interrupted, or still going on)"
    )
    lines += [f"AFTER THIS TURN THE USER SAID: {turn['next'][:300]}"] if turn.get("next") else []
    return "\n".join(lines)


def _memory(memory: dict[str, Any]) -> str:
    lines = []
    for each in memory["observations"]:
        lines.append(f"[{each['type']}] {each['title']}")
        lines += [f"  ({each['subtitle']})"] if each["subtitle"] else []
        lines += [f"  {each['narrative']}"] if each["narrative"] else []
        lines += [f"  - {fact}" for fact in each["facts"]]
        files = each["files_modified"]
        lines += [f"  files: {', '.join(files[:6])}{' …' if len(files) > 6 else ''}"] if files else []
    return "\n".join(lines) or "(nothing)"


def table(folder: Path) -> None:
    key = json.loads(_key(folder).read_text())
    verdicts: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("verdicts-*.jsonl")):
        for line in path.read_text().splitlines():
            if line.strip().startswith("{"):
                verdict = json.loads(line)
                verdicts.setdefault(str(verdict["turn"]), []).append(verdict)
    marks: dict[str, Counter[str]] = {"old": Counter(), "new": Counter()}
    untrue: dict[str, Counter[str]] = {"old": Counter(), "new": Counter()}
    titled: dict[str, Counter[bool]] = {"old": Counter(), "new": Counter()}
    preferred: Counter[str] = Counter()
    pairs = agreed = same_choice = 0
    for number, given in verdicts.items():
        sides = {key[number]["a"]: "a", key[number]["b"]: "b"}
        for verdict in given:
            for which, side in sides.items():
                marks[which][verdict[side]] += 1
                if verdict[side] not in ("right", "missed"):
                    untrue[which][str(verdict[f"{side}_true"])] += 1
                    titled[which][bool(verdict[f"{side}_title"])] += 1
            choice = verdict["prefer"]
            preferred["same" if choice == "same" else key[number][choice]] += 1
        if len(given) > 1:
            pairs += 1
            agreed += given[0][sides["new"]] == given[1][sides["new"]]
            same_choice += given[0]["prefer"] == given[1]["prefer"]
    print(
        f"{len(verdicts)} turns, {sum(map(len, verdicts.values()))} verdicts, {pairs} turns with two readers"
    )
    for which in ("old", "new"):
        counts = marks[which]
        kept = max(1, sum(counts[mark] for mark in ("useful", "so-so", "junk")))
        shares = ", ".join(f"{mark} {100 * counts[mark] / kept:.0f}" for mark in ("useful", "so-so", "junk"))
        says = f"{100 * titled[which][True] / kept:.0f}"
        print(f"{which}: of 100 memories {shares}; the title says it {says} (n={kept})")
        none = f"nothing saved: right {counts['right']}, missed {counts['missed']}"
        print(f"     not true {untrue[which]['False']}; {none}")
    total = preferred["old"] + preferred["new"]
    print(
        f"preferred: new {preferred['new']}, old {preferred['old']}, same {preferred['same']}"
        f" (new in {100 * preferred['new'] / max(1, total):.0f} of 100 where one was)"
    )
    if pairs:
        print(
            f"of {pairs} turns two readers agree on the new mark in {agreed}, on the choice in {same_choice}"
        )


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("observe").add_argument("out", type=Path)
    drawing = commands.add_parser("sheets")
    for name in ("old", "new", "folder"):
        drawing.add_argument(name, type=Path)
    drawing.add_argument("--seed", type=int, default=7)
    drawing.add_argument("--turns", type=int, default=120)
    drawing.add_argument("--without", type=Path, action="append", default=[])
    commands.add_parser("table").add_argument("folder", type=Path)
    options = parser.parse_args(list(arguments))
    if options.command == "observe":
        observe(options.out)
    elif options.command == "sheets":
        sheets(options.old, options.new, options.folder, options.seed, options.turns, options.without)
    else:
        table(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
