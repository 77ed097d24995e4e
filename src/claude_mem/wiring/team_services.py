"""Builds the services of a team's server: the store on PostgreSQL, and search limited to what a member may
see."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC
from functools import partial
from typing import Any

from claude_mem import __version__
from claude_mem.model.clock import DAY_MS, now
from claude_mem.model.errors import ClaudeMemError
from claude_mem.privacy.scrub import scrub_text
from claude_mem.recall.filter_resolver import FilterResolver
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.recall.search import Search
from claude_mem.serve.team_server.server_state import TeamServices
from claude_mem.settings import Settings
from claude_mem.store.base import Store
from claude_mem.store.team import Identity, acting, acting_as_service
from claude_mem.vectors import embedders
from claude_mem.vectors.builtin import ProjectVectors
from claude_mem.vectors.indexer import Similarity, VectorIndexer
from claude_mem.wiring import database

log = logging.getLogger("claude_mem.server")

AUDIT_DAYS = 400
"""How long the audit log is kept."""
MOST_PROJECTS = 200
"""How many projects a search of all projects compares by vectors: the most recently used ones."""


def _open(settings: Settings) -> Any:
    """The team's store. Raises ClaudeMemError."""
    if settings.database_url is None:
        raise ClaudeMemError(
            "CLAUDE_MEM_DATABASE_URL is not set. A team's server needs a PostgreSQL database (15 or newer): "
            "postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    return database.postgres().PostgresStore.open(settings.database_url, clock=now, server=True)


@contextmanager
def open_store(settings: Settings) -> Iterator[Any]:
    """Opens the store as the server itself, for callers with access to the database."""
    with _open(settings) as store, acting_as_service():
        yield store


def build(settings: Settings) -> TeamServices:
    with ExitStack() as closing:
        store = _open(settings)
        closing.callback(store.close)
        clean = partial(scrub_text, extra_rules=settings.secret_patterns, extra_globs=settings.exclude_paths)
        with acting_as_service():
            if not store.directory.members():
                raise ClaudeMemError("This database has no team yet. Run: claude-mem server init")
            store.text_index.prepare()
            store.sharing.adopt_restored()
            log.info("the database is open", extra={"facts": {"pgvector": store.vectors.pgvector()}})
        background: dict[str, Callable[[], bool]] = {
            "index": lambda: bool(store.text_index.step(hurried=False))
        }
        near = None
        if settings.vectors != "off":
            embedder = embedders.build(settings, clean)
            closing.callback(embedder.close)
            vectors = ProjectVectors(store.vectors, visible=partial(_visible_projects, store))
            near = Similarity(embedder, vectors)
            indexer = VectorIndexer(store.embeddings, vectors, embedder)
            background["vectors"] = lambda: store.presence.claim("vectors") and bool(indexer.step(now()))
        resolver = FilterResolver(
            store=store,
            clock=now,
            zone=lambda: UTC,
            key_of=lambda _: "",  # callers' directories and repositories are not here
            facts_of=lambda _: None,
            member=_member,
        )
        memory = MemoryReader(
            store=store,
            engine=Search(store.memories, now, near, _never_stale),
            resolver=resolver,
            check_staleness=_never_stale,
            clock=now,
            catch_up=lambda: None,  # a server's index is its background's to write
        )
        return TeamServices(
            version=__version__,
            clock=now,
            store=store,
            directory=store.directory,
            sharing=store.sharing,
            memory=memory,
            clean=clean,
            background=background,
            maintenance={"retention": lambda: _expire(store)},
            listen=store.wait,
            check=store.require_current,
            close=closing.pop_all().close,
        )


def _expire(store: Any) -> None:
    """Deletes expired data; only one process does it."""
    if not store.presence.claim("retention"):
        return
    store.upkeep.checkpoint()
    store.directory.prune_audit(now() - AUDIT_DAYS * DAY_MS)


def _member() -> str | None:
    identity = acting()
    return identity.member if isinstance(identity, Identity) else None


def _never_stale(_: object) -> tuple[str, ...]:
    """No staleness marks, because a server has no repositories to compare with."""
    return ()


def _visible_projects(store: Store) -> Sequence[int]:
    return [project.id for project in store.projects.newest(MOST_PROJECTS)]
