"""What every model must do. An adapter's test file subclasses `ModelContract` and says how to connect it:

    class TestAnthropic(ModelContract):
        @pytest.fixture
        def connect(self) -> Connect:
            def connect(url: str, **more: Any) -> Model:
                return anthropic.build(Access(base_url=url, api_key=KEY), **more)
            return connect

`connect` takes the scripted server's URL and, by name: model, summary_model, clock, jitter. Its key is KEY.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.harness.model_script import Cut, Drip, Hang, Raw, Request, Reset, Say, Status, Step, StreamError
from tests.harness.model_server import ModelServer

from claude_mem.model.memory import Broken, Failure, Paused, Throttled
from claude_mem.providers.registry import Model, Prompt, Reply

Connect = Callable[..., Model]

KEY = "sk-canary-7f3a91c2d4e5"
NOON = 1_760_000_000_000
PROMPT = Prompt(
    system="You are the observer. Instructions-that-never-change.", user="Evidence: naïve café ☕ <edit/>"
)
DEADLINE_S = 30.0  # for what is expected to be answered
MARGIN_S = 30.0  # a busy machine is not a bug; a call that never ends is


def ask(model: Model, prompt: Prompt = PROMPT, deadline_s: float = DEADLINE_S) -> Reply | Failure:
    """Ask in a thread, so that a model that forgets its deadline fails the test instead of hanging it."""
    answers: list[Reply | Failure] = []
    thread = threading.Thread(
        target=lambda: answers.append(model.ask(prompt, deadline_s=deadline_s)), daemon=True
    )
    thread.start()
    thread.join(deadline_s + MARGIN_S)
    assert not thread.is_alive(), f"still asking {MARGIN_S} s after its deadline of {deadline_s} s"
    assert answers, "ask() raised"
    return answers[0]


def system_of(request: Request) -> str:
    """All that was said as instructions, in either protocol."""
    blocks = request.body.get("system", [])
    said = [m["content"] for m in request.body["messages"] if m["role"] == "system"]
    return json.dumps([blocks, said], ensure_ascii=False)


def user_of(request: Request) -> str:
    said = [m["content"] for m in request.body["messages"] if m["role"] == "user"]
    return json.dumps(said, ensure_ascii=False)


class ModelContract:
    short_s = 0.3  # a deadline for what is expected not to be answered

    @pytest.fixture
    def connect(self) -> Connect:
        raise NotImplementedError("an adapter's test says how to connect it")

    @pytest.fixture
    def answering(self, connect: Connect) -> Callable[..., Reply | Failure]:
        """Ask once a server that follows this script, at noon."""

        def answering(*script: Step, deadline_s: float = DEADLINE_S, **more: Any) -> Reply | Failure:
            with ModelServer(script) as server:
                model = connect(server.url, clock=lambda: NOON, jitter=lambda: 0.5, **more)
                try:
                    return ask(model, deadline_s=deadline_s)
                finally:
                    model.close()

        return answering

    def test_a_reply_comes_back_whole_with_what_it_cost(self, answering: Callable[..., Any]) -> None:
        reply = answering(Say("<observation>naïve ☕\n</observation>"), model="claude-haiku-4-5")
        assert isinstance(reply, Reply)
        assert reply.text == "<observation>naïve ☕\n</observation>"
        spend = reply.spend
        assert spend.model == "claude-haiku-4-5"
        assert (spend.input_tokens, spend.cached_tokens, spend.output_tokens) == (1100, 200, 50)
        assert spend.cost_usd is not None
        assert 0.001 < spend.cost_usd < 0.002

    def test_an_empty_reply_is_a_reply_for_it_was_paid_for(self, answering: Callable[..., Any]) -> None:
        reply = answering(Say(""))
        assert isinstance(reply, Reply)
        assert reply.text == ""
        assert reply.spend.input_tokens > 0

    @pytest.mark.parametrize("stop_reason", ["refusal", "max_tokens"])
    def test_an_end_without_a_word_is_booked(self, answering: Callable[..., Any], stop_reason: str) -> None:
        outcome = answering(Say("", stop_reason=stop_reason))
        assert isinstance(outcome, Reply | Broken)
        assert outcome.spend is not None
        assert outcome.spend.tokens > 0
        if isinstance(outcome, Broken):
            assert outcome.at_fault == "batch"

    def test_instructions_arrive_as_instructions_and_evidence_as_evidence(self, connect: Connect) -> None:
        with ModelServer([Say("ok")]) as server:
            model = connect(server.url)
            ask(model)
            model.close()
        request = server.requests[0]
        assert PROMPT.system in system_of(request)
        assert PROMPT.user in user_of(request)
        assert PROMPT.user not in system_of(request)
        assert PROMPT.system not in user_of(request)

    def test_the_purpose_picks_the_model(self, connect: Connect) -> None:
        with ModelServer([Say("ok")]) as server:
            model = connect(server.url, model="claude-haiku-4-5", summary_model="claude-sonnet-4-5")
            ask(model, Prompt("s", "u", purpose="observe"))
            ask(model, Prompt("s", "u", purpose="summarize"))
            plain = connect(server.url, model="claude-haiku-4-5")
            ask(plain, Prompt("s", "u", purpose="summarize"))
            model.close()
            plain.close()
        asked = [request.body["model"] for request in server.requests]
        assert asked == ["claude-haiku-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"]

    def test_a_429_waits_as_long_as_it_was_told(self, answering: Callable[..., Any]) -> None:
        assert answering(Status(429, {"Retry-After": "7"})) == Throttled(NOON + 7_000)

    def test_a_429_without_a_time_waits_a_minute_and_a_jitter(self, answering: Callable[..., Any]) -> None:
        assert answering(Status(429)) == Throttled(NOON + 90_000)

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_refused_key_pauses_and_says_what_to_do(
        self, answering: Callable[..., Any], status: int
    ) -> None:
        outcome = answering(Status(status))
        assert isinstance(outcome, Paused)
        assert str(status) in outcome.reason
        assert "resumes automatically" in outcome.reason

    def test_an_unknown_model_pauses_and_names_it_and_its_setting(
        self, answering: Callable[..., Any]
    ) -> None:
        outcome = answering(Status(404, type="not_found_error"), model="claude-nonesuch-1")
        assert isinstance(outcome, Paused)
        assert "claude-nonesuch-1" in outcome.reason
        assert "CLAUDE_MEM_MODEL" in outcome.reason

    @pytest.mark.parametrize("status", [400, 413])
    def test_a_request_too_long_is_broken_and_says_so(
        self, answering: Callable[..., Any], status: int
    ) -> None:
        outcome = answering(Status(status, type="invalid_request_error"))
        assert isinstance(outcome, Broken)
        assert "too long" in outcome.reason
        assert outcome.at_fault == "batch"

    @pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
    def test_a_failing_server_is_broken_with_its_status(
        self, answering: Callable[..., Any], status: int
    ) -> None:
        outcome = answering(Status(status, type="api_error"))
        assert isinstance(outcome, Broken)
        assert str(status) in outcome.reason
        assert outcome.at_fault == "provider", "no batch is given up for a server's bad day"

    @pytest.mark.parametrize(
        "step",
        [
            pytest.param(Reset(), id="reset"),
            pytest.param(Cut(), id="cut short"),
            pytest.param(Raw(b'{"type": "mess'), id="malformed"),
            pytest.param(Raw(b"[]"), id="another JSON"),
            pytest.param(Raw(b"<html>log in here</html>", "text/html"), id="web page"),
            pytest.param(Raw(b""), id="empty"),
            pytest.param(StreamError(), id="error under a 200"),
        ],
    )
    def test_what_is_no_reply_is_broken(self, answering: Callable[..., Any], step: Step) -> None:
        assert isinstance(answering(step), Broken)

    def test_nobody_listening_is_broken(self, connect: Connect) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            model = connect(f"http://127.0.0.1:{taken.getsockname()[1]}")
            outcome = ask(model)
            model.close()
        assert isinstance(outcome, Broken)
        assert outcome.at_fault == "provider"

    @pytest.mark.parametrize(
        "step",
        [
            pytest.param(Hang(), id="hang"),
            pytest.param(Drip(), id="drip"),
            pytest.param(Drip(of="headers"), id="drip of headers"),
        ],
    )
    def test_a_call_ends_at_its_deadline(self, answering: Callable[..., Any], step: Step) -> None:
        outcome = answering(step, deadline_s=self.short_s)
        assert isinstance(outcome, Broken)
        assert "in time" in outcome.reason
        assert outcome.at_fault == "provider"

    @pytest.mark.parametrize("step", [Say("ok"), Status(401), Status(500), Raw(KEY.encode()), Reset()])
    def test_neither_the_key_nor_the_evidence_leaks(
        self,
        connect: Connect,
        caplog: pytest.LogCaptureFixture,
        capfd: pytest.CaptureFixture[str],
        step: Step,
    ) -> None:
        caplog.set_level(logging.DEBUG)
        with ModelServer([step]) as server:
            model = connect(server.url)
            outcome = ask(model)
            model.close()
        out, err = capfd.readouterr()
        for shown in (repr(model), repr(outcome), caplog.text, out, err):
            assert KEY not in shown
            assert PROMPT.user not in shown
        assert KEY not in json.dumps([request.body for request in server.requests])

    def test_close_may_be_called_twice_and_asking_goes_on_after_it(self, connect: Connect) -> None:
        with ModelServer([Say("ok")]) as server:
            model = connect(server.url)
            model.close()
            model.close()
            assert isinstance(ask(model), Reply)
            model.close()
            assert isinstance(ask(model), Reply)
            model.close()
