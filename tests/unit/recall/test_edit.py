"""What people have kept, pinned, forgotten and taken in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, SettableClock
from tests.harness.member_records import shared_session
from tests.unit.recall.recall_store import DAY, House

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import EditRequest, SavedAnswer
from claude_mem.model.errors import InvalidInput, NotFound
from claude_mem.model.memory import Observation
from claude_mem.model.refs import Ref
from claude_mem.recall.edit import MOST_UNDOS, UNDO_MS, Corrections
from claude_mem.store.sqlite import SqliteStore

HERE: dict[str, object] = {"cwd": "/home/a/shop"}


def test_what_is_remembered_is_the_users_own_and_found_at_once(memory: House) -> None:
    answer = memory.writing.remember("Always rebase.\nNever merge.", HERE | {"type": "decision"})
    assert answer == SavedAnswer("saved", 1, "1", "Always rebase.")
    (found,) = memory.reading.search("rebase", FilterRequest(project="shop"), Page()).results
    assert (found.source, found.type, found.ref) == ("user", "decision", "1")
    assert memory.writing.remember("Always rebase.\nNever merge.", HERE).status == "known"
    assert memory.changes == 2, "what is rendered is to be made anew"


def test_a_title_that_is_all_of_the_text_is_saved_in_full_however_long(memory: House) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    memory.writing.remember(words, HERE | {"title": words})
    (saved,) = memory.reading.details(["1"]).results
    assert words in (saved["title"], saved["narrative"])


def test_secrets_are_taken_out_of_every_field(memory: House) -> None:
    given: dict[str, object] = {
        "title": "a hunter2",
        "facts": ["b hunter2"],
        "files": ["hunter2.py"],
        "subtitle": "hunter2 c",
    }
    memory.writing.remember("The password is hunter2.", HERE | given)
    assert "hunter2" not in str(memory.reading.details(["1"]))


@pytest.mark.parametrize(
    ("text", "given", "field"),
    [
        (" hunter2 ", HERE, "text"),
        ("x" * 100_001, HERE, "text"),
        ("x", HERE | {"type": "bug"}, "type"),
        ("x", {}, "project"),
        ("x", HERE | {"files": [1]}, "files"),
        ("x", HERE | {"concepts": {"a": 1}}, "concepts"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_its_field(
    memory: House, text: str, given: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        memory.writing.remember(text, given)
    assert error.value.field == field


def test_an_import_tells_what_it_took_what_it_knew_and_what_was_wrong(memory: House) -> None:
    at = memory.clock() - 5 * DAY
    good = {"title": "From elsewhere", "narrative": "n", "project": "shop", "created_at_epoch": at}
    records: list[Any] = [
        good,
        dict(good),
        {"title": ""},
        "no object",
        {"title": "x", "project": "y", "type": "z"},
    ]
    answer = memory.writing.import_observations(records)
    assert (answer.imported, answer.skipped) == (1, 1)
    assert [(error.index, error.field) for error in answer.errors or ()] == [
        (2, "text"),
        (3, "records"),
        (4, "type"),
    ]
    (card,) = memory.library.cards([Ref("observation", 1)])
    assert (card.source, card.created_at, card.provider) == ("external", at, "import")


# How long a correction can be taken back.


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def correcting(clock: SettableClock, tmp_path: Path) -> Iterator[Corrections]:
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
        store.memories.remember(Observation("change", "The tui sings"), ORIGIN, session="s1", at=NOON)
        yield Corrections(store=store, clock=clock, clean=str, on_change=lambda _projects: None)


def undo_token(correcting: Corrections) -> str:
    undo = correcting.pin(["1"], pinned=True).undo
    assert undo is not None
    return undo.token


def test_a_members_memory_is_pinned_and_hidden_here_and_changed_by_its_author_alone(
    memory: House,
) -> None:
    mine = memory.keep("Mine")
    shared = shared_session("adas", ORIGIN, "The crane of ada", at=memory.clock())
    memory.store.transfer.absorb(shared, own=False, author="ada")
    corrections = Corrections(
        store=memory.store, clock=memory.clock, clean=str, on_change=lambda _projects: None
    )
    for change in (
        lambda: corrections.edit(EditRequest(id=2, title="Rewritten")),
        lambda: corrections.merge("2", [str(mine)]),
        lambda: corrections.merge(str(mine), ["2"]),
    ):
        with pytest.raises(InvalidInput, match="ada"):
            change()
    assert corrections.pin(["2"], pinned=True).missing == []
    assert corrections.mark_wrong(["2"], wrong=True).missing == []
    (card,) = memory.library.cards([Ref("observation", 2)])
    assert (card.title, card.pinned, card.wrong, card.author) == ("The crane of ada", True, True, "ada")


def test_only_observations_are_pinned(correcting: Corrections) -> None:
    assert correcting.pin(["1", "9"], pinned=True).missing == ["9"]
    with pytest.raises(InvalidInput):
        correcting.pin(["s1"], pinned=True)


def test_for_an_hour(correcting: Corrections, clock: SettableClock) -> None:
    first, second = (undo_token(correcting) for _ in range(2))
    clock.now += UNDO_MS
    assert correcting.undo(second).refs == ["1"]
    correcting.pin(["1"], pinned=True)
    clock.now += 1
    with pytest.raises(NotFound):
        correcting.undo(first)


def test_the_last_so_many(correcting: Corrections) -> None:
    undos = [undo_token(correcting) for _ in range(MOST_UNDOS + 1)]
    with pytest.raises(NotFound):
        correcting.undo(undos[0])
    assert correcting.undo(undos[1]).status == "undone"


def test_nobody_guesses_a_token(correcting: Corrections) -> None:
    tokens = {undo_token(correcting) for _ in range(20)}
    assert len(tokens) == 20
    assert all(len(token) >= 20 for token in tokens)
