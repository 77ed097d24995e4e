"""The MCP tools' access to memory on a team server: only what the member may see, in the same way as the
member's machines."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from claude_mem.api.memories import ForgetAnswer, ForgetRequest, SavedAnswer
from claude_mem.model import records
from claude_mem.model.errors import InvalidInput
from claude_mem.model.refs import Card, Filters, Hit, Ref
from claude_mem.recall import answers
from claude_mem.recall.edit import narrative_and_title, observation_type, text_field
from claude_mem.serve.mcp_tools import TOOLS, ToolServer
from claude_mem.serve.team_server.team_routes import MCP_CLIENT, TeamCall, push_records


def server_of(call: TeamCall) -> ToolServer:
    may_write = "write" in call.identity.scopes
    return ToolServer(
        state=call.serving,
        version=call.services.version,
        tools={name: tool for name, tool in TOOLS.items() if tool.only_reads or may_write},
        went_wrong="Something went wrong in the team's server.",
        memory=call.memory,
        remember=partial(_remember, call),
        forget=partial(_forget, call),
    )


def _remember(call: TeamCall, text: str, given: Mapping[str, object]) -> SavedAnswer:
    """Saves a memory of the member's, as if one of the member's machines had sent it."""
    services, now = call.services, call.services.clock()
    narrative, title = narrative_and_title(text, given, services.clean)
    name = text_field(given, "project")
    project = services.store.projects.find(name) if name else None
    if project is None:
        raise InvalidInput(
            "project", f"You have access to no project named {name!r}." if name else "Specify a project."
        )
    session = _own_session(call, project.key)
    observation: dict[str, Any] = {
        "kind": "observation",
        "session_id": session,
        "type": observation_type(text_field(given, "type") or "discovery"),
        "title": title,
        "narrative": narrative if narrative != title else None,
        "files_modified": given.get("files") or [],
        "source": "user",
        "at": now,
    }
    about = {"session_id": session, "project": project.key, "client": MCP_CLIENT, "created_at": now}
    done = push_records(services, [{"kind": "session", **about}, observation])
    if done.refused:
        raise InvalidInput("project", done.refused[0][1])
    saved = _saved(call, session, now, title)
    return SavedAnswer("saved" if done.taken.get("observation") else "known", saved.id, str(saved), title)


def _saved(call: TeamCall, session: str, at: int, title: str) -> Ref:
    of_session = Filters(session=session, kinds=("observation",), since=at, until=at + 1)
    cards = call.services.store.memories.list_cards(of_session, limit=10)
    return next(card.ref for card in cards if card.title == title)


def _own_session(call: TeamCall, project: str) -> str:
    """The session for the member's saved memories: one per member and project."""
    owner = f"{call.identity.member}/{project}"
    return f"{MCP_CLIENT}-{hashlib.sha256(owner.encode(errors='replace')).hexdigest()[:24]}"


def _forget(call: TeamCall, request: ForgetRequest, dry_run: bool) -> ForgetAnswer:
    """Deletes the member's own memories, or any in a project that the member administers, on every
    machine."""
    refs = [ref for ref in map(Ref.parse, map(str, request.ids)) if ref is not None]
    whole = call.services.store.memories.details(refs)
    if dry_run:
        return _answer([card for card, _ in whole.values()], dry_run=True)
    names = {ref: records.name_of_card(card, columns) for ref, (card, columns) in whole.items()}
    shared = {ref: name for ref, name in names.items() if name}
    ids = call.services.sharing.forget(list(shared.values()))
    deleted = [ref for ref, id in zip(shared, ids, strict=True) if id]
    if whole and not deleted:
        raise InvalidInput(
            "ids",
            "Nothing was deleted: these memories are not yours, and you are not an admin of their project.",
        )
    return _answer([whole[ref][0] for ref in deleted], dry_run=False)


def _answer(cards: Sequence[Card], *, dry_run: bool) -> ForgetAnswer:
    count = Counter(card.ref.kind for card in cards)
    return ForgetAnswer(
        dry_run=dry_run,
        sessions=0,
        observations=count["observation"],
        summaries=count["summary"],
        prompts=count["prompt"],
        evidence=0,
        vectors=0,
        sample=[answers.result(Hit(card, 0.0)) for card in cards],
        backups=0,
        of_others=0,
        elsewhere=[],
    )
