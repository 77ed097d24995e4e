"""The facts of a change: names, values, imports, and the words one will search for later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from claude_mem.observe.offline.file_change import FileChange
from claude_mem.observe.offline.renames import renames
from claude_mem.observe.offline.wording import FACT, clip, listed, words

_KEYWORDS = words(
    """the and for with this that not from return func function const let var string int bool true false none
    null self def class import export type interface struct public private static void new else elif case
    switch break continue default async await try catch except finally raise throw nil err error name
    value key data path file test tests assert expect equal should str len range are was has have but you
    can will use used"""
)


def details(files: Sequence[FileChange], titled: bool) -> list[str]:
    """Concrete facts: each file's names, values that changed, what was imported, words that are new."""
    changes = sorted(
        files, key=lambda c: (c.nature == "tests", -(len(c.added) + len(c.changed)), -(c.plus + c.minus))
    )
    facts = [f"{old} renamed to {new} ({n} places)" for old, new, n in renames(changes)][:1]
    alone = titled and len(changes) == 1
    shown = [
        change
        for change in changes
        if change.added or change.changed or change.removed or change.created or change.deleted
    ][:5]
    if not alone or any(
        len(change.added) + len(change.changed) + len(change.removed) > 2 for change in changes
    ):
        facts += [change.told() for change in shown]
    values = [fact for change in changes for fact in change.value_facts()]
    facts += [clip(fact, FACT) for fact in values[:3]]
    modules = [module for change in changes for module in change.imports]
    if modules:
        facts.append(clip(f"imports added: {listed(modules, 170)}", FACT))
    rest = [change.path for change in changes if change not in shown]
    if rest:
        facts.append(clip(f"also changed: {listed(rest, 170)}", FACT))
    words = _new_words(changes)
    if words:
        facts.append(clip(f"new in the changed lines: {listed(words, 160)}", FACT))
    return facts


def _new_words(changes: Sequence[FileChange]) -> list[str]:
    """Identifiers that the change brought in, most used first: what one will search for later."""
    into: Counter[str] = Counter()
    gone: set[str] = set()
    for change in changes:
        if change.nature != "docs" and (
            change.nature != "tests" or all(other.nature == "tests" for other in changes)
        ):
            into.update(change.words_in)
            gone.update(change.words_out)
    named = {part for change in changes for name in change.added for part in re.findall(r"\w+", name)}
    fresh = [
        (count, word)
        for word, count in into.items()
        if word not in gone
        and word not in named
        and word.lower() not in _KEYWORDS
        and (re.search(r"[a-z][A-Z]|_|\d", word) or (word[:1].isupper() and len(word) > 3))
    ]
    return [word for _, word in sorted(fresh, key=lambda item: (-item[0], item[1]))[:12]]
