"""Finds text in a memory that repeats the user's prompts, so that it is not sent where prompts are not
shared. Pure.

The offline observer takes titles, reasons and wishes from the request verbatim, and a model may quote it. A
text repeats a prompt if most of its words occur in one or two of its sentences in the same order, or if a run
of words does; a request or a subtitle also if most of its words occur in the prompts at all. So what the
agent says in nearly the user's words is not sent either. In scripts without spaces, characters count as
words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any
from unicodedata import normalize

from claude_mem.model.records import Record
from claude_mem.model.text import lazy_pattern

RUN, RUN_OF_CHARACTERS = 6, 10
MOSTLY = 0.7
LONGEST = 120  # words of a sentence that are compared in their order
TITLE = 90
_SENTENCE = lazy_pattern(r"(?<=[.!?…:;])\s+|(?<=[。！？；：])|\s*\n+\s*")
_SENTENCE_BREAK = lazy_pattern(r"(?<=[.!?…:;])\s+|(?<=[。！？；：])|\s*\n\s*(?=\n|[-*#>\d])")
"""Sentence ends in prompts, whose lines may be broken anywhere."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002fa1f"
)
_WORD = lazy_pattern(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_USERS = lazy_pattern(r"The user(?: chose)?:")  # how the offline observer marks what the user said
_TEXTS = ("narrative", "text", "investigated", "learned", "completed", "next_steps", "notes")
_LISTS = ("facts", "concepts")

NO_TITLE = "it only repeats a prompt, and prompts are not shared"


class Unquotable(ValueError):
    def __init__(self) -> None:
        super().__init__(NO_TITLE)


class Prompts:
    """The user's prompts in a session."""

    def __init__(self, text: str) -> None:
        self._words = _words(text)
        sentences = [words for words in map(_words, _SENTENCE_BREAK.split(text)) if words]
        both = [first + second for first, second in pairwise(sentences)]
        self._sentences = [
            words[at : at + LONGEST]
            for words in (*sentences, *both)
            for at in range(0, len(words), LONGEST // 2)
            if not at or at + LONGEST // 2 < len(words)
        ]

    @cached_property
    def _runs(self) -> set[tuple[str, ...]]:
        return set(_runs_of(self._words))

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(self._words)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """The sentences in which each word occurs."""
        places: dict[str, list[int]] = {}
        for number, sentence in enumerate(self._sentences):
            for word in set(sentence):
                places.setdefault(word, []).append(number)
        return places

    def are_in(self, text: str) -> bool:
        """Whether the text repeats the prompts."""
        words = _words(text)[: 4 * LONGEST]
        if not words:
            return False
        if any(run in self._runs for run in _runs_of(words)):
            return True
        needed = MOSTLY * len(words)
        if sum(word in self._vocabulary for word in words) < needed:
            return False
        found = Counter(number for word in words for number in self._places.get(word, ()))
        return any(
            count >= needed and _in_order(words, self._sentences[number]) >= needed
            for number, count in found.items()
        )

    def have_words_of(self, text: str) -> bool:
        """Whether most of its words occur in the prompts, in any order."""
        words = set(_words(text))
        return bool(words) and len(words & self._vocabulary) >= MOSTLY * len(words)

    def left_of(self, text: str) -> str:
        """The text without the sentences that repeat them."""
        parts = [part for part in _SENTENCE.split(text) if part]
        left = [part for part in parts if not self.are_in(part)]
        return text if len(left) == len(parts) else " ".join(left)


@lru_cache(4)
def prompts_of(text: str) -> Prompts:
    """The memories of a session are sent one after the other."""
    return Prompts(text)


def without_quotes(record: Record, prompts: Prompts) -> dict[str, Any]:
    """The memory without text that repeats prompts. Raises Unquotable if nothing is left that states its
    subject."""
    left = dict(record)
    for name in ("request", "subtitle"):
        text = str(left.get(name) or "")
        if prompts.have_words_of(text) or prompts.are_in(text):
            del left[name]
    for name in _TEXTS:
        value = left.get(name)
        if isinstance(value, str):
            left[name] = prompts.left_of(value)
            if not left[name]:
                del left[name]
    for name in _LISTS:
        if isinstance(left.get(name), list):
            left[name] = [each for each in left[name] if not _is_users(str(each), prompts)]
    if prompts.are_in(str(left.get("title") or "")):
        title = next(_titles(left), None)
        if title is None:
            raise Unquotable
        left["title"] = title
    return left


def _is_users(fact: str, prompts: Prompts) -> bool:
    return _USERS.match(fact) is not None or prompts.are_in(fact)


def _titles(record: Record) -> Iterator[str]:
    """Other texts that can replace a memory's title."""
    for text in (str(record.get("narrative") or ""), *map(str, record.get("facts") or ())):
        if first := _SENTENCE.split(text)[0].strip().rstrip("."):
            yield first if len(first) <= TITLE else first[:TITLE].rsplit(" ", 1)[0] + " …"
    if files := record.get("files_modified"):
        names = [str(each).rpartition("/")[2] for each in files]
        yield f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''} changed"


def _words(text: str) -> list[str]:
    return _WORD.findall(normalize("NFKC", text).casefold())


def _runs_of(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for at in range(len(words) - RUN + 1):
        length = RUN_OF_CHARACTERS if all(map(_is_unspaced, words[at : at + RUN])) else RUN
        if at + length <= len(words):
            yield tuple(words[at : at + length])


def _is_unspaced(word: str) -> bool:
    return len(word) == 1 and not word.isascii()


def _in_order(words: Sequence[str], sentence: Sequence[str]) -> int:
    """How many words come in the sentence in this order: the longest common subsequence."""
    row = [0] * (len(sentence) + 1)
    for word in words:
        before = 0
        for at, other in enumerate(sentence, 1):
            above = row[at]
            row[at] = before + 1 if word == other else max(above, row[at - 1])
            before = above
    return row[-1]
