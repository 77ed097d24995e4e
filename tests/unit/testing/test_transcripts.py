"""A transcript gives the payloads its session's hooks were sent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from claude_mem.clients import claude_code
from claude_mem.model.event import Kind
from claude_mem.testing.transcripts import replay

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "transcripts"
HEAD = {"sessionId": "s-1", "cwd": "/p", "isSidechain": False}


def line(kind: str, second: int, content: object, **fields: object) -> str:
    message = {"role": kind, "content": content} | (
        {"stop_reason": fields.pop("stop", "tool_use")} if kind == "assistant" else {}
    )
    return json.dumps(
        HEAD | {"type": kind, "timestamp": f"2026-07-15T04:00:{second:02}.000Z", "message": message} | fields
    )


def call(use_id: str, name: str, **given: object) -> list[object]:
    return [{"type": "tool_use", "id": use_id, "name": name, "input": given}]


def result(use_id: str, **fields: object) -> list[object]:
    return [{"type": "tool_result", "tool_use_id": use_id, "content": "seen"} | fields]


LINES = [
    json.dumps({"type": "queue-operation", "operation": "enqueue"}),
    line("user", 1, "fix it", promptId="p-1"),
    line("user", 2, [{"type": "text", "text": "Base directory for this skill"}], isMeta=True),
    line("assistant", 3, [{"type": "text", "text": "Looking."}]),
    line("assistant", 3, call("t-1", "Bash", command="ls")),
    line("user", 4, result("t-1"), toolUseResult={"stdout": "a", "stderr": ""}),
    line("assistant", 5, call("t-2", "Bash", command="false")),
    line("user", 6, result("t-2", is_error=True), toolUseResult="Error: Exit code 1\nno"),
    line("user", 6, result("t-9"), toolUseResult="nobody asked"),
    line("assistant", 7, call("t-3", "Read", file_path="/x"), isSidechain=True),
    line("assistant", 8, [{"type": "text", "text": "Done."}], stop="end_turn"),
    line("user", 9, "<system-reminder>x</system-reminder>\nthanks", promptId="p-2"),
    line("assistant", 10, [{"type": "text", "text": "On it"}]),
    line("user", 11, [{"type": "text", "text": "[Request interrupted by user]"}]),
    '{"type": "user", "message": {"content": "cut o',
]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "s-1.jsonl"
    path.write_text("\n".join(LINES))
    return path


def test_the_payloads_come_in_order_with_their_times(transcript: Path) -> None:
    found = list(replay(transcript))
    names = [payload["hook_event_name"] for _, payload in found]
    assert names == [
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "UserPromptSubmit",
        "SessionEnd",
    ]
    assert found[1][0] == 1784088001000
    assert [at for at, _ in found] == sorted(at for at, _ in found)
    assert all(next(iter(payload)) == "session_id" and payload["cwd"] == "/p" for _, payload in found)


def test_a_tool_call_carries_what_went_in_and_what_came_out(transcript: Path) -> None:
    _, _, (_, used), (_, failed), (_, stop), (_, asked), _ = replay(transcript)
    assert used["tool_input"] == {"command": "ls"}
    assert used["tool_response"] == {"stdout": "a", "stderr": ""}
    assert (used["tool_use_id"], used["prompt_id"]) == ("t-1", "p-1")
    assert failed["error"] == "Exit code 1\nno"
    assert stop["last_assistant_message"] == "Done."
    assert (asked["prompt"], asked["prompt_id"]) == ("thanks", "p-2")


def test_a_gzipped_transcript_reads_the_same_and_a_cut_one_as_far_as_it_goes(transcript: Path) -> None:
    packed = transcript.with_name("s-1.jsonl.gz")
    packed.write_bytes(gzip.compress(transcript.read_bytes()))
    assert [payload["hook_event_name"] for _, payload in replay(packed)] == [
        payload["hook_event_name"] for _, payload in replay(transcript)
    ]
    packed.write_bytes(packed.read_bytes()[:-30])
    assert next(iter(replay(packed)), None) is None or list(replay(packed))


@pytest.mark.skipif(
    not REAL.is_dir(), reason=f"THE NINE REAL TRANSCRIPTS ARE NOT AT {REAL}: nothing real was replayed"
)
def test_every_payload_of_the_real_transcripts_is_an_event_the_client_code_reads() -> None:
    found = [
        claude_code.parse(str(payload["hook_event_name"]), payload, id=str(n), at=at)
        for path in sorted(REAL.glob("*.gz"))
        for n, (at, payload) in enumerate(replay(path))
    ]
    kinds = [event.kind for event in found if event]
    assert len(kinds) == len(found)
    assert kinds.count(Kind.TOOL_USE) + kinds.count(Kind.TOOL_FAILURE) == 456
    assert kinds.count(Kind.STOP) == 29  # as many messages say end_turn
