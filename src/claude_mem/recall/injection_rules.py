"""What is worth injecting, and what a session has been given already. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from claude_mem.model.full_text import STOP_WORDS, expressions
from claude_mem.model.refs import Hit, Ref
from claude_mem.model.structs import replace
from claude_mem.privacy import tags
from claude_mem.recall import paths
from claude_mem.recall.render import StartMaterial
from claude_mem.store.values import Injection

FEWEST_WORDS = 2
FLOOR = 0.7
"""What words, coverage and files must come to: below it, the prompt only happens to use the same words."""
BESIDE_THE_BEST = 0.7
"""Of what the best comes to: beside a memory that answers, one that hardly does is noise."""

START, PROMPT, FILE = "SessionStart", "UserPromptSubmit", "PreToolUse"

ROUNDED_MS = 1_000
"""The client's seconds are whole ones; and an answer is remembered a moment after it was given."""


class HookQuestion(Struct, frozen=True):
    """What a recall hook asks on behalf of its session."""

    event: str
    session: str
    cwd: str
    prompt: str = ""
    file: str = ""
    source: str = ""  # of a start: startup, resume, compact, clear, fork
    idle_s: int | None = None  # of a fork: since the session it carries on was last answered

    @classmethod
    def parse(cls, question: Mapping[str, object]) -> HookQuestion | None:
        """None: it is no question of ours, or it does not name its session."""
        payload, event = question.get("payload"), question.get("event")
        if not isinstance(payload, dict) or event not in (START, PROMPT, FILE):
            return None
        text = {name: value for name, value in payload.items() if isinstance(value, str)}
        idle = payload.get("seconds_since_last_response")
        if not text.get("session_id") or not text.get("cwd"):
            return None
        return cls(
            event=str(event),
            session=text["session_id"],
            cwd=text["cwd"],
            prompt=text.get("prompt", ""),
            file=text.get("file_path", ""),
            source=text.get("source", ""),
            idle_s=idle if isinstance(idle, int) else None,
        )


def is_worth_searching(prompt: str) -> bool:
    """Nobody asked by a notification, and the agent knows what it sent out; one word tells too little."""
    if tags.is_task_notification(prompt):
        return False
    return len(set(prompt_words(prompt)) - STOP_WORDS) >= FEWEST_WORDS or bool(paths.paths_in(prompt))


def considered(hits: Sequence[Hit], session: str, known: set[Ref]) -> list[tuple[Hit, bool]]:
    """Each, and whether it is worth telling."""
    floor = max(FLOOR, BESIDE_THE_BEST * max(map(relevance, hits), default=0.0))
    return [
        (hit, hit.card.session != session and hit.card.ref not in known and relevance(hit) >= floor)
        for hit in hits
    ]


def relevance(hit: Hit) -> float:
    """What speaks for it in the words of the question alone, without what speaks for it anyway."""
    return sum(hit.parts.get(name, 0.0) for name in ("words", "coverage", "vectors", "file"))


def of_others(material: StartMaterial, session: str, since: int | None) -> StartMaterial:
    """The client repeats to a resumed session what it was told, and what it did: so only what others did
    since; or, if it was never told anything (`since` is None), what others did."""
    others = replace(
        material,
        last=tuple(last for last in material.last if not last.goes_on),
        relevant=tuple(hit for hit in material.relevant if hit.card.session != session),
    )
    if since is None:
        return others
    return replace(
        others,
        last=tuple(last for last in others.last if last.when > since),
        next_steps=(),
        pinned=(),
        relevant=tuple(hit for hit in others.relevant if hit.card.created_at > since),
    )


def still_present(injections: Iterable[Injection], compacted_at: int) -> list[Injection]:
    """What a session was told of more than a title, and still has: a compaction takes it away."""
    return [each for each in injections if each.event != START and each.at > compacted_at]


def injected_refs(injections: Iterable[Injection]) -> set[Ref]:
    refs = {ref for each in injections for ref in each.refs}
    return {ref for ref in map(Ref.parse, refs) if ref is not None}


def prompt_words(prompt: str) -> list[str]:
    return [word.strip('"') for word in expressions(prompt)[0]]
