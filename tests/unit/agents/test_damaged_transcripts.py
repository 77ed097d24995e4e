"""Whatever is in a file: reading it never fails, and half of it tells half of the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.agents.transcript_shapes import SESSION, answers, note, says, user, uses, write

from claude_mem.agents import hook_payload
from claude_mem.agents.claude_code import transcript_files, transcripts
from claude_mem.model.events import TranscriptEvent

plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
values = st.recursive(
    plain,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner)),
    max_leaves=8,
)
ids = st.sampled_from(["t-1", "t-2", "u-1", "u-2", "u-3"])
blocks = st.one_of(
    values,
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image"])},
        optional={
            "text": values,
            "id": ids | values,
            "tool_use_id": ids | values,
            "name": values,
            "input": values | st.fixed_dictionaries({"subagent_type": values, "prompt": values}),
            "content": values,
            "is_error": values,
            "source": values,
        },
    ),
)
shapes = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "mode", "x"]) | values},
    optional={
        "message": values
        | st.fixed_dictionaries(
            {"content": values | st.lists(blocks, max_size=3)},
            optional={
                "id": ids | values,
                "stop_reason": st.sampled_from(["end_turn", "tool_use", None]),
                "model": values,
            },
        ),
        "uuid": ids | values,
        "parentUuid": ids | values,
        "agentId": ids | values,
        "sessionId": st.sampled_from([SESSION, "other"]) | values,
        "timestamp": values | st.datetimes().map(lambda when: when.isoformat() + "Z"),
        "isSidechain": values,
        "isMeta": values,
        "isCompactSummary": values,
        "isApiErrorMessage": values,
        "subtype": st.sampled_from(["compact_boundary", "stop_hook_summary"]) | values,
        "compactMetadata": values,
        "toolUseResult": values,
        "attachment": values
        | st.fixed_dictionaries({"type": st.just("queued_command"), "prompt": values, "hookName": values}),
        "origin": values,
        "cwd": values,
        "promptId": values,
        "gitBranch": values,
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("anything")


@given(st.lists(shapes, max_size=12))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_lines_of_any_shape_become_events_that_can_be_taken_or_none(
    folder: Path, lines: list[dict[str, Any]]
) -> None:
    path = write(folder, lines)
    reading = transcripts.read(path)
    for told in reading:
        hook_payload.parse(told.event, told.payload, id=told.id, at=told.at)
        assert told.at >= 0
    assert reading.tally.lines == len(lines)
    for each in transcript_files.find(path).transcripts:
        transcripts.count(each)


@given(st.binary(max_size=400), st.sampled_from([".jsonl", ".jsonl.gz"]))
def test_bytes_of_any_kind_are_read_to_their_end(folder: Path, data: bytes, ending: str) -> None:
    path = folder / f"bytes{ending}"
    path.write_bytes(data)
    assert list(transcripts.read(path)) == []
    assert transcript_files.find(path).transcripts == ()


LS = {"command": "ls"}
WHOLE = [
    user(1, "go", promptId="p-1"),
    says(2, "Looking.", stop="tool_use"),
    uses(3, "a", "Bash", LS),
    uses(4, "b", "Bash", LS),
    answers(5, "a"),
    answers(6, "b", "Exit code 1", True),
    user(7, "look", isSidechain=True, uuid="s-1"),
    says(8, "Seen.", isSidechain=True, uuid="s-2", parentUuid="s-1"),
    says(9, "Done.", stop=None),
    user(10, "on", promptId="p-2"),
    says(11, "Well.", message={"id": "m"}),
    says(12, "Well, well.", message={"id": "m"}),
    note(13, "compact_boundary", compactMetadata={"trigger": "auto"}),
    user(14, "What was.", isCompactSummary=True),
    says(15, "API Error", isApiErrorMessage=True, error="unknown"),
    user(16, "and then", sessionId="another"),
    says(17, "The end."),
]
TEXT = "".join(json.dumps(each) + "\n" for each in WHOLE).encode()
AT_THE_END = ("Stop", "SubagentStop", "PreCompact", "SessionEnd")
"""What closes a file: where it was cut, that may not be how it went on."""


def same(told: TranscriptEvent) -> tuple[object, ...]:
    return told.id, told.at, told.event, told.payload, told.branch


@given(st.integers(0, len(TEXT)))
@settings(max_examples=3 * settings().max_examples)
def test_a_file_cut_at_any_byte_tells_the_same_up_to_there(folder: Path, at: int) -> None:
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(TEXT)
    whole = [same(each) for each in transcripts.read(path)]
    path.write_bytes(TEXT[:at])
    reading = transcripts.read(path)
    cut = [same(each) for each in reading]
    while cut and cut[-1][2] in AT_THE_END:
        cut.pop()
    sure = [each for each in whole if each[2] not in AT_THE_END]
    told = [each for each in cut if each[2] not in AT_THE_END]
    assert told == sure[: len(told)]
    assert cut == [each for each in whole if each in cut]  # and so is the order of what lies between
    assert reading.tally.unreadable <= 1
