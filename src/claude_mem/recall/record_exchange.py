"""Export and import of memory: which records are exported, how imported ones are merged, and what is stored
of untrusted ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from claude_mem.api.filters import FilterRequest
from claude_mem.api.memories import ImportAnswer
from claude_mem.model import records
from claude_mem.model.clock import DAY_MS, Clock
from claude_mem.model.errors import InvalidInput
from claude_mem.model.records import FIELDS, FOREIGN, INT, LIST, TEXT, Record
from claude_mem.model.refs import Filters, Ref
from claude_mem.model.structs import map_text, replace
from claude_mem.recall.filter_resolver import WITHOUT_EVIDENCE, FilterResolver, fits
from claude_mem.recall.search import Search
from claude_mem.store.base import Store, Transfer
from claude_mem.store.values import ExportSelection, ImportResult

LONGEST = 70_000  # characters of a text: what capture stores of a field, and what it says of the rest
LONGEST_NAME = 1_000  # of what others refer to: cut, it would be another one
MOST_ITEMS = 200
LONGEST_ITEM = 2_000
MOST_OF_MEMBER = 1 << 20
"""Bytes of a member's record: every machine can pull it, alone if need be."""
NAMES = frozenset(
    (
        *("key", "name", "session_id", "project", "effect_key"),
        *("event_id", "observation", "supersedes", "event_kind"),
    )
)


_OWN_NAMES = NAMES - {"key", "name", "project"} | {
    *("prompt_id", "tool_use_id", "tool_use_ids", "cwd", "root", "transcript_path"),
}


class UnfitRecord(ValueError):
    """`str()` is a sentence that says why none of it is stored."""


def fit_untrusted(record: Record, clean: Callable[[str], str], now: int) -> Record:
    """With what is left of its fields. What has another shape than its field stays: the store refuses it."""
    fields = FIELDS.get(str(record.get("kind")))
    if fields is None:
        return record
    fitted = dict(record)
    for name, shape in fields.items():
        value = record.get(name)
        if shape == TEXT and isinstance(value, str):
            fitted[name] = _fit_name(name, value, clean) if name in NAMES else clean(value[:LONGEST])
        elif shape == LIST and isinstance(value, list):
            items = [clean(item[:LONGEST_ITEM]) for item in value[:MOST_ITEMS] if isinstance(item, str)]
            fitted[name] = [item for item in items if item.strip()]
        elif shape == INT:
            _check_time(name, value, now)
    if record.get("kind") == "session":
        fitted["client"] = FOREIGN
    return fitted


def fit_own(record: Record, clean: Callable[[str], str]) -> Record:
    """Whole, and scrubbed by the rules of today: it may have been written before them. What others refer to
    stays as it is."""
    fields = FIELDS.get(str(record.get("kind")), {})
    texts = [name for name, shape in fields.items() if shape in (TEXT, LIST) and name not in _OWN_NAMES]
    return {**record, **{name: map_text(record[name], clean) for name in texts if name in record}}


def fit_members(record: Record, clean: Callable[[str], str], now: int) -> Record:
    """A record that a member of a team shares: scrubbed once more, bounded as an untrusted one, and by its
    own names. Raises UnfitRecord."""
    for name, shape in FIELDS.get(str(record.get("kind")), {}).items():
        value = record.get(name)
        if shape == TEXT and isinstance(value, str):
            _check_length(name, value, LONGEST_NAME if name in NAMES else LONGEST)
        elif shape == LIST and isinstance(value, list):
            texts = [item for item in value if isinstance(item, str)]
            if len(value) > MOST_ITEMS or max(map(len, texts), default=0) > LONGEST_ITEM:
                raise UnfitRecord(f"`{name}` has more than {MOST_ITEMS} items, or one that is too long.")
        elif shape == INT:
            _check_time(name, value, now)
    fitted = fit_own(record, clean)
    if len(json.dumps(fitted, ensure_ascii=False).encode(errors="replace")) > MOST_OF_MEMBER:
        raise UnfitRecord(f"The record is larger than {MOST_OF_MEMBER:,} bytes.")
    return fitted


def _fit_name(name: str, value: str, clean: Callable[[str], str]) -> str:
    _check_length(name, value, LONGEST_NAME)
    return clean(value)


def _check_length(name: str, value: str, most: int) -> None:
    if len(value) > most:
        raise UnfitRecord(f"`{name}` is longer than {most:,} characters.")


def _check_time(name: str, value: object, now: int) -> None:
    if name.endswith("at") and isinstance(value, int) and value > now + DAY_MS:
        raise UnfitRecord(f"`{name}` is in the future.")


MOST_FOUND = 1_000
"""Of a query: past it, what is found has little to do with it."""
PAGE = 1_000
NOTHING = ExportSelection(project_id=0)


class Exporter(Struct, frozen=True, kw_only=True):
    """`catch_up` brings the index in step."""

    store: Store
    resolver: FilterResolver
    search: Search
    catch_up: Callable[[], None]

    def export(self, query: str, request: FilterRequest) -> Iterator[Record]:
        """What cannot be answered is refused here, before the first record."""
        return self.store.transfer.records(self._chosen(query, self.resolver.filters(request)))

    def _chosen(self, query: str, filters: Filters) -> ExportSelection:
        kinds = filters.kinds
        understood = replace(
            filters, kinds=tuple(kind for kind in kinds or WITHOUT_EVIDENCE if kind in WITHOUT_EVIDENCE)
        )
        if query.strip():
            self.catch_up()
            hits = self.search(query, understood, MOST_FOUND).hits
            # Near in meaning is not enough here: something is always nearest, and may be of another project.
            refs = tuple(hit.card.ref for hit in hits if hit.parts["words"] or hit.parts["file"])
            return ExportSelection(refs=refs) if refs else NOTHING
        without_evidence = kinds == WITHOUT_EVIDENCE
        whole = Filters(
            project_id=filters.project_id,
            session=filters.session,
            since=filters.since,
            until=filters.until,
            kinds=kinds if without_evidence else (),
        )
        if filters == whole:
            return ExportSelection(
                filters.project_id,
                filters.session,
                filters.since,
                filters.until,
                evidence=not without_evidence,
            )
        refs = self._listed(understood) if understood.kinds else ()
        return ExportSelection(refs=refs) if refs else NOTHING

    def _listed(self, filters: Filters) -> tuple[Ref, ...]:
        found: list[Ref] = []
        passed = 0
        every = replace(filters, file=None)  # by the rows: the index may be behind
        while cards := self.store.memories.list_cards(every, limit=PAGE, offset=passed, newest_first=False):
            found += [card.ref for card in cards if fits(card, filters)]
            passed += len(cards)
        return tuple(found)


class Importer(Struct, frozen=True, kw_only=True):
    """`clean` removes from a text what must not be stored; `import_observations`
    stores what other tools wrote, observations without a kind; `catch_up` brings the index in step."""

    transfer: Transfer
    clock: Clock
    clean: Callable[[str], str]
    import_observations: Callable[[Sequence[Mapping[str, object]]], ImportAnswer]
    catch_up: Callable[[], None]

    def absorb(self, records: Sequence[Mapping[str, object]], *, own: bool) -> ImportResult:
        now = self.clock()
        places: list[int] = []
        fitting: list[Record] = []
        plain: list[tuple[int, Mapping[str, object]]] = []
        refused: list[tuple[int, str]] = []
        for place, record in enumerate(records):
            check_head(record)
            if "kind" not in record:
                plain += [(place, each if own else _without_session(each)) for each in _plain_records(record)]
                continue
            try:
                fitting.append(fit_own(record, self.clean) if own else fit_untrusted(record, self.clean, now))
            except UnfitRecord as why:
                refused.append((place, str(why)))
            else:
                places.append(place)
        done = self.transfer.absorb(fitting, own=own)
        refused += [(places[number], why) for number, why in done.refused]
        imported, already_known = dict(done.taken), dict(done.known)
        if plain:
            saved = self.import_observations([record for _, record in plain])
            imported["observation"] = imported.get("observation", 0) + (saved.imported or 0)
            already_known["observation"] = already_known.get("observation", 0) + (saved.skipped or 0)
            refused += [(plain[error.index][0], error.message) for error in saved.errors or ()]
        if any(imported.values()):
            self.catch_up()
        return ImportResult(
            {kind: count for kind, count in imported.items() if count},
            {kind: count for kind, count in already_known.items() if count},
            tuple(sorted(refused)),
        )


def check_head(record: Mapping[str, object]) -> None:
    """Raises InvalidInput for the first line of a file that a newer version wrote."""
    if record.get("kind") != records.FORMAT:
        return
    version = record.get("version")
    if not isinstance(version, int) or version > records.VERSION:
        raise InvalidInput(
            "version",
            f"The file is in version {str(version)[:20]} of the format; this claude-mem reads up to version "
            f"{records.VERSION}. Upgrade claude-mem to import it.",
        )


def _without_session(record: Mapping[str, object]) -> Mapping[str, object]:
    """Not in a session that it names: that may be one's own."""
    return {name: value for name, value in record.items() if name not in ("session", "session_id")}


def _plain_records(record: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """What has no kind: an observation as other tools write it, or a list of such."""
    for name in ("records", "observations"):
        inside = record.get(name)
        if isinstance(inside, list):
            return [each if isinstance(each, dict) else {} for each in inside]
    return [record]
