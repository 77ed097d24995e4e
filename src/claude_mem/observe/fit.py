"""Decides what gives way when a batch is larger than its share of the prompt.

Reads shrink first, then commands that went well, then edits and errors, last what was asked and said. Within
one value all shrink in proportion. Only when even the heads are too many are whole events left out, in the
same order, and their number is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from claude_mem.observe.elide import LONGEST_MARK, elide
from claude_mem.observe.render import Piece, Value

AROUND = 24  # what divides one event from the next


def merged(pieces: Sequence[Piece]) -> list[Piece]:
    """Consecutive reads told as one."""
    result: list[Piece] = []
    run: list[Piece] = []
    for piece in pieces:
        if piece.read is None:
            result += [*_one(run), piece]
            run = []
        else:
            run.append(piece)
    return result + _one(run)


def _one(run: list[Piece]) -> list[Piece]:
    if len(run) < 2:
        return run
    files = dict.fromkeys(piece.read or "" for piece in run)
    return [Piece(f"Read {len(files)} files", elide("\n".join(files), 1_200), Value.LOW)]


def fit(pieces: Sequence[Piece], budget: int) -> list[Piece]:
    """The pieces, shortened until heads, bodies and what divides them are within the budget."""
    fitted = list(pieces)
    for value in Value:
        over = size(fitted) - budget
        if over <= 0:
            return fitted
        have = sum(len(piece.body) for piece in fitted if piece.value is value)
        keep = max(have - over, 0)
        fitted = [
            replace(piece, body=elide(piece.body, max(len(piece.body) * keep // have, LONGEST_MARK)))
            if piece.value is value and piece.body
            else piece
            for piece in fitted
        ]
    return _fewer(fitted, budget)


def size(pieces: Sequence[Piece]) -> int:
    return sum(len(piece.head) + len(piece.body) + AROUND for piece in pieces)


def _fewer(pieces: list[Piece], budget: int) -> list[Piece]:
    over = size(pieces) - budget
    if over <= 0:
        return pieces
    over += LONGEST_MARK + AROUND  # the line that tells of it
    out: set[int] = set()
    for index in sorted(range(len(pieces)), key=lambda at: (pieces[at].value, at)):
        if over <= 0:
            break
        out.add(index)
        over -= size([pieces[index]])
    left = Piece(f"[…{len(out)} events…]", "", Value.LOW)
    kept = [left, *(piece for at, piece in enumerate(pieces) if at not in out)]
    return kept if size(kept) <= budget else []
