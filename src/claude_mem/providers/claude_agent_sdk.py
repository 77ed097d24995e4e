"""Asks Claude through the Agent SDK, with the user's own Claude Code login: a fresh conversation each time.

One call, one child process: batches are stateless, so a conversation that is kept only grows (docs/adr/0005).
The child has no tools, no MCP, no settings, no hooks, an empty directory to stand in, and leaves no
transcript. The SDK is imported at the first question, and its event loop lives in a thread that ends with the
call.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from claude_mem.model.outcome import Failure, Paused
from claude_mem.model.prompt import Prompt, Reply
from claude_mem.ports.clock import Clock
from claude_mem.providers import claude_cli
from claude_mem.providers.claude_cli import available
from claude_mem.providers.claude_leash import Leash
from claude_mem.providers.claude_said import Said, conclude
from claude_mem.providers.wall import wall_clock

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, Message

__all__ = ["ClaudeModel", "available"]

OBSERVE_MODEL = "haiku"  # Claude Code knows which one that is, for this account and where it is served from
SUMMARY_MODEL = "sonnet"
GRACE_S = 10.0  # for the SDK to notice that its child was killed
PATIENCE_MS = 2000  # a Retry-After up to this is the client's to wait, a longer one the queue's

ENVIRONMENT = {
    "CLAUDE_MEM_OBSERVER": "1",  # our own hooks leave at once: memory does not watch itself
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",  # retrying is the queue's work; one is kept, for it tells the Retry-After
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8192",
}


class ClaudeModel:
    def __init__(
        self,
        *,
        cli_path: str | None = None,
        model: str = OBSERVE_MODEL,
        summary_model: str | None = None,
        env: Mapping[str, str] | None = None,  # for the child, over what it inherits
        clock: Clock = wall_clock,
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
        self._running: set[Leash] = set()

    @property
    def name(self) -> str:
        return "claude"

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        ends = time.monotonic() + deadline_s
        command = claude_cli.find(self._cli_path)
        problem = self._problem(command, deadline_s)
        if problem or command is None:
            return Paused(problem or claude_cli.NO_COMMAND)
        import claude_agent_sdk as sdk

        # It logs what it cannot parse, which may be a reply; all that matters reaches us as fields.
        logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL + 1)
        model = self._models.get(prompt.purpose, self._model)
        said = Said()
        with self._leash(command) as leash:

            def converse() -> None:
                import asyncio

                try:
                    asyncio.run(_converse(prompt.user, self._options(prompt, model, leash), said, leash))
                except sdk.ProcessError as error:
                    said.exit_code = error.exit_code
                except Exception as error:  # nothing may be lost with the thread
                    said.crashed = type(error).__name__

            thread = threading.Thread(target=converse, name="claude", daemon=True)
            thread.start()
            thread.join(max(ends - time.monotonic(), 0))
            if thread.is_alive():
                said.missed_deadline = True
                leash.cut()
                thread.join(GRACE_S)
        return conclude(said, model, now=self._clock(), jitter=self._jitter())

    def close(self) -> None:
        """End what is being asked; whoever waits for it gets a failure."""
        with self._lock:
            for leash in self._running:
                leash.cut()

    def _problem(self, command: str | None, deadline_s: float) -> str | None:
        if claude_cli.bundled_cli() is None:
            return claude_cli.NO_SDK
        if command is None:
            return claude_cli.NO_COMMAND
        if command in self._recent_enough:
            return None
        problem = claude_cli.too_old(command, deadline_s=deadline_s)
        if problem is None:
            self._recent_enough.add(command)
        return problem

    @contextmanager
    def _leash(self, command: str) -> Iterator[Leash]:
        with Leash(command) as leash:
            with self._lock:
                self._running.add(leash)
            try:
                yield leash
            finally:
                with self._lock:
                    self._running.discard(leash)

    def _options(self, prompt: Prompt, model: str, leash: Leash) -> ClaudeAgentOptions:
        from claude_agent_sdk import ClaudeAgentOptions

        return ClaudeAgentOptions(
            cli_path=leash.command,
            cwd=leash.empty,
            env={**self._env, **ENVIRONMENT, "TMPDIR": str(leash.temporary)},
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
            stderr=_drop,
        )


def _drop(_line: str) -> None:
    """What the client says on its standard error may quote the prompt: no log shall have it."""


async def _converse(text: str, options: ClaudeAgentOptions, said: Said, leash: Leash) -> None:
    from claude_agent_sdk import query

    async for message in query(prompt=text, options=options):
        note(message, said)
        if said.told_wait_ms is not None:
            leash.cut()  # the queue waits, not 200 MB


def note(message: Message, said: Said) -> None:
    """Keep what matters of one of the SDK's messages."""
    import claude_agent_sdk as sdk

    if isinstance(message, sdk.AssistantMessage):
        if message.error is not None:
            said.error = message.error
        else:
            said.model = message.model
            said.texts += [block.text for block in message.content if isinstance(block, sdk.TextBlock)]
    elif isinstance(message, sdk.ResultMessage):
        said.completed = not message.is_error
        said.usage, said.cost_usd = message.usage, message.total_cost_usd
        said.status, said.terminal_reason = message.api_error_status, message.terminal_reason
        said.stop_reason = message.stop_reason
    elif isinstance(message, sdk.RateLimitEvent):
        if message.rate_limit_info.status == "rejected":
            said.resets_at_s = message.rate_limit_info.resets_at
    elif isinstance(message, sdk.SystemMessage) and message.subtype == "api_retry":
        delay = message.data.get("retry_delay_ms")
        if message.data.get("error_status") == 429 and isinstance(delay, int) and delay > PATIENCE_MS:
            said.told_wait_ms = delay
