"""Calls Anthropic's Messages API, with the instructions marked for its prompt cache."""

from __future__ import annotations

from typing import Any

from claude_mem.model.jobs import CallCost
from claude_mem.providers import price
from claude_mem.providers.failure import Target, Unusable
from claude_mem.providers.http import HttpModel, count
from claude_mem.providers.registry import (
    CHEAP_CLAUDE,
    MOST_OUTPUT,
    Absent,
    Access,
    Found,
    Prompt,
    Ready,
    Reply,
)

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
NO_KEY = "No Anthropic API key is set. Set CLAUDE_MEM_API_KEY or ANTHROPIC_API_KEY."


def find(access: Access) -> Found:
    return Ready("an Anthropic API key is set") if _key(access) else Absent(NO_KEY)


def build(access: Access, **timing: Any) -> HttpModel:
    base_url = access.base_url or access.variables.get("ANTHROPIC_BASE_URL") or BASE_URL
    model = access.model or CHEAP_CLAUDE
    return HttpModel(
        url=base_url.rstrip("/").removesuffix("/v1") + "/v1/messages",
        headers={"x-api-key": _key(access), "anthropic-version": VERSION},
        body=body,
        read=read,
        target=Target("The Anthropic API", model, "The Anthropic API key", "Set ANTHROPIC_API_KEY"),
        summary_model=access.summary_model,
        **timing,
    )


def _key(access: Access) -> str:
    return access.api_key or access.variables.get("ANTHROPIC_API_KEY") or ""


def body(prompt: Prompt, model: str) -> dict[str, Any]:
    cached = {"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}
    return {
        "model": model,
        "max_tokens": MOST_OUTPUT,
        "system": [cached] if prompt.system else [],
        "messages": [{"role": "user", "content": prompt.user}],
    }


def read(message: dict[str, Any], _: Prompt, model: str) -> Reply | Unusable:
    """Reads a message of the API. A reply without text is an empty text, because it still has a cost."""
    blocks = message.get("content")
    cost = spend(message.get("usage"), model)
    if message.get("type") != "message" or not isinstance(blocks, list):
        return Unusable("JSON that is not a message", cost if cost.tokens else None)
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return Reply("".join(text for text in texts if isinstance(text, str)), cost)


def spend(usage: object, model: str) -> CallCost:
    uncached, cache_written = count(usage, "input_tokens"), count(usage, "cache_creation_input_tokens")
    cached, output = count(usage, "cache_read_input_tokens"), count(usage, "output_tokens")
    return CallCost(
        provider="anthropic",
        model=model,
        input_tokens=uncached + cache_written,
        cached_tokens=cached,
        output_tokens=output,
        cost_usd=price.cost(model, input=uncached, output=output, cached=cached, cache_write=cache_written),
    )
