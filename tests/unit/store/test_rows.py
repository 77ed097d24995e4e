"""What a person with sqlite3 sees in the database."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, new_events

from claude_mem.model.events import Kind
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import SqliteStore, schema

Peek = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def store(open_store: Callable[[], SqliteStore]) -> Iterator[SqliteStore]:
    with open_store() as store:
        yield store


def test_a_session_and_its_prompts_are_the_documents_rows(
    store: SqliteStore, events: Events, peek: Peek
) -> None:
    store.events.accept(new_events(events.prompt("fix it", cwd="/shop"), events.prompt("hide", private=True)))
    store.events.accept(new_events(events.make(Kind.SESSION_END, note="logout")))
    ((*session, project_key),) = peek(
        "SELECT claude_session_id, s.project, first_user_prompt, prompt_counter, status, s.created_at, "
        "completed_at, completed_at_epoch, end_reason, branch, commit_sha, client, key "
        "FROM sdk_sessions AS s JOIN projects AS p ON p.id = s.project_id"
    )
    assert session == [
        *("s1", "shop", "fix it", 2, "completed", "2025-10-09T08:53:20.001Z"),
        *("2025-10-09T08:53:20.003Z", NOON + 3, "logout", "main", "c0ffee", "claude-code"),
    ]
    assert project_key == ORIGIN.key
    assert peek("SELECT session_id, prompt_number, prompt, private, created_at_epoch FROM user_prompts") == [
        (1, 1, "fix it", 0, NOON + 1),
        (1, 2, None, 1, NOON + 2),
    ]


def test_a_prompts_text_is_stored_once(store: SqliteStore, events: Events, peek: Peek) -> None:
    store.events.accept(new_events(events.prompt("only here")))
    assert peek("SELECT text FROM pending_messages") == [(None,)]


def test_a_row_says_how_much_there_is_to_read_and_nothing_of_what_is_private(
    store: SqliteStore, events: Events, peek: Peek
) -> None:
    store.events.accept(new_events(events.prompt("seven c"), events.make(Kind.STOP, text="four")))
    store.events.accept(
        new_events(events.prompt("the secret", private=True), events.tool(private=True, text="x"))
    )
    assert peek("SELECT characters FROM pending_messages ORDER BY id") == [(7,), (4,), (0,), (0,)]


def test_worktrees_of_one_repository_share_a_project(store: SqliteStore, events: Events, peek: Peek) -> None:
    store.events.accept(new_events(events.tool("a")))
    store.events.accept(
        new_events(events.tool("b"), origin=replace(ORIGIN, root="/elsewhere", name="shop-2"))
    )
    assert peek("SELECT COUNT(*), COUNT(DISTINCT project_id) FROM sdk_sessions") == [(2, 1)]
    assert peek("SELECT project FROM sdk_sessions ORDER BY id") == [("shop",), ("shop-2",)]


def test_an_observation_says_where_it_came_from(store: SqliteStore, events: Events, peek: Peek) -> None:
    prompt, first, second = events.prompt("go"), events.tool(), events.tool()
    store.events.accept(new_events(prompt, first))
    store.events.accept(new_events(second, origin=replace(ORIGIN, branch="fix", commit="beef")))
    lease = store.queue.lease(10)
    assert lease is not None
    learned = Observation(
        "decision", "T", "S", "N", facts=("é", 'say "x"'), concepts=("c",), files_read=("/a.py",)
    )
    summary = Summary("R", "I", "L", "C", "N", files_edited=("/a.py",), notes="!")
    store.queue.settle(lease, Findings((learned,), (summary,)))
    assert first.tool is not None
    assert second.tool is not None
    assert peek(
        "SELECT session_id, project, type, title, subtitle, narrative, facts, concepts, files_read, "
        "files_modified, text, prompt_number, client, branch, commit_sha, tool_use_ids, supersedes, "
        "created_at_epoch FROM observations"
    ) == [
        (
            *(1, "shop", "decision", "T", "S", "N", '["é", "say \\"x\\""]', '["c"]', '["/a.py"]', "[]"),
            *(None, 1, "claude-code", "fix", "beef"),
            *(f'["{first.tool.use_id}", "{second.tool.use_id}"]', None, second.at),
        )
    ]
    assert peek(
        "SELECT session_id, project, request, investigated, learned, completed, next_steps, files_read, "
        "files_edited, notes, prompt_number FROM session_summaries"
    ) == [(1, "shop", "R", "I", "L", "C", "N", "[]", '["/a.py"]', "!", 1)]


def test_a_reply_with_half_an_emoji_is_kept(store: SqliteStore, events: Events, peek: Peek) -> None:
    store.events.accept(new_events(events.tool()))
    lease = store.queue.lease(1)
    assert lease is not None
    store.queue.settle(lease, Findings((Observation("change", title="\ud83d", facts=("\ud83d",)),)))
    assert peek("SELECT title, facts FROM observations") == [("\ufffd", '["\ufffd"]')]


def test_a_settle_whose_session_is_gone_writes_nothing(
    store: SqliteStore, events: Events, peek: Peek, clock: SettableClock
) -> None:
    store.events.accept(new_events(events.tool("gone"), events.tool("stays")))
    lease = store.queue.lease(1)
    assert lease is not None
    store.writer.run(lambda db: db.execute("DELETE FROM sdk_sessions WHERE id = 1").rowcount)
    with pytest.raises(Exception, match="stale"):
        store.queue.settle(lease, Findings((Observation("change"),)))
    assert peek("SELECT COUNT(*) FROM observations") == [(0,)]
    assert store.queue.figures().ready == 1, "the figures follow the deleted session's jobs"
    assert peek("SELECT session_id FROM queue_heads") == [(2,)]


def test_the_first_documents_sessions_answer_under_their_name(
    store: SqliteStore, events: Events, peek: Peek
) -> None:
    store.events.accept(new_events(events.prompt("fix it"), events.make(Kind.STOP)))
    assert peek(
        "SELECT id, claude_session_id, sdk_session_id, project, title, subtitle, user_prompt, "
        "started_at_epoch, updated_at_epoch, completed_at, status FROM streaming_sessions"
    ) == [(1, "s1", None, "shop", None, None, "fix it", NOON + 1, NOON + 2, None, "active")]


def test_the_second_documents_queue_answers_under_its_name(
    store: SqliteStore, events: Events, peek: Peek, clock: SettableClock
) -> None:
    store.events.accept(new_events(events.prompt("fix it"), events.tool(), events.make(Kind.STOP, text="ok")))
    lease = store.queue.lease(2)
    assert lease is not None
    store.queue.settle(lease, Findings())
    assert peek(
        "SELECT sdk_session_id, tool_name, tool_input, tool_output, created_at_epoch, processed_at_epoch "
        "FROM observation_queue ORDER BY id"
    ) == [
        ("s1", "Edit", '{"file_path": "/a.py"}', '{"ok": true}', NOON + 3, NOON),
        ("s1", "FINALIZE", "{}", "{}", NOON + 4, None),
    ]


def test_the_connection_is_set_up_to_last(store: SqliteStore) -> None:
    wanted = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "temp_store": 2,
        "journal_size_limit": 64 * 1024 * 1024,
        "application_id": int.from_bytes(b"cmem"),
        "user_version": schema.newest(schema.migrations()),
    }
    found = store.writer.run(lambda db: {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted})
    assert found == wanted


def test_a_reader_cannot_write(store: SqliteStore) -> None:
    with pytest.raises(Exception, match="readonly"), store.readers.read() as db:
        db.execute("UPDATE counters SET value = 0")


def test_a_checkpoint_empties_the_log(store: SqliteStore, events: Events, database: Path) -> None:
    store.events.accept(new_events(events.tool()))
    wal = database.with_name("claude-mem.db-wal")
    assert wal.stat().st_size > 0
    assert store.upkeep.checkpoint()
    assert wal.stat().st_size == 0


def test_a_checkpoint_does_not_wait_for_a_reader(store: SqliteStore, events: Events) -> None:
    store.events.accept(new_events(events.tool()))
    with store.readers.read() as db:
        db.execute("SELECT COUNT(*) FROM pending_messages").fetchone()
        store.events.accept(new_events(events.tool()))
        assert not store.upkeep.checkpoint()
    assert store.upkeep.checkpoint()


def test_every_file_is_the_owners_alone_whatever_the_umask(
    database: Path, open_store: Callable[[], SqliteStore], events: Events
) -> None:
    before = os.umask(0)
    try:
        with open_store() as store:
            store.events.accept(new_events(events.tool()))
            store.upkeep.backup()
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode)
                for path in (database.parent, *database.parent.rglob("*"))
            }
    finally:
        os.umask(before)
    assert len(modes) == 6
    assert {name for name, mode in modes.items() if mode != 0o600} == {"data", "backups"}
    assert modes["data"] == modes["backups"] == 0o700
