"""The questions that change nothing: search, timeline, details, lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from claude_mem.api.filters import Page, SearchFilters
from claude_mem.model.full_text import expressions
from claude_mem.model.refs import Card, Filters, Hit, MemoryKind, Ref
from claude_mem.ports.desk import BadQuestion, Data, NotThere
from claude_mem.recall import json_shapes
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.search import Search, SearchResults, Truth
from claude_mem.store.values import Keeping, Library, ListPosition, Shelves

MOST_RESULTS = 200
MOST_LOOKED_UP = 20
"""Memories of which it is said whom they were injected into: each is looked for in all injections."""
UNDERSTOOD: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
LISTS: dict[str, MemoryKind] = {
    "observations": "observation",
    "summaries": "summary",
    "prompts": "prompt",
    "evidence": "evidence",
}


@dataclass(frozen=True, slots=True)
class Sources:
    """What they are answered from."""

    library: Library
    shelves: Shelves
    keeping: Keeping
    search: Search
    questions: FilterResolver
    truth: Truth
    clock: Callable[[], int]
    catch_up: Callable[[], None]
    """Brings the index in step, if the store can be written: what was saved a moment ago is found."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """In which order a list is, of what, and where it goes on."""

    newest_first: bool = True
    after: ListPosition | None = None


class Reading:
    """The questions that change nothing."""

    def __init__(self, sources: Sources) -> None:
        self._from = sources

    def search(self, query: str, narrowing: SearchFilters, page: Page, *, explain: bool = False) -> Data:
        filters = self._from.questions.filters(narrowing)
        if query.strip():
            self._from.catch_up()
            wanted = min(page.offset + page.limit + 1, MOST_RESULTS + 1)
            found = self._from.search(query, filters, wanted)
            hits = found.hits[page.offset :]
        else:
            right = filters if filters.wrong is not None else replace(filters, wrong=False)
            hits = [self._hit(card) for card in self._newest(right, page)]
            found = SearchResults(hits, ("time",))
        words = [word.strip('"') for word in expressions(query)[0]]
        return {
            "query": query,
            "results": [json_shapes.result(hit, words, explain=explain) for hit in hits[: page.limit]],
            "offset": page.offset,
            "limit": page.limit,
            "hasMore": len(hits) > page.limit,
            "legs": list(found.legs),
            "note": found.note,
            "next": None
            if query.strip()
            else json_shapes.next_cursor([hit.card for hit in hits], page.limit),
        }

    def _newest(self, filters: Filters, page: Page) -> list[Card]:
        """One more than the page holds tells that another follows. Raw evidence is for finding; the newest of
        it is what the agent is doing this moment."""
        understood = filters if filters.kinds else replace(filters, kinds=UNDERSTOOD)
        return self._listed(
            understood, page.limit + 1, page.offset, ListOptions(after=json_shapes.parse_cursor(page.cursor))
        )

    def timeline(
        self, anchor: str, narrowing: SearchFilters, *, before: int = 10, after: int = 10, query: str = ""
    ) -> Data:
        filters = self._from.questions.filters(narrowing)
        middle, at = self._anchor(anchor.strip(), query, filters, narrowing)
        if filters.project_id is None and middle is not None:
            filters = replace(filters, project_id=middle.card.project_id)
        filters = filters if filters.kinds else replace(filters, kinds=UNDERSTOOD)
        filters = filters if filters.wrong is not None else replace(filters, wrong=False)
        itself = middle.card.ref if middle else None
        earlier = [
            card for card in self._listed(replace(filters, until=at + 1), before + 1, 0) if card.ref != itself
        ]
        later = [
            card
            for card in self._listed(
                replace(filters, since=at), after + 1, 0, ListOptions(newest_first=False)
            )
            if card.ref != itself and card not in earlier
        ]
        return {
            "anchor": json_shapes.result(middle) if middle else None,
            "at": json_shapes.iso(at),
            "before": [json_shapes.result(self._hit(card)) for card in reversed(earlier[:before])],
            "after": [json_shapes.result(self._hit(card)) for card in later[:after]],
        }

    def details(self, refs: Sequence[str]) -> Data:
        asked = [(text, Ref.parse(str(text))) for text in refs]
        whole = self._from.library.whole([ref for _, ref in asked if ref is not None])
        results = []
        for ref in dict.fromkeys(ref for _, ref in asked if ref in whole):
            card, columns = whole[ref]
            few = len(asked) <= MOST_LOOKED_UP
            injected = self._from.keeping.injections(ref=ref, limit=20) if few else None
            results.append(json_shapes.detail(self._hit(card), columns, injected))
        missing = [str(text) for text, ref in asked if ref not in whole]
        return {"results": results, "missing": missing}

    def session(self, id: str) -> Data:
        found = self._from.shelves.session(id.strip())
        if found is None:
            raise NotThere(f"There is no session {id!r}.")
        filters = Filters(session=found["claude_session_id"])
        kept: dict[str, list[Data]] = {}
        for name in ("prompts", "observations", "summaries"):
            listed = replace(filters, kinds=(LISTS[name],))
            cards = self._from.library.listed(listed, limit=MOST_RESULTS, newest_first=False)
            kept[name] = self._whole(cards)
        beside = {
            name: json_shapes.session(found[key]) if found[key] else None
            for name, key in (("previous", "before"), ("next", "after"))
        }
        return {"session": json_shapes.session(found), **kept, **beside}

    def file_history(self, path: str, narrowing: SearchFilters, *, limit: int = 20) -> Data:
        if not path.strip():
            raise BadQuestion("path", "Which file? A path or the end of one is needed.")
        filters = self._from.questions.filters(narrowing)
        filters = filters if filters.wrong is not None else replace(filters, wrong=False)
        self._from.catch_up()
        # Raw evidence repeats what observations tell; it stands in where nothing was understood.
        understood = filters if filters.kinds else replace(filters, kinds=UNDERSTOOD)
        touching = self._from.library.touching
        chosen = touching(path.strip(), understood, limit) or touching(path.strip(), filters, limit)
        results = [json_shapes.result(self._hit(each.card)) | {"how": each.how} for each in chosen]
        return {"path": path, "results": results}

    def listed(self, kind: str, narrowing: SearchFilters, page: Page) -> Data:
        filters = self._from.questions.filters(narrowing)
        if kind == "projects":
            projects = self._from.library.projects(page.limit + 1, page.offset)
            return _page([json_shapes.project(each) for each in projects], page)
        if kind == "sessions":
            return self._sessions(filters, page)
        if kind not in LISTS:
            raise BadQuestion("kind", f"{kind!r} is no list: {', '.join((*LISTS, 'sessions', 'projects'))}.")
        filters = replace(filters, kinds=(LISTS[kind],))
        cards = self._newest(filters, page)
        total = self._from.library.count(filters) if page.count else None
        following = {"next": json_shapes.next_cursor(cards, page.limit), "total": total}
        return (
            _page(self._whole(cards[: page.limit]), page) | {"hasMore": len(cards) > page.limit} | following
        )

    def last_ids(self) -> dict[MemoryKind, int]:
        return self._from.library.last_ids()

    def _sessions(self, filters: Filters, page: Page) -> Data:
        after = json_shapes.parse_session_cursor(page.cursor)
        rows = self._from.shelves.sessions(filters, limit=page.limit + 1, offset=page.offset, after=after)
        last = rows[page.limit - 1] if len(rows) > page.limit else None
        return _page([json_shapes.session(each) for each in rows], page) | {
            "next": json_shapes.session_cursor(last) if last else None,
            "total": self._from.shelves.count_sessions(filters) if page.count else None,
        }

    def _anchor(
        self, anchor: str, query: str, filters: Filters, narrowing: SearchFilters
    ) -> tuple[Hit | None, int]:
        ref = Ref.parse(anchor)
        if ref is not None:
            cards = self._from.library.cards([ref])
            if not cards:
                raise NotThere(f"There is no memory {anchor!r}.")
            return self._hit(cards[0]), cards[0].created_at
        if anchor:
            session = self._from.shelves.session(anchor)
            if session is not None:
                return None, int(session["created_at_epoch"])
            time = self._from.questions.time("anchor", anchor, self._from.questions.project(narrowing))[0]
            return None, time or 0
        if query.strip():
            self._from.catch_up()
            hits = self._from.search(query, filters, 1).hits
            if not hits:
                raise NotThere(f"Nothing was found for {query!r}.")
            return hits[0], hits[0].card.created_at
        return None, self._from.clock()

    def _listed(
        self, filters: Filters, limit: int, offset: int, manner: ListOptions | None = None
    ) -> list[Card]:
        """By time."""
        manner = manner or ListOptions()
        if filters.file:
            self._from.catch_up()
        return self._from.library.listed(
            filters, limit=limit, offset=offset, newest_first=manner.newest_first, after=manner.after
        )

    def _whole(self, cards: Sequence[Card]) -> list[Data]:
        kept = self._from.library.whole([card.ref for card in cards])
        return [json_shapes.detail(self._hit(card), kept[card.ref][1]) for card in cards if card.ref in kept]

    def _hit(self, card: Card) -> Hit:
        marks, _ = self._from.truth(card)
        return Hit(card, 0.0, marks=marks)


def _page(items: list[Data], page: Page) -> Data:
    return {
        "items": items[: page.limit],
        "offset": page.offset,
        "limit": page.limit,
        "hasMore": len(items) > page.limit,
    }
