"""Asks any server that speaks OpenAI's chat completions: OpenRouter, Ollama, LM Studio, vLLM, Gemini."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from claude_mem.model.outcome import Failure
from claude_mem.model.prompt import Prompt, Reply, Spend
from claude_mem.ports.clock import Clock
from claude_mem.providers import price, wire
from claude_mem.providers.answer import count, document
from claude_mem.providers.failure import Asked, Unusable, classify
from claude_mem.providers.wall import wall_clock

CHARS_PER_TOKEN = 4


class OpenAiModel:
    def __init__(
        self,
        *,
        base_url: str,  # with its version, as these servers document it: http://127.0.0.1:11434/v1
        model: str,
        api_key: str | None = None,
        summary_model: str | None = None,
        max_tokens: int | None = None,  # unsaid by default: newer servers and older ones name it differently
        key_setting: str = "OPENAI_API_KEY",
        clock: Clock = wall_clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._url = base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._api_key = api_key
        self._models = {"summarize": summary_model or model}
        self._model = model
        self._max_tokens = max_tokens
        self._key_setting = key_setting
        self._clock = clock
        self._jitter = jitter

    @property
    def name(self) -> str:
        return "openai"

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        model = self._models.get(prompt.purpose, self._model)
        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        found = document(wire.post(self._url, self._body(prompt, model), headers, deadline_s=deadline_s))
        result = read(found, prompt, model) if isinstance(found, dict) else found
        if isinstance(result, Reply):
            return result
        host = urlsplit(self._url).hostname or "The model server"
        asked = Asked(host, model, f"The API key for {host}", f"Set {self._key_setting}")
        return classify(result, asked, now=self._clock(), jitter=self._jitter())

    def close(self) -> None:
        """Nothing is kept open between calls."""

    def _body(self, prompt: Prompt, model: str) -> bytes:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body: dict[str, Any] = {
            "model": model,
            "messages": [*system, {"role": "user", "content": prompt.user}],
            "stream": False,
        }
        if self._max_tokens is not None:
            body["max_tokens"] = self._max_tokens
        return json.dumps(body).encode()


def read(completion: dict[str, Any], prompt: Prompt, model: str) -> Reply | Unusable:
    choices = _objects(completion.get("choices"))
    message = choices[0].get("message") if choices else None
    usage = completion.get("usage")
    if not isinstance(message, dict):
        paid = spend(usage, prompt, "", model) if count(usage, "prompt_tokens") else None
        return Unusable("JSON that is no chat completion", paid)
    text = _text(message.get("content"))
    return Reply(text, spend(usage, prompt, text, model))


def spend(usage: object, prompt: Prompt, text: str, model: str) -> Spend:
    """As the server counted; servers that do not count are estimated, and the provider's name says so."""
    if not count(usage, "prompt_tokens"):
        asked = (len(prompt.system) + len(prompt.user)) // CHARS_PER_TOKEN
        return Spend("openai (estimated)", model, asked, 0, len(text) // CHARS_PER_TOKEN)
    cached = min(count(usage, "prompt_tokens_details", "cached_tokens"), count(usage, "prompt_tokens"))
    fresh, output = count(usage, "prompt_tokens") - cached, count(usage, "completion_tokens")
    billed = _billed(usage)
    return Spend(
        provider="openai",
        model=model,
        input_tokens=fresh,
        cached_tokens=cached,
        output_tokens=output,
        cost_usd=price.cost(model, input=fresh, output=output, cached=cached) if billed is None else billed,
    )


def _billed(usage: object) -> float | None:
    """OpenRouter says what a call cost."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None


def _text(content: object) -> str:
    """Plain, or in parts as some servers send it."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in _objects(content) if isinstance(part.get("text"), str))


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
