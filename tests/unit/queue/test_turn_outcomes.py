"""A tool call that failed is known as one at the end of its turn, where no hook of the agent's says so: Codex
reports it as any other, Factory droid not at all. Their own files of the session know."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness import hook_process
from tests.unit.queue.test_turn_messages import CANARY, TOKEN, events

from claude_mem.agents import catalog, launcher
from claude_mem.hook import pause
from claude_mem.model.events import Event, Kind
from claude_mem.observe import tool_calls
from claude_mem.privacy.private_turns import MemoryMarks
from claude_mem.serve.services import Services

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "agents"
FOLDERS = {"codex": "2026/11/18", "droid": "-home-u-parcel"}
BROKEN = "echo heavy; ls missing.txt"
LATER = 1_999_999_999_999
AGENTS = pytest.mark.parametrize("agent", sorted(FOLDERS))
Change = Callable[[str], str]


def unchanged(text: str) -> str:
    return text


def without_its_beginning(text: str) -> str:
    """As a window on the end of a long file shows it."""
    lines = text.splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if "I begin." in line)
    return "".join([line for line in lines[:first] if "task_started" in line] + lines[first:])


def sent(agent: str, event: str) -> list[dict[str, Any]]:
    """What the hook was given in the recorded session."""
    payloads = json.loads((FIXTURES / agent / f"{event}.json").read_text())
    return [each for each in payloads if each["session_id"] == payloads[0]["session_id"]]


def session_file(agent: str, folder: Path, change: Change = unchanged) -> Path:
    """Where and as the agent wrote it, but long ago."""
    (stop,) = sent(agent, "Stop")
    path = folder / "sessions" / FOLDERS[agent] / Path(stop["transcript_path"]).name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        change((FIXTURES / agent / "transcript.jsonl").read_text().replace("2026-11-", "2024-11-"))
    )
    return path


def stop_of(agent: str, path: Path, **fields: object) -> Event:
    (stop,) = sent(agent, "Stop")
    given: dict[str, object] = {
        "session": f"{agent}:{stop['session_id']}",
        "at": LATER,
        "prompt_id": stop.get("turn_id"),
        "cwd": "/home/u/parcel",
    } | fields
    return Event(id="e", kind=Kind.STOP, transcript_path=str(path), client=agent, **given)  # type: ignore[arg-type]


def found(agent: str, stop: Event) -> list[str]:
    words_of = catalog.load(agent).words_of
    assert words_of is not None
    return [each.event for each in words_of(stop).during_turn]


def take(
    parts: Services, data: Path, agent: str, path: Path, *names: str, change: Change = unchanged
) -> None:
    line = launcher.hook_line(hook_process.MACHINE, "hook", agent)
    for name in names:
        for payload in sent(agent, name):
            given = change(json.dumps(payload | {"transcript_path": str(path)})).encode()
            environ = hook_process.environment(data, HOME=str(data))
            subprocess.run(["/bin/sh", "-c", line], input=given, env=environ, timeout=60, check=True)
    parts.intake.drain()


def outcomes(parts: Services) -> list[tuple[bool, bool]]:
    """Of each tool call: whether it is the one that failed, and whether that is known."""
    calls = [call for call in map(tool_calls.parse, events(parts)) if call]
    return [(BROKEN in (call.tool.input or ""), call.failed) for call in calls]


@AGENTS
def test_what_was_said_on_the_way_and_what_failed_is_found_in_its_order(agent: str, tmp_path: Path) -> None:
    words_of = catalog.load(agent).words_of
    assert words_of is not None
    words = words_of(stop_of(agent, session_file(agent, tmp_path)))
    assert [each.event for each in words.during_turn] == ["AgentMessage", "PostToolUseFailure"]
    said, failed = words.during_turn
    assert (said.payload["message"], words.last) == ("I begin.", "It is done.")
    assert "missing.txt" in str(failed.payload["error"])


@AGENTS
def test_each_has_the_id_that_a_backfill_gives_it(agent: str, tmp_path: Path) -> None:
    path = session_file(agent, tmp_path)
    words_of = catalog.load(agent).words_of
    assert words_of is not None
    told = {each.id for each in catalog.transcripts(agent).read(path, (), over=False)}
    for change in (unchanged, without_its_beginning):
        ids = {
            each.id for each in words_of(stop_of(agent, session_file(agent, tmp_path, change))).during_turn
        }
        assert len(ids) == 2
        assert told >= ids


@AGENTS
def test_a_file_of_another_session_or_in_another_place_or_linked_is_not_read(
    agent: str, tmp_path: Path
) -> None:
    path = session_file(agent, tmp_path)
    assert found(agent, stop_of(agent, path))
    unnamed = session_file(agent, tmp_path, without_its_beginning)
    assert found(agent, stop_of(agent, unnamed, session=f"{agent}:another")) == []
    elsewhere = tmp_path / "elsewhere" / path.name
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(path.read_bytes())
    assert found(agent, stop_of(agent, elsewhere)) == []
    path.unlink()
    path.symlink_to(elsewhere)
    assert found(agent, stop_of(agent, path)) == []


@AGENTS
def test_of_another_turn_nothing_is_found(agent: str, tmp_path: Path) -> None:
    path = session_file(agent, tmp_path)
    of_another = {"prompt_id": "another"} if agent == "codex" else {"at": 1}
    assert found(agent, stop_of(agent, path, **of_another)) == []


def test_of_the_turn_before_nothing_is_found_where_turns_have_no_names(tmp_path: Path) -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "And the light ones?"}]}
    line = json.dumps({"type": "message", "id": "m-2", "timestamp": "2024-11-19T10:00:00Z", "message": asked})
    path = session_file("droid", tmp_path, lambda text: f"{text}{line}\n")
    assert found("droid", stop_of("droid", path)) == []


@AGENTS
def test_a_command_that_failed_is_one_event_and_known_as_failed_and_no_other_one_is(
    agent: str, parts: Services, data: Path, tmp_path: Path
) -> None:
    path = session_file(agent, tmp_path)
    wanted = [(False, False)] * 3 + [(True, True)]
    for _ in range(2):
        take(parts, data, agent, path, "PostToolUse", "Stop")
        assert sorted(outcomes(parts)) == wanted
    parts.past_intake.accept(list(catalog.transcripts(agent).read(path, (), over=False)), MemoryMarks())
    assert sorted(outcomes(parts)) == wanted
    kinds = [each.kind for each in events(parts)]
    assert kinds.index(Kind.TOOL_FAILURE) < kinds.index(Kind.STOP)


def test_a_report_that_comes_after_the_turns_end_makes_no_second_event_of_it(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = session_file("codex", tmp_path)
    take(parts, data, "codex", path, "Stop")
    take(parts, data, "codex", path, "PostToolUse")
    assert sorted(outcomes(parts)) == [(False, False)] * 3 + [(True, True)]


@AGENTS
def test_secrets_and_private_text_in_what_failed_never_reach_the_disk(
    agent: str, parts: Services, data: Path, tmp_path: Path
) -> None:
    def revealing(text: str) -> str:
        return text.replace("heavy\\nls:", f"{TOKEN} <private>{CANARY}</private>\\nls:")

    path = session_file(agent, tmp_path, revealing)
    assert CANARY in path.read_text()
    take(parts, data, agent, path, "PostToolUse", "Stop", change=revealing)
    parts.store.upkeep.checkpoint()
    assert (True, True) in outcomes(parts)
    stored = b" ".join(each.read_bytes() for each in data.rglob("*") if each.is_file())
    assert TOKEN.encode() not in stored
    assert CANARY.encode() not in stored


@AGENTS
def test_of_a_session_that_was_paused_nothing_is_read(
    agent: str, parts: Services, data: Path, tmp_path: Path
) -> None:
    path = session_file(agent, tmp_path)
    pause.note_skipped_session(stop_of(agent, path).session)
    take(parts, data, agent, path, "PostToolUse", "Stop")
    assert (True, True) not in outcomes(parts)
