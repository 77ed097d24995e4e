"""Reads what Claude Code reported of one call into a reply or a failure. Pure; by fields, never by prose."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from claude_mem.model.outcome import Broken, Failure, Throttled
from claude_mem.model.prompt import Reply, Spend
from claude_mem.providers.answer import count
from claude_mem.providers.failure import (
    LONGEST_WAIT_MS,
    SHORTEST_WAIT_MS,
    STATUS_OF_TYPE,
    Asked,
    Refused,
    classify,
)
from claude_mem.providers.wire import Unreached

WHO = "Claude Code"


@dataclass(slots=True)
class Said:
    """Filled while the call goes on."""

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
    told_wait_ms: int | None = None  # Retry-After, as Claude Code passes it on
    exit_code: int | None = None
    crashed: str | None = None  # the class of an error that nobody foresaw
    missed_deadline: bool = False


def conclude(said: Said, model: str, *, now: int, jitter: float) -> Reply | Failure:
    if said.completed or (said.error == "max_output_tokens" and said.texts):
        return Reply("".join(said.texts), _spend(said, model))
    failure = _failure(said, model, now, jitter)
    paid = _spend(said, model)
    return replace(failure, spend=paid) if isinstance(failure, Broken) and paid.tokens else failure


def _failure(said: Said, model: str, now: int, jitter: float) -> Failure:
    wait_ms = said.told_wait_ms if said.resets_at_s is None else said.resets_at_s * 1000 - now
    if wait_ms is not None:
        return Throttled(until=now + min(max(wait_ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS))
    asked = Asked(
        WHO, model, "Claude Code's login", "Run claude and log in with /login, or correct ANTHROPIC_API_KEY"
    )
    status = said.status or STATUS_OF_TYPE.get(said.error or "")
    if said.terminal_reason == "prompt_too_long":
        status = 413
    if said.stop_reason == "refusal":
        return Broken(f"{WHO} reports that the model refused to answer.")
    if said.error == "max_output_tokens":
        return Broken(f"{WHO} reports that the model used up its output before it said anything.")
    if status is not None:
        return classify(Refused(status, said.error), asked, now=now, jitter=jitter)
    if said.missed_deadline:
        return classify(Unreached("did not answer in time"), asked, now=now, jitter=jitter)
    return Broken(_without_a_status(said), "provider")


def _without_a_status(said: Said) -> str:
    if said.error is not None or said.terminal_reason is not None:
        return f"{WHO} could not get an answer from the API."
    if said.exit_code is not None:
        return f"{WHO} ended with exit code {said.exit_code} before it answered."
    return f"{WHO} could not be asked ({said.crashed or 'it said nothing'})."


def _spend(said: Said, model: str) -> Spend:
    return Spend(
        provider="claude",
        model=said.model or model,
        input_tokens=count(said.usage, "input_tokens") + count(said.usage, "cache_creation_input_tokens"),
        cached_tokens=count(said.usage, "cache_read_input_tokens"),
        output_tokens=count(said.usage, "output_tokens"),
        cost_usd=said.cost_usd,
    )
