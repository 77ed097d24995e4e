"""Calls any server with OpenAI's chat completions API: OpenRouter, Ollama, LM Studio, vLLM, Gemini."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from claude_mem.model.jobs import CallCost
from claude_mem.providers import price
from claude_mem.providers.failure import Target, Unusable
from claude_mem.providers.http import HttpModel, count
from claude_mem.providers.registry import Absent, Access, Found, Incomplete, Prompt, Ready, Reply

BASE_URL = "https://api.openai.com/v1"
CHARS_PER_TOKEN = 4


def find(access: Access) -> Found:
    url = access.base_url or access.variables.get("OPENAI_BASE_URL")
    if not url and not access.variables.get("OPENAI_API_KEY") and not (access.is_chosen and access.api_key):
        return Absent("No endpoint is set. Set CLAUDE_MEM_BASE_URL or, for OpenAI, CLAUDE_MEM_API_KEY.")
    if not access.model:
        return Incomplete("CLAUDE_MEM_MODEL is not set. Set it to the name of a model.")
    return Ready("an endpoint is set")


def build(access: Access, **timing: Any) -> HttpModel:
    """The base URL has its version in it, as these servers document it: http://127.0.0.1:11434/v1"""
    base_url = access.base_url or access.variables.get("OPENAI_BASE_URL") or BASE_URL
    api_key = access.api_key or access.variables.get("OPENAI_API_KEY")
    host = urlsplit(base_url).hostname or "The model server"
    return HttpModel(
        url=base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions",
        headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        body=body,
        read=read,
        target=Target(host, access.model or "", f"The API key for {host}", "Set OPENAI_API_KEY"),
        summary_model=access.summary_model,
        **timing,
    )


def body(prompt: Prompt, model: str) -> dict[str, Any]:
    system = [{"role": "system", "content": prompt.system}] if prompt.system else []
    # No limit of tokens: newer servers and older ones name it differently.
    messages = [*system, {"role": "user", "content": prompt.user}]
    return {"model": model, "messages": messages, "stream": False}


def read(completion: dict[str, Any], prompt: Prompt, model: str) -> Reply | Unusable:
    choices = _objects(completion.get("choices"))
    message = choices[0].get("message") if choices else None
    usage = completion.get("usage")
    if not isinstance(message, dict):
        cost = spend(usage, prompt, "", model) if count(usage, "prompt_tokens") else None
        return Unusable("JSON that is not a chat completion", cost)
    text = _text(message.get("content"))
    return Reply(text, spend(usage, prompt, text, model))


def spend(usage: object, prompt: Prompt, text: str, model: str) -> CallCost:
    """The tokens as the server counted them; otherwise an estimate, and the provider's name says so."""
    if not count(usage, "prompt_tokens"):
        prompt_tokens = (len(prompt.system) + len(prompt.user)) // CHARS_PER_TOKEN
        return CallCost("openai (estimated)", model, prompt_tokens, 0, len(text) // CHARS_PER_TOKEN)
    cached = min(count(usage, "prompt_tokens_details", "cached_tokens"), count(usage, "prompt_tokens"))
    uncached, output = count(usage, "prompt_tokens") - cached, count(usage, "completion_tokens")
    billed = _billed(usage)
    return CallCost(
        provider="openai",
        model=model,
        input_tokens=uncached,
        cached_tokens=cached,
        output_tokens=output,
        cost_usd=price.cost(model, input=uncached, output=output, cached=cached)
        if billed is None
        else billed,
    )


def _billed(usage: object) -> float | None:
    """The cost of the call, which OpenRouter reports."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None


def _text(content: object) -> str:
    """The text, which some servers send in parts."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in _objects(content) if isinstance(part.get("text"), str))


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
