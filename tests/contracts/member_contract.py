"""What every store must do with a member's records: they stay theirs, and go into no session of others."""

from __future__ import annotations

from typing import Any

from tests.contracts.store_contract import NOON, StoreSuite

from claude_mem.model.refs import Filters, Ref
from claude_mem.store.base import Store
from claude_mem.store.values import ForgetPlan


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


def authors(store: Store) -> dict[str, str | None]:
    found = store.sessions.sessions(Filters(), limit=100)
    return {session["claude_session_id"]: session["author"] for session in found}


class MemberContract(StoreSuite):
    def test_a_members_session_is_the_members_and_its_memories_keep_their_source(self, store: Store) -> None:
        done = store.transfer.absorb(records(), own=False, author="ada")
        assert done.taken == {"project": 1, "session": 1, "observation": 1}
        assert authors(store) == {"s1": "ada"}
        (_, row) = store.memories.details([Ref("observation", 1)])[Ref("observation", 1)]
        session = store.sessions.find("s1")
        project = store.projects.by_key("example.org/shop")
        assert session is not None
        assert project is not None
        assert (row["source"], session.client, project.root) == ("work", "codex", "")

    def test_a_member_adds_nothing_to_a_session_of_anybody_else(self, store: Store) -> None:
        store.transfer.absorb(records("mine"), own=True)
        store.transfer.absorb(records("adas"), own=False, author="ada")
        for session in ("mine", "adas"):
            done = store.transfer.absorb(records(session, title="Planted"), own=False, author="eve")
            assert done.taken == {}
            assert [number for number, _ in done.refused] == [1, 2]
        assert authors(store) == {"mine": None, "adas": "ada"}

    def test_what_a_member_changes_later_is_changed_here_and_nothing_is_doubled(self, store: Store) -> None:
        store.transfer.absorb(records(), own=False, author="ada")
        done = store.transfer.absorb(records(pinned=True, wrong=True), own=False, author="ada")
        assert done.known == {"project": 1, "session": 1, "observation": 1}
        (card,) = store.memories.cards([Ref("observation", 1), Ref("observation", 2)])
        assert (card.pinned, card.wrong) == (True, True)

    def test_a_session_that_was_forgotten_here_does_not_come_back_from_a_member(self, store: Store) -> None:
        store.transfer.absorb(records(), own=False, author="ada")
        store.deletion.forget(ForgetPlan(sessions=("s1",)))
        done = store.transfer.absorb(records(), own=False, author="ada")
        assert authors(store) == {}
        assert "observation" not in done.taken
