"""The price of a call in US dollars, for models whose price is known; and the estimated cost of a backfill.

The table is Anthropic's, from Claude Code 2.1.325. Prices are per million tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

CACHE_WRITE = 1.25  # of the input's price


class Price(Struct, frozen=True):
    input: float
    output: float
    cached: float
    up_to: int | None = None  # tokens of prompt; past it another price holds, which is not listed here


PRICES = {
    "claude-3-5-haiku": Price(0.8, 4, 0.08),
    "claude-haiku-4-5": Price(1, 5, 0.1),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, up_to=100_000),
    "claude-sonnet-4": Price(3, 15, 0.3),
    "claude-sonnet-4-5": Price(3, 15, 0.3),
    "claude-sonnet-4-6": Price(3, 15, 0.3),
    "claude-sonnet-5": Price(2, 10, 0.2),
    "claude-sonnet-5-5": Price(2, 10, 0.1),
    "claude-opus-4": Price(15, 75, 1.5),
    "claude-opus-4-1": Price(15, 75, 1.5),
    "claude-opus-4-5": Price(5, 25, 0.5),
    "claude-opus-4-6": Price(5, 25, 0.5),
    "claude-opus-4-7": Price(5, 25, 0.5),
    "claude-opus-4-8": Price(5, 25, 0.5),
    "claude-opus-5": Price(5, 25, 0.5),
    "claude-opus-5-5": Price(4, 20, 0.2),
}


def cost(model: str, *, input: int, output: int, cached: int = 0, cache_write: int = 0) -> float | None:
    """The cost of a call. `input` excludes what was read from or written to the cache."""
    price = PRICES.get(family(model))
    if price is None or (price.up_to is not None and input + cached + cache_write > price.up_to):
        return None
    tokens = (
        input * price.input
        + cache_write * price.input * CACHE_WRITE
        + cached * price.cached
        + output * price.output
    )
    return tokens / 1_000_000


def family(model: str) -> str:
    """The name without a vendor before it and a variant or date behind: `anthropic/claude-haiku-4.5:beta`."""
    bare = model.rpartition("/")[2].partition(":")[0].replace(".", "-")
    return re.sub(r"-(\d{8}|latest|0)$", "", bare)


# The cost of one call was measured with `benchmarks/cost.py` on real sessions; a test keeps these values
# close to it. An estimate is only accurate to an order of magnitude.
INSTRUCTIONS = 850  # tokens, in every call
PER_TURN = 600  # prompt and reply, and what is recorded already
PER_USE = 125
PER_REPLY = 600
MOST_EVENTS = 150  # of one call


class Estimate(Struct, frozen=True):
    provider: str
    model: str | None = None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0  # None: the model's price is not known


OFFLINE = Estimate("offline")


def estimate(counts: Iterable[tuple[int, int]], models: Sequence[tuple[str, str]]) -> list[Estimate]:
    """Offline, and each of the models. `counts`: tool uses and turns of each session."""
    uses = calls = 0
    for of_session, turns in counts:
        uses += of_session
        # A session of which only a piece is left, or whose turn was interrupted, is one call as well.
        calls += max(turns, 1) + of_session // MOST_EVENTS
    tokens = calls * (INSTRUCTIONS + PER_TURN) + uses * PER_USE
    found = [OFFLINE]
    for provider, model in models:
        of_one = cost(model, input=tokens // calls, output=PER_REPLY) if calls else 0.0
        usd = None if of_one is None else of_one * calls
        found.append(Estimate(provider, model, calls, tokens, calls * PER_REPLY, usd))
    return found
