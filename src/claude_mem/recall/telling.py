"""Decides which sentences of a memory tell the most in little room."""

from __future__ import annotations

import re
from collections.abc import Collection

from claude_mem.recall.fence import flowing, points, quoted

_MOST_READ = 4_000  # characters
_ALIKE = 0.7  # the share of a sentence's words that make it a repetition
_SENTENCES = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[^\sa-z])|(?<=[。！？])")
_ASKED = re.compile(
    r"^Asked: “[^”]*”\s*"
)  # as the offline observer begins: the user's words, not what came of it
_WORDS = re.compile(r"\w+")
_PLAIN = re.compile(r"(?<![\w./\\-])[^\W\d_]{2,}(?![\w/\\]|\.\w)")  # a word, and no part of a path or a name
_LONG_SCRIPT = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]")  # no spaces between words
_FEWEST_WORDS = 5
# The reason, the trap, the rule: what a reader could not see in the code itself.
_REASONS = frozenset(
    (
        *("because", "since", "therefore", "cause", "caused", "causes", "fails", "failed", "broke", "breaks"),
        *(
            "must",
            "never",
            "always",
            "only",
            "unless",
            "until",
            "otherwise",
            "requires",
            "required",
            "beware",
        ),
        *(
            "gotcha",
            "race",
            "deadlock",
            "instead",
            "fix",
            "fixed",
            "workaround",
            "rejected",
            "chose",
            "decided",
        ),
    )
)
_CONCRETE = re.compile(r"`|\d|\w_\w|\w\(\)|\w/\w|[a-z][A-Z]")


def gist(title: str, text: str, cap: int, words: Collection[str] = ()) -> str:
    """The title and what tells the most beyond it, at most cap characters. `words`: what is asked about, in
    lower case."""
    sentences = _sentences(text)
    head = flowing(title) or (sentences[0] if sentences else "")
    if head.endswith("…"):
        # The title is the beginning of a sentence that had no room; here it has.
        head = next((whole for whole in sentences if whole.startswith(head[:-1])), head)
    head = quoted(head, cap)
    if not head or len(head) > cap - 24:
        return head
    more = _telling(sentences, cap - len(head) - 2, known=_words(head), asked=set(words))
    return f"{_ended(head)} {more}".rstrip() if more else head


def beyond(title: str, text: str, cap: int, words: Collection[str] = ()) -> str:
    """What tells the most beyond the title, at most cap characters; often nothing."""
    return _telling(_sentences(text), cap, known=_words(title), asked=set(words))


def _sentences(text: str) -> list[str]:
    found = []
    for point in points(text[:_MOST_READ]):
        found += _SENTENCES.split(_ASKED.sub("", point))
    return [sentence for sentence in found if _says_something(sentence)]


def _says_something(sentence: str) -> bool:
    """`+18 −1, docs` and a list of files do not, once the files are named."""
    return len(_PLAIN.findall(sentence)) >= _FEWEST_WORDS or bool(_LONG_SCRIPT.search(sentence))


def _telling(sentences: list[str], room: int, *, known: set[str], asked: set[str]) -> str:
    ranked = sorted(range(len(sentences)), key=lambda at: (-_worth(sentences[at], at, asked), at))
    chosen: list[int] = []
    for at in ranked:
        words = _words(sentences[at])
        if len(words & known) >= _ALIKE * len(words):
            continue
        if not chosen or len(sentences[at]) + 2 <= room:
            chosen.append(at)
            known = known | words
            room -= len(sentences[at]) + 2
        if len(chosen) == 2 or room <= 0:
            break
    if len(chosen) == 1:
        return quoted(_ended(sentences[chosen[0]]), room + len(sentences[chosen[0]]) + 2)
    return " ".join(_ended(sentences[at]) for at in sorted(chosen))


def _worth(sentence: str, at: int, asked: set[str]) -> float:
    found = _words(sentence)
    return (
        1.0 / (1 + at)  # writers begin with what matters
        + 1.5 * min(len(found & asked), 3)
        + min(len(found & _REASONS), 2)
        + (0.5 if _CONCRETE.search(sentence) else 0.0)
    )


def _words(text: str) -> set[str]:
    return set(_WORDS.findall(text.lower()))


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?:;。！？…" else f"{sentence}."
