"""Builds the worker's services."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from claude_mem import __version__
from claude_mem.atomic_write import write_file
from claude_mem.hook import drop_counters, notices, paths
from claude_mem.model.clock import now
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.events import Origin
from claude_mem.model.jobs import INTERRUPTED_AFTER_MS
from claude_mem.model.structs import replace
from claude_mem.observe import prompt
from claude_mem.privacy.excluded_projects import ExcludedProjects
from claude_mem.queue.intake import Intake, PastIntake, is_wholly_private
from claude_mem.queue.spool_reader import Spool
from claude_mem.recall import fence
from claude_mem.recall.background import BackgroundWork, ContextUpdater
from claude_mem.recall.context_files import ContextFiles
from claude_mem.recall.cost import CostBudget, CostReport
from claude_mem.recall.dates import local_zone
from claude_mem.recall.deletion import MemoryDeleter, OtherCopies
from claude_mem.recall.edit import Corrections, MemoryWriter
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.git_facts import GitTruth
from claude_mem.recall.inject import InjectionLimits, InjectionLog, Injector
from claude_mem.recall.label import estimate_tokens
from claude_mem.recall.projects import ProjectManager, is_directory
from claude_mem.recall.search import Search
from claude_mem.recall.service import MemoryReader
from claude_mem.recall.transfer import Exporter, Importer
from claude_mem.serve.retention import Retention
from claude_mem.serve.services import Services
from claude_mem.settings import Settings, SettingWarning
from claude_mem.settings.resolution import session_notice, summarized
from claude_mem.store.sqlite import Recovered, Store
from claude_mem.store.sqlite.copies import Copies, ExportedFiles
from claude_mem.vectors import indexer
from claude_mem.vectors.indexer import Similarity, VectorIndexer
from claude_mem.wiring import observer

log = logging.getLogger("claude_mem")


def build(settings: Settings) -> Services:
    """The worker's parts. Called in the data directory, by the holder of its lock. Whatever keeps it from its
    work is left to be told at the next session start: silence is a fault."""
    try:
        return _build(settings)
    except Exception as error:
        why = str(error) if isinstance(error, ClaudeMemError) else f"{type(error).__name__}; see its log"
        leave_notice(settings.data_dir, f"claude-mem records events but cannot process them: {why}")
        raise


def _build(settings: Settings) -> Services:
    mode, problem = observer.mode_in_force(settings)
    settings = _warned(settings, problem)
    store = _open(settings)
    try:
        store.queue.reclaim()  # every lease belonged to a worker that is gone
        intake = Intake(settings, store)

        def tell(message: str) -> None:
            log.warning("%s", message)
            leave_notice(settings.data_dir, f"claude-mem: {message}")

        observing = observer.assemble(settings, store, mode=mode, tell=tell)
        recalling = build_recall(
            settings,
            store,
            origin_of=intake.origin_of,
            clean=intake.cleaned,
            drain=intake.drain,
            instructions=prompt.system(mode, settings.verbosity, settings.language),
        )
        intake.on_shown = recalling.injection_log.shown_at_start
        past = PastIntake(settings, store, intake.place_of, intake.is_wanted)
    except BaseException:
        store.close()
        raise

    def follow() -> Callable[[], bool]:
        from claude_mem.agents.claude_code.transcript_watch import MARKS_FILE, TranscriptFollower

        return TranscriptFollower(
            [Path(folder).expanduser() for folder in settings.watch],
            settings.place(MARKS_FILE),
            accept=past.accept,
            drain=intake.drain,
        ).step

    def backup() -> None:
        store.deletion.finish_forgetting()  # else what was to be forgotten would live on in the copy
        with recalling.copying:
            store.upkeep.backup_if_due()

    def close() -> None:
        observing.let_go()
        recalling.close()
        store.close()

    return Services(
        settings=settings,
        version=__version__,
        clock=now,
        store=store,
        receive=intake.receive,
        drain=intake.drain,
        spooled=intake.spool.weigh,
        drops=drop_counters.read,
        maintain={
            "sessions": lambda: store.sessions.interrupt_silent(now() - INTERRUPTED_AFTER_MS),
            "spool": intake.tidy,
            **recalling.retention.upkeep(),
            "backup": backup,
            "checkpoint": store.upkeep.checkpoint,
        },
        close=close,
        pump=observing.pump.step,
        abort=lambda session_id: observing.pump.abort(session_id, 0),
        interrupt_work=observing.let_go,
        observer_state=observing.shown,
        resume=observing.resume,
        drop=store.queue.drop,
        backfill=past,
        follow=follow() if settings.watch else None,
        is_private=is_wholly_private,
        ask=recalling.injector.answer,
        prepare_recall=recalling.background.step,
        recall_progress=recalling.background.progress,
        memory=recalling.memory,
        writer=recalling.writer,
        deleter=recalling.deleter,
        corrections=recalling.corrections,
        exporter=recalling.exporter,
        importer=recalling.importer,
        injector=recalling.injector,
        costs=recalling.costs,
        stats=recalling.background.stats,
        projects=recalling.projects,
        retention=recalling.retention,
        check_settings=observer.mode_of,
        fence=fence.fenced,
    )


class RecallServices(Struct, frozen=True, kw_only=True):
    memory: MemoryReader
    writer: MemoryWriter
    deleter: MemoryDeleter
    corrections: Corrections
    exporter: Exporter
    importer: Importer
    injector: Injector
    injection_log: InjectionLog
    costs: CostReport
    projects: ProjectManager
    retention: Retention
    background: BackgroundWork
    copying: threading.Lock
    """Held while copies of the database are made or rewritten."""
    close: Callable[[], None]


def build_recall(
    settings: Settings,
    store: Store,
    *,
    origin_of: Callable[[str], Origin],
    clean: Callable[[str], str],
    drain: Callable[[], int],
    instructions: str,
) -> RecallServices:
    """`instructions`: what every call of the observer's model begins with."""
    excluded = ExcludedProjects(settings.excluded_projects)
    store.text_index.prepare()
    embedder = indexer.embedder()
    vectors = indexer.keeper(settings, store.vectors)
    background = BackgroundWork(
        index=store.text_index,
        vectors=VectorIndexer(store.embeddings, vectors, embedder) if vectors else None,
        injections=store.injections,
        clock=now,
    )
    truth = GitTruth(store.memories, origin_of)
    search = Search(store.memories, now, Similarity(embedder, vectors) if vectors else None, truth)
    resolver = FilterResolver(
        memories=store.memories,
        sessions=store.sessions,
        clock=now,
        zone=local_zone,
        key_of=lambda cwd: origin_of(cwd).key,
        facts_of=truth.facts,
    )
    injection_log = InjectionLog(store.injections)
    projects = ProjectManager(
        projects=store.projects,
        sessions=store.sessions,
        origin_of=origin_of,
        is_there=is_directory,
        has_commit=truth.has_commit,
        moved=truth.look_again,
        changed=background.memory_changed,
        clean=clean,
        alone=background.without_embedding,
    )
    injector = Injector(
        memories=store.memories,
        sessions=store.sessions,
        injections=store.injections,
        search=search,
        resolver=resolver,
        truth=truth,
        origin_of=origin_of,
        is_excluded=lambda cwd: excluded.holds(cwd, None),
        clock=now,
        zone=local_zone,
        note=injection_log.note,
        size=InjectionLimits(
            settings.context_characters, settings.context_tokens, settings.prompt_characters
        ),
        placed=projects.placed,
    )
    contexts = ContextFiles(
        settings.data_dir, store.sessions, store.injections, injector.start, now, facts_of=truth.facts
    )
    background.contexts = ContextUpdater(store.statistics, store.memories, contexts, projects.looked_for)
    corrections = Corrections(
        memories=store.memories,
        clock=now,
        clean=clean,
        changed=background.memory_changed,
    )
    copying, spool = threading.Lock(), Spool()
    writer = MemoryWriter(
        memories=store.memories,
        origin_of=origin_of,
        is_excluded=lambda cwd: excluded.holds(cwd, None),
        clock=now,
        clean=clean,
        changed=background.memory_changed,
    )
    deleter = MemoryDeleter(
        memories=store.memories,
        deletion=store.deletion,
        resolver=resolver,
        copies=OtherCopies(
            copies=Copies(settings.place(paths.BACKUPS), now),
            exports=ExportedFiles(settings.place(paths.EXPORTS)),
            unread=spool.aside,
            remove_unread=spool.forget_aside,
            place=settings.place,
            copying=copying,
        ),
        drain=drain,
        changed=background.memory_changed,
        forgotten=corrections.drop_forgotten,
    )

    def close() -> None:
        for each in (injection_log, truth, *((vectors,) if vectors else ())):
            each.close()

    return RecallServices(
        memory=MemoryReader(
            memories=store.memories,
            sessions=store.sessions,
            injections=store.injections,
            statistics=store.statistics,
            engine=search,
            resolver=resolver,
            truth=truth,
            clock=now,
            catch_up=background.catch_up,
        ),
        writer=writer,
        deleter=deleter,
        corrections=corrections,
        exporter=Exporter(
            records=store.transfer.records,
            memories=store.memories,
            resolver=resolver,
            search=search,
            catch_up=background.catch_up,
        ),
        importer=Importer(
            into=store.transfer.absorb,
            clock=now,
            clean=clean,
            import_observations=writer.import_observations,
            catch_up=background.catch_up,
        ),
        injector=injector,
        injection_log=injection_log,
        costs=CostReport(
            spending=store.queue.spending,
            today=lambda: store.queue.spent(0, now()),
            statistics=store.statistics,
            clock=now,
            budget=CostBudget(
                settings.daily_tokens, settings.daily_usd, settings.session_tokens, settings.session_usd
            ),
            instructions=estimate_tokens(instructions),
        ),
        projects=projects,
        retention=Retention(
            settings=settings,
            store=store,
            contexts=contexts,
            stale_markers=spool.stale,
            tidy_spool=spool.tidy,
        ),
        background=background,
        copying=copying,
        close=close,
    )


def _warned(settings: Settings, problem: str | None) -> Settings:
    """Say what was set and does not hold: in the log at every start, to the user once."""
    if problem:
        more = SettingWarning("bad", "CLAUDE_MEM_MODE", problem)
        settings = replace(settings, warnings=(*settings.warnings, more))
    for each in summarized(settings.warnings):
        log.warning("%s", each.says)
    message, told = session_notice(settings.warnings), settings.place(paths.SETTINGS_TOLD)
    try:
        if not message:
            told.unlink(missing_ok=True)
        elif message != (told.read_text(encoding="utf-8", errors="replace") if told.is_file() else None):
            leave_notice(settings.data_dir, message)
            write_file(told, message.encode(errors="replace"))
    except OSError as error:
        log.warning("%s cannot be written, so the warning will be repeated: %s", told.name, error.strerror)
    return settings


def _open(settings: Settings) -> Store:
    store = Store.open(settings.database, clock=now, backups=settings.place(paths.BACKUPS))
    if store.recovered:
        log.error("the database was damaged: %s", store.recovered)
        leave_notice(settings.data_dir, describe(store.recovered))
    return store


def describe(recovered: Recovered) -> str:
    """What the user is told about a damaged database."""
    since = (
        f"restored from the backup {recovered.restored_from.name}"
        if recovered.restored_from
        else "replaced by an empty one, because there was no backup"
    )
    return (
        f"claude-mem: the database was damaged and has been {since}. "
        f"The damaged files are in {recovered.quarantined}."
    )


def leave_notice(data_dir: Path, message: str) -> None:
    """To be shown at the next session start, after what was not shown yet; each once. A worker that fails in
    ever new ways leaves the newest of them."""
    path = data_dir / paths.NOTICE
    line = " ".join(message.split())[: notices.LONGEST_LINE]
    try:
        is_ours = path.is_file() and not path.is_symlink()
        waiting = path.read_text(encoding="utf-8", errors="replace").splitlines() if is_ours else []
        lines = [*(other for other in waiting if other != line), line][-notices.MOST_LINES :]
        write_file(path, "\n".join(lines).encode(errors="replace"))
    except OSError:
        log.exception("the notice could not be written: %s", message)
