"""What a person corrects in memory: other words, pinned, wrong, the same as another. Each can be taken back
for an hour; everything is checked here, at the edge."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from claude_mem.model.refs import Card, Ref
from claude_mem.ports.correcting import Revising, Revision, Value
from claude_mem.ports.desk import BadQuestion, Changed, Data, NotThere
from claude_mem.ports.library import Library
from claude_mem.recall.question import TYPES
from claude_mem.recall.writing import LONGEST_TEXT, LONGEST_TITLE, MOST_ITEMS

UNDO_MS = 60 * 60 * 1000
MOST_UNDOS = 200
TEXTS = {"title": LONGEST_TITLE, "subtitle": LONGEST_TITLE, "narrative": LONGEST_TEXT}
LISTS = ("facts", "concepts")


@dataclass(frozen=True, slots=True)
class _Undo:
    until: int
    what: str
    before: tuple[Revision, ...]
    after: tuple[Revision, ...]


class Correcting:
    """`clean`: takes out of a text what may not be kept."""

    def __init__(
        self,
        library: Library,
        revising: Revising,
        clock: Callable[[], int],
        clean: Callable[[str], str],
        changed: Changed,
    ) -> None:
        self._library, self._revising, self._clock = library, revising, clock
        self._clean, self._changed = clean, changed
        self._undos: dict[str, _Undo] = {}
        self._mutex = threading.Lock()

    def edit(self, ref: str, given: Mapping[str, object]) -> Data:
        meant = _observation(ref)
        values: dict[str, Value] = {
            name: self._text(given, name, TEXTS[name]) for name in TEXTS if name in given
        }
        values |= {name: self._items(given, name) for name in LISTS if name in given}
        if "type" in given:
            values["type"] = _type(given["type"])
        if not values:
            raise BadQuestion("title", "There is nothing to change: say at least one field.")
        if "title" in values and not values["title"]:
            raise BadQuestion("title", "A memory needs a title.")
        values["edited_at_epoch"] = self._clock()
        undo = self._revise("edit", [Revision(meant.id, values)])
        if undo is None:
            raise NotThere(f"There is no observation {ref}.")
        return {"ref": str(meant), "undo": undo}

    def pin(self, refs: Sequence[str], *, pinned: bool) -> Data:
        return self._flag("pinned", refs, pinned)

    def mark_wrong(self, refs: Sequence[str], *, wrong: bool) -> Data:
        return self._flag("wrong", refs, wrong)

    def merge(self, into: str, refs: Sequence[str]) -> Data:
        kept = _observation(into, "into")
        others = [ref for ref in dict.fromkeys(map(_observation, refs)) if ref != kept]
        if not others:
            raise BadQuestion("ids", "Merge what with it? Say at least one other observation.")
        cards = {card.ref: card for card in self._library.cards([kept, *others])}
        missing = [str(ref) for ref in (kept, *others) if ref not in cards]
        if missing:
            raise NotThere(f"There is no observation {', '.join(missing)}; nothing was merged.")
        if len({card.project_id for card in cards.values()}) > 1:
            raise BadQuestion("ids", "They are of different projects; each remembers its own.")
        undo = self._revise("merge", _merged(cards[kept], [cards[ref] for ref in others]))
        return {"into": str(kept), "merged": [str(ref) for ref in others], "undo": undo}

    def undo(self, token: str) -> Data:
        with self._mutex:
            undo = self._undos.get(token)
            if undo is None or undo.until < self._clock():
                raise NotThere("It cannot be undone any more: that was done already, or is too long ago.")
            self._revising.revise(undo.before, expected=undo.after)
            del self._undos[token]
        self._tell(undo.before)
        return {"status": "undone", "what": undo.what, "refs": [str(each.id) for each in undo.before]}

    def forgot(self) -> None:
        with self._mutex:
            ids = {each.id for undo in self._undos.values() for each in undo.before}
            there = {card.ref.id for card in self._library.cards([Ref("observation", id) for id in ids])}
            self._undos = {
                token: undo
                for token, undo in self._undos.items()
                if all(each.id in there for each in undo.before)
            }

    def _flag(self, name: str, refs: Sequence[str], value: bool) -> Data:
        meant = [_observation(ref) for ref in refs]
        there = {card.ref for card in self._library.cards(meant)}
        undo = self._revise(name, [Revision(ref.id, {name: int(value)}) for ref in meant if ref in there])
        return {
            "results": [{"ref": str(ref), name: value} for ref in meant if ref in there],
            "missing": [str(ref) for ref in meant if ref not in there],
            "undo": undo,
        }

    def _revise(self, what: str, revisions: Sequence[Revision]) -> Data | None:
        """What it takes to undo it; None: nothing was there to be changed."""
        if not revisions:
            return None
        with self._mutex:
            before = self._revising.revise(revisions)
            if not before:
                return None
            changed = {each.id for each in before}
            after = tuple(each for each in revisions if each.id in changed)
            token, until = secrets.token_urlsafe(16), self._clock() + UNDO_MS
            standing = [(name, undo) for name, undo in self._undos.items() if undo.until >= self._clock()]
            self._undos = dict(standing[1 - MOST_UNDOS :])
            self._undos[token] = _Undo(until, what, tuple(before), after)
        self._tell(before)
        return {"token": token, "until": until}

    def _tell(self, revised: Sequence[Revision]) -> None:
        cards = self._library.cards([Ref("observation", each.id) for each in revised])
        self._changed({card.project_id for card in cards})

    def _text(self, given: Mapping[str, object], name: str, most: int) -> str | None:
        value = given[name]
        if value is not None and not isinstance(value, str):
            raise BadQuestion(name, f"{name} is no text.")
        text = self._clean(value or "").strip()
        if len(text) > most:
            raise BadQuestion(name, f"{name} is longer than {most:,} characters.")
        return text or None

    def _items(self, given: Mapping[str, object], name: str) -> tuple[str, ...]:
        items = given[name] or []
        if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
            raise BadQuestion(name, f"{name} is no list of texts.")
        if len(items) > MOST_ITEMS or any(len(item) > LONGEST_TEXT for item in items):
            raise BadQuestion(name, f"{name} holds more than {MOST_ITEMS}, or one that is too long.")
        return tuple(filter(None, (self._clean(item).strip() for item in items)))


def _merged(kept: Card, others: Sequence[Card]) -> list[Revision]:
    """One stands, and is pinned if any of them was; the others are superseded by it."""
    stays: dict[str, Value] = {"superseded_by": None}
    if any(card.pinned for card in others):
        stays["pinned"] = 1
    return [
        Revision(kept.ref.id, stays),
        *(Revision(card.ref.id, {"superseded_by": kept.ref.id, "pinned": 0}) for card in others),
    ]


def _observation(text: str, field: str = "ids") -> Ref:
    ref = Ref.parse(text)
    if ref is None or ref.kind != "observation":
        raise BadQuestion(field, f"{text!r} cannot be corrected: only observations can, by their number.")
    return ref


def _type(value: object) -> str:
    if not isinstance(value, str) or value not in TYPES:
        raise BadQuestion("type", f"{value!r} is no type of observation: {', '.join(TYPES)}.")
    return value
