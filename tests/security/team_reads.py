"""Every method of a store by which something is read, asked about everything there is, with no filter but the
ids of what others have. Each part's methods are listed, so a new one is asked too, or its test fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from tests.security.team_rules import Snapshot

from claude_mem.api.team import AuditQuery
from claude_mem.model.errors import ClaudeMemError, InvalidInput
from claude_mem.model.events import Origin
from claude_mem.model.jobs import JobState
from claude_mem.model.refs import Filters, Ref, wide_key
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.values import DeletionRequest, ExportSelection, Selection, TextQuery

_KINDS = {"observations": "observation", "session_summaries": "summary", "user_prompts": "prompt"}


class ReadingContext(Struct, frozen=True):
    """All that there is, as its owner sees it."""

    whole: Snapshot
    projects: tuple[str, ...]
    sessions: tuple[str, ...]

    def ids(self, table: str) -> list[int]:
        return [row["id"] for row in self.whole[table].values()]

    def refs(self) -> list[Ref]:
        kinds: Any = _KINDS
        return [Ref(kind, id) for table, kind in kinds.items() for id in self.ids(table)]

    def keys(self) -> list[int]:
        kinds: Any = _KINDS
        found = []
        for table, kind in kinds.items():
            for row in self.whole[table].values():
                found.append(wide_key(row["session_id"], Ref(kind, row["id"])))
        return found


Read = Callable[[PostgresStore, ReadingContext], Any]


def _filters(context: ReadingContext) -> list[Filters]:
    """None, and one of each kind, which one differs from story to story."""
    turn, projects = sum(map(len, context.whole.values())), context.ids("projects")
    name = context.projects[turn % len(context.projects)]
    return [
        Filters(),
        *(Filters(project_id=id) for id in projects[turn % (len(projects) or 1) :][:1]),
        Filters(session=context.sessions[turn % len(context.sessions)]),
        Filters(file=f"{name}content/"),
        Filters(concepts=(f"{name}content",)),
    ]


def _every(call: Callable[[Any], Any], among: Any) -> list[Any]:
    """What each answers; a refusal is an answer too."""
    found = []
    for one in among:
        try:
            answer = call(one)
            found.append(list(answer) if isinstance(answer, Iterator) else answer)
        except (InvalidInput, ClaudeMemError) as error:
            found.append(error)
    return found


READINGS: dict[str, Read] = {
    "memories.match": lambda s, c: [
        (found.sizes, [(each.rows, s.memories.cards(_refs_at(each.scores))) for each in found.matched])
        for words in (*((f"{name}content",) for name in c.projects), ("note1", "note2"), ("note*",))
        for found in [s.memories.match(TextQuery(words), None)]
    ],
    "memories.cards": lambda s, c: s.memories.cards(c.refs()),
    "memories.details": lambda s, c: s.memories.details(c.refs()),
    "memories.list_cards": lambda s, c: _every(lambda f: s.memories.list_cards(f, limit=100), _filters(c)),
    "memories.refs": lambda s, c: _every(lambda f: s.memories.refs(f, limit=100), _filters(c)),
    "memories.count": lambda s, c: _every(s.memories.count, _filters(c)),
    "memories.last_ids": lambda s, c: s.memories.last_ids(),
    "memories.key_filter": lambda s, c: _every(
        lambda f: (found := s.memories.key_filter(f)) and found(c.keys()), _filters(c)
    ),
    "memories.keys_of_file": lambda s, c: _every(
        lambda name: s.memories.keys_of_file(f"{name}content/file1.py", Filters(), 100), c.projects
    ),
    "memories.of_file": lambda s, c: _every(
        lambda name: s.memories.of_file(f"{name}content/file1.py", Filters(), 100), c.projects
    ),
    "memories.in_folder": lambda s, c: _every(
        lambda name: s.memories.in_folder(f"{name}content", None), c.projects
    ),
    "memories.count_by_kind": lambda s, c: _every(s.memories.count_by_kind, c.sessions),
    "sessions.find": lambda s, c: _every(s.sessions.find, [*c.sessions, *c.ids("sdk_sessions")]),
    "sessions.count_open": lambda s, c: s.sessions.count_open(),
    "sessions.last_open": lambda s, c: s.sessions.last_open(100),
    "sessions.sessions": lambda s, c: _every(lambda f: s.sessions.sessions(f, limit=100), _filters(c)),
    "sessions.count_sessions": lambda s, c: _every(s.sessions.count_sessions, _filters(c)),
    "sessions.session": lambda s, c: _every(
        s.sessions.session, [*c.sessions, *map(str, c.ids("sdk_sessions"))]
    ),
    "sessions.titles": lambda s, c: s.sessions.titles(c.ids("sdk_sessions")),
    "sessions.last_summaries": lambda s, c: _every(
        lambda one: s.memories.cards(
            [Ref("summary", each) for each in s.sessions.last_summaries(one, "", 100)]
        ),
        c.ids("projects"),
    ),
    "sessions.compacted_at": lambda s, c: _every(s.sessions.compacted_at, c.sessions),
    "sessions.figures": lambda s, c: _every(s.sessions.figures, c.ids("projects")),
    "sessions.directories": lambda s, c: _every(
        lambda one: s.sessions.directories(one, 100), c.ids("projects")
    ),
    "sessions.authors": lambda s, c: _every(s.sessions.authors, [None, *c.ids("projects")]),
    "sessions.clients": lambda s, c: _every(s.sessions.clients, [None, *c.ids("projects")]),
    "projects.find": lambda s, c: [
        found and found.sessions for found in _every(s.projects.find, [f"{name}key" for name in c.projects])
    ],
    "projects.by_key": lambda s, c: [
        found and found.sessions for found in _every(s.projects.by_key, [f"{name}key" for name in c.projects])
    ],
    "projects.by_id": lambda s, c: _every(s.projects.by_id, c.ids("projects")),
    "projects.newest": lambda s, c: s.projects.newest(100),
    "projects.all": lambda s, c: s.projects.all(),
    "projects.with_project": lambda s, c: s.projects.with_project(
        Origin("other", "other", "/home/x", None, plain=True)
    ),
    "injections.injections": lambda s, c: s.injections.injections(),
    "injections.rendering": lambda s, c: s.injections.rendering("x"),
    "injections.figures": lambda s, c: s.injections.figures(),
    "deletion.plan": lambda s, c: _every(
        lambda selection: s.memories.cards(s.deletion.plan(selection).refs),
        [
            *(Selection(project_id=id, until=2**60) for id in c.ids("projects")),
            *(Selection(text=f"{name}content") for name in c.projects),
            *(Selection(file=f"{name}content/") for name in c.projects),
        ],
    ),
    "deletion.identities": lambda s, c: s.deletion.identities(c.refs()),
    "copies.look": lambda s, c: s.copies.look(DeletionRequest(Selection())),
    "copies.surplus": lambda s, c: s.copies.surplus(),
    "transfer.records": lambda s, c: _every(
        s.transfer.records,
        [
            ExportSelection(),
            *(ExportSelection(project_id=id) for id in c.ids("projects")),
            *(ExportSelection(session=name) for name in c.sessions),
            ExportSelection(refs=tuple(c.refs())) if c.refs() else ExportSelection(),
        ],
    ),
    "statistics.news": lambda s, c: s.statistics.news(None),
    "statistics.unindexed": lambda s, c: s.statistics.unindexed(),
    "statistics.figures": lambda s, c: s.statistics.figures(),
    "statistics.activity": lambda s, c: _every(lambda one: s.statistics.activity(one, 0), c.ids("projects")),
    "statistics.types": lambda s, c: _every(s.statistics.types, c.ids("projects")),
    "statistics.changed_files": lambda s, c: _every(
        lambda one: s.statistics.changed_files(one, 100), c.ids("projects")
    ),
    "statistics.facets": lambda s, c: _every(s.statistics.facets, [None, *c.ids("projects")]),
    "statistics.tool_uses": lambda s, c: _every(
        lambda one: s.statistics.tool_uses(one, ["x"]), c.ids("sdk_sessions")
    ),
    "statistics.superseded": lambda s, c: _every(s.statistics.superseded, c.ids("observations")),
    "statistics.prompt": lambda s, c: _every(lambda one: s.statistics.prompt(one, 1), c.ids("sdk_sessions")),
    "statistics.times_injected": lambda s, c: _every(s.statistics.times_injected, c.refs()),
    "statistics.injected": lambda s, c: s.statistics.injected(0, None),
    "statistics.observed_tool_uses": lambda s, c: s.statistics.observed_tool_uses(0, None),
    "vectors.blobs": lambda s, c: s.memories.cards(_refs_at(s.vectors.blobs(c.keys()))),
    "vectors.existing": lambda s, c: s.memories.cards(_refs_at(s.vectors.existing(c.keys()))),
    "vectors.newest": lambda s, c: list(s.vectors.newest(None, 1_000, 100)),
    "vectors.projects": lambda s, c: s.memories.cards(_refs_at(s.vectors.projects(c.keys()))),
    "vectors.nearest": lambda s, c: s.memories.cards(
        _refs_at(key for key, _ in s.vectors.nearest([0.5] * 4, None, 1_000) or ())
    ),
    "vectors.pgvector": lambda s, c: s.vectors.pgvector(),
    "vectors.count": lambda s, c: s.vectors.count(),
    "embeddings.made": lambda s, c: s.embeddings.made(),
    "embeddings.unembedded": lambda s, c: s.embeddings.unembedded(100),
    "embeddings.waiting": lambda s, c: s.embeddings.waiting("builtin"),
    "embeddings.forgotten": lambda s, c: s.embeddings.forgotten(),
    "events.known": lambda s, c: s.events.known(c.sessions),
    "events.progress": lambda s, c: s.events.progress(0),
    "events.has_prompt": lambda s, c: _every(lambda name: s.events.has_prompt(name, "x"), c.sessions),
    "events.is_forgotten": lambda s, c: _every(s.events.is_forgotten, c.sessions),
    "queue.backlogs": lambda s, c: s.queue.backlogs(),
    "queue.spent": lambda s, c: _every(lambda one: s.queue.spent(one, 0), c.ids("sdk_sessions")),
    "queue.spending": lambda s, c: s.queue.spending(0),
    "queue.figures": lambda s, c: s.queue.figures(),
    "queue.jobs": lambda s, c: s.queue.jobs(JobState.READY, 100),
    "queue.counters": lambda s, c: s.queue.counters(),
    "queue.last_event_at": lambda s, c: s.queue.last_event_at(),
    "upkeep.measure_evidence": lambda s, c: s.upkeep.measure_evidence(),
    "upkeep.expired_evidence": lambda s, c: s.upkeep.expired_evidence(2**60),
    "upkeep.size": lambda s, c: s.upkeep.size(),
    "directory.members": lambda s, c: s.directory.members(),
    "directory.keys": lambda s, c: s.directory.keys(),
    "directory.grants": lambda s, c: s.directory.grants(),
    "directory.grants_of": lambda s, c: _every(s.directory.grants_of, ("ada", "ben", "cyd", "dee")),
    "directory.audit": lambda s, c: s.directory.audit(AuditQuery()),
    "sharing.pull": lambda s, c: s.sharing.pull("", 1_000),
    "sharing.now": lambda s, c: s.sharing.now(),
    "sharing.changes": lambda s, c: s.memories.cards(s.sharing.changes("0._.0", 1_000).refs),
    "directory.server_id": lambda s, c: s.directory.server_id(),
    "sharing.forgets": lambda s, c: s.sharing.forgets(),
}

CHANGES = frozenset(
    (
        *("memories.remember", "memories.revise", "sessions.fail", "sessions.interrupt_silent"),
        *("projects.rename", "projects.set_root", "projects.merge", "projects.finish_merging"),
        *("injections.note_injection", "injections.note_rendering"),
        *("deletion.forget", "deletion.delete", "deletion.finish_forgetting", "transfer.absorb"),
        *("copies.forget", "copies.clear_drafts"),
        *("text_index.prepare", "text_index.step", "text_index.tidy", "text_index.catch_up"),
        *("vectors.put", "vectors.remove", "vectors.clear"),
        *("embeddings.begin", "embeddings.embedded", "embeddings.settle", "embeddings.note_used"),
        "embeddings.copy",
        "vectors.changes",  # for the index of a process, which looks up for each caller what it finds
        *("events.accept", "events.accept_past", "events.release"),
        *("queue.lease", "queue.batch", "queue.settle", "queue.postpone", "queue.park", "queue.reclaim"),
        *("queue.resume", "queue.drop", "queue.count"),
        *("upkeep.checkpoint", "upkeep.backup_if_due", "upkeep.expire_evidence", "upkeep.trim_evidence"),
        *("upkeep.shrink", "upkeep.shrink_fully"),
        *("directory.authenticate", "directory.begin", "directory.add_member", "directory.remove_member"),
        *("directory.add_key", "directory.revoke_key", "directory.grant", "directory.prune_audit"),
        *("sharing.push", "sharing.forget", "sharing.acknowledge", "sharing.leave", "sharing.adopt_restored"),
    )
)
"""What changes something; what that may be is tested statement by statement."""


def _refs_at(keys: Any) -> list[Ref]:
    from claude_mem.model.refs import ref_at

    return [ref_at(key) for key in keys]


def readings(store: PostgresStore, context: ReadingContext) -> Iterator[tuple[str, Any]]:
    for name, read in READINGS.items():
        yield name, read(store, context)
