"""Reading what the servers of both protocols, and Claude Code, send: odd shapes included."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer

from claude_mem.http_client import HttpAnswer
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Broken, Paused, Throttled
from claude_mem.providers import anthropic, openai
from claude_mem.providers.claude import CallReport, note, to_outcome
from claude_mem.providers.failure import Refused, Unusable
from claude_mem.providers.http import document
from claude_mem.providers.registry import Access, Prompt, Reply

NOON = 1_760_000_000_000
PROMPT = Prompt("s" * 40, "u" * 60)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "content", "text", "usage", "choices", "message", "error", "code", "prompt_tokens"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def answer(body: object, status: int = 200, **headers: str) -> HttpAnswer:
    return HttpAnswer(status, headers, json.dumps(body).encode())


def completion(content: object, **more: object) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}}], **more}


def test_an_error_under_a_200_counts_as_the_error_it_is() -> None:
    """OpenRouter passes the status of the server behind it in the body."""
    assert document(answer({"error": {"code": 429, "message": "slow down"}})) == Refused(429)
    assert document(answer({"error": {"type": "overloaded_error"}})) == Refused(529, "overloaded_error")
    assert document(answer({"error": "something"})) == Refused(500)


def test_openai_s_code_says_more_than_its_type() -> None:
    error = {"type": "invalid_request_error", "code": "context_length_exceeded"}
    assert document(answer({"error": error}, 400)) == Refused(400, "context_length_exceeded")


@given(ANYTHING)
def test_any_json_is_read_into_a_reply_or_a_fact(body: object) -> None:
    found = document(answer(body))
    if isinstance(found, dict):
        assert isinstance(anthropic.read(found, PROMPT, "m"), Reply | Unusable)
        assert isinstance(openai.read(found, PROMPT, "m"), Reply | Unusable)


@given(st.binary())
def test_any_bytes_are_read_into_a_document_or_a_fact(body: bytes) -> None:
    assert document(HttpAnswer(200, {}, body)) is not None


def test_json_nested_past_all_bounds_is_a_fact() -> None:
    assert document(HttpAnswer(200, {}, b"[" * 200_000)) == Unusable("something that is not JSON")


def test_thinking_is_left_out_of_a_reply() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    reply = anthropic.read({"type": "message", "content": blocks}, PROMPT, "m")
    assert isinstance(reply, Reply)
    assert reply.text == "ab"


def test_the_instructions_are_marked_for_anthropic_s_cache() -> None:
    with ModelServer([Say("ok")]) as server:
        anthropic.build(Access(base_url=f"{server.url}/v1/", api_key="k")).ask(PROMPT, deadline_s=30)
    request = server.requests[0]
    assert request.path == "/v1/messages"
    assert request.body["system"] == [
        {"type": "text", "text": PROMPT.system, "cache_control": {"type": "ephemeral"}}
    ]
    assert (request.headers["anthropic-version"], request.headers["x-api-key"]) == ("2023-06-01", "<secret>")


def test_a_server_that_does_not_count_is_estimated_and_that_is_said() -> None:
    reply = openai.read(completion("x" * 20), PROMPT, "llama3.2")
    assert isinstance(reply, Reply)
    spend = reply.spend
    assert (spend.provider, spend.input_tokens, spend.output_tokens) == ("openai (estimated)", 25, 5)
    assert spend.cost_usd is None


def test_what_openrouter_billed_is_what_it_cost() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.5}
    reply = openai.read(completion("x", usage=usage), PROMPT, "claude-haiku-4-5")
    assert isinstance(reply, Reply)
    assert reply.spend.cost_usd == 0.5


def test_a_reply_in_parts_is_put_together() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    reply = openai.read(completion(parts), PROMPT, "m")
    assert isinstance(reply, Reply)
    assert reply.text == "ab"


def test_what_is_no_completion_may_have_cost_something_all_the_same() -> None:
    """Gemini sends no choice at all when it blocks a prompt, and counts it."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    blocked = openai.read({"choices": [], "usage": usage}, PROMPT, "m")
    assert blocked == Unusable("JSON that is not a chat completion", CallCost("openai", "m", 10, 0, 2))
    assert openai.read({"choices": []}, PROMPT, "m") == Unusable("JSON that is not a chat completion")
    usage = {"input_tokens": 10, "output_tokens": 2}
    odd = anthropic.read({"type": "completion", "usage": usage}, PROMPT, "m")
    assert odd == Unusable("JSON that is not a message", CallCost("anthropic", "m", 10, 0, 2))
    assert anthropic.read({}, PROMPT, "m") == Unusable("JSON that is not a message")


def test_a_local_server_needs_no_key() -> None:
    with ModelServer([Say("ok", usage=False)]) as server:
        model = openai.build(Access(base_url=f"{server.url}/v1", model="llama3.2"))
        assert isinstance(model.ask(PROMPT, deadline_s=30), Reply)
    assert "authorization" not in server.requests[0].headers


def concluded(**said: Any) -> object:
    return to_outcome(CallReport(**said), "haiku", now=NOON, jitter=0.5)


def test_a_subscription_s_limit_waits_until_it_resets() -> None:
    assert concluded(error="rate_limit", status=429, resets_at_s=NOON // 1000 + 5000) == Throttled(
        NOON + 5_000_000
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("authentication_failed", Paused),
        ("billing_error", Paused),
        ("model_not_found", Paused),
        ("rate_limit", Throttled),
    ],
)
def test_claude_code_s_own_names_for_errors_are_understood_without_a_status(error: str, kind: type) -> None:
    assert isinstance(concluded(error=error, terminal_reason="api_error"), kind)


@pytest.mark.parametrize(
    ("error", "at_fault"),
    [
        ("server_error", "provider"),
        ("overloaded", "provider"),
        ("invalid_request", "batch"),
        ("max_output_tokens", "batch"),
        ("unknown", "provider"),
        ("one_of_next_year", "provider"),
    ],
)
def test_claude_code_s_own_names_say_whose_a_failure_is(error: str, at_fault: str) -> None:
    outcome = concluded(error=error, terminal_reason="api_error")
    assert isinstance(outcome, Broken)
    assert outcome.at_fault == at_fault


@pytest.mark.parametrize(
    "ended", [{"error": "invalid_request", "stop_reason": "refusal"}, {"error": "max_output_tokens"}]
)
def test_an_end_without_a_word_is_the_batchs_and_was_paid_for(ended: dict[str, Any]) -> None:
    outcome = concluded(**ended, usage={"input_tokens": 900, "output_tokens": 8192}, cost_usd=0.5)
    assert isinstance(outcome, Broken)
    assert outcome.at_fault == "batch"
    assert outcome.spend == CallCost("claude", "haiku", 900, 0, 8192, 0.5)


def test_a_missed_deadline_is_the_providers() -> None:
    assert concluded(missed_deadline=True, exit_code=-9) == Broken(
        "Claude Code did not answer in time.", "provider"
    )


def test_a_prompt_too_long_is_said_to_be() -> None:
    outcome = concluded(error="invalid_request", status=400, terminal_reason="prompt_too_long")
    assert isinstance(outcome, Broken)
    assert outcome.at_fault == "batch"
    assert "too long (413)" in outcome.reason


def test_what_was_said_before_the_output_limit_is_kept() -> None:
    reply = concluded(error="max_output_tokens", texts=["<a/>", "<b"], terminal_reason="api_error")
    assert isinstance(reply, Reply)
    assert reply.text == "<a/><b"


def test_a_reply_that_came_just_before_the_deadline_is_kept() -> None:
    reply = concluded(completed=True, texts=["x"], missed_deadline=True, exit_code=-9)
    assert isinstance(reply, Reply)


@given(ANYTHING)
def test_any_line_of_claude_code_is_noted_or_passed_over(said: object) -> None:
    result = {"type": "result", "usage": said, "is_error": said, "api_error_status": said}
    for line in (said, {"type": "assistant", "message": said}, result):
        note(json.dumps(line).encode(), report := CallReport())
        assert to_outcome(report, "haiku", now=NOON, jitter=0.5)


def test_a_crash_names_its_exit_code() -> None:
    outcome = concluded(exit_code=3)
    assert isinstance(outcome, Broken)
    assert outcome.at_fault == "provider"
    assert "exited with code 3" in outcome.reason
