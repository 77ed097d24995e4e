"""Injects memory into sessions: at the start, at a prompt, before a tool touches a file or runs a command.
Records what was injected, and previews it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo

from msgspec import Struct
from msgspec.structs import asdict

from claude_mem.agents import agent_of
from claude_mem.api.filters import FilterRequest
from claude_mem.model.clock import Clock
from claude_mem.model.errors import ClaudeMemError, NotFound, UnknownProject
from claude_mem.model.events import Origin
from claude_mem.model.refs import Card, Filters, Hit, Ref
from claude_mem.model.structs import replace
from claude_mem.recall import answers, query_paths, rank, reminders, session_start
from claude_mem.recall.answers import Json
from claude_mem.recall.filter_resolver import OWN, FilterResolver
from claude_mem.recall.rank import WorkContext
from claude_mem.recall.reminders import HookQuestion
from claude_mem.recall.search import CheckStaleness, Search
from claude_mem.recall.session_start import LastSession, Rendered, StartMaterial, last_session
from claude_mem.recall.staleness import penalty, with_newer
from claude_mem.store.base import Injections, Store
from claude_mem.store.values import Injection, Project

LOOKED_AT = 200
MOST_CONSIDERED = 12
RECENT = 100
"""Recent observations searched for a newer one on the same subject."""
MOST_TOGETHER = 9_900
"""Characters, out of the client's 10,000, when a start and a file's history are injected together."""
SUMMARIES = 6
"""The summaries of the last session, and of the earlier sessions that get one line each."""


class InjectionLimits(Struct, frozen=True):
    """How much is injected into a session, by the names of the settings."""

    context_characters: int = session_start.START_BUDGET.characters
    context_tokens: int = session_start.START_BUDGET.tokens
    prompt_characters: int = reminders.PROMPT_CHARACTERS


class Injector(Struct, frozen=True, kw_only=True):
    store: Store
    search: Search
    resolver: FilterResolver
    check_staleness: CheckStaleness
    origin_of: Callable[[str], Origin]
    is_excluded: Callable[[str, str], bool]
    """By directory and project name: excluded sessions get no memory, and are not recorded."""
    clock: Clock
    zone: Callable[[], tzinfo]
    note: Callable[[Injection], None]
    """Records an injection; must not delay the waiting hook."""
    size: InjectionLimits = InjectionLimits()
    command_hints: bool = True
    relocated: Callable[[Project, Origin], Project] = lambda project, _: project
    """The project with its current root, given where a session of it starts."""

    def context(self, request: FilterRequest, *, source: str = "startup", session: str = "") -> Json:
        """What the next session will get at its start; `plain` is the same for people, without the fence. A
        project's first session gets nothing, which is not an error."""
        project = self._project_for(request)
        if project is None:
            name = request.project or request.cwd.rstrip("/").rpartition("/")[2] or "this directory"
            plain = f"No previous sessions found for {name}."
            return {"text": "", "plain": plain, "tokens": 0, "refs": [], "project": None}
        compacted = session if source == "compact" else ""
        start = self._start_json(project, compacted, agent_of(session))
        return {name: start[name] for name in ("text", "plain", "tokens", "refs")} | {"project": project.name}

    def _project_for(self, request: FilterRequest) -> Project | None:
        """The project of a directory; None: it has no memories, or is excluded."""
        try:
            project = self.resolver.project(request)
        except UnknownProject:
            return None
        if self.is_excluded(request.cwd, request.project):
            return None
        return None if project and self.is_excluded(project.root, project.name) else project

    def preview(self, request: FilterRequest, prompt: str, sizes: Mapping[str, int]) -> Json:
        """What the next session start would get and, if given, a prompt; `sizes` overrides the settings.
        Records nothing."""
        project = self.resolver.project(request)
        if project is None:
            raise NotFound("No memories for that directory, so sessions there get no context.")
        size = replace(self.size, **sizes)
        tried, session = replace(self, size=size), request.session
        return {
            "project": project.name,
            "start": tried._start_json(project, session, agent_of(session)),
            "prompt": tried._prompt_preview(project, session, prompt) if prompt.strip() else None,
            "settings": asdict(size),
            "in_force": asdict(self.size),
        }

    def _start_json(self, project: Project, session: str, reader: str) -> Json:
        plain = self.start(project, session, plain=True, reader=reader)
        return {**_rendered_json(self.start(project, session, reader=reader)), "plain": plain.text}

    def _prompt_preview(self, project: Project, session: str, prompt: str) -> Json:
        evidence, considered = self.candidates(project, session, project.root, prompt)
        rendered = self._render_hits(prompt, considered, session)
        return {
            **_rendered_json(rendered),
            "evidence": round(evidence, 2),
            "enough": reminders.ENOUGH,
            "beside": reminders.BESIDE_THE_BEST,
            "hits": [
                replace(answers.result(hit, explain=True), selected=hit.card.ref in rendered.refs)
                for hit, _ in considered
            ],
        }

    def answer(self, message: dict[str, object]) -> str:
        """Answers a hook's question: the text to inject, or an empty one. Records what is injected."""
        question = HookQuestion.parse(message)
        if question is None or self.is_excluded(question.cwd, ""):
            return ""
        origin = self.origin_of(question.cwd)
        project = self.store.projects.by_key(origin.key)
        if project is None:
            return ""
        match question.event:
            case reminders.START:
                rendered = self._at_start(self.relocated(project, origin), question)
            case reminders.PROMPT:
                rendered = self.at_prompt(project, question.session, question.cwd, question.prompt)
            case _ if question.command:
                rendered = self.before_command(project, question.session, question.command)
            case _:
                rendered = self.before_file(project, question.session, question.cwd, question.file)
        delayed = self._delayed_start(project, question)
        if session_start.length(delayed + rendered.text) > MOST_TOGETHER:
            return delayed
        if rendered.text and question.session:
            about = (
                question.file or reminders.command_label(question.command)
                if question.event == reminders.FILE
                else None
            )
            self._note(question, question.event, rendered, about)
        return "\n".join(filter(None, (delayed, rendered.text)))

    def _note(self, question: HookQuestion, event: str, rendered: Rendered, about: str | None = None) -> None:
        refs = tuple(map(str, rendered.refs))
        self.note(Injection(question.session, event, refs, rendered.tokens, self.clock(), about))

    def _delayed_start(self, project: Project, question: HookQuestion) -> str:
        """The start context, at the first tool, for a session that could not get it at its start."""
        if question.source != reminders.TOOL or self._was_started(question.session):
            return ""
        started = self.start(project, reader=agent_of(question.session))
        if started.text:
            self._note(question, reminders.START, started)
        return started.text

    def _was_started(self, session: str) -> bool:
        return any(
            each.event == reminders.START for each in self.store.injections.injections(session=session)
        )

    def start(
        self, project: Project, session: str = "", *, plain: bool = False, reader: str | None = None
    ) -> Rendered:
        """The context for a session's start. `session`: given after a compaction, when the session's own
        memory comes before any other's, even if its turn has no summary yet. `reader`: the session's
        agent."""
        material = replace(self._material(project, session), reader=reader)
        if session and not any(last.is_reader for last in material.last):
            material = replace(material, last=())
        return self._rendered(material, plain=plain)

    def _rendered(self, material: StartMaterial, *, plain: bool = False) -> Rendered:
        budget = session_start.Budget(self.size.context_characters, self.size.context_tokens)
        now, tz = self.clock(), self.zone()
        return session_start.render_start(material, now=now, budget=budget, tz=tz, plain=plain)

    def at_prompt(self, project: Project, session: str, cwd: str, prompt: str) -> Rendered:
        _, considered = self.candidates(project, session, cwd, prompt)
        return self._render_hits(prompt, considered, session)

    def _render_hits(self, prompt: str, considered: Iterable[tuple[Hit, bool]], session: str) -> Rendered:
        return reminders.render_prompt(
            [hit for hit, is_injected in considered if is_injected],
            now=self.clock(),
            budget=self.size.prompt_characters,
            tz=self.zone(),
            words=reminders.prompt_words(prompt),
            reader=agent_of(session),
        )

    def candidates(
        self, project: Project, session: str, cwd: str, prompt: str
    ) -> tuple[float, list[tuple[Hit, bool]]]:
        """The evidence that memory has an answer to a prompt; and the memories that match it, the best first,
        each with whether it is to be injected."""
        if not reminders.is_worth_searching(prompt):
            return 0.0, []
        filters = Filters(project_id=project.id, kinds=("observation", "summary"), superseded=False)
        work = WorkContext(branch=self.origin_of(cwd).branch)
        own = self.store.sessions.find(session) if session else None
        found = self.search(
            prompt, filters, MOST_CONSIDERED, work, hurried=True, without_session=own.id if own else None
        )
        evidence = reminders.evidence(prompt, found)
        known = reminders.injected_refs(self._injected(session))
        hits = [hit for hit in found.hits if hit.card.session != session]
        return evidence, reminders.choose(hits, known, is_answered=evidence >= reminders.ENOUGH)

    def before_command(self, project: Project, session: str, command: str) -> Rendered:
        """Once for each command and session, and again after a compaction."""
        about = reminders.command_label(command)
        if not self.command_hints or any(each.about == about for each in self._injected(session)):
            return Rendered()
        return reminders.before_command(
            self.store.memories, project.id, session, command, now=self.clock(), tz=self.zone()
        )

    def before_file(self, project: Project, session: str, cwd: str, path: str) -> Rendered:
        """Once for each file and session, and again after a compaction."""
        injected = self._injected(session)
        if not path or any(each.about == path for each in injected):
            return Rendered()
        short, known = query_paths.path_inside(path, cwd, project.root), reminders.injected_refs(injected)
        observed = Filters(project_id=project.id, kinds=("observation",), wrong=False)
        hits = [
            self._hit(each.card)
            for each in self.store.memories.of_file(short, observed, LOOKED_AT)
            if each.card.session != session
            and each.card.ref not in known
            and query_paths.is_about(each.card, path, short)
        ]
        current = Filters(project_id=project.id, kinds=("observation",), superseded=False, wrong=False)
        recent = map(self._hit, self.store.memories.list_cards(current, limit=RECENT))
        hits = with_newer([*hits, *recent])[: len(hits)]
        return reminders.render_file(short, hits, self.clock(), tz=self.zone(), reader=agent_of(session))

    def _at_start(self, project: Project, question: HookQuestion) -> Rendered:
        if question.source not in ("resume", "fork"):
            compacted = question.session if question.source == "compact" else ""
            return self.start(project, compacted, reader=agent_of(question.session))
        since = (
            self._last_injected(question.session)
            if question.source == "resume"
            else self._forked_at(question)
        )
        material = reminders.of_others(self._material(project, question.session), question.session, since)
        material = replace(material, reader=agent_of(question.session))
        if since is not None and not material.last and not material.relevant:
            return Rendered()
        return self._rendered(material)

    def _last_injected(self, session: str) -> int | None:
        return max(
            (each.at for each in self.store.injections.injections(session=session, limit=50)), default=None
        )

    def _forked_at(self, question: HookQuestion) -> int | None:
        """When the session that a fork continues was last answered; None: never. The fork's hook does not
        name that session, but all that it saw and did is older."""
        return (
            None if question.idle_s is None else self.clock() - question.idle_s * 1000 + reminders.ROUNDED_MS
        )

    def _material(self, project: Project, session: str) -> StartMaterial:
        own = self._own_summary(session)
        is_shared = bool(self.store.sessions.authors(project.id))
        refs = self._last_summaries(project, session, is_shared=is_shared)
        rows = self.store.memories.details(refs)
        current = Filters(project_id=project.id, kinds=("observation",), superseded=False, wrong=False)
        recent = self.store.memories.list_cards(current, limit=LOOKED_AT)
        if is_shared:
            own_cards = self.store.memories.list_cards(replace(current, authors=(OWN,)), limit=LOOKED_AT)
            recent = [*recent, *(card for card in own_cards if card not in recent)]
        outcomes = session_start.outcomes(recent)
        found = [self._named(*rows[ref]) for ref in refs if ref in rows]
        cut = session_start.cut_sessions(recent, {card.session for card, _ in found})
        last, earlier = session_start.last_sessions(
            [
                last_session(card, columns, outcomes.get(card.session, ()), is_cut=card.session in cut)
                for card, columns in found
            ]
        )
        files = frozenset(file for _, columns in rows.values() for file in columns["files_edited"])
        pinned = self.store.memories.list_cards(replace(current, pinned=True), limit=LOOKED_AT)
        pinned.sort(key=lambda card: card.author is not None)  # the user's own first
        sessions, observations = self.store.sessions.figures(project.id)
        work = WorkContext(files, self.origin_of(project.root).branch if project.root else None)
        return StartMaterial(
            project=project.name,
            last=(*own, *last),
            earlier=tuple(earlier),
            pinned=tuple(with_newer(list(map(self._hit, [*pinned, *recent])))[: len(pinned)]),
            relevant=tuple(self._current(recent, session, work)),
            sessions=sessions,
            observations=observations,
        )

    def _named(self, card: Card, columns: Json) -> tuple[Card, Json]:
        """Drops the author if it is the user, on another machine."""
        return (replace(card, author=None) if self.resolver.is_own(card.author) else card), columns

    def _last_summaries(self, project: Project, session: str, *, is_shared: bool) -> list[Ref]:
        """The newest first, with as many of the user's own sessions as without a team."""
        last = self.store.sessions.last_summaries
        refs = [Ref("summary", id) for id in last(project.id, session, SUMMARIES)]
        if not is_shared:
            return refs
        refs += [Ref("summary", id) for id in last(project.id, session, SUMMARIES, own=False)]
        cards = self.store.memories.cards(refs)
        return [card.ref for card in sorted(cards, key=lambda card: (-card.created_at, -card.ref.id))]

    def _own_summary(self, session: str) -> list[LastSession]:
        """What a continued session has done so far: its newest summary."""
        if not session:
            return []
        of_it = Filters(session=session, kinds=("summary",))
        cards = self.store.memories.list_cards(of_it, limit=1)
        rows = self.store.memories.details([card.ref for card in cards])
        return [replace(last_session(card, columns), is_reader=True) for card, columns in rows.values()]

    def _current(self, cards: Collection[Card], session: str, work: WorkContext) -> list[Hit]:
        """What matters now, without a query: by score, with the session's own memories first."""
        now = self.clock()
        hits = []
        for card in cards:
            marks = self.check_staleness(card)
            score = rank.currency(card, now, work, penalty(marks)) + (1.0 if card.session == session else 0.0)
            hits.append(Hit(card, score, marks=marks))
        return rank.spread(rank.ordered(with_newer(hits)))

    def _injected(self, session: str) -> list[Injection]:
        since = self.store.sessions.compacted_at(session)
        return reminders.still_present(self.store.injections.injections(session=session), since)

    def _hit(self, card: Card) -> Hit:
        return Hit(card, 0.0, marks=self.check_staleness(card))


def _rendered_json(rendered: Rendered) -> Json:
    return {
        "text": rendered.text,
        "characters": len(rendered.text),
        "tokens": rendered.tokens,
        "refs": [str(ref) for ref in rendered.refs],
    }


log = logging.getLogger("claude_mem")


class InjectionLog:
    def __init__(self, injections: Injections) -> None:
        self._injections = injections
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="notes")

    def note(self, injection: Injection) -> None:
        self._thread.submit(self._write, injection)

    def note_rendered_start(self, session: str, stamp: str, at: int) -> None:
        """A hook showed a session what was rendered under this stamp."""
        rendering = self._injections.rendering(stamp)
        if rendering is not None:
            refs, tokens = rendering
            self.note(Injection(session, "SessionStart", refs, tokens, at))

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _write(self, injection: Injection) -> None:
        try:
            self._injections.note_injection(injection)
        except ClaudeMemError:
            log.exception("an injection could not be recorded")
