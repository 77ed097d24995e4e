"""Changes to memory by the user: save, import, edit, pin, mark wrong, merge. All input is validated
here.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from msgspec import UNSET, Struct, field

from claude_mem.api.memories import (
    EditRequest,
    FlagAnswer,
    FlaggedMemory,
    ImportAnswer,
    MergeAnswer,
    RefusedRecord,
    SavedAnswer,
    Undo,
    UndoAnswer,
)
from claude_mem.model.clock import Clock
from claude_mem.model.errors import InvalidInput, NotFound
from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.refs import TYPES, Card, ObservationType, Ref, Source
from claude_mem.privacy import excluded_projects
from claude_mem.recall.background import OnChange
from claude_mem.store.base import Store
from claude_mem.store.values import FieldValue, Revision

LONGEST_TEXT = 100_000
LONGEST_TITLE = 200
MOST_RECORDS = 10_000
MOST_ITEMS = 200


class MemoryWriter(Struct, frozen=True, kw_only=True):
    store: Store
    origin_of: Callable[[str], Origin]
    is_excluded: Callable[[str, str], bool]
    """Whether a directory or project is excluded."""
    clock: Clock
    clean: Callable[[str], str]
    """Removes from a text what must not be stored."""
    on_change: OnChange

    def remember(self, text: str, given: Mapping[str, object]) -> SavedAnswer:
        ref, new, title = self._save(text, given, source="user", provider="user")
        self._notify([ref])
        return SavedAnswer("saved" if new else "known", ref.id, str(ref), title)

    def import_observations(self, records: Sequence[Mapping[str, object]]) -> ImportAnswer:
        if len(records) > MOST_RECORDS:
            raise InvalidInput("records", f"At most {MOST_RECORDS:,} records at a time.")
        imported, skipped, errors = [], 0, []
        for index, record in enumerate(records):
            try:
                ref, new, _ = self._save(_narrative_of(record), record, source="external", provider="import")
            except InvalidInput as error:
                errors.append(RefusedRecord(index, str(error), error.field))
            else:
                imported += [ref] if new else []
                skipped += not new
        if imported:
            self._notify(imported)
        return ImportAnswer(imported=len(imported), skipped=skipped, errors=errors)

    def _notify(self, refs: Sequence[Ref]) -> None:
        self.on_change({card.project_id for card in self.store.memories.cards(refs)})

    def _save(
        self, text: str, given: Mapping[str, object], *, source: Source, provider: str
    ) -> tuple[Ref, bool, str]:
        narrative, title = narrative_and_title(text, given, self.clean)
        observation = Observation(
            type=observation_type(text_field(given, "type") or "discovery"),
            title=title,
            subtitle=self.clean(text_field(given, "subtitle")) or None,
            narrative=narrative if narrative != title else None,
            facts=self._items(given, "facts"),
            concepts=self._items(given, "concepts"),
            files_read=self._items(given, "files_read"),
            files_modified=self._items(given, "files_modified") or self._items(given, "files"),
        )
        origin = self._origin(given)
        at = given.get("created_at_epoch")
        session = text_field(given, "session") or text_field(given, "session_id")
        ref, new = self.store.memories.remember(
            observation,
            origin,
            session=session or _own_session(provider, origin),
            at=at if isinstance(at, int) and 0 < at <= self.clock() else self.clock(),
            source=source,
            client=provider,
            provider=provider,
        )
        return ref, new, observation.title or ""

    def _origin(self, given: Mapping[str, object]) -> Origin:
        name, cwd = self.clean(text_field(given, "project")), text_field(given, "cwd")
        if not name and not cwd:
            raise InvalidInput("project", "Specify a project or a working directory (cwd).")
        known = self.store.projects.find(name) if name else None
        if self.is_excluded(cwd, name) or (known and self.is_excluded(known.root, known.name)):
            field, what = ("project", "project") if name else ("cwd", "directory")
            raise InvalidInput(field, f"{excluded_projects.KEY} excludes this {what}.")
        if known is not None:
            return Origin(key=known.key, name=known.name, root=known.root)
        return Origin(key=f"name:{name}", name=name, root="") if name else self.origin_of(cwd)

    def _items(self, given: Mapping[str, object], name: str) -> tuple[str, ...]:
        items = given.get(name) or ()
        if isinstance(items, str):
            items = (items,)
        if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
            raise InvalidInput(name, f"`{name}` must be a list of strings.")
        return tuple(filter(None, (self.clean(item[:LONGEST_TEXT]).strip() for item in items[:MOST_ITEMS])))


def _own_session(provider: str, origin: Origin) -> str:
    """Where memories of no session are stored: one for each project, under a name without a slash."""
    return f"{provider}-{hashlib.sha256(origin.key.encode(errors='replace')).hexdigest()[:12]}"


def _narrative_of(record: object) -> str:
    if not isinstance(record, Mapping):
        raise InvalidInput("records", "A record must be an object.")
    return text_field(record, "narrative") or text_field(record, "text") or text_field(record, "title")


def text_field(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    return value.strip() if isinstance(value, str) else ""


def narrative_and_title(
    text: str, given: Mapping[str, object], clean: Callable[[str], str]
) -> tuple[str, str]:
    """Of a text that is saved on request. Raises InvalidInput."""
    narrative = clean(text).strip()
    if not narrative:
        raise InvalidInput("text", "There is nothing to save after removing private text.")
    if len(narrative) > LONGEST_TEXT:
        raise InvalidInput("text", f"`text` is longer than {LONGEST_TEXT:,} characters.")
    return narrative, (clean(text_field(given, "title")).strip() or _first_line(narrative))[:LONGEST_TITLE]


def _first_line(text: str) -> str:
    line = " ".join(text.splitlines()[0].split()) if text.splitlines() else ""
    return line if len(line) <= 100 else line[:99].rpartition(" ")[0].rstrip(" ,;:.") + "…"


UNDO_MS = 60 * 60 * 1000
MOST_UNDOS = 200
TEXTS = {"title": LONGEST_TITLE, "subtitle": LONGEST_TITLE, "narrative": LONGEST_TEXT}
LISTS = ("facts", "concepts")


class _Undo(Struct, frozen=True):
    until: int
    what: str
    before: tuple[Revision, ...]
    after: tuple[Revision, ...]


class Corrections(Struct, kw_only=True):
    """`clean`: removes from a text what must not be stored."""

    store: Store
    clock: Clock
    clean: Callable[[str], str]
    on_change: OnChange
    _undos: dict[str, _Undo] = field(default_factory=dict)
    _mutex: Lock = field(default_factory=Lock)

    def edit(self, request: EditRequest) -> tuple[Ref, Undo]:
        ref = _observation(str(request.id))
        values: dict[str, FieldValue] = {}
        for name in (*TEXTS, *LISTS):
            if (value := getattr(request, name)) is not UNSET:
                values[name] = self._text(name, value) if name in TEXTS else self._items(name, value)
        if request.type is not UNSET:
            values["type"] = observation_type(request.type)
        if not values:
            raise InvalidInput("title", "Nothing to change: specify at least one field.")
        if "title" in values and not values["title"]:
            raise InvalidInput("title", "The title must not be empty.")
        _check_own("id", self.store.memories.cards([ref]))
        values["edited_at_epoch"] = self.clock()
        undo = self._revise("edit", [Revision(ref.id, values)])
        if undo is None:
            raise NotFound(f"No observation with id {request.id}.")
        return ref, undo

    def pin(self, refs: Sequence[str], *, pinned: bool) -> FlagAnswer:
        return self._flag("pinned", refs, pinned)

    def mark_wrong(self, refs: Sequence[str], *, wrong: bool) -> FlagAnswer:
        return self._flag("wrong", refs, wrong)

    def merge(self, into: str, refs: Sequence[str]) -> MergeAnswer:
        target = _observation(into, "into")
        others = [ref for ref in dict.fromkeys(map(_observation, refs)) if ref != target]
        if not others:
            raise InvalidInput("ids", "Specify at least one other observation to merge.")
        cards = {card.ref: card for card in self.store.memories.cards([target, *others])}
        missing = [str(ref) for ref in (target, *others) if ref not in cards]
        if missing:
            raise NotFound(f"No observation with id {', '.join(missing)}. Nothing was merged.")
        _check_own("ids", [cards[ref] for ref in (target, *others)])
        if len({card.project_id for card in cards.values()}) > 1:
            raise InvalidInput("ids", "Observations of different projects cannot be merged.")
        undo = self._revise("merge", _merged(cards[target], [cards[ref] for ref in others]))
        return MergeAnswer(str(target), [str(ref) for ref in others], undo)

    def undo(self, token: str) -> UndoAnswer:
        with self._mutex:
            undo = self._undos.get(token)
            if undo is None or undo.until < self.clock():
                raise NotFound("This change was already undone, or can no longer be undone.")
            self.store.memories.revise(undo.before, expected=undo.after)
            del self._undos[token]
        self._notify(undo.before)
        return UndoAnswer("undone", undo.what, [str(each.id) for each in undo.before])

    def drop_forgotten(self) -> None:
        """Drops the undo data of deleted memories, so that they cannot be restored."""
        with self._mutex:
            ids = {each.id for undo in self._undos.values() for each in undo.before}
            there = {
                card.ref.id for card in self.store.memories.cards([Ref("observation", id) for id in ids])
            }
            self._undos = {
                token: undo
                for token, undo in self._undos.items()
                if all(each.id in there for each in undo.before)
            }

    def _flag(self, name: str, refs: Sequence[str], value: bool) -> FlagAnswer:
        selected = [_observation(ref) for ref in refs]
        found = {card.ref for card in self.store.memories.cards(selected)}
        undo = self._revise(name, [Revision(ref.id, {name: int(value)}) for ref in selected if ref in found])
        return FlagAnswer(
            [FlaggedMemory(str(ref), **{name: value}) for ref in selected if ref in found],
            [str(ref) for ref in selected if ref not in found],
            undo,
        )

    def _revise(self, what: str, revisions: Sequence[Revision]) -> Undo | None:
        """Makes the change and returns its undo; None: there was nothing to change."""
        if not revisions:
            return None
        with self._mutex:
            before = self.store.memories.revise(revisions)
            if not before:
                return None
            changed = {each.id for each in before}
            after = tuple(each for each in revisions if each.id in changed)
            token, until = secrets.token_urlsafe(16), self.clock() + UNDO_MS
            valid = [(name, undo) for name, undo in self._undos.items() if undo.until >= self.clock()]
            self._undos = dict(valid[1 - MOST_UNDOS :])
            self._undos[token] = _Undo(until, what, tuple(before), after)
        self._notify(before)
        return Undo(token, until)

    def _notify(self, revised: Sequence[Revision]) -> None:
        cards = self.store.memories.cards([Ref("observation", each.id) for each in revised])
        self.on_change({card.project_id for card in cards})

    def _text(self, name: str, value: str | None) -> str | None:
        text = self.clean(value or "").strip()
        if len(text) > TEXTS[name]:
            raise InvalidInput(name, f"`{name}` is longer than {TEXTS[name]:,} characters.")
        return text or None

    def _items(self, name: str, value: tuple[str, ...] | None) -> tuple[str, ...]:
        items = value or ()
        if len(items) > MOST_ITEMS or any(len(item) > LONGEST_TEXT for item in items):
            raise InvalidInput(name, f"`{name}` has more than {MOST_ITEMS} items, or one that is too long.")
        return tuple(filter(None, (self.clean(item).strip() for item in items)))


def _check_own(field: str, cards: Sequence[Card]) -> None:
    """Only its author can change another member's memory; here it can be pinned or hidden."""
    for card in cards:
        if card.author is not None:
            raise InvalidInput(
                field,
                f"#{card.ref} is {card.author}'s, so only {card.author} can change it. To hide it on this "
                "machine, mark it wrong.",
            )


def _merged(target: Card, others: Sequence[Card]) -> list[Revision]:
    """Merges observations: one stays, is pinned if any of them was, and supersedes the others."""
    changes: dict[str, FieldValue] = {"superseded_by": None}
    if any(card.pinned for card in others):
        changes["pinned"] = 1
    return [
        Revision(target.ref.id, changes),
        *(Revision(card.ref.id, {"superseded_by": target.ref.id, "pinned": 0}) for card in others),
    ]


def _observation(text: str, field: str = "ids") -> Ref:
    ref = Ref.parse(text)
    if ref is None or ref.kind != "observation":
        raise InvalidInput(field, f"{text!r} cannot be changed: only observations can, such as 12.")
    return ref


def observation_type(value: str | None) -> ObservationType:
    if value not in TYPES:
        raise InvalidInput("type", f"Unknown type {value!r}. Use one of: {', '.join(TYPES)}.")
    return value
