"""How events come in: from the spool (in order, a batch to a transaction, each once), and from callers of the
API.

A file leaves the spool only after its event is committed, and the store takes the same event twice as once:
a kill between the two loses nothing and doubles nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from claude_mem import __version__
from claude_mem.agents import CLAUDE_CODE, hook_payload
from claude_mem.agents import catalog as agents
from claude_mem.agents.claude_code.transcript_lines import epoch
from claude_mem.git import Origins
from claude_mem.hook import drop_counters, paths, pause, spool_writer
from claude_mem.model.clock import DAY_MS, now
from claude_mem.model.errors import AmbiguousProject, EventUnreadable, StoreDamaged, StoreUnavailable
from claude_mem.model.events import Event, Kind, Origin, SpooledEvent
from claude_mem.model.structs import replace
from claude_mem.privacy import excluded_files, scrub, scrub_payload
from claude_mem.privacy.excluded_projects import ExcludedProjects
from claude_mem.queue import spool_reader
from claude_mem.queue.activity import ActivityFlag
from claude_mem.settings import Settings
from claude_mem.store.base import Store
from claude_mem.store.values import Accepted, NewEvent

log = logging.getLogger("claude_mem")

SHORTEST_SECRET = 8
BATCH = 256
BATCH_BYTES = 8 << 20  # memory is bounded by what is in the files, not by how many there are
MOST_EXCLUDED = 10_000  # sessions
MOST_AT_ONCE = 16 * BATCH  # between two calls the worker can stop
OLDEST_MS = 5 * 365 * DAY_MS  # before that no agent had hooks: a clock that was never set

_OF_THE_TURN = ("session_id", "cwd", "project", "prompt_id", "prompt_number", "timestamp")
_STORE_TROUBLE = (StoreUnavailable, StoreDamaged)
"""Not the event's fault: it stays in the spool and is tried again."""


class Intake:
    """What hooks have spooled, and what callers of the API report."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        title_of: Callable[[str], str | None] = lambda _: None,
        on_shown: Callable[[str, str, int], None] = lambda *_: None,
    ) -> None:
        """`title_of`: what a session that begins with a prompt is called. `on_shown` hears of a session that
        was shown a rendered context: the session, the rendering's stamp, when."""
        self._settings = settings
        self._globs = (*excluded_files.DEFAULT_GLOBS, *settings.exclude_paths)
        self._marking = threading.Lock()
        self._draining = threading.Lock()
        self.spool = spool_reader.Spool()
        self._found_at = Origins(now).of
        self._title_of, self._on_shown = title_of, on_shown
        self._activity = ActivityFlag(settings.data_path(paths.ACTIVITY), now)
        self._is_excluded = ExcludedProjects(settings.excluded_projects).holds
        self._store = store
        self._stuck: set[str] = set()
        self._excluded: set[str] = set()
        drop_counters.prepare()
        self._weigh_again()

    def drain(self) -> int:
        """One at a time: whoever forgets something drains too, and a file is taken in and removed once."""
        with self._draining:
            taken = self._drain()
            if not taken and spool_writer.counted_files():
                self._weigh_again()  # killed hooks left their weight behind
            return taken

    def receive(
        self, name: str, payload: dict[str, object], client: str = CLAUDE_CODE, *, request: str = ""
    ) -> Accepted:
        """An event that comes by another way than the spool. Durable on return. `request`: the id of the HTTP
        request that reports it, which becomes part of the event's."""
        self._receive_prompt_of(name, payload, client)
        try:
            with self._marking:  # a marker's lock keeps processes apart, not the threads of this one
                cleaned = scrub_payload.clean(name, payload, self._settings.secret_patterns, self._globs)
        except drop_counters.NotAPayload:
            raise EventUnreadable("session_id is missing") from None
        if cleaned is None:
            return Accepted()  # of a private turn
        at = now()
        scrubbed, private = cleaned
        event = hook_payload.parse(
            name,
            scrubbed,
            id=f"api-{at:013d}-{request}{os.urandom(2 if request else 8).hex()}",
            at=happened_at(scrubbed, at),
            client=client,
            private=private,
        )
        if event is None or _is_paused(event.session):
            return Accepted()
        origin = self._joined(event) or self.location_of(event.cwd)
        if self._stays_excluded(event, origin) or not self.is_wanted(event):
            return Accepted()
        return self._accept([self.new_event(event, origin)])

    def new_event(self, event: Event, origin: Origin) -> NewEvent:
        is_asked = event.kind is Kind.PROMPT and event.text and not event.private
        return NewEvent(event, origin, self._title_of(event.text or "") if is_asked else None)

    def _joined(self, event: Event) -> Origin | None:
        """The project that a caller without a directory has named, by its key or its name, if one with a
        directory has it: what an editor reports joins what is done in the terminal."""
        if event.cwd or not event.project:
            return None
        try:
            known = self._store.projects.find(event.project)
        except AmbiguousProject:
            return None  # whose it is cannot be told: it is stored under the name alone
        return Origin(key=known.key, name=known.name, root=known.root) if known and known.root else None

    def _stays_excluded(self, event: Event, origin: Origin) -> bool:
        """By the project it joins, too. Later reports of such a session may name neither project nor
        directory, so it is remembered while the worker runs."""
        joins = bool(origin.root) and self._is_excluded(origin.root, origin.name)
        if joins or self._is_of_excluded(event):
            if len(self._excluded) >= MOST_EXCLUDED:
                self._excluded.clear()
            self._excluded.add(event.session)
            return True
        return not event.cwd and event.session in self._excluded

    def _accept(self, events: Sequence[NewEvent]) -> Accepted:
        accepted = self._store.events.accept(events)
        self._activity.follow(events)
        if log.isEnabledFor(logging.DEBUG):
            for new, session in zip(events, accepted.session_ids, strict=False):
                log.debug("event=%s kind=%s session=%d", new.event.id, new.event.kind, session)
        return accepted

    def _receive_prompt_of(self, name: str, payload: dict[str, object], client: str) -> None:
        """A caller that reports only a turn's end may give the prompt there."""
        asked, session = payload.get("last_user_message"), payload.get("session_id")
        if name != "Stop" or not isinstance(asked, str) or not isinstance(session, str) or not asked.strip():
            return
        if not self._store.events.is_asked(session, self.cleaned(asked)):
            known = {key: payload[key] for key in _OF_THE_TURN if key in payload}
            self.receive("UserPromptSubmit", known | {"prompt": asked}, client=client)

    def location_of(self, cwd: str | None) -> Origin:
        """Where a directory lies, by the disk and its path alone."""
        return with_clean_branch(self._found_at(cwd), self.cleaned)

    def waiting(self) -> int:
        """How many files are in the spool, without a look at each."""
        return len(self.spool.names())

    def drops(self) -> dict[str, int]:
        """What hooks could not store, by reason."""
        return drop_counters.read()

    def project_origin_of(self, cwd: str | None) -> Origin:
        """Of the project that work in a directory belongs to."""
        return self._store.projects.with_project(self.location_of(cwd))

    def is_wanted(self, event: Event) -> bool:
        """The user's lists: tools whose uses are not worth remembering, projects of which nothing is."""
        is_skipped = event.tool is not None and event.tool.name in self._settings.skip_tools
        return not is_skipped and not self._is_of_excluded(event)

    def cleaned(self, text: str) -> str:
        """Without what must not be stored."""
        rules, globs = self._settings.secret_patterns, self._settings.exclude_paths
        return scrub.scrub_text(text, extra_rules=rules, extra_globs=globs)

    def tidy(self) -> None:
        self.spool.tidy(time.time())

    def _drain(self) -> int:
        """Take in the oldest of what is spooled; returns how many files left the spool, 0: it is empty, or
        holds only bad files that cannot be moved."""
        batch: list[SpooledEvent] = []
        gone = 0
        # Those that cannot be moved aside come last: else enough of them would block the spool.
        names = sorted(self.spool.names(), key=self._stuck.__contains__)
        for name in names[:MOST_AT_ONCE]:
            try:
                batch.append(self.spool.read(name))
            except FileNotFoundError:
                continue
            except EventUnreadable as error:
                gone += self._set_aside(name, error)
            if len(batch) >= BATCH or sum(one.size for one in batch) >= BATCH_BYTES:
                gone += self._take(batch)
                batch = []
        return gone + self._take(batch)

    def _take(self, files: list[SpooledEvent]) -> int:
        """Returns how many left the spool. Whatever is wrong with one event, those behind it are taken in."""
        gone, taken, accepting = 0, [], []
        for file in files:
            try:
                event = self._event(file)
                new: list[NewEvent] = []
                if event is not None and self.is_wanted(event):
                    origin = self.location_of(event.cwd)
                    new = [self.new_event(each, origin) for each in self._with_words(file.agent, event)]
            except _STORE_TROUBLE:
                raise
            except Exception as error:
                gone += self._set_aside(file.name, error)
                continue
            taken.append(file)
            if new:
                accepting.append((file, new))
        skipped = len(taken) - len(accepting)
        for refused, why in self._refused(accepting):
            taken.remove(refused)
            gone += self._set_aside(refused.name, why)
        if skipped:
            self._store.queue.count("skipped", skipped)
        for file in taken:
            self._note(file)
        if taken:
            self.spool.remove(taken)
        return gone + len(taken)

    def _refused(
        self, accepting: Sequence[tuple[SpooledEvent, Sequence[NewEvent]]]
    ) -> list[tuple[SpooledEvent, Exception]]:
        """Accept them together; if the store refuses that, one by one. Returns those it refuses alone."""
        if not accepting:
            return []
        try:
            self._accept([new for _, some in accepting for new in some])
        except _STORE_TROUBLE:
            raise
        except Exception as error:
            if len(accepting) == 1:
                return [(accepting[0][0], error)]
            return [refused for one in accepting for refused in self._refused([one])]
        return []

    def _note(self, file: SpooledEvent) -> None:
        """After a failure it may hear of a file again."""
        try:
            self._note_shown(file)
        except _STORE_TROUBLE:
            raise
        except Exception as error:  # the event itself is safe
            log.warning("not noted of %s: %s", file.name, type(error).__name__)

    def _set_aside(self, name: str, error: Exception) -> int:
        """Returns how many files left the spool: none if it cannot be moved, which is tried again."""
        log.warning("set aside %s: %s", name, type(error).__name__, exc_info=error)
        try:
            self.spool.set_aside(name)
        except OSError as trouble:
            log.warning("cannot be set aside: %s: %s", name, trouble.strerror)
            self._stuck.add(name)
            return 0
        self._stuck.discard(name)
        self._store.queue.count("set_aside")
        return 1

    def _is_of_excluded(self, event: Event) -> bool:
        """A worktree that is gone is known by its repository's name, too."""
        by_path = self._is_excluded(event.cwd, event.project)
        return by_path or self._is_excluded(self.location_of(event.cwd).root, None)

    def _event(self, spooled: SpooledEvent) -> Event | None:
        payload = spooled.payload
        if spooled.by != __version__ or spooled.scrub_again:
            # Scrubbed by a hook of another version, or by one that could not read the user's own rules.
            payload, _ = scrub.scrub(
                payload,
                field_cap=scrub.FIELD_CAP,
                extra_rules=self._settings.secret_patterns,
                globs=self._globs,
            )
        agents.load(spooled.agent)  # raises EventUnreadable for one that is not known here
        return hook_payload.parse(
            spooled.event,
            payload,
            id=spooled.id,
            at=happened_at(payload, spooled.at),
            client=spooled.agent,
            private=spooled.private,
        )

    def _with_words(self, agent: str, event: Event) -> list[Event]:
        """At the end of a turn, what the agent said in it and what failed unreported comes first: each once,
        whoever reports the end, and under the id that a backfill would give it. Of a private turn nothing is
        read, nor of a session any of which was not to be recorded, or that was forgotten."""
        words_of = agents.load(agent).words_of
        is_end = event.kind in (Kind.STOP, Kind.STOP_FAILURE) and not event.private and not event.agent_id
        if words_of is None or not is_end or pause.was_skipped(event.session):
            return [event]
        if self._store.events.is_forgotten(event.session):
            return [event]
        words, said = words_of(event), list[Event]()
        for each in words.on_the_way:
            if (kept := self._scrubbed(each.event, each.payload | {"prompt_number": None})) is not None:
                one = hook_payload.parse(each.event, kept, id=each.id, at=each.at, client=agent)
                if one is not None and (one.text or one.tool) and self.is_wanted(one):  # by where it was
                    said.append(replace(one, cwd=event.cwd))
        if event.kind is Kind.STOP and event.text is None and words.last:
            named: dict[str, object] = {
                "session_id": event.session,
                "prompt_id": event.prompt_id,
                "message": words.last,
            }
            last = self._scrubbed("AgentMessage", named)
            event = replace(event, text=str(last["message"]) if last else None)
        return [*said, event]

    def _scrubbed(self, name: str, payload: dict[str, object]) -> dict[str, object] | None:
        """What may be stored of a payload; None when that is nothing."""
        with self._marking:
            cleaned = scrub_payload.clean(name, payload, self._settings.secret_patterns, self._globs)
        return None if cleaned is None or cleaned[1] else cleaned[0]

    def _note_shown(self, spooled: SpooledEvent) -> None:
        session = spooled.payload.get("session_id")
        if spooled.context and isinstance(session, str):
            self._on_shown(session, spooled.context, spooled.at)

    def _weigh_again(self) -> None:
        limits = self._settings.spool_max_files, self._settings.spool_max_bytes
        spool_writer.reset_ledger(*self.spool.weigh(), *limits)


def _is_paused(session: str) -> bool:
    """`claude-mem off` holds for those who report over HTTP, too. Only what is private has been noted."""
    return paths.is_there(pause.ALL) or paths.is_there(pause.path(session))


def with_clean_branch(origin: Origin, clean: Callable[[str], str]) -> Origin:
    """A branch is somebody's text; a short one is no secret's."""
    if origin.branch is None or len(origin.branch) < SHORTEST_SECRET:
        return origin
    return replace(origin, branch=clean(origin.branch))


def happened_at(payload: Mapping[str, object], heard_at: int) -> int:
    """When it happened, by the payload's own `timestamp` if that can be believed; else when it was heard."""
    stamp = payload.get("timestamp")
    if isinstance(stamp, str):
        stamp = epoch(stamp)
    if not isinstance(stamp, int) or isinstance(stamp, bool):
        return heard_at
    return stamp if heard_at - OLDEST_MS < stamp <= heard_at else heard_at
