"""What only the viewer reads: where a memory comes from, a session's events, a project's page, selections."""

from __future__ import annotations

from collections.abc import Sequence

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import FoundMemory, Provenance, SelectAnswer
from claude_mem.api.projects import FacetsAnswer, ProjectAnswer, ProjectSummary
from claude_mem.api.sessions import EventsAnswer
from claude_mem.model.clock import DAY_MS, iso
from claude_mem.model.errors import NotFound
from claude_mem.model.refs import KINDS, Filters, MemoryKind, Ref
from claude_mem.model.structs import replace
from claude_mem.recall import json_shapes
from claude_mem.recall.json_shapes import Json
from claude_mem.recall.memory_reader import MemoryReader, without_evidence
from claude_mem.store.values import Project

INJECTED = 50
DUPLICATES = 5
LIKE = 0.5
"""Of the words of two titles, how many they share that may say the same."""
FILES = 30
NEXT_STEPS = 10
PINNED = 50
SESSIONS = 10
MOST_SELECTED = 500


class ViewerReader(MemoryReader, frozen=True, kw_only=True):
    """A reader of memory that the viewer's pages are made with, too."""

    def provenance(self, ref: str) -> Provenance:
        meant = Ref.parse(ref)
        found = self.store.memories.details([meant]) if meant else {}
        if meant is None or not found:
            raise NotFound(f"No memory with id {ref}.")
        card, columns = found[meant]
        session = self.store.sessions.session(card.session)
        prompt = None
        if card.prompt_number is not None and meant.kind != "prompt":
            prompt = self.store.statistics.prompt(card.session_db_id, card.prompt_number)
        is_observation = meant.kind == "observation"
        uses = columns["tool_use_ids"] if is_observation else []
        newer = [Ref("observation", card.superseded_by)] if card.superseded_by is not None else []
        injections = self.store.injections.injections(ref=meant, limit=INJECTED)
        tool_uses = self.store.statistics.tool_uses(card.session_db_id, uses) if uses else []
        older = self.store.statistics.superseded(meant.id) if is_observation else []
        return Provenance(
            ref=str(meant),
            branch=card.branch,
            commit=card.commit,
            client=card.client,
            provider=card.provider,
            session=json_shapes.session(session) if session else None,
            prompt=next(iter(self._shown([prompt] if prompt else [])), None),
            tool_uses=self._shown(tool_uses),
            supersedes=self._shown(older),
            superseded_by=next(iter(self._shown(newer)), None),
            injected=json_shapes.injections(injections),
            injected_times=self.store.statistics.times_injected(meant),
            duplicates=self._like(meant, card.title, card.project_id) if is_observation else [],
        )

    def events(self, session: str, kinds: Sequence[MemoryKind], page: Page) -> EventsAnswer:
        found = self._session(session)
        counts = self.store.memories.count_by_kind(found["claude_session_id"])
        wanted = tuple(kind for kind in KINDS if kind in kinds)
        filters = Filters(session=found["claude_session_id"], kinds=wanted)
        after = json_shapes.parse_cursor(page.cursor)
        refs = self.store.memories.refs(filters, limit=page.limit + 1, newest_first=False, after=after)
        items = self._details(refs[: page.limit])
        return EventsAnswer(
            session=json_shapes.session(found),
            items=items,
            next=json_shapes.cursor_after(items) if len(refs) > page.limit else None,
            total=sum(counts[kind] for kind in wanted or KINDS),
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
        pinned = self.store.memories.list_cards(current, limit=PINNED)
        sessions = self.store.sessions.sessions(Filters(project_id=project.id), limit=SESSIONS)
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
            pinned=[json_shapes.result(self._hit(card)) for card in pinned],
            sessions=[json_shapes.session(each) for each in sessions],
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
            # As it is listed: also what was marked wrong.
            cards = self._newest(filters, Page(MOST_SELECTED, cursor=cursor))
            refs, further = [card.ref for card in cards], json_shapes.next_cursor(cards, MOST_SELECTED)
        return SelectAnswer([str(ref) for ref in refs[:MOST_SELECTED]], len(refs) > MOST_SELECTED, further)

    def _figures(self, project: Project, sessions: Sequence[Json]) -> ProjectSummary:
        count, observations = self.store.sessions.figures(project.id)
        last = sessions[0]["updated_at_epoch"] if sessions else None
        return json_shapes.project(replace(project, sessions=count, observations=observations, last_at=last))

    def _changed_files(self, project_id: int) -> list[Json]:
        return [
            {
                "path": each.path,
                "changes": each.changes,
                "last_at": iso(each.last_at),
                "last_at_epoch": each.last_at,
            }
            for each in self.store.statistics.changed_files(project_id, FILES)
        ]

    def _next_steps(self, project_id: int) -> list[Json]:
        refs = [Ref("summary", id) for id in self.store.sessions.last_summaries(project_id, "", NEXT_STEPS)]
        rows = self.store.memories.details(refs)
        return [
            {
                "ref": str(ref),
                "session_id": card.session,
                "at": iso(card.created_at),
                "text": columns["next_steps"],
            }
            for ref, (card, columns) in ((ref, rows[ref]) for ref in refs if ref in rows)
            if columns["next_steps"]
        ]

    def _like(self, ref: Ref, title: str, project_id: int) -> list[FoundMemory]:
        """Others that may say the same; whether they do, a person sees."""
        filters = Filters(project_id=project_id, kinds=("observation",), superseded=False)
        hits = self.engine(title, filters, 2 * DUPLICATES, hurried=True).hits
        ours = _words(title)
        alike = [
            hit
            for hit in hits
            if hit.card.ref != ref
            and len(ours & _words(hit.card.title)) >= LIKE * len(ours | _words(hit.card.title))
        ]
        return [json_shapes.result(hit) for hit in alike[:DUPLICATES]]

    def _shown(self, refs: Sequence[Ref]) -> list[FoundMemory]:
        cards = {card.ref: card for card in self.store.memories.cards(refs)} if refs else {}
        return [json_shapes.result(self._hit(cards[ref])) for ref in refs if ref in cards]


def _words(title: str) -> frozenset[str]:
    return frozenset(title.casefold().split())
