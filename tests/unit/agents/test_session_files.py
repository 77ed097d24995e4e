"""Sessions that real agents wrote, read as the events that their hooks sent."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from claude_mem.agents import CLAUDE_CODE, catalog, hook_payload
from claude_mem.hook.stdin import Payload
from claude_mem.hook.translate import Translator
from claude_mem.model.events import Event, Kind, TranscriptEvent
from claude_mem.observe import tool_calls

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "agents"
FILES = {
    "codex": "2026/11/18/rollout-2026-11-18T10-39-54-01a1ee3d.jsonl",
    "copilot": "e6c0bfd8/events.jsonl",
    "gemini": "parcel/chats/session-2026-11-18T10-40-cf164b91.jsonl",
    "qwen": "-home-u-parcel/chats/bde0c803.jsonl",
    "droid": "-home-u-parcel/af09e774.jsonl",
    "cline": "1794998455453_5p0ex/1794998455453_5p0ex.messages.json",
    "opencode": "opencode.db",
}
"""Where the recorded session lies, below the agent's folder."""
AGENTS = sorted(FILES)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(agent: str, tmp_path: Path) -> Path:
    path = tmp_path / FILES[agent]
    if agent == "opencode":
        return path / opencode_database(path)
    path.parent.mkdir(parents=True)
    shutil.copy(FIXTURES / agent / "transcript.jsonl", path)
    if agent == "gemini":
        (path.parents[1] / ".project_root").write_text("/home/u/parcel")
    if agent == "cline":
        about = {"session_id": "1794998455453_5p0ex", "cwd": "/home/u/parcel"}
        path.with_name("1794998455453_5p0ex.json").write_text(json.dumps(about))
    return path


def opencode_database(path: Path) -> str:
    """The columns that are read, with what OpenCode wrote into them. Returns the session's id."""
    rows = json.loads((FIXTURES / "opencode/transcript.jsonl").read_text())
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE session (id, parent_id, directory)")
        db.execute("CREATE TABLE message (id, session_id, time_created, data)")
        db.execute("CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data)")
        for table, all_rows in rows.items():
            marks = ", ".join("?" for _ in all_rows[0])
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", all_rows)
        ((id, *_),) = rows["session"]
        db.execute("INSERT INTO session VALUES ('ses_sub', ?, '/home/u')", (id,))
        db.commit()
    return str(id)


def read(agent: str, file: Path, *, over: bool = True) -> list[TranscriptEvent]:
    reading = catalog.transcripts(agent).read(file, (), over=over)
    events = list(reading)
    assert reading.tally.unreadable == 0, reading.tally.shown
    return events


def parsed(agent: str, events: list[TranscriptEvent]) -> list[Event]:
    found = [
        hook_payload.parse(each.event, each.payload, id=each.id, at=each.at, client=agent) for each in events
    ]
    return [each for each in found if each is not None]


def live(agent: str) -> list[Event]:
    """What its hooks said in the same session."""
    order = json.loads((FIXTURES / agent / "sessions.json").read_text())["sessions"][0]
    left: dict[str, list[Any]] = {}
    found = []
    for name in (each for each in order if not each.startswith("claude.")):
        if name not in left:
            left[name] = json.loads((FIXTURES / agent / f"{name}.json").read_text())
        translator = Translator(agent, name)
        spoken = translator.payload(Payload(json.dumps(left[name].pop(0)).encode()))
        if spoken is None:
            continue
        payload = json.loads(spoken.head)
        if payload["hook_event_name"] == "PreToolUse":
            continue
        event = hook_payload.parse(payload["hook_event_name"], payload, id=name, at=1, client=agent)
        if event is not None:
            found.append(event)
    return found


def test_every_agent_with_session_files_is_tried_with_a_recorded_one() -> None:
    assert {*catalog.with_transcripts()} == {CLAUDE_CODE, *AGENTS}


def test_the_session_and_its_tools_are_those_that_the_hooks_reported(agent: str, file: Path) -> None:
    past = parsed(agent, read(agent, file))
    hooks = past if agent == "opencode" else live(agent)  # its hooks are our plugin
    assert {each.session for each in past} == {each.session for each in hooks}
    assert {each.cwd for each in past} == {each.cwd for each in hooks}

    def uses(events: list[Event]) -> list[tuple[str, object]]:
        return [(each.tool.name, json.loads(each.tool.input or "")) for each in events if each.tool]

    reported = uses(hooks)
    assert uses(past)[: len(reported)] == reported
    assert len(uses(past)) == 4  # droid's hooks do not report the command that failed


def test_a_turn_has_its_prompt_what_was_said_and_how_it_ended(agent: str, file: Path) -> None:
    past = parsed(agent, read(agent, file))
    kinds = [each.kind for each in past]
    assert kinds[:2] == [Kind.SESSION_START, Kind.PROMPT]
    assert kinds[-2:] == [Kind.STOP, Kind.SESSION_END]
    texts = {each.kind: each.text for each in past}
    assert texts[Kind.PROMPT] == "Fix the postage of heavy parcels."
    assert texts[Kind.AGENT_MESSAGE] == "I begin."
    assert texts[Kind.STOP] == "It is done."
    for hook in live(agent) if agent != "opencode" else ():
        if hook.kind in (Kind.PROMPT, Kind.STOP) and hook.text and agent != "gemini":
            assert hook.text == texts[hook.kind]  # Gemini's hook joins all that was said


def test_a_command_that_failed_is_one(agent: str, file: Path) -> None:
    used = [tool_calls.parse(each) for each in parsed(agent, read(agent, file)) if each.tool]
    assert [each.failed for each in used if each] == [False, False, False, True]


def test_times_rise_and_ids_are_unique_and_the_same_whenever_it_is_read(agent: str, file: Path) -> None:
    first, again = read(agent, file), read(agent, file)
    assert first == again
    assert len({each.id for each in first}) == len(first)
    assert all(each.id.startswith(f"past-{agent}:") and len(each.id) <= 400 for each in first)
    assert {each.agent for each in first} == {agent}
    times = [each.at for each in first]
    assert times == sorted(times)
    assert times[0] > 1_790_000_000_000


def test_a_session_that_is_still_open_has_no_end(agent: str, file: Path) -> None:
    events = [each.event for each in read(agent, file, over=False)]
    assert "SessionEnd" not in events
    assert events == [each.event for each in read(agent, file)][: len(events)]


def test_it_is_found_with_its_times_and_its_directory(agent: str, file: Path, tmp_path: Path) -> None:
    reader = catalog.transcripts(agent)
    (found,) = reader.find(tmp_path).transcripts
    events = read(agent, file)
    assert (found.session, found.cwd) == (events[0].payload["session_id"], "/home/u/parcel")
    assert found.first_at == events[0].at
    assert found.last_at >= events[-1].at
    assert reader.count(found) == (4, 1)
    assert reader.find(file.parent if agent == "opencode" else file).transcripts == (found,)
    assert reader.find(tmp_path, project="parcel").transcripts == (found,)
    assert not reader.find(tmp_path, project="letters").transcripts
    assert not reader.find(tmp_path, since=found.last_at + 1).transcripts


def test_lines_that_are_not_as_expected_are_counted_and_the_rest_is_read(agent: str, file: Path) -> None:
    if agent == "opencode":
        with closing(sqlite3.connect(file.parent)) as db:
            db.execute("INSERT INTO part SELECT 'x', message_id, session_id, 1, 1, '{' FROM part LIMIT 1")
            db.commit()
    elif file.suffix == ".json":
        whole = json.loads(file.read_text())
        whole["messages"].insert(1, {"role": "user", "content": [{"type": "tool_result"}]})
        file.write_text(json.dumps(whole))
    else:
        lines = file.read_text().splitlines(keepends=True)
        bad = ['{"type": "message", "payload": 5, "data": [], "message": 7, "$set": 1}\n', '{"cut off']
        file.write_text("".join([lines[0], *bad[:1], *lines[1:], bad[1]]))
    reading = catalog.transcripts(agent).read(file, (), over=True)
    events = [each.event for each in reading]
    assert reading.tally.unreadable >= 1
    assert sum(each.startswith("PostToolUse") for each in events) == 4
    assert events.count("Stop") == 1


def test_a_file_of_another_kind_is_no_session(agent: str, file: Path, tmp_path: Path) -> None:
    if agent == "opencode":
        file = file.parent
    file.write_text('{"a": 1}\n')
    found = catalog.transcripts(agent).find(tmp_path)
    assert not found.transcripts
    assert found.others + len(found.unreadable) == 1


def test_the_folder_is_below_the_home_of_the_user(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    folder = catalog.transcripts(agent).projects_folder()
    assert folder.is_relative_to(tmp_path)
    assert folder != tmp_path


def test_a_subagents_file_is_no_session_of_its_own(tmp_path: Path) -> None:
    lines = (FIXTURES / "codex" / "transcript.jsonl").read_text()
    file = tmp_path / "rollout-1.jsonl"
    file.write_text(lines.replace('"thread_source": "user"', '"thread_source": "subagent"'))
    assert catalog.transcripts("codex").find(tmp_path).others == 1
