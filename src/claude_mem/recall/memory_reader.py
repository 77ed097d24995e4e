"""Reads memory for every interface: search, timeline, details, lists. The viewer's pages are in
`viewer_reader`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import (
    FileAnswer,
    FoundSession,
    MemoriesAnswer,
    MemoryList,
    SearchAnswer,
    TimelineAnswer,
)
from claude_mem.api.projects import ProjectList
from claude_mem.api.sessions import SessionAnswer, SessionList
from claude_mem.model.clock import Clock, iso
from claude_mem.model.errors import AmbiguousSession, InvalidInput, NotFound
from claude_mem.model.full_text import query_words
from claude_mem.model.refs import Card, Filters, Hit, MemoryKind, Ref
from claude_mem.model.structs import replace
from claude_mem.recall import json_shapes
from claude_mem.recall.filter_resolver import WITHOUT_EVIDENCE, FilterResolver
from claude_mem.recall.json_shapes import Json
from claude_mem.recall.results import LISTED_PER_SESSION, Fold, SessionHits, by_session, without_question
from claude_mem.recall.search import CheckStaleness, Search, SearchResults
from claude_mem.store.base import Store

MOST_FOUND = 200
MORE_EXIST = f"Only the best {MOST_FOUND} results are listed. Add words or filters to find others."
FIRST_FOUND = 120
"""Hits that the first pages are made from: as many as a search reads at once. The number is fixed, so that
hits are grouped the same way on each page."""
MOST_OF_A_SESSION = 300
MOST_LOOKED_UP = 20
"""If at most this many memories are requested, each comes with the sessions it was injected into: a search
through all injections."""
LISTS: dict[str, MemoryKind] = {
    "observations": "observation",
    "summaries": "summary",
    "prompts": "prompt",
    "evidence": "evidence",
}


class MemoryReader(Struct, frozen=True, kw_only=True):
    """Any thread may call it; any call may block. Raises InvalidInput, NotFound, StoreError."""

    store: Store
    engine: Search
    resolver: FilterResolver
    check_staleness: CheckStaleness
    clock: Clock
    catch_up: Callable[[], None]
    """Updates the index, if the store can be written, so that what was saved a moment ago is found."""

    def search(
        self, query: str, request: FilterRequest, page: Page, *, explain: bool = False
    ) -> SearchAnswer:
        filters = self.resolver.filters(request)
        words = query_words(query)[0]
        groups: list[SessionHits] = []
        if query.strip():
            self.catch_up()
            end = page.offset + page.limit
            found = self.engine(query, filters, FIRST_FOUND if end < FIRST_FOUND // 3 else MOST_FOUND + 1)
            if len(found.hits) > MOST_FOUND and end >= MOST_FOUND:
                found = replace(found, note=f"{found.note or ''} {MORE_EXIST}".strip())
            answers = without_question(found.hits[:MOST_FOUND], query, self.clock())
            fold = Fold(
                partial(self._memories_of, filters),
                lambda card: self.check_staleness(card)[0],
                MOST_FOUND if filters.session or filters.kinds else LISTED_PER_SESSION,
            )
            for group in by_session(answers, None if "evidence" in filters.kinds else fold):
                groups.append(group)
                if sum(len(each.hits) for each in groups) > end:
                    break
            hits = [hit for group in groups for hit in group.hits][page.offset :]
        else:
            hits = [self._hit(card) for card in self._newest(_without_wrong(filters), page)]
            found = SearchResults(hits, ("time",))
        shown = hits[: page.limit]
        is_list = not query.strip()
        return SearchAnswer(
            query=query,
            results=[json_shapes.result(hit, words, explain=explain) for hit in shown],
            sessions=self._found_sessions(shown, groups),
            offset=page.offset,
            limit=page.limit,
            has_more=len(hits) > page.limit,
            legs=found.legs,
            note=found.note,
            next=json_shapes.next_cursor([hit.card for hit in hits], page.limit) if is_list else None,
        )

    def _memories_of(self, filters: Filters, session: str) -> list[Card]:
        """The memories of a session into which its events may be folded: all that pass the filters."""
        of_session = replace(filters, session=session, kinds=WITHOUT_EVIDENCE, wrong=False)
        return self.store.memories.list_cards(of_session, limit=MOST_OF_A_SESSION)

    def _found_sessions(self, hits: Sequence[Hit], groups: Sequence[SessionHits]) -> list[FoundSession]:
        by_id = {group.session: group for group in groups}
        ids = {hit.card.session: hit.card.session_db_id for hit in hits}
        rows = self.store.sessions.titles(list(ids.values()))
        found = ((rows[id], by_id.get(id) or SessionHits(id, [])) for id in ids if id in rows)
        return [json_shapes.found_session(row, group.events, group.more) for row, group in found]

    def _newest(self, filters: Filters, page: Page) -> list[Card]:
        """One more than fits on the page, which shows whether another page follows."""
        understood = without_evidence(filters)
        self._index_files(understood)
        after = json_shapes.parse_cursor(page.cursor)
        return self.store.memories.list_cards(
            understood, limit=page.limit + 1, offset=page.offset, after=after
        )

    def timeline(
        self, anchor: str, request: FilterRequest, *, before: int = 10, after: int = 10, query: str = ""
    ) -> TimelineAnswer:
        filters = self.resolver.filters(request)
        middle, at = self._anchor(anchor.strip(), query, filters, request)
        if filters.project_id is None and middle is not None:
            filters = replace(filters, project_id=middle.card.project_id)
        filters = without_evidence(_without_wrong(filters))
        self._index_files(filters)
        listed, itself = self.store.memories.list_cards, middle.card.ref if middle else None
        earlier = [
            card for card in listed(replace(filters, until=at + 1), limit=before + 1) if card.ref != itself
        ]
        later = [
            card
            for card in listed(replace(filters, since=at), limit=after + 1, newest_first=False)
            if card.ref != itself and card not in earlier
        ]
        return TimelineAnswer(
            anchor=json_shapes.result(middle) if middle else None,
            at=iso(at),
            before=[json_shapes.result(self._hit(card)) for card in reversed(earlier[:before])],
            after=[json_shapes.result(self._hit(card)) for card in later[:after]],
        )

    def details(self, refs: Sequence[str]) -> MemoriesAnswer:
        parsed = [(text, Ref.parse(str(text))) for text in refs]
        rows = self.store.memories.details([ref for _, ref in parsed if ref is not None])
        results = []
        for ref in dict.fromkeys(ref for _, ref in parsed if ref in rows):
            card, columns = rows[ref]
            is_looked_up = len(parsed) <= MOST_LOOKED_UP
            injected = self.store.injections.injections(ref=ref, limit=20) if is_looked_up else None
            results.append(json_shapes.detail(self._hit(card), columns, injected))
        missing = [str(text) for text, ref in parsed if ref not in rows]
        return MemoriesAnswer(results, missing)

    def session(self, id: str) -> SessionAnswer:
        found = self._session(id)
        filters = Filters(session=found["claude_session_id"])
        memories: dict[str, list[Json]] = {}
        for name in ("prompts", "observations", "summaries"):
            kind = replace(filters, kinds=(LISTS[name],))
            memories[name] = self._details(
                self.store.memories.refs(kind, limit=MOST_FOUND, newest_first=False)
            )
        return SessionAnswer(
            session=json_shapes.session(found),
            **memories,
            previous=json_shapes.session(found["before"]) if found["before"] else None,
            next=json_shapes.session(found["after"]) if found["after"] else None,
        )

    def file_history(self, path: str, request: FilterRequest, *, limit: int = 20) -> FileAnswer:
        if not path.strip():
            raise InvalidInput("path", "Specify a file: its path, or the end of it.")
        filters = _without_wrong(self.resolver.filters(request))
        self.catch_up()
        # Raw evidence repeats what observations say, so it is used only if there are none.
        touching = self.store.memories.of_file
        chosen = touching(path.strip(), without_evidence(filters), limit) or touching(
            path.strip(), filters, limit
        )
        return FileAnswer(
            path, [replace(json_shapes.result(self._hit(each.card)), how=each.how) for each in chosen]
        )

    def projects(self, page: Page) -> ProjectList:
        found = self.store.projects.newest(page.limit + 1, page.offset)
        return ProjectList(
            items=[json_shapes.project(each) for each in found[: page.limit]],
            offset=page.offset,
            limit=page.limit,
            has_more=len(found) > page.limit,
        )

    def listed(self, kind: str, request: FilterRequest, page: Page) -> MemoryList:
        filters = replace(self.resolver.filters(request), kinds=(LISTS[kind],))
        self._index_files(filters)
        after = json_shapes.parse_cursor(page.cursor)
        refs = self.store.memories.refs(filters, limit=page.limit + 1, offset=page.offset, after=after)
        items, has_more = self._details(refs[: page.limit]), len(refs) > page.limit
        return MemoryList(
            items=items,
            offset=page.offset,
            limit=page.limit,
            has_more=has_more,
            next=json_shapes.cursor_after(items) if has_more else None,
            total=self.store.memories.count(filters) if page.count else None,
        )

    def last_ids(self) -> dict[MemoryKind, int]:
        return self.store.memories.last_ids()

    def _session(self, id: str) -> Json:
        found = self.store.sessions.session(id.strip())
        if found is None:
            raise NotFound(f"No session {id!r}.")
        return found

    def sessions(self, request: FilterRequest, page: Page) -> SessionList:
        filters = self.resolver.filters(request)
        after = json_shapes.parse_session_cursor(page.cursor)
        rows = self.store.sessions.sessions(filters, limit=page.limit + 1, offset=page.offset, after=after)
        last = rows[page.limit - 1] if len(rows) > page.limit else None
        return SessionList(
            items=[json_shapes.session(each) for each in rows[: page.limit]],
            offset=page.offset,
            limit=page.limit,
            has_more=last is not None,
            next=json_shapes.session_cursor(last) if last else None,
            total=self.store.sessions.count_sessions(filters) if page.count else None,
        )

    def _anchor(
        self, anchor: str, query: str, filters: Filters, request: FilterRequest
    ) -> tuple[Hit | None, int]:
        ref = Ref.parse(anchor)
        if ref is not None:
            cards = self.store.memories.cards([ref])
            if not cards:
                raise NotFound(f"No memory with id {anchor}.")
            return self._hit(cards[0]), cards[0].created_at
        if anchor:
            return None, self._moment(anchor, request)
        if query.strip():
            self.catch_up()
            hits = self.engine(query, filters, 1).hits
            if not hits:
                raise NotFound(f"No results for {query!r}.")
            return hits[0], hits[0].card.created_at
        return None, self.clock()

    def _moment(self, anchor: str, request: FilterRequest) -> int:
        """When a session began, or a time in words. Both are tried: some agents' ids begin like a year."""
        several: AmbiguousSession | None = None
        try:
            session = self.store.sessions.session(anchor)
            if session is not None:
                return int(session["created_at_epoch"])
        except AmbiguousSession as error:
            several = error
        try:
            return self.resolver.time("anchor", anchor, self.resolver.project(request))[0] or 0
        except InvalidInput as error:
            raise several or error from None

    def _index_files(self, filters: Filters) -> None:
        """Updates the index before listing by file, which depends on it."""
        if filters.file:
            self.catch_up()

    def _details(self, refs: Sequence[Ref]) -> list[Json]:
        found = self.store.memories.details(refs)
        rows = [found[ref] for ref in refs if ref in found]
        return [json_shapes.detail(self._hit(card), columns) for card, columns in rows]

    def _hit(self, card: Card) -> Hit:
        marks, _ = self.check_staleness(card)
        return Hit(card, 0.0, marks=marks)


def _without_wrong(filters: Filters) -> Filters:
    """Excludes memories marked wrong, unless the request says otherwise."""
    return filters if filters.wrong is not None else replace(filters, wrong=False)


def without_evidence(filters: Filters) -> Filters:
    """Excludes raw evidence, unless kinds were requested: the newest is what the agent is doing right now."""
    return filters if filters.kinds else replace(filters, kinds=WITHOUT_EVIDENCE)
