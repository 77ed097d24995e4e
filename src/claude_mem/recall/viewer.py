"""What the viewer's pages tell beside the desk's answers: where a memory comes from, a session in order, a
project as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from claude_mem.api.filters import Page, SearchFilters
from claude_mem.model.refs import KINDS, Filters, MemoryKind, Ref
from claude_mem.ports.desk import Data, NotThere
from claude_mem.recall import json_shapes
from claude_mem.recall.filters import TYPES
from claude_mem.recall.json_shapes import next_cursor
from claude_mem.recall.service import UNDERSTOOD, ListOptions, Reading, Sources
from claude_mem.store.values import Ledgers, Project

DAY_MS = 24 * 60 * 60 * 1000
INJECTED = 50
DUPLICATES = 5
LIKE = 0.5
"""Of the words of two titles, how many they share that may say the same."""
FILES = 30
NEXT_STEPS = 10
PINNED = 50
SESSIONS = 10
MOST_SELECTED = 500


class Pages(Reading):
    def __init__(self, sources: Sources, ledgers: Ledgers) -> None:
        super().__init__(sources)
        self._ledgers = ledgers

    def provenance(self, ref: str) -> Data:
        meant = Ref.parse(ref)
        found = self._from.library.whole([meant]) if meant else {}
        if meant is None or not found:
            raise NotThere(f"There is no memory {ref!r}.")
        card, columns = found[meant]
        session = self._from.shelves.session(card.session)
        asked = None
        if card.prompt_number is not None and meant.kind != "prompt":
            asked = self._ledgers.prompt(card.session_db_id, card.prompt_number)
        is_observation = meant.kind == "observation"
        uses = columns["tool_use_ids"] if is_observation else []
        newer = [Ref("observation", card.superseded_by)] if card.superseded_by is not None else []
        told = self._from.keeping.injections(ref=meant, limit=INJECTED)
        return {
            "ref": str(meant),
            "branch": card.branch,
            "commit": card.commit,
            "client": card.client,
            "provider": card.provider,
            "session": json_shapes.session(session) if session else None,
            "prompt": next(iter(self._shown([asked] if asked else [])), None),
            "tool_uses": self._shown(self._ledgers.tool_uses(card.session_db_id, uses)) if uses else [],
            "supersedes": self._shown(self._ledgers.superseded(meant.id)) if is_observation else [],
            "superseded_by": next(iter(self._shown(newer)), None),
            "injected": [
                {
                    "session_id": each.session,
                    "event": each.event,
                    "at": json_shapes.iso(each.at),
                    "tokens": each.tokens,
                }
                for each in told
            ],
            "injected_times": self._ledgers.times_injected(meant),
            "duplicates": self._like(meant, card.title, card.project_id) if is_observation else [],
        }

    def events(self, session: str, kinds: Sequence[MemoryKind], page: Page) -> Data:
        found = self._from.shelves.session(session.strip())
        if found is None:
            raise NotThere(f"There is no session {session!r}.")
        counts = {
            kind: self._from.library.count(Filters(session=found["claude_session_id"], kinds=(kind,)))
            for kind in KINDS
        }
        wanted = tuple(kind for kind in KINDS if kind in kinds)
        filters = Filters(session=found["claude_session_id"], kinds=wanted)
        cards = self._listed(
            filters,
            page.limit + 1,
            0,
            ListOptions(newest_first=False, after=json_shapes.parse_cursor(page.cursor)),
        )
        return {
            "session": json_shapes.session(found),
            "items": self._whole(cards[: page.limit]),
            "next": next_cursor(cards, page.limit),
            "total": sum(counts[kind] for kind in wanted or KINDS),
            "counts": counts,
            "first_at_epoch": found["created_at_epoch"],
            "last_at_epoch": found["updated_at_epoch"],
        }

    def project(self, narrowing: SearchFilters, *, days: int) -> Data:
        project = self._from.questions.project(narrowing)
        if project is None:
            raise NotThere("Nothing is remembered of that directory.")
        since = self._from.clock() - days * DAY_MS
        activity = self._ledgers.activity(project.id, since)
        standing = Filters(project_id=project.id, kinds=("observation",), superseded=False)
        pinned = self._from.library.listed(replace(standing, pinned=True), limit=PINNED)
        sessions = self._from.shelves.sessions(Filters(project_id=project.id), limit=SESSIONS)
        return {
            "project": self._figures(project, sessions),
            "days": days,
            "activity": [
                {"day": day, "observations": 0, "prompts": 0, "summaries": 0} | activity[day]
                for day in sorted(activity)
            ],
            "types": self._ledgers.types(project.id),
            "files": self._changed_files(project.id),
            "next_steps": self._next_steps(project.id),
            "pinned": [json_shapes.result(self._hit(card)) for card in pinned],
            "sessions": [json_shapes.session(each) for each in sessions],
        }

    def facets(self, narrowing: SearchFilters) -> Data:
        project = self._from.questions.project(narrowing)
        found = self._ledgers.facets(project.id if project else None)
        return {
            "projects": list(found.projects),
            "types": list(TYPES),
            "branches": list(found.branches),
            "clients": list(found.clients),
            "concepts": list(found.concepts),
        }

    def select(self, query: str, narrowing: SearchFilters, *, cursor: str = "") -> Data:
        filters = self._from.questions.filters(narrowing)
        if query.strip():
            self._from.catch_up()
            filters = filters if filters.kinds else replace(filters, kinds=UNDERSTOOD)
            hits = self._from.search(query, filters, MOST_SELECTED + 1).hits
            # Near in meaning is not enough here: something is always nearest.
            refs = [hit.card.ref for hit in hits if hit.parts["words"] or hit.parts["file"]]
            further = None
        else:
            # As it is listed: also what was marked wrong.
            cards = self._newest(filters, Page(MOST_SELECTED, cursor=cursor))
            refs, further = [card.ref for card in cards], next_cursor(cards, MOST_SELECTED)
        return {
            "ids": [str(ref) for ref in refs[:MOST_SELECTED]],
            "more": len(refs) > MOST_SELECTED,
            "next": further,
        }

    def _figures(self, project: Project, sessions: Sequence[Data]) -> Data:
        count, observations = self._from.shelves.figures(project.id)
        last = sessions[0]["updated_at_epoch"] if sessions else None
        return json_shapes.project(replace(project, sessions=count, observations=observations, last_at=last))

    def _changed_files(self, project_id: int) -> list[Data]:
        files = self._ledgers.changed_files(project_id, FILES)
        last = {card.ref: card.created_at for card in self._from.library.cards([each.last for each in files])}
        return [
            {
                "path": each.path,
                "changes": each.changes,
                "last_at": json_shapes.iso(last[each.last]),
                "last_at_epoch": last[each.last],
            }
            for each in files
            if each.last in last
        ]

    def _next_steps(self, project_id: int) -> list[Data]:
        refs = [Ref("summary", id) for id in self._from.shelves.last_summaries(project_id, "", NEXT_STEPS)]
        whole = self._from.library.whole(refs)
        return [
            {
                "ref": str(ref),
                "session_id": card.session,
                "at": json_shapes.iso(card.created_at),
                "text": columns["next_steps"],
            }
            for ref, (card, columns) in ((ref, whole[ref]) for ref in refs if ref in whole)
            if columns["next_steps"]
        ]

    def _like(self, ref: Ref, title: str, project_id: int) -> list[Data]:
        """Others that may say the same; whether they do, a person sees."""
        filters = Filters(project_id=project_id, kinds=("observation",), superseded=False)
        hits = self._from.search(title, filters, 2 * DUPLICATES, hurried=True).hits
        ours = _words(title)
        alike = [
            hit
            for hit in hits
            if hit.card.ref != ref
            and len(ours & _words(hit.card.title)) >= LIKE * len(ours | _words(hit.card.title))
        ]
        return [json_shapes.result(hit) for hit in alike[:DUPLICATES]]

    def _shown(self, refs: Sequence[Ref]) -> list[Data]:
        cards = {card.ref: card for card in self._from.library.cards(refs)} if refs else {}
        return [json_shapes.result(self._hit(cards[ref])) for ref in refs if ref in cards]


def _words(title: str) -> frozenset[str]:
    return frozenset(title.casefold().split())
