"""Maps a failed call to an outcome: wait, retry, or pause until the user fixes something.

It uses only the status and the error type, never the wording, which changes with versions and may quote the
prompt. For the same reason, a reason contains nothing of the server's text except a well-formed error type.
"""

from __future__ import annotations

import re
from typing import Literal, assert_never

from msgspec import Struct

from claude_mem.http_client import Trouble, Unreached
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Broken, Failure, Paused, Throttled

LONGEST_WAIT_MS = 24 * 60 * 60 * 1000
SHORTEST_WAIT_MS = 1000  # "Retry-After: 0" is no licence to storm
DEFAULT_WAIT_MS = 60 * 1000  # when the provider does not say how long; jitter adds up to as much again

STATUS_OF_TYPE = {
    # the Messages API, also in the middle of a stream or under a 200
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    # Claude Code
    "invalid_request": 400,
    "authentication_failed": 401,
    "model_not_found": 404,
    "rate_limit": 429,
    "server_error": 500,
    "overloaded": 529,
    # OpenAI
    "context_length_exceeded": 413,
    "insufficient_quota": 402,
    "invalid_api_key": 401,
    "rate_limit_exceeded": 429,
}


class Target(Struct, frozen=True):
    """The recipient of a call, in words for the user."""

    who: str  # "The Anthropic API"
    model: str
    credential: str  # "The Anthropic API key"
    remedy: str  # "Set ANTHROPIC_API_KEY"


class Refused(Struct, frozen=True):
    """The server responded, but with an error."""

    status: int
    type: str | None = None
    retry_after: str | None = None


class Unusable(Struct, frozen=True):
    """The server responded with status 200, but without a valid reply."""

    what: str  # "not JSON"
    spend: CallCost | None = None  # where it says nevertheless what it took


Fact = Refused | Unusable | Unreached


def classify(fact: Fact, target: Target, *, now: int, jitter: float) -> Failure:
    """`now` in epoch milliseconds; `jitter` from 0 to 1."""
    match fact:
        case Unreached(trouble=trouble):
            return Broken(f"{target.who} {trouble}.", failed_part(trouble))
        case Unusable(what=what, spend=spend):
            return Broken(f"{target.who} replied with {what}.", spend=spend)
        case Refused():
            return _of_status(fact, target, now, jitter)
        case _:
            assert_never(fact)


def _of_status(  # noqa: PLR0911 one return for each kind of status, and nothing else
    fact: Refused, target: Target, now: int, jitter: float
) -> Failure:
    match fact.status:
        case 429:
            return Throttled(until=wait_until(fact.retry_after, now=now, jitter=jitter))
        case 401 | 403:
            return Paused(
                f"{target.credential} was rejected ({fact.status}). {target.remedy}. "
                "Observing then resumes automatically."
            )
        case 402:
            return Paused(
                f"{target.who} requires payment (402). Add credit, or use another provider "
                "(CLAUDE_MEM_PROVIDER). Observing then resumes automatically."
            )
        case 404:
            return Paused(
                f"{target.who} does not have the model {target.model!r} (404). Set CLAUDE_MEM_MODEL "
                "to one it has. Observing then resumes automatically."
            )
        case status if 300 <= status < 400:
            return Paused(
                f"{target.who} has moved ({status}), and redirects are not followed. Correct its base URL. "
                "Observing then resumes automatically."
            )
        case 413:
            return Broken(f"{target.who} rejected the request as too long (413).")
        case 400:
            return Broken(
                f"{target.who} rejected the request as invalid, perhaps too long (400{_named(fact.type)})."
            )
        case status:
            reason = f"{target.who} returned status {status}{_named(fact.type)}."
            return Broken(reason, "provider" if status >= 500 or status == 408 else "batch")


def failed_part(trouble: Trouble) -> Literal["batch", "provider"]:
    """Whether the batch or the provider failed. An endless answer is an answer to this batch; any other
    trouble would have affected every batch."""
    return "batch" if trouble == "sent more than 4 MiB" else "provider"


def wait_until(retry_after: str | None, *, now: int, jitter: float) -> int:
    """Epoch milliseconds. Retry-After holds seconds or a date; anything else counts as unsaid."""
    requested_ms = _retry_after_ms(retry_after, now)
    wait = DEFAULT_WAIT_MS * (1 + jitter) if requested_ms is None else max(requested_ms, SHORTEST_WAIT_MS)
    return now + int(min(wait, LONGEST_WAIT_MS))


def _retry_after_ms(retry_after: str | None, now: int) -> float | None:
    from email.utils import parsedate_to_datetime

    text = (retry_after or "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text):
        return float(text) * 1000
    try:
        return parsedate_to_datetime(text).timestamp() * 1000 - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _named(type: str | None) -> str:
    """The error type, if it looks like one: a server may put anything there, even a key or a prompt."""
    return f", {type}" if type and re.fullmatch(r"[a-z]+(_[a-z]+){0,5}", type) and len(type) <= 40 else ""
