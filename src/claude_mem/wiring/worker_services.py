"""Builds the worker's services."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from claude_mem import __version__
from claude_mem.files import write_file
from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.events import Origin
from claude_mem.model.jobs import INTERRUPTED_AFTER_MS
from claude_mem.model.structs import replace
from claude_mem.observe import prompt
from claude_mem.privacy.excluded_projects import ExcludedProjects
from claude_mem.queue.backfill import Backfill
from claude_mem.queue.intake import Intake
from claude_mem.queue.spool_reader import Spool
from claude_mem.recall.background import BackgroundWork, ContextFiles
from claude_mem.recall.cost import CostReport
from claude_mem.recall.deletion import ExportedFiles, MemoryDeleter, OtherCopies
from claude_mem.recall.edit import Corrections, MemoryWriter
from claude_mem.recall.filter_resolver import FilterResolver, local_zone
from claude_mem.recall.git_facts import GitFacts
from claude_mem.recall.inject import InjectionLimits, InjectionLog, Injector
from claude_mem.recall.label import estimate_tokens
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.recall.project_admin import ProjectAdmin, is_directory
from claude_mem.recall.record_exchange import Exporter, Importer
from claude_mem.recall.search import Search
from claude_mem.serve.data_dir import leave_notice
from claude_mem.serve.retention import Retention
from claude_mem.serve.services import Recall, Services
from claude_mem.settings import Settings, SettingWarning
from claude_mem.settings.resolution import session_notice, summarized
from claude_mem.store.base import Store
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import Injection
from claude_mem.vectors import embedders, indexer
from claude_mem.vectors.indexer import Similarity, VectorIndexer
from claude_mem.wiring import database, observer_setup

if TYPE_CHECKING:
    from claude_mem.team.membership import Membership

log = logging.getLogger("claude_mem")


def build(settings: Settings) -> Services:
    """The worker's services. Called in the data directory, by the holder of its lock. If it fails, a notice
    for the next session start says why."""
    try:
        return _build(settings)
    except Exception as error:
        why = str(error) if isinstance(error, ClaudeMemError) else f"{type(error).__name__}; see its log"
        leave_notice(settings.data_dir, f"claude-mem records events but cannot process them: {why}")
        raise


def _build(settings: Settings) -> Services:
    mode, problem = observer_setup.mode_in_force(settings)
    settings = _warned(settings, problem)
    store, listen = _open(settings)
    with ExitStack() as closing:
        closing.callback(store.close)
        store.queue.reclaim()  # every lease belonged to a worker that is gone
        injection_log = InjectionLog(store.injections)
        closing.callback(injection_log.close)
        intake = Intake(
            settings, store, title_of=observer_setup.title_of, on_shown=injection_log.note_rendered_start
        )

        def notify(message: str) -> None:
            log.warning("%s", message)
            leave_notice(settings.data_dir, f"claude-mem: {message}")

        def backup() -> None:
            store.deletion.finish_forgetting()  # else what was to be forgotten would live on in the copy
            with recall.deleter.copies.copying:
                store.upkeep.backup_if_due()

        observing = observer_setup.build(settings, store, mode=mode, notify=notify, clean=intake.cleaned)
        recall = build_recall(
            settings,
            store,
            closing,
            note=injection_log.note,
            origin_of=intake.project_origin_of,
            clean=intake.cleaned,
            drain=intake.drain,
            instructions=prompt.system(mode, settings.verbosity, settings.language),
        )
        closing.callback(observing.interrupt)
        membership = None
        if isinstance(store, SqliteStore):

            def build_membership() -> Membership:
                from claude_mem.wiring import team_membership

                return team_membership.build(settings, store, recall, clean=intake.cleaned, notify=notify)

            membership = _LazyMembership(build_membership)

        def interrupt() -> None:
            if membership is not None:
                membership.interrupt()
            observing.interrupt()

        past = Backfill(settings, store, intake)
        follow = None
        if settings.watch:
            from claude_mem.agents.claude_code.transcript_watch import MARKS_FILE, TranscriptFollower

            folders = [Path(folder).expanduser() for folder in settings.watch]
            marks = settings.data_path(MARKS_FILE)
            follow = TranscriptFollower(folders, marks, accept=past.accept, drain=intake.drain).step
        return Services(
            settings=settings,
            version=__version__,
            clock=now,
            store=store,
            recall=recall,
            intake=intake,
            past_intake=past,
            observing=observing,
            maintenance={
                "sessions": lambda: store.sessions.interrupt_silent(now() - INTERRUPTED_AFTER_MS),
                "spool": intake.tidy,
                **recall.retention.upkeep(),
                "backup": backup,
                "checkpoint": store.upkeep.checkpoint,
            },
            close=closing.pop_all().close,
            interrupt=interrupt,
            membership=membership,
            check_settings=observer_setup.mode_of,
            follow=follow,
            listen=listen,
        )


class _LazyMembership:
    """Built when it is first called: a worker starts sooner without it."""

    def __init__(self, build: Callable[[], Membership]) -> None:
        self._build, self._building = build, Lock()
        self._membership: Membership | None = None

    def __call__(self) -> Membership:
        with self._building:
            if self._membership is None:
                self._membership = self._build()
            return self._membership

    def interrupt(self) -> None:
        if self._membership is not None:
            self._membership.exchange.close()


def build_recall(
    settings: Settings,
    store: Store,
    closing: ExitStack,
    *,
    note: Callable[[Injection], None],
    origin_of: Callable[[str], Origin],
    clean: Callable[[str], str],
    drain: Callable[[], int],
    instructions: str,
) -> Recall:
    """`closing` closes what is opened here. `instructions`: what every call of the observer's model begins
    with."""
    is_excluded = ExcludedProjects(settings.excluded_projects).holds
    git_facts, background, search, resolver = _build_search(settings, store, closing, origin_of, clean)
    projects = ProjectAdmin(
        store=store,
        origin_of=origin_of,
        is_there=is_directory,
        has_commit=git_facts.has_commit,
        on_move=git_facts.look_again,
        on_change=background.memory_changed,
        clean=clean,
        without_embedding=background.without_embedding,
    )
    injector = Injector(
        store=store,
        search=search,
        resolver=resolver,
        check_staleness=git_facts,
        origin_of=origin_of,
        is_excluded=is_excluded,
        clock=now,
        zone=local_zone,
        note=note,
        size=InjectionLimits(
            settings.context_characters, settings.context_tokens, settings.prompt_characters
        ),
        command_hints=settings.command_hints == "on",
        relocated=projects.relocated,
    )
    background.contexts = ContextFiles(
        settings.data_dir,
        store,
        lambda project, session, agent: injector.start(project, session, reader=agent),
        now,
        facts_of=git_facts.facts,
        relocated=projects.relocated_by_sessions,
    )
    corrections = Corrections(store=store, clock=now, clean=clean, on_change=background.memory_changed)
    writer = MemoryWriter(
        store=store,
        origin_of=origin_of,
        is_excluded=is_excluded,
        clock=now,
        clean=clean,
        on_change=background.memory_changed,
    )
    spool = Spool()
    return Recall(
        memory=MemoryReader(
            store=store,
            engine=search,
            resolver=resolver,
            check_staleness=git_facts,
            clock=now,
            catch_up=background.catch_up,
        ),
        writer=writer,
        corrections=corrections,
        deleter=MemoryDeleter(
            store=store,
            resolver=resolver,
            copies=_build_copies(settings, store, spool),
            drain=drain,
            on_change=background.memory_changed,
            on_forget=corrections.drop_forgotten,
        ),
        exporter=Exporter(store=store, resolver=resolver, search=search, catch_up=background.catch_up),
        importer=Importer(
            transfer=store.transfer,
            clock=now,
            clean=clean,
            import_observations=writer.import_observations,
            catch_up=background.catch_up,
        ),
        injector=injector,
        costs=CostReport(
            store=store, clock=now, settings=settings, instructions=estimate_tokens(instructions)
        ),
        projects=projects,
        retention=Retention(
            settings=settings,
            store=store,
            contexts=background.contexts,
            stale_markers=spool.stale,
            tidy_spool=spool.tidy,
        ),
        background=background,
    )


def _build_search(
    settings: Settings,
    store: Store,
    closing: ExitStack,
    origin_of: Callable[[str], Origin],
    clean: Callable[[str], str],
) -> tuple[GitFacts, BackgroundWork, Search, FilterResolver]:
    embedder, vectors = embedders.build(settings, clean), indexer.backend_of(settings, store.vectors)
    git_facts = GitFacts(store.projects, origin_of)
    for each in (embedder, vectors, git_facts):
        if each is not None:
            closing.callback(each.close)
    background = BackgroundWork(
        store=store,
        vectors=VectorIndexer(store.embeddings, vectors, embedder) if vectors else None,
        clock=now,
    )
    search = Search(store.memories, now, Similarity(embedder, vectors) if vectors else None, git_facts)
    resolver = FilterResolver(
        store=store,
        clock=now,
        zone=local_zone,
        key_of=lambda cwd: origin_of(cwd).key,
        facts_of=git_facts.facts,
        member=partial(member_of, store),
    )
    return git_facts, background, search, resolver


def _build_copies(settings: Settings, store: Store, spool: Spool) -> OtherCopies:
    return OtherCopies(
        copies=store.copies,
        exports=ExportedFiles(settings.data_path(paths.EXPORTS)),
        unread=spool.unreadable,
        remove_unread=spool.remove_unreadable,
        data_path=settings.data_path,
    )


def _warned(settings: Settings, problem: str | None) -> Settings:
    """Say what was set and does not hold: in the log at every start, to the user once."""
    if problem:
        more = SettingWarning("bad", "CLAUDE_MEM_MODE", problem)
        settings = replace(settings, warnings=(*settings.warnings, more))
    for each in summarized(settings.warnings):
        log.warning("%s", each.message)
    message, marker = session_notice(settings.warnings), settings.data_path(paths.SETTINGS_SHOWN)
    try:
        if not message:
            marker.unlink(missing_ok=True)
        elif message != (marker.read_text(encoding="utf-8", errors="replace") if marker.is_file() else None):
            leave_notice(settings.data_dir, message)
            write_file(marker, message.encode(errors="replace"))
    except OSError as error:
        log.warning("%s cannot be written, so the warning will be repeated: %s", marker.name, error.strerror)
    return settings


def _open(settings: Settings) -> tuple[Store, Callable[[float], Collection[str]] | None]:
    """The store, and how to hear of what other processes add to it."""
    if settings.database_url is not None:
        shared = database.postgres().PostgresStore.open(settings.database_url, clock=now)
        return shared, shared.wait
    store = SqliteStore.open(settings.database, clock=now, backups=settings.data_path(paths.BACKUPS))
    if store.recovered:
        log.error("the database was damaged: %s", store.recovered)
        source = store.recovered.restored_from
        repair = (
            f"restored from the backup {source.name}"
            if source
            else "replaced by an empty one, because there was no backup"
        )
        leave_notice(
            settings.data_dir,
            f"claude-mem: the database was damaged and has been {repair}. "
            f"The damaged files are in {store.recovered.quarantined}.",
        )
    return store, None


def member_of(store: Store) -> str | None:
    """This machine's member in its team; None: it has joined none."""
    link = store.outbox.link() if isinstance(store, SqliteStore) else None
    return link.member if link else None
