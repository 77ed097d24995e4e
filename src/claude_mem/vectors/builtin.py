"""The default backend: vectors lie in the database beside their memories, and are compared in this process.

Of a project, and of all, the newest so many are held ready to be compared; older ones still count where full
text has found them (`cosines`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from claude_mem.model.errors import StoreError
from claude_mem.ports.vectors import VectorsUnavailable
from claude_mem.vectors import blocks
from claude_mem.vectors.blocks import Block, Blocks

if TYPE_CHECKING:
    from claude_mem.ports.vectors import Vector

MOST = 100_000
"""Of a span: 26 MB, and 7 ms a question."""

SPANS = 2
"""The project that is worked in, and all of them."""

SLACK = 1.1
"""A span that has grown past its bound by so much is read again: its oldest leave."""

Span = tuple[int, int] | None


class Shelf(Protocol):
    """Where the bytes are. Raises StoreError."""

    def put(self, blobs: Mapping[int, bytes]) -> list[int]:
        """Those whose memory (still) exists; says which."""
        ...

    def remove(self, spots: Sequence[int]) -> None: ...

    def blobs(self, spots: Sequence[int]) -> dict[int, bytes]: ...

    def newest(self, within: Span, limit: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        """In lists of at most `at_once`."""
        ...

    def count(self) -> int: ...

    def clear(self) -> None: ...


class Builtin:
    """A Keeper on a Shelf."""

    name = "builtin"

    def __init__(self, shelf: Shelf, most: int = MOST) -> None:
        self._shelf, self._most = shelf, most
        self._stamp: str | None = None
        self._held: dict[Span, Blocks] = {}  # its values never change, so reading needs no lock
        self._changing = Lock()  # what is read from the shelf must not miss what is put there meanwhile

    def open(self, stamp: str) -> bool:
        """It lies in the same file as the vectors, and goes with them. A new one: some have other spots
        now."""
        with self._changing:
            if self._stamp not in (None, stamp):
                self._held = {}
            self._stamp = stamp
        return True

    def begin(self, stamp: str, before: str | None) -> None:
        del stamp, before
        self.clear()

    def put(self, vectors: Mapping[int, Vector]) -> None:
        with self._changing, _told():
            _agree(self._dimensions().union(vector.size for vector in vectors.values()))
            blobs = {spot: blocks.packed(vector) for spot, vector in vectors.items()}
            kept = self._shelf.put(blobs)
            for span, held in list(self._held.items()):
                grown = blocks.with_(held, {spot: blobs[spot] for spot in kept if _lies_in(spot, span)})
                self._hold(span, grown)

    def remove(self, spots: Sequence[int]) -> None:
        with self._changing, _told():
            self._shelf.remove(spots)
            for span, held in list(self._held.items()):
                self._hold(span, blocks.without(held, spots))

    def nearest(self, vector: Vector, within: Span, limit: int) -> list[tuple[int, float]]:
        held = self._held.get(within)
        if held is None:
            held = self._read(within)
        _agree({vector.size} | {one.rows.shape[1] for one in held[:1]})
        found = blocks.closest(held, vector, limit)
        with _told():  # what was forgotten a moment ago may still be held
            there = self._shelf.blobs([spot for spot, _ in found])
        return [(spot, cosine) for spot, cosine in found if spot in there]

    def cosines(self, vector: Vector, spots: Sequence[int]) -> dict[int, float]:
        with _told():
            found = self._shelf.blobs(spots)
        _agree({vector.size} | {len(blob) for blob in found.values()})
        return blocks.cosines(blocks.block(list(found.items())), vector) if found else {}

    def count(self) -> int:
        with _told():
            return self._shelf.count()

    def clear(self) -> None:
        with self._changing, _told():
            self._shelf.clear()
            self._held = {}

    def close(self) -> None:
        self._held = {}

    def _read(self, span: Span) -> Blocks:
        with self._changing, _told():
            if span not in self._held:
                rows = self._shelf.newest(span, self._most, blocks.ROWS)
                self._held = dict(list(self._held.items())[-(SPANS - 1) :])
                self._held[span] = tuple(_uniform(rows))
            return self._held[span]

    def _hold(self, span: Span, held: Blocks) -> None:
        if blocks.size(held) > self._most * SLACK:
            del self._held[span]
        else:
            self._held[span] = held

    def _dimensions(self) -> set[int]:
        """Of what is there: none, or one."""
        return {len(blob) for rows in self._shelf.newest(None, 1, 1) for _, blob in rows}


def _uniform(rows: Iterable[list[tuple[int, bytes]]]) -> Iterator[Block]:
    for some in rows:
        _agree({len(blob) for _, blob in some})
        yield blocks.block(some)


def _agree(dimensions: set[int]) -> None:
    if len(dimensions) > 1:
        shown = " and ".join(str(one) for one in sorted(dimensions))
        raise VectorsUnavailable(f"Vectors of {shown} dimensions cannot be compared.")


def _lies_in(spot: int, span: Span) -> bool:
    return span is None or span[0] <= spot <= span[1]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise VectorsUnavailable(str(error)) from error
