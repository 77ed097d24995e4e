"""Finds matches in the table of words and scores them with BM25, with the same results as SQLite's FTS5."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from claude_mem.model.refs import idf
from claude_mem.store.postgres.tokenizer import COLUMN_BITS, COLUMNS, query_tokens
from claude_mem.store.relational.part import Cursor, execute
from claude_mem.store.relational.text_matcher import EVERYWHERE, Matcher, Span
from claude_mem.store.values import TextMatch

K1, B = 1.2, 0.75
WEIGHTS = {"title": 2.0, "body": 1.0, "names": 0.5, "tool": 1.0}
_TOOL = COLUMNS.index("tool")
_BY_COLUMN = tuple(WEIGHTS[column] for column in COLUMNS)
_PROSE_WEIGHTS = tuple(0.0 if column == "tool" else WEIGHTS[column] for column in COLUMNS)


class _Expression:
    """What a statement looks for, as a part of it, and its parameters. `found` is None: nothing can match."""

    def __init__(self, found: str | None, **given: Any) -> None:
        self.found, self.given = found, given

    def renamed(self, number: int) -> _Expression:
        """A copy for use next to others in one statement."""
        found = self.found
        for name in self.given if found is not None else ():
            found = found.replace(f"%({name})s", f"%({name}_{number})s") if found else found
        return _Expression(found, **{f"{name}_{number}": value for name, value in self.given.items()})


class WordMatcher(Matcher):
    def count(self, words: str, span: Span, most: int) -> int:
        found = self._run("how_often", self._expression(words, span), most=most + 1)
        return int(found.fetchone()[0]) if found else 0

    def score(self, words: str, everywhere: int) -> TextMatch:
        del everywhere  # SQLite's concern
        return self._match(
            words, list(self._run("weighed_matches", self._expression(words, self.span)) or ())
        )

    def score_few(self, words: str, most: int) -> TextMatch | None:
        return None if self.count(words, self.span, most) > most else self.score(words, 0)

    def _match(self, words: str, found: Sequence[Any]) -> TextMatch:
        totals = execute(self.db, "totals").fetchone()
        average = float(totals["tokens"]) / float(totals["documents"] or 1)
        rarity = idf(len(found), self.size)
        scores, prose_scores = {}, {}
        for key, places, tokens in found:
            scores[key] = rarity * _weight(places, tokens, average, _BY_COLUMN)
            if (prose := rarity * _weight(places, tokens, average, _PROSE_WEIGHTS)) > 0:
                prose_scores[key] = prose
        return TextMatch(words, scores, prose_scores)

    def matches(self, words: str, *, prose: bool = False) -> list[int]:
        name = "prose_matches" if prose else "matches"
        given = {"tool_place": _TOOL << COLUMN_BITS} if prose else {}
        return self._keys(self._run(name, self._expression(words, self.span), **given))

    def matches_with(self, words: str, rarer: Sequence[str]) -> list[int]:
        return self._among(words, {key for each in rarer for key in self.matches(each)})

    def matches_among(self, words: str, memory_keys: Collection[int], *, is_probed: bool) -> list[int]:
        del is_probed  # the planner's concern
        return self._among(words, memory_keys)

    def _among(self, words: str, memory_keys: Collection[int]) -> list[int]:
        given = json.dumps(list(memory_keys))
        return self._keys(self._run("matches_among", self._expression(words, self.span), memory_keys=given))

    def newest(self, expressions: Sequence[str], limit: int | None) -> Iterable[int]:
        first, *others = (
            self._expression(words, self.span).renamed(at) for at, words in enumerate(expressions)
        )
        for other in others:
            if first.found is None or other.found is None:
                return []
            both = self.db.conditions["and_found"]
            found = both.replace("{found}", first.found).replace("{also}", other.found)
            first = _Expression(found, **first.given, **other.given)
        return self._keys(self._run("newest_matches", first, limit=limit))

    def _expression(self, words: str, span: Span) -> _Expression:
        tokens = query_tokens(words.removesuffix("*"))
        if not tokens:
            return _Expression(None)
        if words.endswith("*") and len(tokens) == 1:
            return self._found("found_beginning", span, word=tokens[0])
        if len(tokens) == 1:
            return self._found("found_word", span, word=tokens[0])
        # Every memory with the phrase contains all its words, so start with those that contain the rarest.
        rarest = min(tokens, key=self._rows_of)
        phrase = {"word": rarest, "words": json.dumps(tokens, ensure_ascii=False), "many": len(tokens)}
        return self._found("found_phrase", span, **phrase)

    def _found(self, condition: str, span: Span, **given: Any) -> _Expression:
        """In a project or in all: by `=`, which lets some keys be looked up along the same index."""
        found = self.db.conditions[condition]
        if span == EVERYWHERE:
            return _Expression(found.replace("{within}", ""), **given)
        within = self.db.conditions["within_project"]
        return _Expression(found.replace("{within}", within), **given, project_id=span[0])

    def _rows_of(self, word: str) -> int:
        """How many memories of the span have a token, up to a limit."""
        known = self.frequent.rows(f"={word}", self.span)
        if not known:
            one = self._found("found_word", self.span, word=word)
            found = self._run("how_often", one, most=_COUNTED)
            known = int(found.fetchone()[0]) if found else 0
            if known >= _COUNTED:
                self.frequent.add(f"={word}", self.span, known)
        return known

    def _run(self, query: str, expression: _Expression, **given: Any) -> Cursor | None:
        if expression.found is None:
            return None
        statement = self.db.queries[query].replace("{found}", expression.found)
        return self.db.run(statement, expression.given | given)

    @staticmethod
    def _keys(found: Cursor | None) -> list[int]:
        return [row[0] for row in found] if found else []


_COUNTED = 1_000


def _weight(places: Iterable[int], tokens: int, average: float, weights: Sequence[float]) -> float:
    """The weight as FTS5 computes it, bit for bit."""
    often = 0.0
    for place in places:
        often += weights[place >> COLUMN_BITS]
    return (often * (K1 + 1.0)) / (often + K1 * (1 - B + B * tokens / average))
