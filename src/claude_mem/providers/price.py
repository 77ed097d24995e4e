"""The price of a call in US dollars, for models whose price is known; others are not estimated.

The table is Anthropic's own, as Claude Code 2.1.325 carries it. Prices are per million tokens.
"""

from __future__ import annotations

import re

from msgspec import Struct

CACHE_WRITE = 1.25  # of the input's price


class Price(Struct, frozen=True):
    input: float
    output: float
    cached: float
    up_to: int | None = None  # tokens of prompt; past it another price holds, which is not kept here


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
    """`input` without what was read from or written to the cache."""
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
