"""Puts the worker's parts together."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence

from claude_mem import __version__
from claude_mem.capture import careful, drain, drops, ledger, places, scrub, tags
from claude_mem.clients import claude_code
from claude_mem.model.errors import ClaudeMemError, EventUnreadable
from claude_mem.model.event import Event
from claude_mem.model.session import INTERRUPTED_AFTER_MS
from claude_mem.model.spooled import Spooled
from claude_mem.ports.store import Accepted
from claude_mem.queue.ingest import Ingest
from claude_mem.queue.origin import Origins
from claude_mem.serve.parts import Parts
from claude_mem.settings import Settings
from claude_mem.store.sqlite import Recovered, SqliteStore
from claude_mem.wiring import observer
from claude_mem.wiring.clock import now

log = logging.getLogger("claude_mem")


def build(settings: Settings) -> Parts:
    """The worker's parts. Called in the data directory, by the holder of its lock."""
    try:
        store = _open(settings)
    except ClaudeMemError as error:
        leave_notice(settings, f"claude-mem is not recording: {error}")
        raise
    spool = drain.Spool()
    drops.prepare()
    ledger.reset(*spool.weigh(), settings.spool_max_files, settings.spool_max_bytes)
    store.reclaim()  # every lease belonged to a worker that is gone
    globs = (*scrub.DEFAULT_GLOBS, *settings.exclude_paths)

    def event_of(spooled: Spooled) -> Event | None:
        payload = spooled.payload
        if spooled.by != __version__:  # scrubbed by a hook that may have had fewer rules
            payload, _ = scrub.scrub(
                payload, field_cap=careful.FIELD_CAP, extra_rules=settings.secret_patterns, globs=globs
            )
        return claude_code.parse(spooled.event, payload, id=spooled.id, at=spooled.at)

    ingest = Ingest(spool, store, event_of, Origins(now).of, settings.skip_tools, log.warning)

    def receive(name: str, payload: dict[str, object]) -> Accepted:
        try:
            kept = careful.clean(name, payload, settings.secret_patterns, globs)
        except drops.NotAPayload:
            raise EventUnreadable("session_id is missing") from None
        if kept is None:
            return Accepted()  # of a private turn
        at = now()
        event = claude_code.parse(name, kept, id=f"api-{at:013d}-{os.urandom(8).hex()}", at=at)
        return ingest.accept(event) if event else Accepted()

    def maintain() -> None:
        store.interrupt_silent(now() - INTERRUPTED_AFTER_MS)
        spool.tidy(time.time())
        store.backup_if_due()
        store.checkpoint()

    def tell(message: str) -> None:
        log.warning("%s", message)
        leave_notice(settings, f"claude-mem: {message}")

    try:
        pump, watched, chosen, model = observer.pump(settings, store, tell)
    except ClaudeMemError as error:
        leave_notice(settings, f"claude-mem remembers nothing new: {error}")
        store.close()
        raise

    def observing() -> dict[str, object]:
        return {
            "provider": chosen.provider,
            "why": chosen.why,
            "paused": pump.paused,
            "spentUp": watched.spent_up,
        }

    def resume(job_ids: Sequence[int] | None) -> int:
        resumed = store.resume(job_ids)
        pump.release()  # after: whoever steps next must find what was resumed
        return resumed

    def close() -> None:
        if model is not None:
            model.close()
        store.close()

    return Parts(
        settings=settings,
        version=__version__,
        clock=now,
        store=store,
        receive=receive,
        drain=ingest.drain,
        spooled=spool.weigh,
        drops=drops.read,
        maintain=maintain,
        close=close,
        pump=pump.step,
        abort=lambda session_id: pump.abort(session_id, settings.delete_timeout_ms / 1000),
        observing=observing,
        resume=resume,
        drop=store.drop,
        is_private=is_wholly_private,
    )


def is_wholly_private(prompt: str) -> bool:
    kept, _, hid_private = tags.strip(prompt)
    return hid_private and not kept.strip()


def _open(settings: Settings) -> SqliteStore:
    store = SqliteStore.open(
        settings.place(places.DATABASE), clock=now, backups=settings.place(places.BACKUPS)
    )
    if store.recovered:
        log.error("the database was damaged: %s", store.recovered)
        leave_notice(settings, describe(store.recovered))
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


def leave_notice(settings: Settings, message: str) -> None:
    """To be told at the next session start. The newest stands: it is the state of things."""
    temporary = settings.place(places.NOTICE + ".tmp")
    try:
        temporary.write_text(message, encoding="utf-8")
        temporary.chmod(0o600)
        temporary.rename(settings.place(places.NOTICE))
    except OSError:
        log.exception("the notice could not be left: %s", message)
