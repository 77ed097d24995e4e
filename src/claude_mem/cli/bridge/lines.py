"""Cuts what a client writes into messages, one a line, and gives up on those that are too long."""

from __future__ import annotations

MOST_BYTES = 4 << 20
ENDS = 512  # as much as is kept of both ends of a message that is too long: its id may be in there


class TooLong:
    def __init__(self, head: bytes, tail: bytes) -> None:
        self.head, self.tail = head, tail


class Lines:
    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The messages that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        found = []
        for piece in ended:
            self._add(piece)
            found += self.rest()
        self._add(rest)
        return found

    def rest(self) -> list[bytes | TooLong]:
        """What has come since the last line ended: a message of its own, if nothing follows."""
        line, size = b"".join(self._pieces), self._size
        self._pieces, self._size = [], 0
        if size > self._most:
            return [TooLong(line[:ENDS], line[-ENDS:])]
        return [line] if line.strip() else []

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._most:
            kept = b"".join(self._pieces)
            self._pieces = [kept[:ENDS], kept[ENDS:][-ENDS:]]
