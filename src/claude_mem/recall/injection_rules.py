"""What is worth injecting, and what was already injected into a session. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from claude_mem.model.full_text import STOP_WORDS, query_words
from claude_mem.model.refs import Hit, Ref
from claude_mem.model.structs import replace
from claude_mem.privacy import tags
from claude_mem.recall import query_paths
from claude_mem.recall.render import StartMaterial
from claude_mem.store.values import Injection

FEWEST_WORDS = 2
ENOUGH, UNKNOWN = 8.0, 16.0
"""The least evidence for injecting anything, and what is subtracted for words that no memory has (times their
share): a prompt about something new shares only ordinary words with the past."""
BESIDE_THE_BEST = 0.8
"""The share of the best score that another memory needs: beside a good match, a weak one is noise."""
MOST_INJECTED = 3

_CHAT = """
thanks thank thx please ok okay yes yeah yep no nope sure great good perfect nice cool fine awesome
excellent looks look looking right wrong correct go going ahead continue carry proceed stop wait hold
start resume again more less next step steps first last just now today later one two three run rerun
running test tests unit build lint compile commit commits push pull merge rebase branch branches main
master draft pr prs request open close undo redo revert edit edits change changed changes diff show
explain tell try tried retry fix formatting format save update switch green red done left remaining
everything anything something all touch shorter longer simpler simple brief briefly words word paragraph
sentence propose proposed suggested like doing make sort rename variable import imports alphabetically
server dev file files code line lines time once still yet also only other another here up down out off
over back same new old let lets us need want
"""
CHAT = frozenset(_CHAT.split())
"""Words about the current work, whatever it is; a prompt with only these needs no memory."""

START, PROMPT, FILE = "SessionStart", "UserPromptSubmit", "PreToolUse"

TOOL = "tool"
"""The source of a query from an agent that injects nothing before its first tool."""

ROUNDED_MS = 1_000
"""The client reports whole seconds, and an answer is recorded a moment after it was given."""


class HookQuestion(Struct, frozen=True):
    """A recall hook's query on behalf of its session."""

    event: str
    session: str
    cwd: str
    prompt: str = ""
    file: str = ""
    command: str = ""
    source: str = ""  # of a start: startup, resume, compact, clear, fork; TOOL
    idle_s: int | None = None  # of a fork: since the session it carries on was last answered

    @classmethod
    def parse(cls, question: Mapping[str, object]) -> HookQuestion | None:
        """None if it is not a valid question, or names no session; only a start may have none."""
        payload, event = question.get("payload"), question.get("event")
        if not isinstance(payload, dict) or event not in (START, PROMPT, FILE):
            return None
        text = {name: value for name, value in payload.items() if isinstance(value, str)}
        idle = payload.get("seconds_since_last_response")
        session = text.get("session_id", "")
        if not text.get("cwd") or not (session or (event == START and "session_id" not in payload)):
            return None
        return cls(
            event=str(event),
            session=session,
            cwd=text["cwd"],
            prompt=text.get("prompt", ""),
            file=text.get("file_path", ""),
            command=text.get("command", ""),
            source=text.get("source", ""),
            idle_s=idle if isinstance(idle, int) else None,
        )


def is_worth_searching(prompt: str) -> bool:
    """Not for a notification (the agent knows the task it started), nor for a single significant word."""
    if tags.is_task_notification(prompt):
        return False
    return len(prompt_terms(prompt)) >= FEWEST_WORDS or bool(query_paths.paths_in(prompt))


def prompt_terms(prompt: str) -> set[str]:
    return set(prompt_words(prompt)) - STOP_WORDS - CHAT


def evidence(prompt: str, strength: float, unknown: float) -> float:
    """The evidence that memory has an answer: below ENOUGH, nothing is injected."""
    return len(prompt_terms(prompt)) + strength - UNKNOWN * unknown


def considered(hits: Sequence[Hit], known: set[Ref], *, is_answered: bool) -> list[tuple[Hit, bool]]:
    """Each hit, and whether to inject it. `is_answered`: whether there is enough evidence; without it, only
    memories about a file that the prompt names are injected."""
    floor = BESIDE_THE_BEST * max((hit.score for hit in hits), default=0.0)
    found, injected = [], 0
    for hit in hits:
        is_worth = hit.card.ref not in known and hit.score >= floor and injected < MOST_INJECTED
        is_worth = is_worth and (is_answered or bool(hit.parts.get("file")))
        injected += is_worth
        found.append((hit, is_worth))
    return found


def of_others(material: StartMaterial, session: str, since: int | None) -> StartMaterial:
    """For a resumed session, to which the client replays its own past: only what other sessions did since
    then or, if nothing was ever injected (`since` is None), everything that other sessions did."""
    others = replace(
        material,
        last=tuple(last for last in material.last if not last.is_reader),
        relevant=tuple(hit for hit in material.relevant if hit.card.session != session),
    )
    if since is None:
        return others
    return replace(
        others,
        last=tuple(last for last in others.last if last.when > since),
        earlier=(),
        pinned=(),
        relevant=tuple(hit for hit in others.relevant if hit.card.created_at > since),
    )


def still_present(injections: Iterable[Injection], compacted_at: int) -> list[Injection]:
    """The injections still in the session's context, except that of its start, which has only titles. A
    compaction removes them."""
    return [each for each in injections if each.event != START and each.at > compacted_at]


def injected_refs(injections: Iterable[Injection]) -> set[Ref]:
    refs = {ref for each in injections for ref in each.refs}
    return {ref for ref in map(Ref.parse, refs) if ref is not None}


def prompt_words(prompt: str) -> list[str]:
    return list(query_words(prompt)[0])
