"""What is found, as it is answered: grouped by session for reading, and as the structs of `api/`. Pure.

Of a session, observations and summaries come before prompts, and raw tool events are folded into the memory
they led to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Struct, structs, to_builtins

from claude_mem.api.memories import FoundMemory, FoundSession, InjectionInfo
from claude_mem.api.projects import ProjectOverview, ProjectSummary
from claude_mem.api.sessions import SessionSummary
from claude_mem.model.clock import iso
from claude_mem.model.errors import InvalidInput
from claude_mem.model.refs import Card, Hit, MemoryKind, Ref
from claude_mem.model.structs import replace
from claude_mem.model.text import one_line
from claude_mem.recall import label
from claude_mem.store.values import Injection, ListPosition, Project, ProjectDetails

Json = dict[str, Any]
AnyStruct = TypeVar("AnyStruct", bound=Struct)

JUST_NOW_MS = 10 * 60 * 1000
SAME = 0.8
"""The share of the query's words in a prompt that is the question itself; at most half of its words are
others."""
LISTED_PER_SESSION = 3
"""Results shown per session, unless a search is limited to a session or to kinds."""
ORDER: dict[MemoryKind, int] = {"observation": 0, "summary": 0, "prompt": 1, "evidence": 2}
_WORD = re.compile(r"\w+")


class SessionHits(Struct):
    """The hits of one session, in display order."""

    session: str
    hits: list[Hit]
    events: int = 0  # raw events that were folded
    more: int = 0  # further matches, not shown


class Fold(Struct, frozen=True):
    """How to shorten a session's results: the best few, with raw events folded into them."""

    understood: Callable[[str], Sequence[Card]]
    """A session's observations, summaries and prompts."""
    marks: Callable[[Card], tuple[str, ...]]
    """A memory's marks: warnings such as that its code has changed."""
    most: int = LISTED_PER_SESSION


def by_session(hits: Iterable[Hit], fold: Fold | None) -> Iterator[SessionHits]:
    """Sessions in the order of their best hits. Without a fold, raw events are ordinary hits."""
    found: dict[str, list[Hit]] = {}
    for hit in hits:
        found.setdefault(hit.card.session, []).append(hit)
    for session, of_session in found.items():
        if fold is None:
            yield SessionHits(session, _ordered(of_session))
        else:
            yield _folded(session, of_session, fold)


def _folded(session: str, hits: Sequence[Hit], fold: Fold) -> SessionHits:
    shown = {hit.card.ref: hit for hit in hits if hit.card.ref.kind != "evidence"}
    events = [hit for hit in hits if hit.card.ref.kind == "evidence"]
    known = fold.understood(session) if events else ()
    folded = 0
    for hit in events:
        card = led_to(hit.card, known)
        if card is None:
            shown[hit.card.ref] = hit  # it was not observed yet
            continue
        folded += 1
        if card.ref not in shown:
            shown[card.ref] = replace(hit, card=card, marks=fold.marks(card))
    ordered = _without_title(_ordered(shown.values()))
    # Memories that the user saved share a session without belonging together: show all of them.
    listed = [hit for at, hit in enumerate(ordered) if at < fold.most or hit.card.source == "user"]
    return SessionHits(session, listed, folded, len(ordered) - len(listed))


def _without_title(hits: list[Hit]) -> list[Hit]:
    """Leaves out the first prompt, which is shown as the session's title."""
    if not hits or ORDER[hits[0].card.ref.kind]:
        return hits
    return [hit for hit in hits if hit.card.ref.kind != "prompt" or hit.card.prompt_number != 1]


def _ordered(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (ORDER[hit.card.ref.kind], -hit.score))


def led_to(event: Card, known: Sequence[Card]) -> Card | None:
    """The memory that an event led to: of its turn, the observation with most files in common, else the
    summary, else the prompt; if its turn has none of them, the session's last summary."""
    turn = [card for card in known if card.prompt_number == event.prompt_number]
    for kind in ("observation", "summary", "prompt"):
        of_kind = [card for card in turn if card.ref.kind == kind]
        if of_kind:
            return max(of_kind, key=lambda card: (len({*card.files} & {*event.files}), -card.ref.id))
    summaries = [card for card in known if card.ref.kind == "summary"]
    return max(summaries, key=lambda card: card.created_at, default=None)


def without_question(hits: Iterable[Hit], query: str, now: int) -> list[Hit]:
    """Leaves out the recent prompt that the query itself comes from: an agent may search for its own
    prompt."""
    query_words = _words(query)

    def is_question(card: Card) -> bool:
        is_prompt_only = card.ref.kind == "prompt" or (card.ref.kind == "summary" and not card.text.strip())
        if not is_prompt_only or not 0 <= now - card.created_at < JUST_NOW_MS:
            return False
        words = _words(card.text or card.title)
        shared = len(query_words & words)
        return shared >= SAME * len(query_words) and 2 * shared >= len(words)

    return [hit for hit in hits if not is_question(hit.card)]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


SNIPPET = 240
AGENT_MESSAGES = ("stop", "said", "subagent_stop")
"""Evidence that is the agent's own words."""
_OWN = ("id", "session_id", "project", "project_id", "title", "created_at", "created_at_epoch")
_HIDDEN = ("claude_session_id", "content_key", "seen_again", "author", *_OWN)


def _shape(shape: type[AnyStruct], values: Json) -> AnyStruct:
    """Of these values those that it has."""
    return shape(**{name: values[name] for name in shape.__struct_fields__ if name in values})


def result(hit: Hit, words: Sequence[str] = (), *, explain: bool = False) -> FoundMemory:
    card = hit.card
    values = {
        "id": card.ref.id,
        "ref": str(card.ref),
        "kind": card.ref.kind,
        "session_id": card.session,
        "created_at": iso(card.created_at),
        "created_at_epoch": card.created_at,
        "files": list(card.files),
        "author": card.author or UNSET,
        "score": round(hit.score, 4),
        "snippet": snippet(card, words),
        "tokens": label.cost(card),
        "marks": [*(("marked wrong",) if card.wrong else ()), *hit.marks],
        "parts": {name: round(value, 4) for name, value in hit.parts.items()} if explain else UNSET,
    }
    return _shape(FoundMemory, structs.asdict(card) | values)


def detail(hit: Hit, columns: Mapping[str, Any], injected: Sequence[Injection] | None = None) -> Json:
    """A result with all that is stored of it. `injected`: None, if that was not looked up."""
    shown = {name: value for name, value in columns.items() if name not in _HIDDEN}
    return {
        **shown,
        **to_builtins(result(hit)),
        "session_db_id": hit.card.session_db_id,
        "injected": None if injected is None else to_builtins(injections(injected)),
    }


def injections(found: Iterable[Injection]) -> list[InjectionInfo]:
    return [InjectionInfo(each.session, each.event, iso(each.at), each.tokens) for each in found]


def session(row: Mapping[str, Any]) -> SessionSummary:
    ids = {"id": row["claude_session_id"], "session_db_id": row["id"], "prompts": row["prompt_counter"]}
    return _shape(SessionSummary, _session_values(row) | ids)


def found_session(row: Mapping[str, Any], events: int, more: int) -> FoundSession:
    return _shape(FoundSession, _session_values(row) | {"events": events, "more": more})


def _session_values(row: Mapping[str, Any]) -> Json:
    return dict(row) | {
        "session_id": row["claude_session_id"],
        "title": row["title"] or one_line((row["first_user_prompt"] or "")[:400], 120) or None,
        "author": row["author"] or UNSET,
    }


def project(each: Project) -> ProjectSummary:
    return _shape(ProjectSummary, _project_values(each))


def project_overview(each: ProjectDetails, *, is_there: bool) -> ProjectOverview:
    return _shape(ProjectOverview, _project_values(each) | {"is_there": is_there})


def _project_values(each: Project) -> Json:
    last_at = None if each.last_at is None else iso(each.last_at)
    return structs.asdict(each) | {"last_at": last_at, "last_at_epoch": each.last_at}


def snippet(card: Card, words: Sequence[str]) -> str:
    """The sentence that matches the query, otherwise the one that adds most to the title."""
    query_words = frozenset(words)
    if card.ref.kind == "evidence" and card.type not in AGENT_MESSAGES:
        return label.matched_line(card.text, SNIPPET, query_words)
    return label.matched(card.title, card.text, SNIPPET, query_words)


_CURSOR = re.compile(r"(\d{1,15})-([spe]?\d{1,12})", re.ASCII)


def memory_cursor(card: Card) -> str:
    return f"{max(0, card.created_at)}-{card.ref}"


def next_cursor(cards: Sequence[Card], limit: int) -> str | None:
    """The cursor of the next page, if there is one."""
    return memory_cursor(cards[limit - 1]) if len(cards) > limit else None


def cursor_after(items: Sequence[Json]) -> str | None:
    """The cursor after these items."""
    return f"{max(0, items[-1]['created_at_epoch'])}-{items[-1]['ref']}" if items else None


def session_cursor(row: Mapping[str, Any]) -> str:
    return f"{max(0, row['updated_at_epoch'])}-{row['id']}"


def parse_cursor(text: str) -> ListPosition | None:
    """None: from the beginning. Raises InvalidInput."""
    if not text:
        return None
    found = _CURSOR.fullmatch(text)
    ref = Ref.parse(found[2]) if found else None
    if found is None or ref is None:
        raise InvalidInput("cursor", "Invalid `next` cursor.")
    return ListPosition(int(found[1]), ref)


def parse_session_cursor(text: str) -> tuple[int, int] | None:
    place = parse_cursor(text)
    return (place.at, place.ref.id) if place else None
