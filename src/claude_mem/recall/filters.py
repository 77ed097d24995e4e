"""Turns filters as people write them (project names, directories, dates in words) into those the store
knows, and checks a memory against them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import get_args

from claude_mem.api.filters import SearchFilters
from claude_mem.model.errors import AmbiguousProject, InvalidInput, UnknownProject
from claude_mem.model.refs import KINDS, Card, Filters, MemoryKind, ObservationType, is_of_file
from claude_mem.recall.dates import interval
from claude_mem.recall.truth import RepoFacts, when_tagged
from claude_mem.store.base import Store
from claude_mem.store.values import Project

TYPES: tuple[str, ...] = get_args(ObservationType)
UNDERSTOOD: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""All kinds of memory but raw evidence."""


class FilterResolver:
    """`key_of`: the key of the project a directory belongs to; `facts_of`: what git says of a project's
    root."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Callable[[], int],
        zone: Callable[[], tzinfo],
        key_of: Callable[[str], str],
        facts_of: Callable[[str], RepoFacts | None],
    ) -> None:
        self._store, self._clock, self._zone = store, clock, zone
        self._key_of, self._facts_of = key_of, facts_of

    def project(self, asked: SearchFilters) -> Project | None:
        """None: all of them, or (with a directory) one that nothing is remembered of."""
        if asked.project:
            found = self._named(asked)
            if found is None:
                raise UnknownProject(asked.project)
            return found
        return self._here(asked)

    def _named(self, asked: SearchFilters) -> Project | None:
        """Of several with one name, the one whose directory was given as well."""
        try:
            return self._store.projects.find(asked.project)
        except AmbiguousProject:
            here = self._here(asked)
            if here is None or here.name != asked.project:
                raise
            return here

    def _here(self, asked: SearchFilters) -> Project | None:
        return self._store.projects.by_key(self._key_of(asked.cwd)) if asked.cwd else None

    def filters(self, asked: SearchFilters) -> Filters:
        project = self.project(asked)
        unknown = asked.cwd and not asked.project and project is None
        return Filters(
            # A directory nothing is remembered of: no project has the id 0, so nothing is found.
            project_id=0 if unknown else project.id if project else None,
            kinds=tuple(kind for kind in KINDS if kind in asked.kinds or (asked.raw and not asked.kinds)),
            types=asked.types,
            concepts=asked.concepts,
            file=asked.file or None,
            branch=asked.branch or None,
            session=self.session(asked.session) if asked.session else None,
            client=asked.client or None,
            since=self.time("since", asked.since, project)[0],
            until=self.time("until", asked.until, project)[1],
            superseded=asked.superseded,
            wrong=asked.wrong,
            pinned=asked.pinned,
        )

    def session(self, given: str) -> str:
        """The client's own id of a session that is named by it, or by the beginning of it."""
        found = self._store.sessions.session(given.strip())
        if found is None:
            raise InvalidInput("session", f"No session {given!r}. To list all: claude-mem sessions")
        return str(found["claude_session_id"])

    def time(self, field: str, words: str, project: Project | None) -> tuple[int | None, int | None]:
        """The first moment of what is meant, and the first after it."""
        if not words.strip():
            return None, None

        def tagged(word: str) -> int | None:
            return when_tagged(self._facts_of(project.root), word) if project and project.root else None

        try:
            return interval(words, self._clock(), self._zone(), tagged)
        except ValueError as error:
            raise InvalidInput(field, str(error)) from None


def fits(card: Card, filters: Filters) -> bool:
    return (
        (filters.project_id is None or card.project_id == filters.project_id)
        and (not filters.kinds or card.ref.kind in filters.kinds)
        and (not filters.types or card.type in filters.types)
        and (not filters.concepts or not set(filters.concepts).isdisjoint(card.concepts))
        and (filters.file is None or any(is_of_file(path, filters.file) for path in card.files))
        and (filters.branch is None or card.branch == filters.branch)
        and (filters.session is None or card.session == filters.session)
        and (filters.client is None or card.client == filters.client)
        and (filters.since is None or card.created_at >= filters.since)
        and (filters.until is None or card.created_at < filters.until)
        and (filters.superseded is None or (card.superseded_by is not None) == filters.superseded)
        and (filters.wrong is None or card.wrong == filters.wrong)
        and (not filters.pinned or card.pinned)
    )
