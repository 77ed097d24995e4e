"""What is injected into a session and when: at its start, at a prompt, before a file is touched; what has
been injected; and a preview of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import tzinfo

from claude_mem.api.filters import SearchFilters
from claude_mem.model.errors import ClaudeMemError, NotFound
from claude_mem.model.events import Origin
from claude_mem.model.full_text import STOP_WORDS, expressions
from claude_mem.model.refs import Card, Filters, Hit, Ref, plain_path
from claude_mem.privacy import tags
from claude_mem.recall import json_shapes, paths, rank
from claude_mem.recall import render as recall_render
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.json_shapes import Json
from claude_mem.recall.rank import WorkContext
from claude_mem.recall.render import LastSession, NextStep, Rendered, StartMaterial
from claude_mem.recall.search import Search, Truth
from claude_mem.store.values import Injection, Keeping, Library, Project, Shelves

LOOKED_AT = 200
SUMMARIES = 4
"""The last session's, and those whose open steps are told with it."""

FEWEST_WORDS = 2
FLOOR = 0.7
"""What words, coverage and files must come to: below it, the prompt only happens to use the same words."""
BESIDE_THE_BEST = 0.7
"""Of what the best comes to: beside a memory that answers, one that hardly does is noise."""
MOST_CONSIDERED = 12

START = "SessionStart"

ROUNDED_MS = 1_000
"""The client's seconds are whole ones; and an answer is remembered a moment after it was given."""


@dataclass(frozen=True, slots=True)
class InjectionLimits:
    """How much a session may be told."""

    start_characters: int = recall_render.START_CHARACTERS
    start_tokens: int = recall_render.START_TOKENS
    prompt_characters: int = recall_render.PROMPT_CHARACTERS


def as_it_is(project: Project, origin: Origin) -> Project:
    del origin
    return project


@dataclass(frozen=True, slots=True, kw_only=True)
class Injector:
    library: Library
    shelves: Shelves
    keeping: Keeping
    search: Search
    resolver: FilterResolver
    truth: Truth
    origin_of: Callable[[str], Origin]
    clock: Callable[[], int]
    zone: Callable[[], tzinfo]
    note: Callable[[Injection], None]
    """Keeps a record; must not keep the one who asks waiting."""
    size: InjectionLimits = InjectionLimits()
    placed: Callable[[Project, Origin], Project] = as_it_is
    """A project with where it lies now, by where a session of it begins."""

    def context(self, narrowing: SearchFilters, *, source: str = "startup", session: str = "") -> Json:
        """What the next session start gets, without the fence: for people."""
        project = self.resolver.project(narrowing)
        if project is None:
            name = narrowing.cwd.rstrip("/").rpartition("/")[2] or "this directory"
            text = f"No previous sessions found for {name}."
            return {"text": text, "tokens": 0, "refs": [], "project": None}
        told = self.start(project, session if source == "compact" else "", plain=True)
        refs = [str(ref) for ref in told.refs]
        return {"text": told.text, "tokens": told.tokens, "refs": refs, "project": project.name}

    def preview(self, narrowing: SearchFilters, prompt: str, sizes: Mapping[str, int]) -> Json:
        """What the next session start and, if it is given, a prompt would get; with these sizes where they
        are named. Nothing is recorded."""
        project = self.resolver.project(narrowing)
        if project is None:
            raise NotFound("No memories of that directory; a session there gets no context.")
        size = replace(self.size, **{SIZES[name]: value for name, value in sizes.items()})
        tried, session = replace(self, size=size), narrowing.session
        return {
            "project": project.name,
            "start": {
                **_rendered_json(tried.start(project, session)),
                "plain": tried.start(project, session, plain=True).text,
            },
            "prompt": tried._prompt_preview(project, session, prompt) if prompt.strip() else None,
            "settings": _limits_json(size),
            "in_force": _limits_json(self.size),
        }

    def _prompt_preview(self, project: Project, session: str, prompt: str) -> Json:
        considered = self.considered(project, session, project.root, prompt[:LONGEST_PROMPT])
        rendered = self.told_at(prompt, [hit for hit, told in considered if told])
        return {
            **_rendered_json(rendered),
            "floor": FLOOR,
            "beside": BESIDE_THE_BEST,
            "hits": [
                json_shapes.result(hit, explain=True)
                | {"relevance": round(relevance(hit), 4), "told": hit.card.ref in rendered.refs}
                for hit, _ in considered
            ],
        }

    def answer(self, question: dict[str, object]) -> str:
        """A hook's question: its event, and what is known of the session."""
        payload = question.get("payload")
        if not isinstance(payload, dict):
            return ""
        given = {name: value for name, value in payload.items() if isinstance(value, str)}
        session, cwd = given.get("session_id", ""), given.get("cwd", "")
        origin = self.origin_of(cwd) if cwd else None
        project = self.library.project(origin.key) if origin else None
        if project is None or origin is None or not session:
            return ""
        match question.get("event"):
            case "SessionStart":
                told, about = self._started(self.placed(project, origin), session, payload), None
            case "UserPromptSubmit":
                told, about = self.prompted(project, session, cwd, given.get("prompt", "")), None
            case "PreToolUse":
                about = given.get("file_path", "")
                told = self.before_file(project, session, cwd, about)
            case _:
                return ""
        if told.text:
            refs = tuple(map(str, told.refs))
            event = str(question["event"])
            self.note(Injection(session, event, refs, told.tokens, self.clock(), about))
        return told.text

    def start(self, project: Project, session: str = "", *, plain: bool = False) -> Rendered:
        """`session`: the one that is told, if it goes on after a compaction: its own memory comes before
        any other session's, even where its turn has not been summed up yet."""
        material = self._material(project, session)
        if session and not any(last.goes_on for last in material.last):
            material = replace(material, last=())
        return self._rendered(material, plain=plain)

    def _rendered(self, material: StartMaterial, *, plain: bool = False) -> Rendered:
        render = recall_render.render_plain if plain else recall_render.render_start
        return render(
            material,
            now=self.clock(),
            budget_chars=self.size.start_characters,
            budget_tokens=self.size.start_tokens,
            tz=self.zone(),
        )

    def prompted(
        self, project: Project, session: str, cwd: str, prompt: str, asked_at: int | None = None
    ) -> Rendered:
        considered = self.considered(project, session, cwd, prompt, asked_at)
        return self.told_at(prompt, [hit for hit, told in considered if told])

    def told_at(self, prompt: str, hits: Sequence[Hit]) -> Rendered:
        words, budget = _words(prompt), self.size.prompt_characters
        return recall_render.render_prompt(hits, now=self.clock(), budget=budget, tz=self.zone(), words=words)

    def considered(
        self, project: Project, session: str, cwd: str, prompt: str, asked_at: int | None = None
    ) -> list[tuple[Hit, bool]]:
        """What a prompt brings to mind, the best first, and whether it is worth telling."""
        if tags.is_task_notification(prompt):
            return []  # nobody asked; and the agent knows what it sent out
        if len(set(_words(prompt)) - STOP_WORDS) < FEWEST_WORDS and not paths.paths_in(prompt):
            return []
        filters = Filters(
            project_id=project.id, kinds=("observation", "summary"), until=asked_at, superseded=False
        )
        work = WorkContext(branch=self.origin_of(cwd).branch)
        found = self.search(prompt, filters, MOST_CONSIDERED, work, hurried=True)
        known = _refs(self._told(session))
        floor = max(FLOOR, BESIDE_THE_BEST * max(map(relevance, found.hits), default=0.0))
        return [
            (
                hit,
                hit.card.session != session and hit.card.ref not in known and relevance(hit) >= floor,
            )
            for hit in found.hits
        ]

    def before_file(self, project: Project, session: str, cwd: str, path: str) -> Rendered:
        """Once for each file and session, and again after a compaction."""
        told = self._told(session)
        if not path or any(each.about == path for each in told):
            return Rendered()
        short = _inside(path, cwd, project.root)
        known = _refs(told)
        observed = Filters(project_id=project.id, kinds=("observation",), wrong=False)
        hits = [
            self._hit(each.card)
            for each in self.library.touching(short, observed, LOOKED_AT)
            if each.card.session != session
            and each.card.ref not in known
            and any(file == path or _is_it(file, short) for file in each.card.files)
        ]
        return recall_render.render_file(short, hits, self.clock(), tz=self.zone())

    def _started(self, project: Project, session: str, payload: dict[str, object]) -> Rendered:
        """The client repeats to a resumed session what it was told, and what it did: so only what others did
        since, or, if it was never told anything, what others did."""
        source = payload.get("source")
        if source not in ("resume", "fork"):
            return self.start(project, session if source == "compact" else "")
        since = self._told_until(session) if source == "resume" else self._forked_at(payload)
        material = self._material(project, session)
        others = replace(
            material,
            last=tuple(last for last in material.last if not last.goes_on),
            relevant=tuple(hit for hit in material.relevant if hit.card.session != session),
        )
        if since is None:
            return self._rendered(others)
        fresh = replace(
            others,
            last=tuple(last for last in others.last if last.when > since),
            next_steps=(),
            pinned=(),
            relevant=tuple(hit for hit in others.relevant if hit.card.created_at > since),
        )
        return self._rendered(fresh) if fresh.last or fresh.relevant else Rendered()

    def _told_until(self, session: str) -> int | None:
        return max((told.at for told in self.keeping.injections(session=session, limit=50)), default=None)

    def _forked_at(self, payload: dict[str, object]) -> int | None:
        """When the session that a fork carries on was last answered. Nobody names it, and all it was told and
        did is before that; None: never."""
        seconds = payload.get("seconds_since_last_response")
        return self.clock() - seconds * 1000 + ROUNDED_MS if isinstance(seconds, int) else None

    def _material(self, project: Project, session: str) -> StartMaterial:
        own = self._own(session)
        ids = self.shelves.last_summaries(project.id, session, SUMMARIES)
        whole = self.library.whole([Ref("summary", id) for id in ids])
        summaries = [
            recall_render.last_session(*whole[ref])
            for ref in (Ref("summary", id) for id in ids)
            if ref in whole
        ]
        last, earlier = recall_render.last_sessions(summaries)
        files = frozenset(file for _, columns in whole.values() for file in columns["files_edited"])
        standing = Filters(project_id=project.id, kinds=("observation",), superseded=False, wrong=False)
        pinned = self.library.listed(replace(standing, pinned=True), limit=LOOKED_AT)
        recent = self.library.listed(standing, limit=LOOKED_AT)
        sessions, observations = self.shelves.figures(project.id)
        work = WorkContext(files, self.origin_of(project.root).branch if project.root else None)
        return StartMaterial(
            project=project.name,
            last=(*own, *last),
            next_steps=tuple(
                NextStep(each.next_steps, each.when, each.ref) for each in earlier if each.next_steps
            ),
            pinned=tuple(map(self._hit, pinned)),
            relevant=tuple(self._current(recent, session, work)),
            sessions=sessions,
            observations=observations,
        )

    def _own(self, session: str) -> list[LastSession]:
        """What a session that goes on has done so far: its newest summary."""
        if not session:
            return []
        of_it = Filters(session=session, kinds=("summary",))
        cards = self.library.listed(of_it, limit=1)
        whole = self.library.whole([card.ref for card in cards])
        return [
            replace(recall_render.last_session(card, columns), goes_on=True)
            for card, columns in whole.values()
        ]

    def _current(self, cards: Collection[Card], session: str, work: WorkContext) -> list[Hit]:
        """What matters now, without a question: the session's own first, then by what speaks for each."""
        now = self.clock()
        hits = []
        for card in cards:
            marks, truth = self.truth(card)
            score = rank.currency(card, now, work, truth) + (1.0 if card.session == session else 0.0)
            hits.append(Hit(card, score, marks=marks))
        return rank.spread(rank.ordered(hits))

    def _told(self, session: str) -> list[Injection]:
        """What it was told of more than a title, and still has: a compaction takes it away."""
        since = self.shelves.compacted_at(session)
        injections = self.keeping.injections(session=session)
        return [each for each in injections if each.event != START and each.at > since]

    def _hit(self, card: Card) -> Hit:
        marks, _ = self.truth(card)
        return Hit(card, 0.0, marks=marks)


def _words(prompt: str) -> list[str]:
    return [word.strip('"') for word in expressions(prompt)[0]]


def _refs(told: Iterable[Injection]) -> set[Ref]:
    refs = {ref for each in told for ref in each.refs}
    return {ref for ref in map(Ref.parse, refs) if ref is not None}


def _inside(path: str, *roots: str) -> str:
    """A path as seen from where the work is done, if it lies there."""
    for root in roots:
        if root and path.startswith(f"{root.rstrip('/')}/"):
            return path[len(root.rstrip("/")) + 1 :]
    return path


def _is_it(remembered: str, short: str) -> bool:
    """The same file, not one of the same name elsewhere. Remembered from another worktree it has a longer
    path; a name without a folder is too little to tell it by."""
    ours, theirs = plain_path(short), plain_path(remembered)
    return ours == theirs or ("/" in ours and remembered.startswith("/") and theirs.endswith(f"/{ours}"))


def relevance(hit: Hit) -> float:
    """What speaks for it in the words of the question alone, without what speaks for it anyway."""
    return sum(hit.parts.get(name, 0.0) for name in ("words", "coverage", "vectors", "file"))


LONGEST_PROMPT = 20_000
SIZES = {
    "context_characters": "start_characters",
    "context_tokens": "start_tokens",
    "prompt_characters": "prompt_characters",
}
"""Settings that decide how much is told, and what they are called where it is packed."""


def _rendered_json(told: Rendered) -> Json:
    return {
        "text": told.text,
        "characters": len(told.text),
        "tokens": told.tokens,
        "refs": [str(ref) for ref in told.refs],
    }


def _limits_json(size: InjectionLimits) -> dict[str, int]:
    return {name: getattr(size, field) for name, field in SIZES.items()}


log = logging.getLogger("claude_mem")


class InjectionLog:
    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="notes")

    def note(self, injection: Injection) -> None:
        self._thread.submit(self._write, injection)

    def shown_at_start(self, session: str, stamp: str, at: int) -> None:
        """A hook showed a session what was rendered under this stamp."""
        rendering = self._keeping.rendering(stamp)
        if rendering is not None:
            refs, tokens = rendering
            self.note(Injection(session, "SessionStart", refs, tokens, at))

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _write(self, injection: Injection) -> None:
        try:
            self._keeping.note_injection(injection)
        except ClaudeMemError:
            log.exception("what a session was told is not noted")
