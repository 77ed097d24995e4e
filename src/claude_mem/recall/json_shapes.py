"""Memories, sessions, projects and page cursors as JSON, the same for every caller. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, structs, to_builtins

from claude_mem.api.memories import FoundMemory, FoundSession, InjectionInfo
from claude_mem.api.projects import ProjectOverview, ProjectSummary
from claude_mem.api.sessions import SessionSummary
from claude_mem.model.clock import iso
from claude_mem.model.errors import InvalidInput
from claude_mem.model.refs import Card, Hit, Ref
from claude_mem.model.text import one_line
from claude_mem.recall import label
from claude_mem.store.values import Injection, ListPosition, Project, ProjectDetails

Json = dict[str, Any]


SNIPPET = 240
SPOKEN = ("stop", "said", "subagent_stop")
"""Evidence that is the agent's own words."""
_OWN = ("id", "session_id", "project", "project_id", "title", "created_at", "created_at_epoch")
_HIDDEN = ("claude_session_id", "content_key", "seen_again", "author", *_OWN)


def result(hit: Hit, words: Sequence[str] = (), *, explain: bool = False) -> FoundMemory:
    card = hit.card
    return FoundMemory(
        id=card.ref.id,
        ref=str(card.ref),
        kind=card.ref.kind,
        session_id=card.session,
        project=card.project,
        title=card.title,
        type=card.type,
        created_at=iso(card.created_at),
        created_at_epoch=card.created_at,
        files=list(card.files),
        branch=card.branch,
        client=card.client,
        author=card.author or UNSET,
        score=round(hit.score, 4),
        snippet=snippet(card, words),
        tokens=label.cost(card),
        pinned=card.pinned,
        wrong=card.wrong,
        superseded_by=card.superseded_by,
        source=card.source,
        marks=[*(("marked wrong",) if card.wrong else ()), *hit.marks],
        parts={name: round(value, 4) for name, value in hit.parts.items()} if explain else UNSET,
    )


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
    values = dict(row) | {
        "id": row["claude_session_id"],
        "session_id": row["claude_session_id"],
        "session_db_id": row["id"],
        "title": _session_title(row),
        "prompts": row["prompt_counter"],
        "author": row["author"] or UNSET,
    }
    return SessionSummary(**{name: values[name] for name in SessionSummary.__struct_fields__})


def project(each: Project) -> ProjectSummary:
    return ProjectSummary(**_project_fields(each, ProjectSummary))


def project_overview(each: ProjectDetails, *, is_there: bool) -> ProjectOverview:
    return ProjectOverview(**_project_fields(each, ProjectOverview), is_there=is_there)


def _project_fields(each: Project, shape: type[ProjectSummary]) -> Json:
    last_at = None if each.last_at is None else iso(each.last_at)
    values = structs.asdict(each) | {"last_at": last_at, "last_at_epoch": each.last_at}
    return {name: values[name] for name in shape.__struct_fields__ if name in values}


def snippet(card: Card, words: Sequence[str]) -> str:
    """The sentence that matches the query, otherwise the one that adds most to the title."""
    wanted = frozenset(words)
    if card.ref.kind == "evidence" and card.type not in SPOKEN:
        return label.matched_line(card.text, SNIPPET, wanted)
    return label.matched(card.title, card.text, SNIPPET, wanted)


def found_session(row: Mapping[str, Any], events: int, more: int) -> FoundSession:
    return FoundSession(
        session_id=row["claude_session_id"],
        title=_session_title(row),
        project=row["project"],
        created_at=row["created_at"],
        created_at_epoch=row["created_at_epoch"],
        author=row["author"] or UNSET,
        events=events,
        more=more,
    )


def _session_title(row: Mapping[str, Any]) -> str | None:
    return row["title"] or one_line((row["first_user_prompt"] or "")[:400], 120) or None


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
