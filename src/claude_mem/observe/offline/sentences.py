"""Sentences: where they end, where a long one may be cut, and which ones are informative."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TITLE, SUBTITLE, FACT, NARRATIVE, FIELD, FACTS = 72, 140, 200, 900, 600, 8

VOCABULARY: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "vocabulary.toml").read_text(encoding="utf-8")
)


def pattern(group: str, name: str, flags: int = re.I) -> re.Pattern[str]:
    """One of the word lists."""
    return re.compile("".join(VOCABULARY[group][name].splitlines()), flags)


_SPACE = re.compile(r"\s+")
# A full stop inside `path.go` or `v1.2` is not an end; one before a space is. CJK ends need no space.
_END = re.compile(r"(?:(?<=[^.\s][.!?])|(?<=[^.\s][.!?][)\"'”»*]))\s+|(?<=[。！？])")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|z\.B|d\.h|bzw|p\.ex|п\.)|\b[A-Z])\.[)\"']?$"
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CONCRETE = re.compile(r"[a-z][A-Z]|\w_\w|[\w)]/\w|\w\.\w{2,}|\(\)|#\d|\d|[A-Z]{3,}|--\w|`")

# Where a clause ends (an explanation, an addition or a detail follows), and how much shorter a title may be
# in order to end there.
_CLAUSES = (
    (re.compile(r"[.;] |\s[—–]\s| - |[。；]"), 0),
    (re.compile(r": |：|,\s|，| \((?=\S)| & | \+ "), 6),
    (pattern("clauses", "explains", 0), 10),
    (pattern("clauses", "details", 0), 20),
)
_DANGLING = pattern("sentences", "dangling")

_BEGINNING = 240  # characters by which a sentence is judged
_PLEASANT = pattern("sentences", "pleasant")
_OPENING = pattern("sentences", "opening")
_COURTESY = pattern("sentences", "courtesy")
# How the checks went, that it is committed, what is ticked off: no outcome by itself.
_STATUS = pattern("sentences", "status")
HEDGED = pattern("sentences", "hedged")
REASON = pattern("sentences", "reason")
_CHOSE = pattern("sentences", "chose")
_RATHER = pattern("sentences", "rather")
_ALTERNATIVE = re.compile(
    r"\b(?:instead of|rather than|in favou?r of)\b|, not \w|[:—–] \w|^ (?!to\b).* over \w"
)
_CONDITION = re.compile(r"(?:if|when|once|unless|until|whether|before)\b", re.I)


def words(text: str) -> frozenset[str]:
    """A table of words, written the way it reads best."""
    return frozenset(text.split())


def one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def sentences(text: str) -> list[str]:
    """The sentences of one paragraph, in any script that ends them with a mark."""
    parts: list[list[str]] = []
    for piece in map(str.strip, _END.split(one_line(text))):
        if parts and _ABBREVIATED.search(parts[-1][-1]):
            parts[-1].append(piece)
        elif piece:
            parts.append([piece])
    return [" ".join(part) for part in parts]


def shortened(text: str, limit: int) -> str:
    """At most so long: cut after a clause, else between words, never inside brackets or a quotation."""
    whole = one_line(text[: limit * 4 + 400])
    text = whole.rstrip(" ,;:：")
    if len(text) <= limit:
        return text if text == whole else without_dangling_end(text)
    window = text[: limit + 2]
    ends = [
        (found.start() - price, found.start())
        for clause, price in _CLAUSES
        for found in clause.finditer(window)
        if limit // 3 <= found.start() <= limit
    ]
    for score, end in sorted(ends, reverse=True)[:20]:
        head = without_dangling_end(text[:end])
        if score >= limit // 4 and len(head) >= limit // 3 and _balanced(head):
            return head
    space = text[: limit + 1].rfind(" ")
    head = without_dangling_end(text[:space] if space > limit // 3 else text[:limit])
    if phrases := [found.start() for found in _CLAUSES[-1][0].finditer(head) if found.start() >= limit // 2]:
        head = without_dangling_end(head[: phrases[-1]])  # not in the middle of a phrase
    closed = head if _balanced(head) else without_dangling_end(_to_balance(head))
    return closed if len(closed) >= limit // 4 else head


def begun(text: str) -> str:
    """Capitalizes a sentence, unless its first word is a name."""
    first = text.split(" ", 1)[0]
    named = any(sign.isupper() or sign in "_/()-." for sign in first[1:])
    return text if named else text[:1].upper() + text[1:]


def ends_clause(text: str, at: int) -> bool:
    """Whether a clause of a text ends there."""
    rest = text[at:]
    return not rest.strip(" .") or any(clause.match(rest) for clause, _ in _CLAUSES)


def without_dangling_end(text: str) -> str:
    """Removes an incomplete ending."""
    while (cut := _DANGLING.sub("", text)) != text:
        text = cut
    return text


def _balanced(text: str) -> bool:
    return (
        text.count("(") <= text.count(")")
        and text.count("[") <= text.count("]")
        and text.count("{") <= text.count("}")
        and text.count("`") % 2 == 0
        and text.count('"') % 2 == 0
        and text.count("“") == text.count("”")
    )


def _to_balance(text: str) -> str:
    """Up to the last mark that opens and does not close."""
    at = max(text.rfind(mark) for mark in '([{`"“')
    return text[:at]


def paragraph(text: str, limit: int) -> str:
    """As many complete sentences as fit."""
    text_so_far = ""
    for sentence in sentences(text[: limit * 4]):
        if text_so_far and len(text_so_far) + len(sentence) + 1 > limit:
            break
        text_so_far = f"{text_so_far} {sentence}".strip()
    return shortened(text_so_far, limit)


def is_courtesy(sentence: str) -> bool:
    """Politeness, a word that it is done, a pointer to elsewhere, an announcement."""
    begun = sentence[:_BEGINNING]
    return _PLEASANT.fullmatch(begun) is not None or _COURTESY.match(begun) is not None


def is_status(sentence: str) -> bool:
    return _STATUS.match(sentence[:_BEGINNING]) is not None


def without_pleasantry(sentence: str) -> str:
    """“Perfect! All of it works”, “Yes, but only …”: without the first word."""
    found = _OPENING.match(sentence[:_BEGINNING])
    return sentence[found.end() :] if found and len(sentence) > found.end() + 8 else sentence


def informs(sentence: str) -> bool:
    """Says something by itself: long enough, no question, no announcement, no guess, no courtesy."""
    if sentence.endswith(("?", "？", ":", "：")) or HEDGED.search(sentence) or is_courtesy(sentence):
        return False
    if _CJK.search(sentence):
        return len(sentence) >= 12
    return len(sentence) >= 25 and len(sentence.split()) >= 4


def is_concrete(sentence: str) -> bool:
    """Whether it names something specific: an identifier, a path, a number."""
    return _CONCRETE.search(sentence) is not None


def chooses(sentence: str) -> bool:
    """One thing instead of another, with a reason; or a word of deciding, with the one or the other."""
    if not informs(sentence) or _CONDITION.match(sentence):
        return False
    reason, decided = REASON.search(sentence), _CHOSE.search(sentence)
    other = _ALTERNATIVE.search(sentence[decided.end() :]) if decided else _RATHER.search(sentence)
    return bool((reason and other) or (decided and (reason or other)))


def content_words(text: str) -> frozenset[str]:
    """For comparing what two texts are about."""
    return frozenset(word for word in re.findall(r"[^\W_]{3,}", text.casefold()) if word not in _LITTLE)


_LITTLE = words(
    """the and for with from into that this these those have has had was were are not now its all can will you
    your our out add added adds new use used uses using fix fixed fixes update updated updates change changed
    changes remove removed create created implement implemented make made when then than please should would
    could also more some any one two via per let get set"""
)


def listed(items: Iterable[str], limit: int, more: str = "more") -> str:
    """As many as fit, comma-separated, with the number of those left out."""
    names = list(dict.fromkeys(items))
    shown: list[str] = []
    length = 0
    for name in names:
        if shown and length + len(name) + 2 > limit - (12 if len(names) > len(shown) + 1 else 0):
            break
        shown.append(name)
        length += len(name) + 2
    left = len(names) - len(shown)
    return ", ".join(shown) + (f" and {left} {more}" if left else "")


def unique(items: Iterable[str], most: int | None = None) -> tuple[str, ...]:
    """Without repetitions and empties, in their order."""
    return tuple(dict.fromkeys(item for item in items if item))[:most]
