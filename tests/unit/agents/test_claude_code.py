import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness import payloads

from claude_mem import agents
from claude_mem.agents import hook_payload
from claude_mem.agents.claude_code import registration
from claude_mem.hook import entry, spool_writer
from claude_mem.model.errors import EventUnreadable
from claude_mem.model.events import Event, Kind, ToolCall


def parse(payload: bytes, id: str = "e1") -> Event:
    table: dict[str, Any] = json.loads(payload)
    event = hook_payload.parse(table["hook_event_name"], table, id=id, at=1)
    assert event is not None
    return event


def test_a_tool_use_carries_name_input_and_response() -> None:
    event = parse(payloads.bash("toolu_1", command="ls", stdout="é"))
    assert event.kind is Kind.TOOL_USE
    assert event.tool is not None
    assert (event.tool.name, event.tool.use_id) == ("Bash", "toolu_1")
    assert json.loads(event.tool.input or "")["command"] == "ls"
    assert "é" in (event.tool.response or "")


def test_a_failed_tool_carries_its_error_as_the_response() -> None:
    event = parse(payloads.failure("toolu_1", "Exit code 3"))
    assert event.kind is Kind.TOOL_FAILURE
    assert event.tool is not None
    assert event.tool.response == "Exit code 3"


def test_a_stop_carries_the_last_assistant_message() -> None:
    assert parse(payloads.stop("All done.")).text == "All done."


def test_the_clients_own_inner_forks_are_no_events() -> None:
    table = json.loads(payloads.payload("SubagentStop", agent_type=""))
    assert hook_payload.parse("SubagentStop", table, id="e", at=1) is None


def test_that_a_task_in_the_background_ended_is_no_prompt() -> None:
    event = parse(payloads.task_ended("It is about parcels."))
    assert (event.kind, event.text) == (Kind.TASK_END, 'Agent "Look" finished')
    assert parse(payloads.prompt("What is a <task-notification>?")).kind is Kind.PROMPT
    assert parse(payloads.prompt("<task-notification>in another shape")).text == (
        "<task-notification>in another shape"
    )


@pytest.mark.parametrize("server", ["mcp__claude-mem__", "mcp__plugin_mem_claude-mem__"])
def test_of_our_own_tools_only_that_they_were_used_is_kept(server: str) -> None:
    fields: dict[str, Any] = {
        "tool_input": {"text": "t"},
        "tool_response": [{"text": "t"}],
        "error": "e",
        "tool_use_id": "u",
    }
    for event in ("PostToolUse", "PostToolUseFailure"):
        ours = parse(payloads.payload(event, tool_name=f"{server}remember", **fields))
        assert ours.tool == ToolCall(f"{server}remember", use_id="u")
        other = parse(payloads.payload(event, tool_name="mcp__claude-mem-x__remember", **fields)).tool
        assert other is not None
        assert other.input
        assert other.response


def test_an_unknown_event_or_a_missing_session_is_said_so() -> None:
    with pytest.raises(EventUnreadable, match="Invented"):
        hook_payload.parse("Invented", {"session_id": "s"}, id="e", at=1)
    with pytest.raises(EventUnreadable, match="session_id"):
        hook_payload.parse("Stop", {}, id="e", at=1)


def test_the_same_tool_use_reported_by_two_hooks_has_one_effect() -> None:
    payload = payloads.bash("toolu_1")
    assert parse(payload, "a").effect_key_in(None) == parse(payload, "b").effect_key_in(None)
    assert parse(payload).effect_key_in(None) != parse(payloads.bash("toolu_2")).effect_key_in(None)


def test_a_tool_use_has_one_outcome() -> None:
    failed = parse(payloads.failure("toolu_1", "x"))
    assert parse(payloads.bash("toolu_1")).effect_key_in(None) == failed.effect_key_in(None)


def test_the_same_prompt_reported_by_two_hooks_has_one_effect_and_two_stops_of_a_turn_two() -> None:
    assert parse(payloads.prompt("hi"), "a").effect_key_in(None) == parse(
        payloads.prompt("hi"), "b"
    ).effect_key_in(None)
    assert parse(payloads.stop("one")).effect_key_in(None) != parse(payloads.stop("two")).effect_key_in(None)


def without_id(command: str, stdout: str = "ok", **fields: object) -> bytes:
    given = json.loads(payloads.bash("", command, stdout)) | fields
    del given["tool_use_id"]
    return json.dumps(given).encode()


def test_two_tool_uses_of_a_prompt_without_an_id_are_told_apart_by_what_they_did() -> None:
    one = parse(without_id("make"), "a").effect_key_in(None)
    assert one == parse(without_id("make"), "b").effect_key_in(None), "delivered again, also by another hook"
    for other in (
        without_id("make test"),
        without_id("make", stdout="failed"),
        without_id("make", tool_name="Shell"),
        without_id("make", agent_id="agent-1"),
        without_id("make", prompt_id="p-2"),
    ):
        assert parse(other, "b").effect_key_in(None) != one


def test_without_any_id_of_the_clients_every_report_counts() -> None:
    payload = payloads.prompt("hi", prompt_id=None)
    assert parse(payload, "a").effect_key_in(None) != parse(payload, "b").effect_key_in(None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("session_id", "cwd", "tool_name", "tool_input", "tool_response", "tool_use_id", "prompt", "error",
        "prompt_id", "agent_type", "prompt_number", "reason", "source", "last_assistant_message")  # fmt: skip


@given(st.sampled_from(sorted(hook_payload.KINDS)), st.dictionaries(st.sampled_from(KEYS), JSON))
def test_whatever_the_fields_hold_it_is_an_event_or_a_clear_refusal(
    name: str, table: dict[str, object]
) -> None:
    try:
        event = hook_payload.parse(name, table, id="e", at=1)
    except EventUnreadable:
        return
    if event is not None:
        for value in (event.session, event.text, event.note, event.cwd):
            (value or "").encode()  # storable: no lone surrogates


def test_the_hook_the_settings_and_the_parser_know_the_same_agent_and_events() -> None:
    """Spelled out three times: the hook may import neither of the others."""
    assert spool_writer.AGENT == agents.CLAUDE_CODE
    assert {name.decode() for name in entry.RECORDED} == set(registration.RECORDED) == set(hook_payload.KINDS)
