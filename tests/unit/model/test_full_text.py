"""Words as the index knows them, tried on the index itself: SQLite's own, with our tokenizer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from unicodedata import normalize, ucd_3_2_0

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.harness.growth import Finish, many_long_runs

from claude_mem.model.full_text import (
    LONGEST_WORD,
    MOST_WORDS,
    indexed,
    is_only_a_beginning,
    may_begin_others,
    query_words,
)

TOKENIZER = "porter unicode61 remove_diacritics 2"


@pytest.fixture
def index() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5(body, tokenize='{TOKENIZER}')")
        yield db


def matches(db: sqlite3.Connection, text: str, expression: str) -> bool:
    db.execute("DELETE FROM words")
    db.execute("INSERT INTO words VALUES (?)", (indexed(text),))
    return db.execute("SELECT 1 FROM words WHERE words MATCH ?", (expression,)).fetchone() is not None


def is_found(db: sqlite3.Connection, text: str, query: str) -> bool:
    """By any of its words or phrases, as matching does it: what is found nowhere may be a beginning."""
    words, phrases = query_words(query)
    for word in words:
        if not is_only_a_beginning(word) and matches(db, text, f'"{word}"'):
            return True
        if may_begin_others(word) and matches(db, text, f'"{word}"*'):
            return True
    return any(matches(db, text, f'"{each}"') for each in phrases)


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("parseUser_id", "parse user parseUser parse_user parse_user_id parseUser_id PARSEUSER parseuser id"),
        ("getHTTPResponse", "http response HTTPResponse get_http_response gethttpresponse"),
        ("see src/recall/fuse.py now", "fuse recall fuse.py src/recall/fuse.py recall/fuse src\\recall"),
        ("error E0308: mismatched types", "E0308 e0308 mismatched mismatch type"),
        ("run it with --dry-run first", "--dry-run dry-run dry_run"),
        ("upgraded to 2.1.0 today", "2.1.0 upgrade upgrading"),
        ("tagged v2.1.0", "v2.1.0"),
        ("Das Café in São Paulo, naïve", "cafe café sao naive NAÏVE cafe\u0301"),
        ("Ihre Résumés", "re\u0301sume\u0301s resumes"),
        ("the authentication middleware", "authent auth middle middlew"),
        ("全文检索系统", "检 统 检索 全文检索 全文检索系统"),
        ("日本語のテスト", "日本 語 テスト ト 日本語のテスト"),
        ("한국어 검색 기능", "한국 어 검색 기능"),
        (normalize("NFD", "한국어 검색"), "한국 어 검색"),
    ],
)
def test_a_text_is_found_by(index: sqlite3.Connection, text: str, queries: str) -> None:
    assert [query for query in queries.split() if not is_found(index, text, query)] == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("upgraded to 2.10 and 1.2.1.05", "2.1.0"),
        ("a dry place to run", "dry_running"),
        ("run dry", '"dry run"'),
        ("日本", "本日"),
        ("error E03081", "E0309"),
    ],
)
def test_what_belongs_together_is_found_only_together(
    index: sqlite3.Connection, text: str, query: str
) -> None:
    _, phrases = query_words(query)
    assert not any(matches(index, text, f'"{each}"') for each in phrases)
    if not phrases:
        assert not is_found(index, text, query)


def test_words_that_say_nothing_are_left_out_but_for_a_query_of_nothing_else() -> None:
    assert query_words("what was the parser's bug?")[0] == ("parser", "bug")
    assert query_words("who are you")[0] == ("who", "are", "you")


def test_a_quotation_a_path_and_an_identifier_are_phrases() -> None:
    _, phrases = query_words('"lost update" in src/store.py by parseUser')
    assert phrases == ("lost update", "src store py", "parse User")


def test_a_versions_digits_are_no_words_but_a_number_is() -> None:
    assert query_words("2.1.0") == ((), ("2 1 0",))
    assert query_words("issue 4711")[0] == ("issue", "4711")


def test_an_operator_is_a_word_like_others(index: sqlite3.Connection) -> None:
    assert is_found(index, "NEAR the end", "NEAR(")
    assert is_found(index, "say NEAR", "NOT title:x ^y AND near")


def test_a_long_query_is_cut_to_its_first_words() -> None:
    words, phrases = query_words(" ".join(f"word{n} a.b{n}" for n in range(10_000)) + "x" * 100_000)
    assert len(words) == len(phrases) == MOST_WORDS
    assert words[0] == "word0"
    assert len(query_words("x" * 100_000)[0][0]) == LONGEST_WORD


HOSTILE = st.text() | st.text(
    alphabet="\"'*^():{}[]-+<>\\/ \0\ud800\udfffANDORNOTNEAR,.本語é²Ⅷﬁ", max_size=60
)


@given(HOSTILE)
@example('"')
@example('NEAR("a" "b", 5) OR NOT * ^ title : {')
@example("\0\ud800")
@example("ʼ²½ⅷ٣𝟘ﬁ")
@example('"' * 100_000)
@example("NOT (" * 20_000)
def test_no_query_is_an_error(query: str) -> None:
    words, phrases = query_words(query)
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5(body, tokenize='{TOKENIZER}')")
        db.execute("INSERT INTO words VALUES ('something')")
        for each in (*words, *phrases):
            for expression in (f'"{each}"', f'"{each}"*'):
                db.execute("SELECT rowid FROM words WHERE words MATCH ?", (expression,)).fetchall()


# Letters that SQLite's tables (Unicode 6.1) know as well.
KNOWN = st.characters(categories=["L", "N"], max_codepoint=0x4FF).filter(
    lambda letter: ucd_3_2_0.category(letter) != "Cn"
)
LETTERS = KNOWN | st.sampled_from("日本語中文한국어")


@given(st.text(alphabet=LETTERS, min_size=1, max_size=12))
def test_every_word_finds_itself(word: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5(body, tokenize='{TOKENIZER}')")
        known = db.execute("INSERT INTO words VALUES (?)", (indexed(word),)) and db.execute(
            "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)"
        )
        if known and db.execute("SELECT 1 FROM vocabulary").fetchone():  # letters newer than SQLite
            assert is_found(db, word, word)


@many_long_runs
def test_many_thousand_characters_are_written_into_the_index(finish: Finish) -> None:
    for unit in ("a", "a-", "A", "aB", "本", "/"):
        finish(indexed, unit)
