"""When a newer observation supersedes an older one.

Whether two sentences contradict each other cannot be decided without understanding them, and no model is
called here. What is tested is weaker and can be explained: the newer one has the same subject (most of the
titles' words, and not each its own word for something: "when the store fails" is not "when the provider
fails"), is about the same place (a file both changed) and says something else. Such a pair is nearly always a
later state of one thing. The bar is high on purpose: one that is wrongly left current costs a line in a list,
one that is wrongly superseded is a memory that recall passes over.
"""

from __future__ import annotations

import re
import unicodedata

from claude_mem.model.memory import Observation, content_key

SAME_SUBJECT = 0.6  # of the words of both titles
NEAR_IDENTICAL = 0.8
FEWEST_SHARED = 2  # words that say more than the files' names do
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # kana and han are written without spaces
_WORD = rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+"  # 3 ms to compile, so when used
_LITTLE = """
a an and are as at be by for from has in into is it its now of on or that the this to was were when with
add added adds change changed changes create created creates fix fixed fixes new remove removed removes
update updated updates use used uses
"""
_STOP_WORDS = frozenset(_LITTLE.split())
_VALUE = r"(?:\b(?:is|are|was|to|at|now)\b|=)\s*[`'\"]?(\d[\w.,:]*)"


def supersedes(new: Observation, old: Observation) -> bool:
    """Whether `new`, written later in the same project, is a later state of what `old` describes."""
    if new.files_modified or old.files_modified:
        enough, shared_files = SAME_SUBJECT, frozenset(new.files_modified) & frozenset(old.files_modified)
        same_files = bool(shared_files)
    else:  # nothing but the subject to go by
        enough, shared_files = NEAR_IDENTICAL, frozenset()
        same_files = bool(new.concepts) and frozenset(new.concepts) == frozenset(old.concepts)
    if not same_files:
        return False
    ours, theirs = _subject(new.title), _subject(old.title)
    shared = ours & theirs
    if len(shared) < enough * len(ours | theirs):
        return False
    if len(shared.difference(*map(_subject, shared_files))) < FEWEST_SHARED:
        return False
    if ours - theirs - _values(new.title) and theirs - ours - _values(old.title):
        return False  # each names something that the other does not
    return content_key(new) != content_key(old)


def _subject(text: str | None) -> frozenset[str]:
    """The words that say what it is about; of writing without spaces, each two neighbouring signs."""
    found: set[str] = set()
    for word in re.findall(_WORD, unicodedata.normalize("NFKC", text or "").casefold()):
        if re.match(f"[{_UNSPACED}]", word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word not in _STOP_WORDS:
            found.add(word)
    return frozenset(found)


def _values(text: str | None) -> frozenset[str]:
    """Of the words of a subject, the numbers it has a state in: "is 30", not "issue 30"."""
    found = re.findall(_VALUE, unicodedata.normalize("NFKC", text or "").casefold())
    return frozenset[str]().union(*map(_subject, found))
