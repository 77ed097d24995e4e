"""Puts the worker's parts together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from claude_mem import __version__
from claude_mem.atomic_write import write_file
from claude_mem.hook import drop_counters, notices, paths
from claude_mem.model.clock import now
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.jobs import INTERRUPTED_AFTER_MS
from claude_mem.observe import prompt
from claude_mem.queue.intake import Intake, PastIntake, is_wholly_private
from claude_mem.recall import fence
from claude_mem.serve.services import Services
from claude_mem.settings import Settings, SettingWarning
from claude_mem.settings.resolution import session_notice, summarized
from claude_mem.store.sqlite import Recovered, Store
from claude_mem.wiring import observer, recall
from claude_mem.wiring.exclusion import unless_excluded

log = logging.getLogger("claude_mem")


def build(settings: Settings) -> Services:
    """The worker's parts. Called in the data directory, by the holder of its lock. Whatever keeps it from its
    work is left to be told at the next session start: silence is a fault."""
    try:
        return _build(settings)
    except Exception as error:
        why = str(error) if isinstance(error, ClaudeMemError) else f"{type(error).__name__}; see its log"
        leave_notice(settings.data_dir, f"claude-mem captures, but remembers nothing: {why}")
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
        recalling = recall.assemble(
            settings,
            store,
            origin_of=intake.origin_of,
            clean=intake.cleaned,
            drain=intake.drain,
            instructions=prompt.system(mode, settings.verbosity, settings.language),
        )
        intake.on_shown = recalling.shown_at_start
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
        recalling.finish_forgetting()  # else what was to be forgotten would live on in the copy
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
            **recalling.house.upkeep(),
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
        ask=unless_excluded(settings, recalling.injector.answer),
        prepare_recall=recalling.step,
        recall_progress=recalling.progress,
        memory=recalling.memory,
        writer=recalling.writer,
        corrections=recalling.corrections,
        exporter=recalling.exporter,
        importer=recalling.importer,
        injector=recalling.injector,
        costs=recalling.costs,
        stats=recalling.stats,
        projects=recalling.projects,
        retention=recalling.house,
        check_settings=observer.mode_of,
        fence=fence.fenced,
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
        log.warning("%s cannot be written, so it is told again: %s", told.name, error.strerror)
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
        else "started anew, for there was no backup"
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
        log.exception("the notice could not be left: %s", message)
