"""How much a backfill would cost, before it is begun: counted in the files, not read from them.

The cost of one call was measured with `benchmarks/cost.py` on real sessions; a test keeps this near it. An
estimate promises its order of magnitude, no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from claude_mem.providers import price

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
        of_one = price.cost(model, input=tokens // calls, output=PER_REPLY) if calls else 0.0
        usd = None if of_one is None else of_one * calls
        found.append(Estimate(provider, model, calls, tokens, calls * PER_REPLY, usd))
    return found
