"""What every store must know about the authors of memories."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contracts.memory_read_contract import ReadFixture
from tests.contracts.memory_write_contract import ELSEWHERE
from tests.contracts.store_contract import HOUR, NOON, ORIGIN, Events, StoreSuite, new_events
from tests.harness.member_records import shared_session

from claude_mem.model.full_text import query_words
from claude_mem.model.memory import Findings, Summary
from claude_mem.model.refs import Filters, Ref, ref_at
from claude_mem.store.base import Store
from claude_mem.store.values import ExportSelection, ForgetPlan, TextQuery

UNDERSTOOD = {"observation", "summary", "prompt"}


class AuthorContract(StoreSuite):
    @pytest.fixture
    def read(self, store: Store) -> ReadFixture:
        return ReadFixture(store)

    @pytest.fixture
    def team(self, read: ReadFixture, events: Events) -> ReadFixture:
        """One's own turn, one session of ada's in the same project, one of ben's in another."""
        read.store.events.accept(new_events(events.prompt("mend the heron", "mine", cwd=ORIGIN.root)))
        lease = read.store.queue.lease(10)
        assert lease is not None
        read.store.queue.settle(lease, Findings((), (Summary(request="mend the heron"),)))
        read.keep("My heron", session="mine")
        for author, origin, at in (("ada", ORIGIN, NOON + HOUR), ("ben", ELSEWHERE, NOON + 2 * HOUR)):
            shared = shared_session(
                f"{author}s",
                origin,
                f"The heron of {author}",
                at=at,
                prompt=f"A heron, says {author}",
                summary={"request": f"A heron for {author}"},
            )
            done = read.store.transfer.absorb(shared, own=False, author=author)
            assert done.refused == ()
        read.index()
        return read

    def test_every_kind_of_memory_says_whose_it_is(self, team: ReadFixture) -> None:
        cards = team.store.memories.list_cards(Filters(), limit=100)
        whose = {(card.session, card.author) for card in cards}
        assert whose == {("mine", None), ("adas", "ada"), ("bens", "ben")}
        for author in (None, "ada"):
            assert {card.ref.kind for card in cards if card.author == author} == UNDERSTOOD

    @pytest.mark.parametrize(
        ("authors", "sessions"),
        [
            (("",), ["mine"]),
            (("ada",), ["adas"]),
            (("", "ben"), ["bens", "mine"]),
            (("eve",), []),
            ((), ["adas", "bens", "mine"]),
        ],
        ids=str,
    )
    def test_lists_and_searches_are_narrowed_to_members(
        self, team: ReadFixture, authors: tuple[str, ...], sessions: list[str]
    ) -> None:
        filters = Filters(authors=authors)
        listed = team.store.memories.list_cards(filters, limit=100)
        assert sorted({card.session for card in listed}) == sessions
        assert team.store.memories.count(filters) == len(listed)
        rows = team.store.sessions.sessions(filters, limit=9)
        assert sorted(row["claude_session_id"] for row in rows) == sessions
        assert team.store.sessions.count_sessions(filters) == len(sessions)
        (herons,) = team.store.memories.match(TextQuery(*query_words("heron")), None).matched
        key_filter = team.store.memories.key_filter(filters)
        passed = herons.scores if key_filter is None else key_filter(herons.scores)
        assert {ref_at(key) for key in passed} == {
            card.ref for card in listed if card.ref.kind != "evidence" and "heron" in card.title.lower()
        }

    def test_other_filters_hold_as_well(self, team: ReadFixture) -> None:
        def listed(**asked: Any) -> list[str]:
            return team.listed(kinds=("observation",), authors=("ada",), **asked)

        assert listed(project_id=team.project()) == ["2"]
        assert listed(project_id=team.project(ELSEWHERE)) == []
        assert listed(equal={"client": "codex"}) == ["2"]
        assert listed(equal={"client": "claude-code"}) == []

    def test_without_the_filter_a_search_asks_nothing_more_of_the_store(self, team: ReadFixture) -> None:
        assert team.store.memories.key_filter(Filters(project_id=team.project())) is None

    def test_the_members_are_known_in_all_and_of_a_project(self, team: ReadFixture) -> None:
        assert team.store.sessions.authors() == ["ada", "ben"]
        assert team.store.sessions.authors(team.project()) == ["ada"]
        assert team.store.statistics.facets(None).authors == ("ada", "ben")
        assert team.store.statistics.facets(team.project(ELSEWHERE)).authors == ("ben",)

    def test_ones_own_last_summaries_are_none_of_the_others(self, team: ReadFixture) -> None:
        def last(*, own: bool) -> set[str]:
            ids = team.store.sessions.last_summaries(team.project(), "", 9, own=own)
            return {card.session for card in team.store.memories.cards([Ref("summary", id) for id in ids])}

        assert (last(own=True), last(own=False)) == ({"mine"}, {"adas"})

    def test_an_export_of_ones_own_says_whose_each_session_is_wherever_it_is_read_again(
        self, team: ReadFixture
    ) -> None:
        exported = list(team.store.transfer.records(ExportSelection()))
        authors = {each["session_id"]: each.get("author") for each in exported if each["kind"] == "session"}
        assert authors == {"mine": None, "adas": "ada", "bens": "ben"}
        team.store.deletion.forget(ForgetPlan(sessions=("bens",)))
        for own, author in ((True, "ben"), (False, None)):
            team.store.transfer.absorb(exported, own=own)
            row = team.store.sessions.session("bens")
            assert row is not None
            assert row["author"] == author, "a stranger's word on it counts for nothing"
            team.store.deletion.forget(ForgetPlan(sessions=("bens",)))

    def test_a_session_says_whose_it_is_in_lists_and_by_itself(self, team: ReadFixture) -> None:
        for session, author in (("mine", None), ("adas", "ada")):
            row = team.store.sessions.session(session)
            assert row is not None
            assert row["author"] == author
            titles = team.store.sessions.titles([row["id"]])
            assert titles[session]["author"] == author
