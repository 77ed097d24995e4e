"""How much a backfill would cost, before it is begun: counted in the files, not read from them.

What one call comes to was measured with `benchmarks/cost.py` on real sessions; a test keeps this near it. An
estimate is a promise of its order of magnitude, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_files import Transcript
from claude_mem.agents.claude_code.transcript_lines import Tally

INSTRUCTIONS = 850  # tokens, in every call
PER_TURN = 600  # what was asked and said, and what is recorded already
PER_USE = 125
PER_REPLY = 600
MOST_EVENTS = 150  # of one call
MOST_TOKENS = 20_000  # told of events in one call

_USE = b'"type":"tool_use"'
_ENDS = (b'"stop_reason":"end_turn"', b'"stop_reason":"stop_sequence"')
_SAYS = b'"type":"text"'


class Work(Struct, frozen=True):
    """What there is to observe."""

    sessions: int = 0
    size: int = 0  # bytes
    tool_uses: int = 0
    turns: int = 0
    calls: int = 0  # of a model: one for each turn, more for a long one

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Asked(Struct, frozen=True):
    """Who would be asked, and what one call of so many tokens costs there; None: nobody knows."""

    provider: str
    model: str | None
    price: Callable[[int, int], float | None]  # tokens in, tokens out


class Estimate(Struct, frozen=True):
    provider: str
    model: str | None = None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0  # None: the model's price is not known


OFFLINE = Estimate("offline")
"""Asks nobody."""


def work(transcript: Transcript) -> Work:
    """Counted without reading the lines as JSON; a file that cannot be read counts as nothing."""
    uses = turns = 0
    for path in (transcript.path, *transcript.agents):
        is_main = path == transcript.path
        tally = Tally()
        try:
            for _, raw in transcript_lines.raw_lines(path, tally):
                if transcript_lines.is_silent(raw, tally):
                    continue
                uses += raw.count(_USE)
                turns += is_main and _SAYS in raw and any(end in raw for end in _ENDS)
        except OSError:
            continue
    # A session of which only a piece is left, or whose turn was broken off, is asked about once as well.
    return Work(1, transcript.size, uses, turns, max(turns, 1) + uses // MOST_EVENTS)


def total(works: Iterable[Work]) -> Work:
    return sum(works, start=Work())


def estimate(work: Work, asked: Sequence[Asked]) -> tuple[Estimate, ...]:
    """Offline, and each of those."""
    calls = work.calls
    events = min(work.tool_uses * PER_USE + calls * PER_TURN, calls * MOST_TOKENS)
    tokens = calls * INSTRUCTIONS + events
    found = [OFFLINE]
    for each in asked:
        price = each.price(tokens // calls, PER_REPLY) if calls else 0.0
        usd = None if price is None else price * calls
        found.append(Estimate(each.provider, each.model, calls, tokens, calls * PER_REPLY, usd))
    return tuple(found)
