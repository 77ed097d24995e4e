"""Reads memory for every interface: search, timeline, details, lists, and the viewer's pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import asdict

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import (
    FileAnswer,
    FoundMemory,
    FoundSession,
    MemoriesAnswer,
    MemoryList,
    Provenance,
    SearchAnswer,
    SelectAnswer,
    TimelineAnswer,
)
from claude_mem.api.projects import FacetsAnswer, ProjectAnswer, ProjectList, ProjectSummary
from claude_mem.api.sessions import EventsAnswer, SessionAnswer, SessionList
from claude_mem.model.clock import DAY_MS, Clock, iso
from claude_mem.model.errors import AmbiguousSession, InvalidInput, NotFound
from claude_mem.model.full_text import query_words
from claude_mem.model.refs import KINDS, Card, Filters, Hit, MemoryKind, Ref
from claude_mem.model.structs import replace
from claude_mem.recall import answers
from claude_mem.recall.answers import (
    LISTED_PER_SESSION,
    Fold,
    Json,
    SessionHits,
    by_session,
    without_question,
)
from claude_mem.recall.filter_resolver import WITHOUT_EVIDENCE, FilterResolver
from claude_mem.recall.search import CheckStaleness, Search, SearchResults
from claude_mem.store.base import Store
from claude_mem.store.values import Project

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
MOST_INJECTIONS = 50
MOST_DUPLICATES = 5
ALIKE = 0.5
"""Of the words of two titles, how many they share that may say the same."""
CHANGED_FILES = 30
NEXT_STEPS = 10
MOST_PINNED = 50
LAST_SESSIONS = 10
MOST_SELECTED = 500


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
            relevant = without_question(found.hits[:MOST_FOUND], query, self.clock())
            fold = Fold(
                partial(self._memories_of, filters),
                self.check_staleness,
                MOST_FOUND if filters.session or filters.kinds else LISTED_PER_SESSION,
            )
            for group in by_session(relevant, None if "evidence" in filters.kinds else fold):
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
            results=[answers.result(hit, words, explain=explain) for hit in shown],
            sessions=self._found_sessions(shown, groups),
            **_of_page(page, hits),
            legs=found.legs,
            note=found.note,
            next=answers.next_cursor([hit.card for hit in hits], page.limit) if is_list else None,
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
        return [answers.found_session(row, group.events, group.more) for row, group in found]

    def _newest(self, filters: Filters, page: Page) -> list[Card]:
        """One more than fits on the page, which shows whether another page follows."""
        understood = without_evidence(filters)
        self._index_files(understood)
        after = answers.parse_cursor(page.cursor)
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
            anchor=answers.result(middle) if middle else None,
            at=iso(at),
            before=[answers.result(self._hit(card)) for card in reversed(earlier[:before])],
            after=[answers.result(self._hit(card)) for card in later[:after]],
        )

    def details(self, refs: Sequence[str]) -> MemoriesAnswer:
        parsed = [(text, Ref.parse(str(text))) for text in refs]
        rows = self.store.memories.details([ref for _, ref in parsed if ref is not None])
        results = []
        for ref in dict.fromkeys(ref for _, ref in parsed if ref in rows):
            card, columns = rows[ref]
            is_looked_up = len(parsed) <= MOST_LOOKED_UP
            injected = self.store.injections.injections(ref=ref, limit=20) if is_looked_up else None
            results.append(answers.detail(self._hit(card), columns, injected))
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
            session=answers.session(found),
            **memories,
            previous=answers.session(found["before"]) if found["before"] else None,
            next=answers.session(found["after"]) if found["after"] else None,
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
            path, [replace(answers.result(self._hit(each.card)), how=each.how) for each in chosen]
        )

    def projects(self, page: Page) -> ProjectList:
        found = self.store.projects.newest(page.limit + 1, page.offset)
        items = [answers.project(each) for each in found[: page.limit]]
        return ProjectList(items=items, **_of_page(page, found))

    def listed(self, kind: str, request: FilterRequest, page: Page) -> MemoryList:
        filters = replace(self.resolver.filters(request), kinds=(LISTS[kind],))
        self._index_files(filters)
        after = answers.parse_cursor(page.cursor)
        refs = self.store.memories.refs(filters, limit=page.limit + 1, offset=page.offset, after=after)
        items = self._details(refs[: page.limit])
        return MemoryList(
            items=items,
            **_of_page(page, refs),
            next=answers.cursor_after(items) if len(refs) > page.limit else None,
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
        after = answers.parse_session_cursor(page.cursor)
        rows = self.store.sessions.sessions(filters, limit=page.limit + 1, offset=page.offset, after=after)
        return SessionList(
            items=[answers.session(each) for each in rows[: page.limit]],
            **_of_page(page, rows),
            next=answers.session_cursor(rows[page.limit - 1]) if len(rows) > page.limit else None,
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
        return [answers.detail(self._hit(card), columns) for card, columns in rows]

    def _hit(self, card: Card) -> Hit:
        return Hit(card, 0.0, marks=self.check_staleness(card))

    # -- For the viewer --

    def provenance(self, ref: str) -> Provenance:
        parsed_ref = Ref.parse(ref)
        found = self.store.memories.details([parsed_ref]) if parsed_ref else {}
        if parsed_ref is None or not found:
            raise NotFound(f"No memory with id {ref}.")
        card, columns = found[parsed_ref]
        session = self.store.sessions.session(card.session)
        prompt = None
        if card.prompt_number is not None and parsed_ref.kind != "prompt":
            prompt = self.store.statistics.prompt(card.session_db_id, card.prompt_number)
        is_observation = parsed_ref.kind == "observation"
        uses = columns["tool_use_ids"] if is_observation else []
        newer = [Ref("observation", card.superseded_by)] if card.superseded_by is not None else []
        injections = self.store.injections.injections(ref=parsed_ref, limit=MOST_INJECTIONS)
        tool_uses = self.store.statistics.tool_uses(card.session_db_id, uses) if uses else []
        older = self.store.statistics.superseded(parsed_ref.id) if is_observation else []
        return Provenance(
            ref=str(parsed_ref),
            branch=card.branch,
            commit=card.commit,
            client=card.client,
            provider=card.provider,
            session=answers.session(session) if session else None,
            prompt=next(iter(self._shown([prompt] if prompt else [])), None),
            tool_uses=self._shown(tool_uses),
            supersedes=self._shown(older),
            superseded_by=next(iter(self._shown(newer)), None),
            injected=answers.injections(injections),
            injected_times=self.store.statistics.times_injected(parsed_ref),
            duplicates=self._like(parsed_ref, card.title, card.project_id) if is_observation else [],
        )

    def events(self, session: str, kinds: Sequence[MemoryKind], page: Page) -> EventsAnswer:
        found = self._session(session)
        counts = self.store.memories.count_by_kind(found["claude_session_id"])
        selected_kinds = tuple(kind for kind in KINDS if kind in kinds)
        filters = Filters(session=found["claude_session_id"], kinds=selected_kinds)
        after = answers.parse_cursor(page.cursor)
        refs = self.store.memories.refs(filters, limit=page.limit + 1, newest_first=False, after=after)
        items = self._details(refs[: page.limit])
        return EventsAnswer(
            session=answers.session(found),
            items=items,
            next=answers.cursor_after(items) if len(refs) > page.limit else None,
            total=sum(counts[kind] for kind in selected_kinds or KINDS),
            counts=counts,
            first_at_epoch=found["created_at_epoch"],
            last_at_epoch=found["updated_at_epoch"],
        )

    def project(self, request: FilterRequest, *, days: int) -> ProjectAnswer:
        project = self.resolver.project(request)
        if project is None:
            raise NotFound("No memories for that directory.")
        since = self.clock() - days * DAY_MS
        activity = self.store.statistics.activity(project.id, since)
        current = Filters(project_id=project.id, kinds=("observation",), superseded=False, pinned=True)
        pinned = self.store.memories.list_cards(current, limit=MOST_PINNED)
        sessions = self.store.sessions.sessions(Filters(project_id=project.id), limit=LAST_SESSIONS)
        return ProjectAnswer(
            project=self._figures(project, sessions),
            days=days,
            activity=[
                {"day": day, "observations": 0, "prompts": 0, "summaries": 0} | activity[day]
                for day in sorted(activity)
            ],
            types=self.store.statistics.types(project.id),
            files=self._changed_files(project.id),
            next_steps=self._next_steps(project.id),
            pinned=[answers.result(self._hit(card)) for card in pinned],
            sessions=[answers.session(each) for each in sessions],
        )

    def facets(self, request: FilterRequest) -> FacetsAnswer:
        project = self.resolver.project(request)
        return self.store.statistics.facets(project.id if project else None)

    def select(self, query: str, request: FilterRequest, *, cursor: str = "") -> SelectAnswer:
        filters = self.resolver.filters(request)
        if query.strip():
            self.catch_up()
            hits = self.engine(query, without_evidence(filters), MOST_SELECTED + 1).hits
            # Near in meaning is not enough here: something is always nearest.
            refs = [hit.card.ref for hit in hits if hit.parts["words"] or hit.parts["file"]]
            further = None
        else:
            # As in a list, this includes memories marked wrong.
            cards = self._newest(filters, Page(MOST_SELECTED, cursor=cursor))
            refs, further = [card.ref for card in cards], answers.next_cursor(cards, MOST_SELECTED)
        return SelectAnswer([str(ref) for ref in refs[:MOST_SELECTED]], len(refs) > MOST_SELECTED, further)

    def _figures(self, project: Project, sessions: Sequence[Json]) -> ProjectSummary:
        count, observations = self.store.sessions.figures(project.id)
        last = sessions[0]["updated_at_epoch"] if sessions else None
        return answers.project(replace(project, sessions=count, observations=observations, last_at=last))

    def _changed_files(self, project_id: int) -> list[Json]:
        changed = self.store.statistics.changed_files(project_id, CHANGED_FILES)
        return [
            asdict(each) | {"last_at": iso(each.last_at), "last_at_epoch": each.last_at} for each in changed
        ]

    def _next_steps(self, project_id: int) -> list[Json]:
        refs = [Ref("summary", id) for id in self.store.sessions.last_summaries(project_id, "", NEXT_STEPS)]
        rows = self.store.memories.details(refs)
        found = ((str(ref), *rows[ref]) for ref in refs if ref in rows)
        return [
            {"ref": ref, "session_id": card.session, "at": iso(card.created_at), "text": text}
            for ref, card, columns in found
            if (text := columns["next_steps"])
        ]

    def _like(self, ref: Ref, title: str, project_id: int) -> list[FoundMemory]:
        """Possible duplicates; the user decides whether they are."""
        filters = Filters(project_id=project_id, kinds=("observation",), superseded=False)
        hits = self.engine(title, filters, 2 * MOST_DUPLICATES, hurried=True).hits
        title_words = _title_words(title)
        alike = [
            hit
            for hit in hits
            if hit.card.ref != ref
            and len(title_words & _title_words(hit.card.title))
            >= ALIKE * len(title_words | _title_words(hit.card.title))
        ]
        return [answers.result(hit) for hit in alike[:MOST_DUPLICATES]]

    def _shown(self, refs: Sequence[Ref]) -> list[FoundMemory]:
        cards = {card.ref: card for card in self.store.memories.cards(refs)} if refs else {}
        return [answers.result(self._hit(cards[ref])) for ref in refs if ref in cards]


def _without_wrong(filters: Filters) -> Filters:
    """Excludes memories marked wrong, unless the request says otherwise."""
    return filters if filters.wrong is not None else replace(filters, wrong=False)


def without_evidence(filters: Filters) -> Filters:
    """Excludes raw evidence, unless kinds were requested: the newest is what the agent is doing right now."""
    return filters if filters.kinds else replace(filters, kinds=WITHOUT_EVIDENCE)


def _of_page(page: Page, found: Sequence[object]) -> Json:
    """`found`: one more than fits on the page, if there is a next one."""
    return {"offset": page.offset, "limit": page.limit, "has_more": len(found) > page.limit}


def _title_words(title: str) -> frozenset[str]:
    return frozenset(title.casefold().split())
