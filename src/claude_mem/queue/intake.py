"""Takes in events: from the spool (in order, one transaction per batch) and from callers of the API.

    drain > _drain > _take_in > _event           parse, scrub again if need be
                              > is_recorded      skipped tools, excluded projects
                              > _with_transcript at the end of a turn: what only the transcript has
                              > _accept          commit

A file leaves the spool only after its event is committed, and the store ignores an event that it already has.
So a kill in between neither loses nor duplicates anything.
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
MOST_AT_ONCE = 16 * BATCH  # files per drain; the worker can stop between two drains
OLDEST_MS = 5 * 365 * DAY_MS  # older events come from a clock that was never set: no agent had hooks then

_TURN_FIELDS = ("session_id", "cwd", "project", "prompt_id", "prompt_number", "timestamp")
_STORE_ERRORS = (StoreUnavailable, StoreDamaged)
"""Errors of the store, not of the event: it stays in the spool and is retried."""


class Intake:
    """Events that hooks have spooled, or that callers of the API report."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        title_of: Callable[[str], str | None] = lambda _: None,
        on_shown: Callable[[str, str, int], None] = lambda *_: None,
    ) -> None:
        """`title_of`: the title of a session that begins with this prompt. `on_shown` is called for a session
        that was shown a rendered context: the session, the rendering's stamp, and when."""
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
        self._unmovable: set[str] = set()
        self._excluded: set[str] = set()
        drop_counters.prepare()
        self._reset_ledger()

    def drain(self) -> int:
        """Takes in the oldest files; returns how many left the spool. Serialized: deleting memories drains,
        too."""
        with self._draining:
            taken = self._drain()
            if not taken and spool_writer.counted_files():
                self._reset_ledger()  # killed hooks left wrong counts behind
            return taken

    def receive(
        self, name: str, payload: dict[str, object], client: str = CLAUDE_CODE, *, request: str = ""
    ) -> Accepted:
        """Takes in an event that does not come from the spool. Durable on return. `request`: the id of the
        HTTP request, which becomes part of the event's id."""
        self._receive_last_prompt(name, payload, client)
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
        origin = self._named_project(event) or self.location_of(event.cwd)
        if self._stays_excluded(event, origin) or not self.is_recorded(event):
            return Accepted()
        return self._accept([self.new_event(event, origin)])

    def new_event(self, event: Event, origin: Origin) -> NewEvent:
        has_prompt = event.kind is Kind.PROMPT and event.text and not event.private
        return NewEvent(event, origin, self._title_of(event.text or "") if has_prompt else None)

    def _named_project(self, event: Event) -> Origin | None:
        """The project that a caller without a directory has named, by key or name, if that project has a
        directory: what an editor reports then joins what is done in the terminal."""
        if event.cwd or not event.project:
            return None
        try:
            known = self._store.projects.find(event.project)
        except AmbiguousProject:
            return None  # ambiguous: it is stored under the name alone
        return Origin(key=known.key, name=known.name, root=known.root) if known and known.root else None

    def _stays_excluded(self, event: Event, origin: Origin) -> bool:
        """Whether the event, its session, or the project it joins is excluded. Later reports of an excluded
        session may name neither project nor directory, so the session is remembered while the worker runs."""
        joins = bool(origin.root) and self._is_excluded(origin.root, origin.name)
        if joins or self._is_in_excluded_project(event):
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

    def _receive_last_prompt(self, name: str, payload: dict[str, object], client: str) -> None:
        """A caller that reports only a turn's end may give the prompt there."""
        prompt, session = payload.get("last_user_message"), payload.get("session_id")
        if name != "Stop" or not (isinstance(prompt, str) and isinstance(session, str) and prompt.strip()):
            return
        if not self._store.events.has_prompt(session, self.cleaned(prompt)):
            known = {key: payload[key] for key in _TURN_FIELDS if key in payload}
            self.receive("UserPromptSubmit", known | {"prompt": prompt}, client=client)

    def location_of(self, cwd: str | None) -> Origin:
        """The repository, branch and commit of a directory, found without the database."""
        return with_clean_branch(self._found_at(cwd), self.cleaned)

    def waiting(self) -> int:
        """How many files are in the spool."""
        return len(self.spool.names())

    def drops(self) -> dict[str, int]:
        """How many events hooks could not store, by reason."""
        return drop_counters.read()

    def project_origin_of(self, cwd: str | None) -> Origin:
        """The origin of the project that work in a directory belongs to."""
        return self._store.projects.with_project(self.location_of(cwd))

    def is_recorded(self, event: Event) -> bool:
        """Whether the user's settings skip neither its tool nor its project."""
        is_skipped = event.tool is not None and event.tool.name in self._settings.skip_tools
        return not is_skipped and not self._is_in_excluded_project(event)

    def cleaned(self, text: str) -> str:
        """The text without what must not be stored."""
        rules, globs = self._settings.secret_patterns, self._settings.exclude_paths
        return scrub.scrub_text(text, extra_rules=rules, extra_globs=globs)

    def tidy(self) -> None:
        self.spool.tidy(time.time())

    def _drain(self) -> int:
        """Returns how many files left the spool; 0 if it is empty, or contains only unreadable files that
        cannot be moved."""
        batch: list[SpooledEvent] = []
        processed = 0
        # Files that cannot be moved come last: otherwise enough of them would block the spool.
        names = sorted(self.spool.names(), key=self._unmovable.__contains__)
        for name in names[:MOST_AT_ONCE]:
            try:
                batch.append(self.spool.read(name))
            except FileNotFoundError:
                continue
            except EventUnreadable as error:
                processed += self._set_aside(name, error)
            if len(batch) >= BATCH or sum(one.size for one in batch) >= BATCH_BYTES:
                processed += self._take_in(batch)
                batch = []
        return processed + self._take_in(batch)

    def _take_in(self, files: list[SpooledEvent]) -> int:
        """Returns how many files left the spool. One bad event does not hold up those behind it."""
        processed, taken, accepting = 0, [], []
        for file in files:
            try:
                event = self._event(file)
                new: list[NewEvent] = []
                if event is not None and self.is_recorded(event):
                    origin = self.location_of(event.cwd)
                    new = [self.new_event(each, origin) for each in self._with_transcript(file.agent, event)]
            except _STORE_ERRORS:
                raise
            except Exception as error:
                processed += self._set_aside(file.name, error)
                continue
            taken.append(file)
            if new:
                accepting.append((file, new))
        skipped = len(taken) - len(accepting)
        for refused, why in self._accept_or_refuse(accepting):
            taken.remove(refused)
            processed += self._set_aside(refused.name, why)
        if skipped:
            self._store.queue.count("skipped", skipped)
        for file in taken:
            self._note(file)
        if taken:
            self.spool.remove(taken)
        return processed + len(taken)

    def _accept_or_refuse(
        self, accepting: Sequence[tuple[SpooledEvent, Sequence[NewEvent]]]
    ) -> list[tuple[SpooledEvent, Exception]]:
        """Accepts them together or, if the store refuses that, one by one. Returns those that were
        refused."""
        if not accepting:
            return []
        try:
            self._accept([new for _, some in accepting for new in some])
        except _STORE_ERRORS:
            raise
        except Exception as error:
            if len(accepting) == 1:
                return [(accepting[0][0], error)]
            return [refused for one in accepting for refused in self._accept_or_refuse([one])]
        return []

    def _note(self, file: SpooledEvent) -> None:
        """Reports a rendered context that was shown. After a failure, a file may be reported twice."""
        try:
            self._note_shown(file)
        except _STORE_ERRORS:
            raise
        except Exception as error:  # the event itself is safe
            log.warning("the context shown with %s was not noted: %s", file.name, type(error).__name__)

    def _set_aside(self, name: str, error: Exception) -> int:
        """Returns how many files left the spool: 0 if it cannot be moved, which is retried."""
        log.warning("set aside %s: %s", name, type(error).__name__, exc_info=error)
        try:
            self.spool.set_aside(name)
        except OSError as trouble:
            log.warning("cannot set aside %s: %s", name, trouble.strerror)
            self._unmovable.add(name)
            return 0
        self._unmovable.discard(name)
        self._store.queue.count("set_aside")
        return 1

    def _is_in_excluded_project(self, event: Event) -> bool:
        """Also by its repository: the worktree may be gone."""
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
        agents.load(spooled.agent)  # raises EventUnreadable for an unknown agent
        return hook_payload.parse(
            spooled.event,
            payload,
            id=spooled.id,
            at=happened_at(payload, spooled.at),
            client=spooled.agent,
            private=spooled.private,
        )

    def _with_transcript(self, agent: str, event: Event) -> list[Event]:
        """At the end of a turn: the event, preceded by what only the transcript has (the agent's messages,
        failures that no hook reported). Each has the id that a backfill would give it, so it is stored once.
        The transcript is not read after a private turn, nor for a session that was paused or forgotten."""
        words_of = agents.load(agent).words_of
        is_end = event.kind in (Kind.STOP, Kind.STOP_FAILURE) and not event.private and not event.agent_id
        if words_of is None or not is_end or pause.was_skipped(event.session):
            return [event]
        if self._store.events.is_forgotten(event.session):
            return [event]
        words, messages = words_of(event), list[Event]()
        for each in words.during_turn:
            if (scrubbed := self._scrubbed(each.event, each.payload | {"prompt_number": None})) is not None:
                one = hook_payload.parse(each.event, scrubbed, id=each.id, at=each.at, client=agent)
                # Whether it is wanted is judged by its own directory.
                if one is not None and (one.text or one.tool) and self.is_recorded(one):
                    messages.append(replace(one, cwd=event.cwd))
        if event.kind is Kind.STOP and event.text is None and words.last:
            turn: dict[str, object] = {"session_id": event.session, "prompt_id": event.prompt_id}
            last = self._scrubbed("AgentMessage", turn | {"message": words.last})
            event = replace(event, text=str(last["message"]) if last else None)
        return [*messages, event]

    def _scrubbed(self, name: str, payload: dict[str, object]) -> dict[str, object] | None:
        """The part of a payload that may be stored; None if there is none."""
        with self._marking:
            cleaned = scrub_payload.clean(name, payload, self._settings.secret_patterns, self._globs)
        return None if cleaned is None or cleaned[1] else cleaned[0]

    def _note_shown(self, spooled: SpooledEvent) -> None:
        session = spooled.payload.get("session_id")
        if spooled.context and isinstance(session, str):
            self._on_shown(session, spooled.context, spooled.at)

    def _reset_ledger(self) -> None:
        limits = self._settings.spool_max_files, self._settings.spool_max_bytes
        spool_writer.reset_ledger(*self.spool.measure(), *limits)


def _is_paused(session: str) -> bool:
    """`claude-mem off` applies to reports over HTTP, too."""
    return paths.is_there(pause.ALL) or paths.is_there(pause.path(session))


def with_clean_branch(origin: Origin, clean: Callable[[str], str]) -> Origin:
    """A branch name may contain a secret, unless it is very short."""
    if origin.branch is None or len(origin.branch) < SHORTEST_SECRET:
        return origin
    return replace(origin, branch=clean(origin.branch))


def happened_at(payload: Mapping[str, object], received_at: int) -> int:
    """When it happened: the payload's `timestamp` if that is plausible, otherwise when it was received."""
    stamp = payload.get("timestamp")
    if isinstance(stamp, str):
        stamp = epoch(stamp)
    if not isinstance(stamp, int) or isinstance(stamp, bool):
        return received_at
    return stamp if received_at - OLDEST_MS < stamp <= received_at else received_at
