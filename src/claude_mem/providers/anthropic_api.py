"""Asks Anthropic's Messages API, with the instructions marked for its prompt cache."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from claude_mem.model.outcome import Failure
from claude_mem.model.prompt import Prompt, Reply, Spend
from claude_mem.ports.clock import Clock
from claude_mem.providers import price, wire
from claude_mem.providers.answer import count, document
from claude_mem.providers.failure import Asked, Unusable, classify
from claude_mem.providers.wall import wall_clock

BASE_URL = "https://api.anthropic.com"
OBSERVE_MODEL = "claude-haiku-5-5"  # the cheap tier: what Claude Code itself calls `haiku`
SUMMARY_MODEL = "claude-sonnet-5-5"  # the better tier, for those who want it for summaries
MOST_TOKENS = 8192  # with room for the thinking that some models do unasked
VERSION = "2023-06-01"


class AnthropicModel:
    def __init__(
        self,
        *,
        api_key: str,
        base_url: str = BASE_URL,
        model: str = OBSERVE_MODEL,
        summary_model: str | None = None,
        max_tokens: int = MOST_TOKENS,
        clock: Clock = wall_clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._url = base_url.rstrip("/").removesuffix("/v1") + "/v1/messages"
        self._api_key = api_key
        self._models = {"summarize": summary_model or model}
        self._model = model
        self._max_tokens = max_tokens
        self._clock = clock
        self._jitter = jitter

    @property
    def name(self) -> str:
        return "anthropic"

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        model = self._models.get(prompt.purpose, self._model)
        headers = {"x-api-key": self._api_key, "anthropic-version": VERSION}
        found = document(wire.post(self._url, self._body(prompt, model), headers, deadline_s=deadline_s))
        result = read(found, model) if isinstance(found, dict) else found
        if isinstance(result, Reply):
            return result
        asked = Asked("The Anthropic API", model, "The Anthropic API key", "Set ANTHROPIC_API_KEY")
        return classify(result, asked, now=self._clock(), jitter=self._jitter())

    def close(self) -> None:
        """Nothing is kept open between calls."""

    def _body(self, prompt: Prompt, model: str) -> bytes:
        cached = {"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}
        body = {
            "model": model,
            "max_tokens": self._max_tokens,
            "system": [cached] if prompt.system else [],
            "messages": [{"role": "user", "content": prompt.user}],
        }
        return json.dumps(body).encode()


def read(message: dict[str, Any], model: str) -> Reply | Unusable:
    """A message of the API; what a model left unsaid is an empty text, for it was paid for."""
    blocks = message.get("content")
    paid = spend(message.get("usage"), model)
    if message.get("type") != "message" or not isinstance(blocks, list):
        return Unusable("JSON that is no message", paid if paid.tokens else None)
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return Reply("".join(text for text in texts if isinstance(text, str)), paid)


def spend(usage: object, model: str) -> Spend:
    fresh, written = count(usage, "input_tokens"), count(usage, "cache_creation_input_tokens")
    cached, output = count(usage, "cache_read_input_tokens"), count(usage, "output_tokens")
    return Spend(
        provider="anthropic",
        model=model,
        input_tokens=fresh + written,
        cached_tokens=cached,
        output_tokens=output,
        cost_usd=price.cost(model, input=fresh, output=output, cached=cached, cache_write=written),
    )
