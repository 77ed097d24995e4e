"""Puts recall together: who searches, who tells, and what is kept ready for them in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

from claude_mem.model.clock import now
from claude_mem.model.events import Origin
from claude_mem.recall.background import BackgroundWork, ContextUpdater
from claude_mem.recall.context_files import ContextFiles
from claude_mem.recall.cost import CostBudget, CostReport
from claude_mem.recall.dates import local_zone
from claude_mem.recall.edit import Corrections, MemoryWriter
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.git_facts import GitTruth
from claude_mem.recall.inject import InjectionLimits, InjectionLog, Injector
from claude_mem.recall.json_shapes import Json
from claude_mem.recall.label import estimate_tokens
from claude_mem.recall.projects import ProjectManager, is_directory
from claude_mem.recall.render import Rendered
from claude_mem.recall.search import Search
from claude_mem.recall.service import MemoryReader
from claude_mem.recall.transfer import Exporter, Importer
from claude_mem.settings import Settings
from claude_mem.store.sqlite import Store
from claude_mem.store.values import Project
from claude_mem.vectors import indexer
from claude_mem.vectors.indexer import Similarity, VectorIndexer
from claude_mem.wiring.elsewhere import Elsewhere
from claude_mem.wiring.exclusion import refusing_excluded
from claude_mem.wiring.house import House


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalling:
    memory: MemoryReader
    writer: MemoryWriter
    corrections: Corrections
    exporter: Exporter
    importer: Importer
    injector: Injector
    costs: CostReport
    projects: ProjectManager
    house: House
    stats: Callable[[], Json]
    progress: Callable[[], Json]
    """How far the indexes and the rendered contexts are, and what sessions were told; cheap."""
    step: Callable[[], bool]
    """Does some of what is to be kept ready; False: all of it is."""
    finish_forgetting: Callable[[], object]
    """What a kill interrupted."""
    shown_at_start: Callable[[str, str, int], None]
    """A session was shown a rendered context: the session, the rendering's stamp, when."""
    copying: threading.Lock
    """Held while copies of the database are made or rewritten."""
    close: Callable[[], None]


def assemble(
    settings: Settings,
    store: Store,
    *,
    origin_of: Callable[[str], Origin],
    clean: Callable[[str], str],
    drain: Callable[[], int],
    instructions: str,
) -> Recalling:
    """`instructions`: what every call of the observer's model begins with."""
    library, shelves = store.memories, store.sessions
    ledgers = store.statistics
    indexing = store.text_index
    indexing.prepare()
    embedder = indexer.embedder()
    keeper = indexer.keeper(settings, store.vectors)
    embedding = VectorIndexer(store.embeddings, keeper, embedder) if keeper else None
    near = Similarity(embedder, keeper) if keeper else None

    def render() -> bool:
        return contexts_updater.step()

    background = BackgroundWork(
        index=indexing.step,
        render=render,
        embed=(lambda: embedding.step(now())) if embedding else None,
    )

    def changed(projects: Collection[int] | None) -> None:
        contexts_updater.anew(projects)
        background.catch_up()

    truth_of = GitTruth(library, origin_of)
    search = Search(library, now, near, truth_of)
    resolver = FilterResolver(
        library=library,
        shelves=shelves,
        clock=now,
        zone=local_zone,
        key_of=lambda cwd: origin_of(cwd).key,
        facts_of=truth_of.facts,
    )
    injections = InjectionLog(store.injections)
    projects = ProjectManager(
        projects=store.projects,
        shelves=shelves,
        origin_of=origin_of,
        is_there=is_directory,
        has_commit=truth_of.has_commit,
        moved=truth_of.look_again,
        changed=changed,
        clean=clean,
        alone=background.without_embedding,
    )
    injector = Injector(
        library=library,
        shelves=shelves,
        injections=store.injections,
        search=search,
        resolver=resolver,
        truth=truth_of,
        origin_of=origin_of,
        clock=now,
        zone=local_zone,
        note=injections.note,
        size=InjectionLimits(
            settings.context_characters, settings.context_tokens, settings.prompt_characters
        ),
        placed=projects.placed,
    )
    contexts = ContextFiles(
        settings.data_dir, shelves, store.injections, _by_git(truth_of, injector.start), now
    )
    contexts_updater = ContextUpdater(store.readers, library, contexts, projects.looked_for)
    injected = store.injections
    copying = threading.Lock()
    corrections = Corrections(
        library=library,
        revising=store.memories,
        clock=now,
        clean=clean,
        changed=changed,
    )
    writer = MemoryWriter(
        library=library,
        deletion=store.deletion,
        resolver=resolver,
        origin_of=refusing_excluded(settings, origin_of),
        clock=now,
        drain=drain,
        clean=clean,
        changed=changed,
        elsewhere=Elsewhere(settings, copying),
        forgotten=corrections.drop_forgotten,
    )
    transfer = store.transfer

    def stats() -> Json:
        waiting = {"waiting": contexts_updater.waiting()}
        return {"index": waiting, **contexts_updater.figures(), "vectors": _vectors(embedding)}

    def progress() -> Json:
        return {
            "index": {"waiting": contexts_updater.waiting()},
            "vectors": _vectors(embedding),
            "context": {"fresh": not contexts_updater.is_due()},
            "injected": injected.figures(),
        }

    def close() -> None:
        for each in (injections, truth_of, *((keeper,) if keeper else ())):
            each.close()

    return Recalling(
        memory=MemoryReader(
            library=library,
            shelves=shelves,
            injections=store.injections,
            ledgers=ledgers,
            engine=search,
            resolver=resolver,
            truth=truth_of,
            clock=now,
            catch_up=background.catch_up,
        ),
        writer=writer,
        corrections=corrections,
        exporter=Exporter(
            records=transfer.records,
            library=library,
            resolver=resolver,
            search=search,
            catch_up=background.catch_up,
        ),
        importer=Importer(
            into=transfer.absorb,
            clock=now,
            clean=clean,
            import_observations=writer.import_observations,
            catch_up=background.catch_up,
        ),
        injector=injector,
        costs=CostReport(
            spending=store.queue.spending,
            today=lambda: store.queue.spent(0, now()),
            ledgers=ledgers,
            clock=now,
            budget=CostBudget(
                settings.daily_tokens, settings.daily_usd, settings.session_tokens, settings.session_usd
            ),
            instructions=estimate_tokens(instructions),
        ),
        projects=projects,
        house=House(settings, store, contexts, projects),
        stats=stats,
        progress=progress,
        step=background.step,
        finish_forgetting=store.deletion.finish_forgetting,
        shown_at_start=injections.shown_at_start,
        copying=copying,
        close=close,
    )


def _by_git(
    truth_of: GitTruth, start: Callable[[Project, str], Rendered]
) -> Callable[[Project, str], Rendered]:
    """In the background git is waited for: what it says now stands until the next rendering."""

    def started(project: Project, session: str) -> Rendered:
        if project.root:
            truth_of.facts(project.root)
        return start(project, session)

    return started


def _vectors(embedding: VectorIndexer | None) -> Json:
    if embedding is None:
        return {"state": "off", "waiting": 0, "trouble": None}
    state = "unavailable" if embedding.trouble else "on"
    return {"state": state, "waiting": embedding.waiting(), "trouble": embedding.trouble}
