"""Splits a text into the same words as SQLite's full-text index.

The word table in PostgreSQL has exactly the words that FTS5 would have, because FTS5 produces them, in memory
and with the same options. So both stores find the same memories with the same scores.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock

from msgspec import Struct

from claude_mem.store.relational.part import statements
from claude_mem.store.relational.text_document import TextDocument

COLUMNS = ("title", "body", "names", "tool")
COLUMN_BITS = 24
"""The bits of a position: a column and a position in it."""


class Tokens(Struct, frozen=True):
    places: dict[str, list[int]]  # by word
    count: int


class Tokenizer:
    """A tokenizer. Any thread may use it."""

    def __init__(self, queries: dict[str, str]) -> None:
        self._queries, self._lock = queries, Lock()
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute(queries["make_tokens"])
        self._db.execute(queries["make_vocabulary"])

    def of_documents(self, documents: Sequence[TextDocument]) -> list[Tokens]:
        return self._tokens([(made.title, made.body, made.names, made.tool) for made in documents])

    def of_query(self, words: str) -> list[str]:
        """In their order."""
        (found,) = self._tokens([(words, "", "", "")])
        return [
            word for _, word in sorted((at, word) for word, places in found.places.items() for at in places)
        ]

    def _tokens(self, texts: Sequence[tuple[str, ...]]) -> list[Tokens]:
        with self._lock:
            self._db.executemany(self._queries["add_text"], [(at, *text) for at, text in enumerate(texts)])
            found = self._db.execute(self._queries["found_tokens"]).fetchall()
            self._db.execute(self._queries["clear_tokens"])
        places: list[dict[str, list[int]]] = [{} for _ in texts]
        counts = [0] * len(texts)
        for word, document, column, position in found:
            place = COLUMNS.index(column) << COLUMN_BITS | position
            places[document].setdefault(word, []).append(place)
            counts[document] += 1
        return [Tokens(of_one, count) for of_one, count in zip(places, counts, strict=True)]


@lru_cache(maxsize=10_000)
def query_tokens(words: str) -> tuple[str, ...]:
    """The words of a query as the index has them, in their order."""
    return tuple(tokenizer().of_query(words))


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer(statements(Path(__file__).with_name("sql"))[0])
