"""Puts recall together: who searches, who tells, and what is kept ready for them in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from claude_mem.model.clock import now
from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.events import Origin
from claude_mem.ports.desk import Data
from claude_mem.recall import fence
from claude_mem.recall.desk import Desk
from claude_mem.recall.edit import Corrections, MemoryWriter
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.git_facts import GitTruth
from claude_mem.recall.inject import InjectionLimits, InjectionLog, Injector
from claude_mem.recall.render import Rendered
from claude_mem.recall.search import Search
from claude_mem.recall.service import Sources
from claude_mem.recall.transfer import Exporter, Importer
from claude_mem.recall.viewing import Viewing
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.forget import SqliteKeeping
from claude_mem.store.sqlite.injections import InjectionFigures
from claude_mem.store.sqlite.memories import SqliteMemories, SqliteRevising
from claude_mem.store.sqlite.sessions import SqliteSessions
from claude_mem.store.sqlite.text_index import TextIndex
from claude_mem.store.sqlite.transfer import SqliteTransfer
from claude_mem.store.sqlite.vector_index import SqliteEmbedding, SqliteVectors
from claude_mem.store.values import Project
from claude_mem.vectors import indexer
from claude_mem.vectors.indexer import Similarity, VectorIndexer
from claude_mem.wiring import viewing
from claude_mem.wiring.contexts import Contexts
from claude_mem.wiring.elsewhere import Elsewhere
from claude_mem.wiring.exclusion import refusing_excluded, unless_excluded
from claude_mem.wiring.freshness import Freshness
from claude_mem.wiring.house import House, housing_of

MOST_STEPS = 16
"""Of the index, while somebody waits: some two thousand memories."""

log = logging.getLogger("claude_mem")


@dataclass(frozen=True, slots=True)
class Recalling:
    desk: Desk
    ask: Callable[[dict[str, object]], str]
    step: Callable[[], bool]
    """Does some of what is to be kept ready; False: all of it is."""
    finish_forgetting: Callable[[], object]
    """What a kill interrupted."""
    shown: Callable[[], dict[str, object]]
    """How far the indexes and the rendered contexts are, and what sessions were told; cheap."""
    shown_at_start: Callable[[str, str, int], None]
    """A session was shown a rendered context: the session, the rendering's stamp, when."""
    fence: Callable[[str], str]
    close: Callable[[], None]
    house: House
    correcting: Corrections
    viewing: Viewing
    copying: threading.Lock
    """Held while copies of the database are made or rewritten."""


def assemble(
    settings: Settings,
    store: SqliteStore,
    origin_of: Callable[[str], Origin],
    clean: Callable[[str], str],
    drain: Callable[[], int],
) -> Recalling:
    library, shelves = SqliteMemories(store.readers), SqliteSessions(store.readers)
    keeping = SqliteKeeping(store.readers, store.writer, now)
    indexing = TextIndex(store.readers, store.writer)
    indexing.prepare()
    one_at_a_time = threading.Lock()

    def catch_up() -> None:
        """What was added a moment ago is found; nobody waits until a whole index is made anew. Where nothing
        can be written, as on a full disk, what is indexed already has to do: reading needs no writing."""
        with one_at_a_time, suppress(StoreUnavailable):
            for _ in range(MOST_STEPS):
                if not indexing.step():
                    break

    embedder = indexer.embedder()
    keeper = indexer.keeper(settings, SqliteVectors(store.readers, store.writer))
    embedding = (
        VectorIndexer(SqliteEmbedding(store.readers, store.writer), keeper, embedder) if keeper else None
    )
    near = Similarity(embedder, keeper) if keeper else None

    truth_of = GitTruth(library, origin_of)
    search = Search(library, now, near, truth_of)
    questions = FilterResolver(library, shelves, now, _zone, lambda cwd: origin_of(cwd).key, truth_of.facts)
    notes = InjectionLog(keeping)
    embedded_by_one = threading.Lock()

    def alone(work: Callable[[], int]) -> int:
        with embedded_by_one:
            return work()

    def changed(projects: Collection[int] | None) -> None:
        fresh.anew(projects)
        catch_up()

    housing = housing_of(store, origin_of, truth_of, changed, clean, alone)
    occasions = Injector(
        library,
        shelves,
        keeping,
        search,
        truth_of,
        origin_of,
        now,
        _zone,
        notes.note,
        InjectionLimits(settings.context_characters, settings.context_tokens, settings.prompt_characters),
        housing.placed,
    )
    start = _by_git(truth_of, occasions.start)
    contexts = Contexts(settings.data_dir, shelves, keeping, start, now)
    fresh, told = (
        Freshness(store.readers, library, contexts, housing.looked_for),
        InjectionFigures(store.readers),
    )
    house = House(settings, store, keeping, contexts, housing)
    copying = threading.Lock()

    def figures() -> Data:
        return {"index": {"waiting": fresh.waiting()}, **fresh.figures(), "vectors": _vectors(embedding)}

    def standing() -> Data:
        return {
            "index": {"waiting": fresh.waiting()},
            "vectors": _vectors(embedding),
            "context": {"fresh": not fresh.is_due()},
            "injected": told.figures(),
        }

    def step() -> bool:
        with one_at_a_time:
            indexed = indexing.step()
        if indexed:
            return True
        return _rendered(fresh) or bool(embedding and alone(lambda: embedding.step(now())))

    def close() -> None:
        for each in (notes, truth_of, *((keeper,) if keeper else ())):
            each.close()

    elsewhere = Elsewhere(settings, copying)
    kept_at = refusing_excluded(settings, origin_of)
    writing = MemoryWriter(
        library, keeping, questions, kept_at, now, _drained(drain), clean, changed, elsewhere
    )
    sources = Sources(library, shelves, keeping, search, questions, truth_of, now, catch_up)
    travelling = SqliteTransfer(store.readers, store.writer, now)
    leaving = Exporter(travelling.records, library, questions, search, catch_up)
    arriving = Importer(travelling.absorb, now, clean, writing.take_in, catch_up)
    return Recalling(
        desk=Desk(sources, writing, leaving, arriving, occasions, figures),
        ask=unless_excluded(settings, occasions.answer),
        step=step,
        finish_forgetting=keeping.finish_forgetting,
        shown=standing,
        shown_at_start=notes.shown_at_start,
        fence=fence.fenced,
        close=close,
        house=house,
        correcting=Corrections(library, SqliteRevising(store.writer), now, clean, changed),
        viewing=viewing.assemble(settings, store, sources, occasions),
        copying=copying,
    )


def _drained(drain: Callable[[], int]) -> Callable[[], None]:
    def drained() -> None:
        while drain():
            pass

    return drained


def _by_git(
    truth_of: GitTruth, start: Callable[[Project, str], Rendered]
) -> Callable[[Project, str], Rendered]:
    """In the background git is waited for: what it says now stands until the next rendering."""

    def started(project: Project, session: str) -> Rendered:
        if project.root:
            truth_of.facts(project.root)
        return start(project, session)

    return started


def _rendered(fresh: Freshness) -> bool:
    try:
        return fresh.step()
    except OSError as error:  # it is tried again; searching and asking go on meanwhile
        log.warning("context/ cannot be written: %s", error.strerror)
        return False


def _vectors(embedding: VectorIndexer | None) -> Data:
    if embedding is None:
        return {"state": "off", "waiting": 0, "trouble": None}
    state = "unavailable" if embedding.trouble else "on"
    return {"state": state, "waiting": embedding.waiting(), "trouble": embedding.trouble}


def _zone() -> tzinfo:
    """The user's own, as it is now: a laptop travels."""
    return datetime.now().astimezone().tzinfo or UTC
