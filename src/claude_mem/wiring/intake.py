"""Puts together how events come in: from the spool, and from callers of the API."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from claude_mem import __version__
from claude_mem.agents import base as agents
from claude_mem.agents.claude_code import events as claude_code
from claude_mem.git import Origins
from claude_mem.hook import drop_counters, spool_writer
from claude_mem.model.clock import now
from claude_mem.model.errors import EventUnreadable
from claude_mem.model.events import Event, Origin, Spooled
from claude_mem.privacy import excluded_files, scrub, scrub_payload, tags
from claude_mem.queue import spool_reader
from claude_mem.queue.ingest import Ingest
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import Accepted
from claude_mem.wiring import cleaning
from claude_mem.wiring.exclusion import exclusion

log = logging.getLogger("claude_mem")


class Intake:
    def __init__(self, settings: Settings, store: SqliteStore) -> None:
        self._settings = settings
        self._globs = (*excluded_files.DEFAULT_GLOBS, *settings.exclude_paths)
        self._marking = threading.Lock()
        self._draining = threading.Lock()
        self.spool = spool_reader.Spool()
        self.place_of = Origins(now).of
        """Where a directory lies, by the disk and its path alone."""
        self.on_shown: Callable[[str, str, int], None] = nobody_was_shown
        """Hears of a session that was shown a rendered context: the session, the rendering's stamp, when."""
        self._is_excluded = exclusion(settings)
        self._store = store
        self._ingest = Ingest(
            *(self.spool, store, self._event, self.place_of, settings.skip_tools, log.warning),
            is_excluded=self._is_of_excluded,
            on_committed=self._note_shown,
        )
        drop_counters.prepare()
        self._weigh_again()

    def drain(self) -> int:
        """One at a time: whoever forgets something drains too, and a file is taken in and removed once."""
        with self._draining:
            taken = self._ingest.drain()
            if not taken and spool_writer.counted_files():
                self._weigh_again()  # killed hooks left their weight behind
            return taken

    def receive(self, name: str, payload: dict[str, object]) -> Accepted:
        """An event that comes by another way than the spool. Durable on return."""
        try:
            with self._marking:  # a marker's lock keeps processes apart, not the threads of this one
                kept = scrub_payload.clean(name, payload, self._settings.secret_patterns, self._globs)
        except drop_counters.NotAPayload:
            raise EventUnreadable("session_id is missing") from None
        if kept is None:
            return Accepted()  # of a private turn
        at = now()
        scrubbed, private = kept
        event = claude_code.parse(
            name, scrubbed, id=f"api-{at:013d}-{os.urandom(8).hex()}", at=at, private=private
        )
        return self._ingest.accept(event) if event else Accepted()

    def origin_of(self, cwd: str | None) -> Origin:
        """Of the project that work in a directory belongs to."""
        return self._store.belonging(self.place_of(cwd))

    def is_wanted(self, event: Event) -> bool:
        return self._ingest.is_wanted(event)

    def cleaned(self, text: str) -> str:
        """Without what may not be kept."""
        return cleaning.cleaned(text, self._settings)

    def tidy(self) -> None:
        self.spool.tidy(time.time())

    def _is_of_excluded(self, event: Event) -> bool:
        """A worktree that is gone is known by its repository's name, too."""
        by_place = self._is_excluded(event.cwd, event.project)
        return by_place or self._is_excluded(self.place_of(event.cwd).root, None)

    def _event(self, spooled: Spooled) -> Event | None:
        payload = spooled.payload
        if spooled.by != __version__ or spooled.scrub_again:
            # Scrubbed by a hook of another version, or by one that could not read the user's own rules.
            payload, _ = scrub.scrub(
                payload,
                field_cap=scrub_payload.FIELD_CAP,
                extra_rules=self._settings.secret_patterns,
                globs=self._globs,
            )
        agent = agents.load(spooled.agent)
        return agent.parse(
            spooled.event,
            payload,
            id=spooled.id,
            at=spooled.at,
            client=spooled.agent,
            private=spooled.private,
        )

    def _note_shown(self, spooled: Spooled) -> None:
        session = spooled.payload.get("session_id")
        if spooled.context and isinstance(session, str):
            self.on_shown(session, spooled.context, spooled.at)

    def _weigh_again(self) -> None:
        limits = self._settings.spool_max_files, self._settings.spool_max_bytes
        spool_writer.reset_ledger(*self.spool.weigh(), *limits)


def nobody_was_shown(session: str, stamp: str, at: int) -> None:
    del session, stamp, at


def is_wholly_private(prompt: str) -> bool:
    kept, _, hid_private = tags.strip(prompt)
    return hid_private and not kept.strip()
