"""Shared statements as PostgreSQL reads them, and the words it is given."""

from __future__ import annotations

import re

import claude_mem.store.postgres.connection as postgres
import claude_mem.store.sqlite.connection as sqlite
from claude_mem.store.postgres.connection import translated
from claude_mem.store.postgres.tokenizer import COLUMN_BITS, query_tokens, tokenizer
from claude_mem.store.relational.part import SQL as SHARED
from claude_mem.store.relational.part import statements
from claude_mem.store.relational.text_document import TextDocument


def test_parameters_lists_and_hints_are_translated() -> None:
    hinted = "FROM a AS x INDEXED BY i CROSS JOIN b AS y\n ON y.id = x.id WHERE +x.id = :id AND c LIKE '5%'"
    assert translated(hinted) == (
        "FROM a AS x JOIN b AS y\n ON y.id = x.id WHERE x.id = %(id)s AND c LIKE '5%%'"
    )
    numbers, texts = (translated(f"x IN (SELECT value FROM json_each(:{name}))") for name in ("ids", "types"))
    assert "CAST(value AS bigint)" in numbers
    assert "bigint" not in texts


def test_locks_texts_and_what_may_be_null_are_translated() -> None:
    assert translated("SELECT id FROM a WHERE id = :id /* FOR UPDATE OF a SKIP LOCKED */;") == (
        "SELECT id FROM a WHERE id = %(id)s FOR UPDATE OF a SKIP LOCKED;"
    )
    assert translated("a IS :x AND b IS NULL AND INSTR(c, :y) > 0") == (
        "a IS NOT DISTINCT FROM %(x)s AND b IS NULL AND STRPOS(c, %(y)s) > 0"
    )
    assert translated("+m.a = :b") == "m.a = %(b)s"


def test_what_only_computes_is_left_alone() -> None:
    plain = "SELECT a + b, CAST(:x AS text) || '0', 1 + :y"
    assert translated(plain) == "SELECT a + b, CAST(%(x)s AS text) || '0', 1 + %(y)s"


def test_no_store_redefines_what_is_shared() -> None:
    shared = {name for found in statements(SHARED) for name in found}
    for own in (sqlite.SQL, postgres.SQL):
        assert shared.isdisjoint(name for found in statements(own) for name in found)


def test_both_stores_have_every_statement_that_the_shared_parts_run() -> None:
    code = "".join(path.read_text() for path in SHARED.parent.glob("*.py"))
    named = set(re.findall(r'"(\w+)"', code))
    for one, other in ((sqlite.SQL, postgres.SQL), (postgres.SQL, sqlite.SQL)):
        queries, _ = statements(SHARED, other)
        only = statements(one)[0].keys() - queries.keys()
        # News, injections and due notes are asked for in each store's own way.
        assert only & named <= {"projects_with_news", "compacted_since", "injections_after", "last_session"}


def test_words_are_folded_stemmed_and_placed_by_column() -> None:
    made = TextDocument(1, 1, "Parsing CAFÉ", "the parser, parsed", "", "src/auth/login.py", ())
    (tokens,) = tokenizer().of_documents([made])
    assert tokens.count == 9
    assert tokens.places["pars"] == [0, 1 << COLUMN_BITS | 2]
    assert tokens.places["cafe"] == [1]
    assert tokens.places["login"] == [3 << COLUMN_BITS | 2]


def test_a_querys_words_keep_their_order_and_may_repeat() -> None:
    assert query_tokens("the Parsers the") == ("the", "parser", "the")
    assert query_tokens("...") == ()
