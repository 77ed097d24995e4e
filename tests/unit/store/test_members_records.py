"""Records of a member of the team: kept as the member's, and in no session of anybody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON

from claude_mem.model.refs import Ref
from claude_mem.store.sqlite import SqliteStore


def records(session: str = "s1", **more: object) -> list[dict[str, Any]]:
    return [
        {"kind": "project", "key": "example.org/shop", "name": "shop", "root": "/home/ada/shop"},
        {
            "kind": "session",
            "session_id": session,
            "project": "example.org/shop",
            "client": "codex",
            "cwd": "/home/ada/shop",
            "created_at": NOON,
        },
        {
            "kind": "observation",
            "session_id": session,
            "type": "decision",
            "title": "Prices are integers",
            "source": "work",
            "at": NOON,
        }
        | more,
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path / "x.db", clock=lambda: NOON, backups=tmp_path / "backups") as opened:
        yield opened


def authors(store: SqliteStore) -> dict[str, str | None]:
    with store.readers.read() as db:
        return dict(db.tuples("SELECT claude_session_id, author FROM sdk_sessions", {}))


def test_a_members_session_is_the_members_and_its_memories_keep_their_source(store: SqliteStore) -> None:
    done = store.transfer.absorb(records(), own=False, author="ada")
    assert done.taken == {"project": 1, "session": 1, "observation": 1}
    assert authors(store) == {"s1": "ada"}
    (_, row) = store.memories.details([Ref("observation", 1)])[Ref("observation", 1)]
    session = store.sessions.find("s1")
    project = store.projects.by_key("example.org/shop")
    assert session is not None
    assert project is not None
    assert (row["source"], session.client, project.root) == ("work", "codex", "")


def test_a_member_adds_nothing_to_a_session_of_anybody_else(store: SqliteStore) -> None:
    store.transfer.absorb(records("mine"), own=True)
    store.transfer.absorb(records("adas"), own=False, author="ada")
    for session in ("mine", "adas"):
        done = store.transfer.absorb(records(session, title="Planted"), own=False, author="eve")
        assert done.taken == {}
        assert [number for number, _ in done.refused] == [1, 2]
    assert authors(store) == {"mine": None, "adas": "ada"}


def test_what_a_member_changes_later_is_changed_here_and_nothing_is_doubled(store: SqliteStore) -> None:
    store.transfer.absorb(records(), own=False, author="ada")
    done = store.transfer.absorb(records(pinned=True, wrong=True), own=False, author="ada")
    assert done.known == {"project": 1, "session": 1, "observation": 1}
    (card,) = store.memories.cards([Ref("observation", 1), Ref("observation", 2)])
    assert (card.pinned, card.wrong) == (True, True)


def test_a_session_that_was_forgotten_here_does_not_come_back_from_a_member(store: SqliteStore) -> None:
    from claude_mem.store.values import ForgetPlan

    store.transfer.absorb(records(), own=False, author="ada")
    store.deletion.forget(ForgetPlan(sessions=("s1",)))
    done = store.transfer.absorb(records(), own=False, author="ada")
    assert authors(store) == {}
    assert "observation" not in done.taken
