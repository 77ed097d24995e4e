"""Calls Claude through the Agent SDK, with the user's own Claude Code login: a fresh conversation each time.

One call, one child process: batches are stateless, so a conversation that is kept only grows (docs/adr/0005).
The child has no tools, no MCP, no settings, no hooks, an empty directory to stand in, and leaves no
transcript. The SDK is imported at the first question, and its event loop lives in a thread that ends with the
call. What it reports is read by fields, never by prose.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claude_mem.model.clock import Clock, now
from claude_mem.model.jobs import Spend
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
    Unreached,
    classify,
)
from claude_mem.providers.http import count
from claude_mem.providers.registry import MOST_OUTPUT, Absent, Access, Found, Prompt, Ready, Reply

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, Message

WHO = "Claude Code"
OBSERVE_MODEL = "haiku"  # Claude Code knows which one that is, for this account and where it is served from
GRACE_S = 10.0  # for the SDK to notice that its child was killed
PATIENCE_MS = 2000  # a Retry-After up to this is the client's to wait, a longer one the queue's

ENVIRONMENT = {
    "CLAUDE_MEM_OBSERVER": "1",  # our own hooks leave at once: memory does not watch itself
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",  # retrying is the queue's work; one is kept, for it tells the Retry-After
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(MOST_OUTPUT),
}


def find(access: Access) -> Found:
    problem = claude_process.available(access.claude_path)
    return Absent(problem) if problem else Ready("Claude Code is installed and logged in")


def build(access: Access) -> ClaudeModel:
    return ClaudeModel(
        cli_path=access.claude_path,
        model=access.model or OBSERVE_MODEL,
        summary_model=access.summary_model,
    )


@dataclass(slots=True)
class CallReport:
    """What Claude Code reports of one call; filled while it goes on."""

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
    crashed: str | None = None  # the class of an error that nobody foresaw
    missed_deadline: bool = False


def to_outcome(report: CallReport, model: str, *, now: int, jitter: float) -> Reply | Failure:
    if report.completed or (report.error == "max_output_tokens" and report.texts):
        return Reply("".join(report.texts), _spend(report, model))
    failure = _failure(report, model, now, jitter)
    paid = _spend(report, model)
    return replace(failure, spend=paid) if isinstance(failure, Broken) and paid.tokens else failure


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
    if report.exit_code is not None:
        return f"{WHO} exited with code {report.exit_code} before it answered."
    return f"{WHO} could not be run ({report.crashed or 'it printed nothing'})."


def _spend(report: CallReport, model: str) -> Spend:
    return Spend(
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
        clock: Clock = now,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._cli_path = cli_path
        self._models = {"summarize": summary_model or model}
        self._model = model
        self._env = dict(env or {})
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
        import claude_agent_sdk as sdk

        # It logs what it cannot parse, which may be a reply; all that matters reaches us as fields.
        logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL + 1)
        model = self._models.get(prompt.purpose, self._model)
        report = CallReport()
        with self._guard(command) as guard:

            def converse() -> None:
                try:
                    _converse(prompt.user, self._options(prompt, model, guard), report, guard)
                except sdk.ProcessError as error:
                    report.exit_code = error.exit_code
                except Exception as error:  # nothing may be lost with the thread
                    report.crashed = type(error).__name__

            thread = threading.Thread(target=converse, name="claude", daemon=True)
            thread.start()
            thread.join(max(ends - time.monotonic(), 0))
            if thread.is_alive():
                report.missed_deadline = True
                guard.kill()
                thread.join(GRACE_S)
        return to_outcome(report, model, now=self._clock(), jitter=self._jitter())

    def close(self) -> None:
        """End what is being asked; whoever waits for it gets a failure."""
        with self._lock:
            for guard in self._running:
                guard.kill()

    def _problem(self, command: str | None, deadline_s: float) -> str | None:
        if claude_process.bundled_cli() is None:
            return claude_process.NO_SDK
        if command is None:
            return claude_process.NO_COMMAND
        if command in self._recent_enough:
            return None
        problem = claude_process.too_old(command, deadline_s=deadline_s)
        if problem is None:
            self._recent_enough.add(command)
        return problem

    @contextmanager
    def _guard(self, command: str) -> Iterator[ChildGuard]:
        with ChildGuard(command) as guard:
            with self._lock:
                self._running.add(guard)
            try:
                yield guard
            finally:
                with self._lock:
                    self._running.discard(guard)

    def _options(self, prompt: Prompt, model: str, guard: ChildGuard) -> ClaudeAgentOptions:
        from claude_agent_sdk import ClaudeAgentOptions

        return ClaudeAgentOptions(
            cli_path=guard.command,
            cwd=guard.empty,
            env={**self._env, **ENVIRONMENT, "TMPDIR": str(guard.temporary)},
            model=model,
            system_prompt=prompt.system,
            verbatim_prompts=True,  # `@/etc/passwd` and `/command` in the evidence stay what they are: text
            tools=[],
            strict_mcp_config=True,
            setting_sources=[],
            settings='{"disableAllHooks": true}',  # also those that an administrator has set
            permission_mode="dontAsk",
            thinking={"type": "disabled"},
            effort="low",
            extra_args={"no-session-persistence": None},
            stderr=lambda _: None,  # which may quote the prompt: no log shall have it
        )


def _converse(text: str, options: ClaudeAgentOptions, report: CallReport, guard: ChildGuard) -> None:
    import asyncio

    from claude_agent_sdk import query

    class Loop(asyncio.SelectorEventLoop):
        """Knows the child's transport, which the SDK leaves open."""

        async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
            child = await super().subprocess_exec(*args, **options)
            children.append(child[0])
            return child

    async def converse() -> None:
        try:
            async for message in query(prompt=text, options=options):
                note(message, report)
                if report.wait_ms is not None:
                    guard.kill()  # the queue waits, not 200 MB
        finally:
            for child in children:
                child.close()
            await asyncio.sleep(0)  # its pipes are closed in the loop's next round

    children: list[asyncio.BaseTransport] = []
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(converse())


def note(message: Message, report: CallReport) -> None:
    """Keep what matters of one of the SDK's messages."""
    import claude_agent_sdk as sdk

    if isinstance(message, sdk.AssistantMessage):
        if message.error is not None:
            report.error = message.error
        else:
            report.model = message.model
            report.texts += [block.text for block in message.content if isinstance(block, sdk.TextBlock)]
    elif isinstance(message, sdk.ResultMessage):
        report.completed = not message.is_error
        report.usage, report.cost_usd = message.usage, message.total_cost_usd
        report.status, report.terminal_reason = message.api_error_status, message.terminal_reason
        report.stop_reason = message.stop_reason
    elif isinstance(message, sdk.RateLimitEvent):
        if message.rate_limit_info.status == "rejected":
            report.resets_at_s = message.rate_limit_info.resets_at
    elif isinstance(message, sdk.SystemMessage) and message.subtype == "api_retry":
        delay = message.data.get("retry_delay_ms")
        if message.data.get("error_status") == 429 and isinstance(delay, int) and delay > PATIENCE_MS:
            report.wait_ms = delay
