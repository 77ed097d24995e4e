"""Loads the corpora for measuring recall into a real store, as the hooks would have."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from claude_mem.agents.claude_code.transcript_tail import MOST_MESSAGES
from claude_mem.agents.hook_payload import KINDS, OF_TRANSCRIPTS
from claude_mem.hook import paths
from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Kind, Origin, ToolCall
from claude_mem.model.structs import replace
from claude_mem.privacy import tags
from claude_mem.queue.backfill import Backfill
from claude_mem.queue.intake import Intake
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import NewEvent

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CODE = (
    "oh-my-posh",
    "context-evaluator",
    "entire-cli",
    "clustercockpit-cc-backend",
    "eitatech-gatomia-vscode",
    "entityprocess-agentv",
    "savekirk-session-bridge",
)
POOLED = "pooled"
"""All of them as one project."""
ROOT = "/home/user/project"
READ_AT_THE_END = (None, "Claude Code", "Codex", "OpenCode")
"""Agents whose transcripts the worker reads when a turn ends. The older corpora do not say: Claude Code's."""

_PATH_FIRST = re.compile(r"\s*(\S[^\t\n]{0,200}?\.\w{1,8}(?=\s|$)|\S(?:.*?\S)?(?=\s{3,}|\n|$))")
_ROOTS = ("D:/oh-my-posh", "/Users/cedricteyton/Code/agents-md-evaluator")
FILE_TOOLS = {
    "read": "Read",
    "view": "Read",
    "read_file": "Read",
    "edit": "Edit",
    "replace": "Edit",
    "multiedit": "MultiEdit",
    "notebookedit": "NotebookEdit",
    "write": "Write",
    "write_file": "Write",
    "create": "Write",
}


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: frozenset[str]  # sessions
    project: str
    type: str = ""  # of a natural one: why, fix, where, left, tried, how, task


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    started: int
    events: list[tuple[str, str]]
    touched: frozenset[str] = frozenset()
    roots: tuple[str, ...] = _ROOTS  # where it worked
    has_transcript: bool = False  # one that the worker reads at the end of a turn


@dataclass(slots=True)
class Corpus:
    name: str
    sessions: dict[str, list[Session]] = field(default_factory=dict)  # by project
    questions: dict[str, list[Question]] = field(default_factory=dict)  # by what is asked


def code(name: str) -> Corpus:
    with gzip.open(DATA / "codemem" / f"{name}.sessions.jsonl.gz", "rt", encoding="utf-8") as file:
        read = [json.loads(line) for line in file]
    sessions = [
        Session(
            each["session_id"],
            _ms(each["started"]),
            [(kind, text) for kind, text in each["events"]],
            frozenset(each["files_touched"]),
            (*_ROOTS, *(each.get("cwds") or ())),
            each.get("agent") in READ_AT_THE_END,
        )
        for each in read
    ]
    sessions.sort(key=lambda session: session.started)
    queries = json.loads((DATA / "codemem" / f"{name}.queries.json").read_text(encoding="utf-8"))
    questions = {
        kind.removesuffix("_queries") + "s": [
            Question(each["question"], frozenset(each["gold_session_ids"]), name) for each in queries[kind]
        ]
        for kind in ("commit_queries", "file_queries")
    }
    with (DATA / "codemem" / "questions.jsonl").open(encoding="utf-8") as file:
        natural = [each for each in map(json.loads, file) if each["corpus"] == name]
    for each in natural:
        kind = "negatives" if each["type"] == "negative" else "natural"
        gold = frozenset(each["gold_session_ids"])
        questions.setdefault(kind, []).append(Question(each["question"], gold, name, each["type"]))
    return Corpus(name, {name: sessions}, questions)


def pooled(corpora: Iterable[Corpus]) -> Corpus:
    sessions: list[Session] = []
    questions: dict[str, list[Question]] = {}
    for corpus in corpora:
        sessions += corpus.sessions[corpus.name]
        for kind, some in corpus.questions.items():
            renamed = [Question(each.text, each.gold, POOLED, each.type) for each in some]
            questions.setdefault(kind, []).extend(renamed)
    sessions.sort(key=lambda session: session.started)
    return Corpus(POOLED, {POOLED: sessions}, questions)


def locomo() -> Corpus:
    corpus = Corpus("LoCoMo", questions={"questions": []})
    for conversation in json.loads((DATA / "locomo" / "locomo10.json").read_text(encoding="utf-8")):
        transcript, project = conversation["conversation"], conversation["sample_id"]
        sessions = []
        for number in range(1, 100):
            turns = transcript.get(f"session_{number}")
            if turns:
                date = transcript[f"session_{number}_date_time"]
                at = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
                events = [("prompt", _turn(date, turn)) for turn in turns]
                sessions.append(Session(f"{project}-{number}", int(at.timestamp() * 1000), events))
        corpus.sessions[project] = sessions
        for question in conversation["qa"]:
            evidence = " ".join(question.get("evidence") or [])
            gold = frozenset(f"{project}-{number}" for number in re.findall(r"D(\d+):", evidence))
            if gold:
                corpus.questions["questions"].append(Question(question["question"], gold, project))
    return corpus


def _turn(date: str, turn: dict[str, str]) -> str:
    shown = f" [shows {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']} ({date}): {turn['text']}{shown}"


def fill(
    store: SqliteStore,
    project: str,
    sessions: Iterable[Session],
    *,
    as_hooks_see_it: bool,
    tasks_speak: bool = False,
) -> None:
    """As if it all had been reported, or as much as is captured while it happens (`heard`)."""
    origin = Origin(key=f"bench/{project}", name=project, root="", branch="main")
    for session in sessions:
        numbers = _heard(session) if as_hooks_see_it else None
        events = _events(session, numbers)
        captured = map(_told_by_its_own_end, events) if tasks_speak else events
        store.events.accept([NewEvent(event, origin) for event in captured])


class _BenchIntake(Intake):
    """Takes everything, as the work of one project."""

    origin: Origin

    def location_of(self, cwd: str | None) -> Origin:
        del cwd
        return self.origin

    def is_wanted(self, event: Event) -> bool:
        del event
        return True


def backfill(store: SqliteStore, project: str, sessions: Iterable[Session]) -> None:
    """As if all of it were told long after: the newest first, by the way of `claude-mem backfill`."""
    settings = Settings(store.path.parent)
    settings.data_path(paths.SPOOL).mkdir(mode=0o700, exist_ok=True)
    with chdir(settings.data_dir):
        intake = _BenchIntake(settings, store)
    intake.origin = Origin(key=f"bench/{project}", name=project, root="")
    listener = Backfill(settings, store, intake)
    for session in sorted(sessions, key=lambda session: session.started, reverse=True):
        lines = [_line(_told_by_its_own_end(event)) for event in _events(session)]
        listener.take(b"\n".join(lines), offline=True)


def _told_by_its_own_end(event: Event) -> Event:
    """The corpus has what a task in the background said in the client's notice of its end only; where there
    are hooks or a transcript, its own end tells it, and of the notice one line is kept."""
    if event.text and tags.is_task_notification(event.text):
        return replace(event, kind=Kind.SUBAGENT_STOP, agent_id="on-the-way")
    return event


def _line(event: Event) -> bytes:
    name = next(name for name, kind in (KINDS | OF_TRANSCRIPTS).items() if kind is event.kind)
    payload: dict[str, object] = {"session_id": event.session, "cwd": event.cwd, "hook_event_name": name}
    if event.tool:
        given = json.loads(event.tool.input or "{}")
        payload |= {"tool_name": event.tool.name, "tool_input": given, "tool_use_id": event.tool.use_id}
    elif event.kind is Kind.PROMPT:
        payload["prompt"] = event.text
    elif event.kind is Kind.AGENT_MESSAGE:
        payload["message"] = event.text
    else:
        payload["last_assistant_message"] = event.text
    if event.agent_id:
        payload |= {"agent_id": event.agent_id, "agent_type": event.agent_id}
    told = {
        "id": f"{TRANSCRIPT_PREFIX}{event.id}",
        "at": event.at,
        "event": name,
        "branch": "main",
        "payload": payload,
    }
    return json.dumps(told).encode()


def heard(session: Session) -> list[tuple[str, str]]:
    """What is captured of it while it happens."""
    return [session.events[number] for number in sorted(_heard(session))]


def _heard(session: Session) -> set[int]:
    """Which events. Of the agent's words hooks hear the last of a turn; where there is a transcript, the
    worker then reads what was said on the way. A turn without last words was interrupted: nobody reads it."""
    numbers: set[int] = set()
    on_the_way: list[int] = []
    for number, ((kind, _), after) in enumerate(zip(session.events, _following(session), strict=True)):
        if kind != "text":
            numbers.add(number)
        elif after == "prompt":
            numbers |= {number, *(on_the_way[-MOST_MESSAGES:] if session.has_transcript else ())}
        else:
            on_the_way.append(number)
        if after == "prompt":
            on_the_way = []
    return numbers


def _following(session: Session) -> list[str]:
    return [*(kind for kind, _ in session.events[1:]), "prompt"]


def _events(session: Session, numbers: set[int] | None = None) -> Iterator[Event]:
    """`numbers`: of those alone."""
    for number, ((kind, text), after) in enumerate(zip(session.events, _following(session), strict=True)):
        if numbers is not None and number not in numbers:
            continue
        is_tool = kind == "tool"
        message_kind = Kind.STOP if after == "prompt" else Kind.AGENT_MESSAGE
        yield Event(
            id=f"{session.id}-{number:06d}",
            at=session.started + number,
            kind=Kind.TOOL_USE if is_tool else Kind.PROMPT if kind == "prompt" else message_kind,
            session=session.id,
            cwd=ROOT,
            tool=tool_call(text, f"toolu_{number}", session.roots) if is_tool else None,
            text=None if is_tool else text,
        )


def tool_call(text: str, use_id: str, roots: tuple[str, ...] = _ROOTS) -> ToolCall:
    """The corpus tells a tool use as its name and its inputs, one after the other."""
    name, _, rest = text.partition(" ")
    given: dict[str, str] = {}
    if name.lower() in FILE_TOOLS and (path := _PATH_FIRST.match(rest)):
        name = FILE_TOOLS[name.lower()]
        given["file_path"] = _local(path[1], roots)
        rest = rest[path.end() :]
    if rest.strip():
        given["input"] = rest.strip()
    return ToolCall(name, json.dumps(given, ensure_ascii=False), None, use_id)


def _local(path: str, roots: tuple[str, ...]) -> str:
    path = path.replace("\\", "/")
    root = next((root for root in roots if path.startswith(f"{root}/")), None)
    return f"{ROOT}{path[len(root) :]}" if root else path


def _ms(iso: str) -> int:
    return int(datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", iso)).timestamp() * 1000)
