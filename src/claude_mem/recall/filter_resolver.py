"""Resolves filters as people write them (project names, directories, dates in words) for the store, and
checks a memory against them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from claude_mem.agents import TITLES
from claude_mem.api.filters import FilterRequest
from claude_mem.model.clock import Clock
from claude_mem.model.errors import AmbiguousProject, InvalidInput, UnknownProject
from claude_mem.model.refs import KINDS, Card, Filters, MemoryKind, is_of_file
from claude_mem.recall.dates import interval
from claude_mem.recall.staleness import RepoFacts, when_tagged
from claude_mem.store.base import Store
from claude_mem.store.values import Project

WITHOUT_EVIDENCE: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""All kinds of memory except raw evidence."""
ME = "me"
OWN = ""
"""The store's name for the author of the user's own sessions on this machine."""


class FilterResolver:
    """`key_of`: the key of the project that a directory belongs to; `facts_of`: what git knows about a
    project's root; `member`: one's name in the team, if one has joined any."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        zone: Callable[[], tzinfo],
        key_of: Callable[[str], str],
        facts_of: Callable[[str], RepoFacts | None],
        member: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._store, self._clock, self._zone = store, clock, zone
        self._key_of, self._facts_of, self._member = key_of, facts_of, member

    def project(self, request: FilterRequest) -> Project | None:
        """None: all projects or, if a directory was given, one without memories."""
        if request.project:
            found = self._named(request)
            if found is None:
                raise UnknownProject(request.project)
            return found
        return self._here(request)

    def _named(self, request: FilterRequest) -> Project | None:
        """If several have the name, the one whose directory was given as well."""
        try:
            return self._store.projects.find(request.project)
        except AmbiguousProject:
            here = self._here(request)
            if here is None or here.name != request.project:
                raise
            return here

    def _here(self, request: FilterRequest) -> Project | None:
        return self._store.projects.by_key(self._key_of(request.cwd)) if request.cwd else None

    def filters(self, request: FilterRequest) -> Filters:
        project = self.project(request)
        unknown = request.cwd and not request.project and project is None
        return Filters(
            # A directory without memories: no project has the id 0, so nothing is found.
            project_id=0 if unknown else project.id if project else None,
            kinds=tuple(
                kind for kind in KINDS if kind in request.kinds or (request.raw and not request.kinds)
            ),
            types=request.types,
            concepts=request.concepts,
            file=request.file or None,
            branch=request.branch or None,
            session=self.session(request.session) if request.session else None,
            client=self.client(request.client) if request.client else None,
            authors=self.authors(request.author) if request.author else (),
            since=self.time("since", request.since, project)[0],
            until=self.time("until", request.until, project)[1],
            superseded=request.superseded,
            wrong=request.wrong,
            pinned=request.pinned,
        )

    def session(self, given: str) -> str:
        """The agent's own id of a session, given that id or the start of it."""
        found = self._store.sessions.session(given.strip())
        if found is None:
            raise InvalidInput("session", f"No session {given!r}. To list all: claude-mem sessions")
        return str(found["claude_session_id"])

    def client(self, given: str) -> str:
        """Checks the name of an agent, or of another program that has reported sessions."""
        if given in TITLES:
            return given
        known = self._store.sessions.clients()
        if given not in known:
            names = ", ".join(dict.fromkeys([*TITLES, *known]))
            raise InvalidInput("client", f"Unknown agent {given!r}. Known: {names}.")
        return given

    def authors(self, given: str) -> tuple[str, ...]:
        """What the store calls a member's sessions. One's own from another machine have one's name."""
        me = self._member()
        if given in (ME, me):
            return (OWN, me) if me else (OWN,)
        known = self._store.sessions.authors()
        if given not in known:
            names = ", ".join(dict.fromkeys([ME, *known]))
            raise InvalidInput("author", f"No memories of {given!r}. Known: {names}.")
        return (given,)

    def is_own(self, author: str | None) -> bool:
        """Whether a session is the user's own, on this machine or another one."""
        return author is None or author == self._member()

    def time(self, field: str, words: str, project: Project | None) -> tuple[int | None, int | None]:
        """The start of the period that is meant, and the first moment after it."""
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
        and (not filters.authors or (card.author or OWN) in filters.authors)
        and (filters.since is None or card.created_at >= filters.since)
        and (filters.until is None or card.created_at < filters.until)
        and (filters.superseded is None or (card.superseded_by is not None) == filters.superseded)
        and (filters.wrong is None or card.wrong == filters.wrong)
        and (not filters.pinned or card.pinned)
    )
