"""The full-text index, in a table of words.

The transaction that adds a memory also lists it in a table of memories to be indexed. So whatever the order
of commits, none is skipped, and several processes can index at the same time. A memory's row is locked while
its words are written, so a change or deletion happens before or after, never in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from claude_mem.model.refs import KINDS, MemoryKind, Ref, ref_at
from claude_mem.store.postgres.text_matcher import WordMatcher
from claude_mem.store.postgres.tokenizer import COLUMN_BITS, COLUMNS, tokenizer
from claude_mem.store.relational.part import Connection, Part, derived, execute, transaction
from claude_mem.store.relational.text_document import VERSION, TextDocument, document_of, split_path

STEP = 128
UNHURRIED = 8
"""The factor for rows per transaction if nothing is waiting."""

matcher = WordMatcher


class TextIndex(Part):
    """The text index. Any thread of any process may index; each claims rows that no other has claimed."""

    def prepare(self) -> None:
        """Starts over if the index was built by another version's rules."""
        with self._readers.read() as db:
            made_by = derived(db, "text_version")
        if made_by != VERSION:
            self._rebuild(made_by)

    @transaction
    def _rebuild(self, db: Connection, made_by: str | None) -> None:
        if made_by is not None:
            execute(db, "clear_index")
            execute(db, "index_all")
        execute(db, "set_derived", name="text_version", value=VERSION)

    @transaction
    def step(self, db: Connection, *, hurried: bool = True) -> int:
        """Index some of what is new; how many rows that were. 0: it is in step."""
        most = left = STEP if hurried else STEP * UNHURRIED
        # Observations before evidence: what was understood is worth more than what it was understood from.
        for kind in KINDS:
            ids = [row["id"] for row in execute(db, "some_unindexed", kind=kind, limit=left)]
            if ids:
                _index(db, kind, ids)
                left -= len(ids)
            if not left:
                break
        return most - left

    def tidy(self) -> bool:
        """Does nothing, because autovacuum does it."""
        return False

    def catch_up(self) -> None:
        while self.step():
            pass


def unindexed_count(db: Connection) -> int:
    return int(execute(db, "count_unindexed").fetchone()[0])


def size_of_all(db: Connection) -> int:
    return int(execute(db, "totals").fetchone()["documents"])


def take_out(db: Connection, refs: Sequence[Ref]) -> None:
    """Before rows are deleted or changed, in the same transaction: their words leave the index."""
    for kind in KINDS:
        ids = [ref.id for ref in refs if ref.kind == kind]
        if ids:
            _locked(db, kind, ids)  # whoever indexes them now is waited for
            _remove(db, kind, ids)
            execute(db, "settle_unindexed", kind=kind, ids=json.dumps(ids))


def reindex(db: Connection, refs: Sequence[Ref]) -> None:
    """After rows were changed, in the same transaction."""
    for kind in KINDS:
        ids = [ref.id for ref in refs if ref.kind == kind]
        if ids:
            _index(db, kind, ids)


def _locked(db: Connection, kind: MemoryKind, ids: Sequence[int]) -> list[Any]:
    return execute(db, f"unindexed_{kind}", ids=json.dumps(ids)).fetchall()


def _index(db: Connection, kind: MemoryKind, ids: Sequence[int]) -> None:
    documents = []
    for row in _locked(db, kind, ids):
        with suppress(OverflowError):  # the indexes have no place for it; it is kept all the same
            documents.append(document_of(kind, row, db.key))
    _remove(db, kind, ids)
    _add(db, documents)
    execute(db, "settle_unindexed", kind=kind, ids=json.dumps(ids))


def _remove(db: Connection, kind: MemoryKind, ids: Sequence[int]) -> None:
    for row in execute(db, "documents_of", kind=kind, ids=json.dumps(ids)).fetchall():
        at = {"project_id": row["project_id"], "memory_key": row["memory_key"]}
        execute(db, "remove_words", **at, words=json.dumps(row["words"], ensure_ascii=False))
        execute(db, "remove_document", **at)
        execute(db, "remove_files", memory_key=row["memory_key"])
        execute(db, "count_document", project_id=row["project_id"], documents=-1, tokens=-row["tokens"])


def _add(db: Connection, documents: Sequence[TextDocument]) -> None:
    for made, tokens in zip(documents, tokenizer().of_documents(documents), strict=True):
        at, ref = {"project_id": made.project_id, "memory_key": made.memory_key}, ref_at(made.memory_key)
        words = json.dumps(list(tokens.places), ensure_ascii=False)
        is_tool = int(_has_tool(tokens.places.values()))
        document = {"kind": ref.kind, "id": ref.id, "words": words, "is_tool": is_tool}
        execute(db, "add_document", **at, tokens=tokens.count, **document)
        execute(db, "add_words", **at, places=json.dumps(tokens.places, ensure_ascii=False))
        execute(db, "count_document", project_id=made.project_id, documents=1, tokens=tokens.count)
        for path, how in made.files:
            folder, base = split_path(path)
            execute(db, "add_file", **at, base=base, path=path, folder=folder, how=how)


def _has_tool(places: Iterable[Sequence[int]]) -> bool:
    tool = COLUMNS.index("tool") << COLUMN_BITS
    return any(place >= tool for some in places for place in some)
