"""Prepares texts and queries for the full-text index.

The index's tokenizer folds case and accents, stems, and splits at everything that is not a letter or digit.
So `parse_user`, `src/parser.py`, `--dry-run` and `2.1.0` already become sequences of words, and an exact
match is a phrase of them. This module adds the rest: `parseUser` is also indexed as `parse User`, and scripts
without spaces between words (Chinese, Japanese, Korean) as overlapping pairs.
"""

from __future__ import annotations

import json
import re
from unicodedata import normalize

from claude_mem.model.text import lazy_pattern

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f"
_CJK_RUN = f"[{_CJK}]+"  # 2 ms to compile, so when used
# Anchored at the beginning: if the pattern were tried at each letter, a long run would take quadratic time.
_CAMEL_WORD = lazy_pattern(r"(?<![^\W_])[^\W_]*(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z])[^\W_]*")
_CAMEL_SEAM = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = lazy_pattern(r"[^\W_]+")
_CHUNK = lazy_pattern(r"\"[^\"]{1,400}\"|[^\s\"]+")
_POSSESSIVE = lazy_pattern(r"['\u2019]s\b")

MOST_WORDS = 24
"""A longer query is a text: its first words are enough, and each word costs time."""

LONGEST_WORD = 60
PREFIX_FROM = 3

_FILLER_WORDS = (
    "a an and are as at be but by for from had has have he her his how i if in into is it its me my no "
    "not of on or our she so such that the their them then there these they this to was we were what when "
    "where which who why will with would you your did do does can could should about been being am "
)
STOP_WORDS = frozenset(_FILLER_WORDS.split())


def indexed(text: str) -> str:
    """A text in the form in which it is indexed."""
    if not text.isascii():
        # Also index the last character alone, so that a query of one character matches.
        composed = normalize("NFC", text)  # as a query is
        text = re.sub(_CJK_RUN, lambda run: f" {' '.join([*_pairs(run[0]), run[0][-1]])} ", composed)
    return _CAMEL_WORD.sub(_with_parts, text)


def query_words(query: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The significant words of a query; quotations, paths and identifiers are phrases."""
    words: dict[str, None] = {}
    phrases: dict[str, None] = {}
    for chunk in _CHUNK.findall(_POSSESSIVE.sub("", normalize("NFC", query))):
        in_full = _words(chunk)
        parts = [part for word in in_full for part in _CAMEL_SEAM.split(word)]
        if len(parts) > 1:
            phrases.setdefault(" ".join(parts))
        for word in (*in_full, *parts):
            if len(parts) == 1 or not word.isdigit():  # a version's digits say nothing alone, but as a phrase
                words.setdefault(word.lower())
    content_words = [word for word in words if word not in STOP_WORDS] or list(words)
    return tuple(content_words[:MOST_WORDS]), tuple(phrases)[:MOST_WORDS]


# Words that the names of checks have in common say nothing about what they check.
_OF_ANY_CHECK = frozenset(("all", "build", "check", "full", "lint", "run", "suite", "test", "tests"))


def significant_words(text: str) -> frozenset[str]:
    """The words by which the subjects of two texts are compared: prefixes of words and of the parts of
    identifiers."""
    found = (part.lower() for word in _WORD.findall(_CAMEL_WORD.sub(_with_parts, text)) for part in [word])
    return frozenset(
        word[:5]
        for word in found
        if len(word) >= (2 if word.isdigit() else 3) and word not in STOP_WORDS and word not in _OF_ANY_CHECK
    )


def may_begin_others(word: str) -> bool:
    """Whether a word is long enough to be searched for as a prefix."""
    return len(word) >= PREFIX_FROM or re.fullmatch(_CJK_RUN, word) is not None


def is_only_a_beginning(word: str) -> bool:
    """Whether it is a single character of a script without spaces, which is indexed in pairs."""
    return len(word) == 1 and re.fullmatch(_CJK_RUN, word) is not None


def _words(chunk: str) -> list[str]:
    found: list[str] = []
    for run in _WORD.findall(chunk):
        found += [word[:LONGEST_WORD] for word in _split_scripts(run)]
    return found


def _split_scripts(run: str) -> list[str]:
    """A run of letters; parts that are written without spaces become overlapping pairs."""
    if run.isascii() or not re.search(_CJK_RUN, run):
        return [run]
    found: list[str] = []
    at = 0
    for cjk in re.finditer(_CJK_RUN, run):
        found += [run[at : cjk.start()]] if at < cjk.start() else []
        found += _pairs(cjk[0])
        at = cjk.end()
    return [*found, run[at:]] if at < len(run) else found


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _with_parts(word: re.Match[str]) -> str:
    parts = _CAMEL_SEAM.split(word[0])
    return f"{word[0]} {' '.join(parts)}" if len(parts) > 1 else word[0]


_ESCAPED = lazy_pattern(r"\\+u([0-9a-fA-F]{4})")
_SURROGATES = lazy_pattern("[\ud800-\udbff][\udc00-\udfff]")


class LiteralText:
    """A text to be found literally, ignoring case: as it is, in JSON (tool inputs, facts), or in JSON within
    JSON."""

    def __init__(self, words: str) -> None:
        once = json.dumps(words, ensure_ascii=False)[1:-1]
        twice = json.dumps(once, ensure_ascii=False)[1:-1]
        self._spellings = {_folded(words), _folded(once), _folded(twice)}

    def is_in(self, text: str) -> bool:
        plain = _folded(text)
        return any(spelling in plain for spelling in self._spellings)


def _folded(text: str) -> str:
    """The text in lower case, without JSON's escapes for non-ASCII characters."""
    if "\\u" in text:
        text = _SURROGATES.sub(_joined, _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text))
    return text.casefold()


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
