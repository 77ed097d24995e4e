"""Calls Claude through the user's own Claude Code and its login, with one child process per batch.

Batches are stateless, so a continued conversation would only grow (docs/adr/0005). This module implements the
client's stream-json protocol: one user message on its stdin, one JSON object per line on its stdout. The
child has no tools, no MCP, no settings, no hooks and an empty working directory, and leaves no transcript.
Its output is interpreted by fields, never by wording.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any

from claude_mem.http_client import Unreached
from claude_mem.model.clock import Clock, now
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Broken, Failure, Paused, Throttled
from claude_mem.model.structs import replace
from claude_mem.providers import claude_process
from claude_mem.providers.claude_process import ChildGuard
from claude_mem.providers.failure import (
    LONGEST_WAIT_MS,
    SHORTEST_WAIT_MS,
    STATUS_OF_TYPE,
    Refused,
    Target,
    classify,
)
from claude_mem.providers.http import count
from claude_mem.providers.registry import MOST_OUTPUT, Absent, Access, Found, Prompt, Ready, Reply

WHO = "Claude Code"
OBSERVE_MODEL = "haiku"  # Claude Code knows which one that is, for this account and where it is served from
GRACE_S = 10.0  # for a child that was killed to be gone
PATIENCE_MS = 2000  # a Retry-After up to this is the client's to wait, a longer one the queue's
LONGEST_LINE = 4 << 20

ENVIRONMENT = {
    "CLAUDE_MEM_OBSERVER": "1",  # our own hooks leave at once: memory does not watch itself
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",  # retrying is the queue's work; one stays, for it reports the Retry-After
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(MOST_OUTPUT),
}
FLAGS = (
    "--print",
    "--verbose",  # without it stream-json is refused
    *("--input-format", "stream-json"),
    *("--output-format", "stream-json"),
    *("--tools", ""),
    "--strict-mcp-config",
    "--setting-sources=",
    *("--settings", '{"disableAllHooks": true}'),  # also those that an administrator has set
    *("--permission-mode", "dontAsk"),
    "--no-session-persistence",
    *("--thinking", "disabled"),
    *("--effort", "low"),
)


def find(access: Access) -> Found:
    problem = claude_process.problem(access.claude_path, keys=access.is_chosen)
    return Absent(problem) if problem else Ready("Claude Code is installed and logged in")


def build(access: Access) -> ClaudeModel:
    return ClaudeModel(
        cli_path=access.claude_path,
        model=access.model or OBSERVE_MODEL,
        summary_model=access.summary_model,
        keys=access.is_chosen,
    )


@dataclass(slots=True)
class CallReport:
    """What Claude Code reports about one call; filled while it runs."""

    texts: list[str] = field(default_factory=list, repr=False)
    model: str | None = None
    completed: bool = False
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    error: str | None = None  # Claude Code's name for what went wrong: "rate_limit"
    status: int | None = None  # of the API's answer
    terminal_reason: str | None = None
    stop_reason: str | None = None
    resets_at_s: int | None = None  # when a subscription's limit ends
    wait_ms: int | None = None  # Retry-After, as Claude Code passes it on
    exit_code: int | None = None
    crashed: str | None = None  # the class of the error if it could not be started
    nonsense: bool = False  # it printed something that is not its protocol
    missed_deadline: bool = False


def to_outcome(report: CallReport, model: str, *, now: int, jitter: float) -> Reply | Failure:
    if report.completed or (report.error == "max_output_tokens" and report.texts):
        return Reply("".join(report.texts), _spend(report, model))
    failure = _failure(report, model, now, jitter)
    spend = _spend(report, model)
    return replace(failure, spend=spend) if isinstance(failure, Broken) and spend.tokens else failure


def _failure(report: CallReport, model: str, now: int, jitter: float) -> Failure:
    wait_ms = report.wait_ms if report.resets_at_s is None else report.resets_at_s * 1000 - now
    if wait_ms is not None:
        return Throttled(until=now + min(max(wait_ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS))
    target = Target(
        WHO, model, "Claude Code's login", "Run claude and log in with /login, or correct ANTHROPIC_API_KEY"
    )
    status = report.status or STATUS_OF_TYPE.get(report.error or "")
    if report.terminal_reason == "prompt_too_long":
        status = 413
    if report.stop_reason == "refusal":
        return Broken(f"{WHO} reports that the model refused to answer.")
    if report.error == "max_output_tokens":
        return Broken(f"{WHO} reports that the model reached its output limit without an answer.")
    if status is not None:
        return classify(Refused(status, report.error), target, now=now, jitter=jitter)
    if report.missed_deadline:
        return classify(Unreached("did not answer in time"), target, now=now, jitter=jitter)
    return Broken(_without_a_status(report), "provider")


def _without_a_status(report: CallReport) -> str:
    if report.error is not None or report.terminal_reason is not None:
        return f"{WHO} could not get an answer from the API."
    if report.nonsense:
        return f"{WHO} printed output that is not in its stream-json format."
    if report.exit_code:
        return f"{WHO} exited with code {report.exit_code} before it replied."
    return f"{WHO} could not be run ({report.crashed or 'it printed nothing'})."


def _spend(report: CallReport, model: str) -> CallCost:
    return CallCost(
        provider="claude",
        model=report.model or model,
        input_tokens=count(report.usage, "input_tokens") + count(report.usage, "cache_creation_input_tokens"),
        cached_tokens=count(report.usage, "cache_read_input_tokens"),
        output_tokens=count(report.usage, "output_tokens"),
        cost_usd=report.cost_usd,
    )


class ClaudeModel:
    def __init__(
        self,
        *,
        cli_path: str | None = None,
        model: str = OBSERVE_MODEL,
        summary_model: str | None = None,
        env: Mapping[str, str] | None = None,  # for the child, over what it inherits
        keys: bool = True,  # where there is no login, a key in the environment may be used
        clock: Clock = now,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._cli_path = cli_path
        self._models = {"summarize": summary_model or model}
        self._model = model
        self._env, self._keys = dict(env or {}), keys
        self._clock = clock
        self._jitter = jitter
        self._recent_enough: set[str] = set()
        self._lock = threading.Lock()
        self._running: set[ChildGuard] = set()

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        ends = time.monotonic() + deadline_s
        command = claude_process.find(self._cli_path)
        problem = self._problem(command, deadline_s)
        if problem or command is None:
            return Paused(problem or claude_process.NO_COMMAND)
        model = self._models.get(prompt.purpose, self._model)
        report = CallReport()
        with self._guard() as guard:
            words = [command, *FLAGS, "--model", model]
            # In a thread: whatever the child does, the deadline holds.
            conversation = threading.Thread(
                target=self._converse, args=(words, prompt, guard, report), name="claude", daemon=True
            )
            conversation.start()
            conversation.join(max(ends - time.monotonic(), 0))
            if conversation.is_alive():
                report.missed_deadline = True
                guard.kill()
                conversation.join(GRACE_S)
        return to_outcome(report, model, now=self._clock(), jitter=self._jitter())

    def close(self) -> None:
        """Ends the running calls; their callers get a failure."""
        with self._lock:
            for guard in self._running:
                guard.kill()

    def _problem(self, command: str | None, deadline_s: float) -> str | None:
        if command is None:
            return claude_process.NO_COMMAND
        if command in self._recent_enough:
            return None
        problem = claude_process.too_old(command, deadline_s=deadline_s)
        if problem is None:
            self._recent_enough.add(command)
        return problem

    @contextmanager
    def _guard(self) -> Iterator[ChildGuard]:
        with ChildGuard() as guard:
            with self._lock:
                self._running.add(guard)
            try:
                yield guard
            finally:
                with self._lock:
                    self._running.discard(guard)

    def _converse(self, words: Sequence[str], prompt: Prompt, guard: ChildGuard, report: CallReport) -> None:
        environment = claude_process.environment({**os.environ, **self._env}, keys=self._keys) | ENVIRONMENT
        try:
            instructions = guard.write("instructions", prompt.system)
            child = guard.start([*words, "--system-prompt-file", instructions], environment)
        except OSError as error:
            report.crashed = type(error).__name__
            return
        with child:
            assert child.stdin is not None
            assert child.stdout is not None
            # In a separate thread, so that a child that prints before it has read all its input does not
            # block.
            sender = threading.Thread(target=_send_prompt, args=(child.stdin, prompt.user), daemon=True)
            sender.start()
            while line := child.stdout.readline(LONGEST_LINE):
                note(line, report)
                if report.nonsense or report.wait_ms is not None:
                    guard.kill()  # in the second case the queue waits, not 200 MB
                    break
            report.exit_code = child.wait()
            sender.join(GRACE_S)


def _send_prompt(stdin: IO[bytes], text: str) -> None:
    message = {
        "type": "user",
        "message": {"role": "user", "content": text},
        "parent_tool_use_id": None,
        "session_id": "",
        # `@/etc/passwd` and `/command` in the evidence stay what they are: text.
        "client_composed": True,
    }
    with suppress(OSError):  # it left before it had read everything: its exit says why
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
    with suppress(OSError):
        stdin.close()


def note(line: bytes, report: CallReport) -> None:
    """Takes the relevant fields from one line of Claude Code's output."""
    if not line.startswith(b"{"):
        return  # some builds print remarks
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        report.nonsense = True
        return
    match message:
        case {"type": "assistant", "error": str(error)}:
            report.error = error
        case {"type": "assistant", "message": {"model": str(model), "content": list(blocks)}}:
            report.model = model
            report.texts += [text for block in blocks if (text := _text_of(block))]
        case {"type": "result"}:
            _note_result(message, report)
        case {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": int(at)}}:
            report.resets_at_s = at
        case {
            "type": "system",
            "subtype": "api_retry",
            "error_status": 429,
            "retry_delay_ms": int() | float() as delay,
        } if delay > PATIENCE_MS:
            report.wait_ms = int(delay)


def _text_of(block: object) -> str | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
    return None


def _note_result(message: dict[str, Any], report: CallReport) -> None:
    report.completed = message.get("is_error") is False
    usage, cost = message.get("usage"), message.get("total_cost_usd")
    report.usage = usage if isinstance(usage, dict) else None
    report.cost_usd = float(cost) if isinstance(cost, int | float) else None
    status = message.get("api_error_status")
    report.status = status if isinstance(status, int) else None
    report.terminal_reason, report.stop_reason = (
        _word(message, "terminal_reason"),
        _word(message, "stop_reason"),
    )


def _word(message: dict[str, Any], name: str) -> str | None:
    value = message.get(name)
    return value if isinstance(value, str) else None
