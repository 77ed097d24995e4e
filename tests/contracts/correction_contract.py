"""What every store must do with corrections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.contracts.memory_read_contract import ReadFixture
from tests.contracts.store_contract import NOON, StoreSuite

from claude_mem.model.refs import Filters, Ref, ref_at
from claude_mem.store.base import Store
from claude_mem.store.values import ChangedMeanwhile, ListPosition, Revision


@dataclass(frozen=True)
class CorrectionFixture:
    read: ReadFixture

    def embedded(self) -> dict[str, str]:
        """Makes the vectors that are wanting; the words of each, by the memory they are of."""
        embeddings, made = self.read.store.embeddings, dict[str, str]()
        while batch := embeddings.unembedded(10):
            made |= {str(ref_at(key)): words for key, words in batch.texts}
            embeddings.embedded(batch.marks, batch.settled)
        return made

    def revise(self, ref: Ref, **values: Any) -> list[Revision]:
        return self.read.store.memories.revise([Revision(ref.id, values)])

    def columns(self, ref: Ref) -> dict[str, Any]:
        return self.read.store.memories.details([ref])[ref][1]


class CorrectionContract(StoreSuite):
    @pytest.fixture
    def corrected(self, store: Store) -> CorrectionFixture:
        return CorrectionFixture(ReadFixture(store))

    def test_new_words_are_found_and_old_ones_are_not(self, corrected: CorrectionFixture) -> None:
        ref = corrected.read.keep("The wombat digs", narrative="under the cellar", facts=("deep",))
        other = corrected.read.keep("The wombat sleeps", at=NOON + 1)
        before = corrected.revise(ref, title="The echidna digs", facts=("shallow", "spines"))
        assert before == [Revision(ref.id, {"title": "The wombat digs", "facts": ("deep",)})]
        assert corrected.read.found("wombat") == {str(other)}
        assert corrected.read.found("echidna") == corrected.read.found("spines") == {str(ref)}
        assert corrected.read.found("cellar") == {str(ref)}
        assert corrected.columns(ref)["facts"] == ["shallow", "spines"]

    def test_what_is_not_indexed_yet_is_indexed_once(self, corrected: CorrectionFixture) -> None:
        ref = corrected.read.keep("The numbat")
        corrected.revise(ref, title="The bilby")
        corrected.read.index()
        corrected.revise(ref, title="The quoll")
        corrected.read.index()
        assert corrected.read.found("bilby") == corrected.read.found("numbat") == set()
        assert corrected.read.found("quoll") == {str(ref)}

    def test_how_they_were_brings_them_back(self, corrected: CorrectionFixture) -> None:
        ref = corrected.read.keep("The emu runs", subtitle="fast", concepts=("gotcha",))
        whole = corrected.columns(ref)
        before = corrected.revise(
            ref, title="x", subtitle=None, concepts=(), type="decision", pinned=1, wrong=1
        )
        corrected.read.store.memories.revise(before)
        assert corrected.columns(ref) == whole
        assert corrected.read.found("emu") == {str(ref)}

    def test_all_or_none_of_what_is_expected(self, corrected: CorrectionFixture) -> None:
        first, second = corrected.read.keep("One thing"), corrected.read.keep("Another", at=NOON + 1)
        change = [Revision(first.id, {"pinned": 1}), Revision(second.id, {"pinned": 1})]
        with pytest.raises(ChangedMeanwhile):
            corrected.read.store.memories.revise(
                change, expected=[Revision(second.id, {"title": "Something else"})]
            )
        with pytest.raises(ChangedMeanwhile):
            corrected.read.store.memories.revise(change, expected=[Revision(99, {"pinned": 0})])
        assert corrected.read.listed(pinned=True) == []
        corrected.read.store.memories.revise(change, expected=[Revision(second.id, {"title": "Another"})])
        assert len(corrected.read.listed(pinned=True)) == 2

    def test_what_is_not_there_is_left_out(self, corrected: CorrectionFixture) -> None:
        ref = corrected.read.keep("The kea")
        before = corrected.read.store.memories.revise(
            [Revision(99, {"pinned": 1}), Revision(ref.id, {"pinned": 1})]
        )
        assert before == [Revision(ref.id, {"pinned": 0})]

    def test_what_is_marked_wrong_is_listed_apart(self, corrected: CorrectionFixture) -> None:
        right, wrong = corrected.read.keep("Right"), corrected.read.keep("Wrong", at=NOON + 1)
        corrected.revise(wrong, wrong=1)
        kinds: Any = {"kinds": ("observation",)}
        assert corrected.read.listed(wrong=True) == [str(wrong)]
        assert corrected.read.listed(wrong=False, **kinds) == [str(right)]
        assert corrected.read.listed(**kinds) == [str(wrong), str(right)]

    def test_the_vector_follows_the_words(self, corrected: CorrectionFixture) -> None:
        ref, other = corrected.read.keep("The tui sings"), corrected.read.keep("The kiwi", at=NOON + 1)
        made = corrected.embedded()
        assert set(made) == {str(ref), str(other)}
        assert corrected.embedded() == {}
        corrected.revise(ref, title="The tui warbles")
        corrected.revise(other, pinned=1)
        assert corrected.embedded() == {str(ref): "The tui warbles"}
        assert corrected.embedded() == {}

    def test_a_list_goes_on_after_a_place_with_all_kinds_in_it(self, corrected: CorrectionFixture) -> None:
        for number in range(5):
            corrected.read.keep(f"Number {number}", at=NOON + number // 2)  # some at the same moment
        for newest_first in (True, False):
            whole = corrected.read.listed(newest_first=newest_first)
            assert len(whole) >= 5
            cards = corrected.read.store.memories.list_cards(Filters(), limit=100, newest_first=newest_first)
            for place, card in enumerate(cards):
                rest = corrected.read.store.memories.list_cards(
                    Filters(),
                    limit=100,
                    newest_first=newest_first,
                    after=ListPosition(card.created_at, card.ref),
                )
                assert [str(each.ref) for each in rest] == whole[place + 1 :]
            assert corrected.read.store.memories.count(Filters()) == len(whole)
