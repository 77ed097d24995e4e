"""Forgetting: first tried, then done, and for good."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contracts.store_contract import ORIGIN
from tests.harness.member_records import shared_session
from tests.unit.recall.recall_store import House

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import ForgetRequest
from claude_mem.model.errors import AmbiguousSession, InvalidInput, NotFound

HERE: dict[str, object] = {"cwd": "/home/a/shop"}


def test_forgetting_is_tried_first_and_then_done(memory: House) -> None:
    memory.keep("old heron", days_ago=9)
    memory.keep("new heron")
    selection = ForgetRequest(text="heron", until="3 days ago")
    tried = memory.deleter.forget(selection, dry_run=True)
    assert (tried.dry_run, tried.observations, tried.backups) == (True, 1, 2)
    assert [sample.title for sample in tried.sample] == ["old heron"]
    assert len(memory.found("heron")) == 2
    done = memory.deleter.forget(selection, dry_run=False)
    assert (done.dry_run, done.observations, done.backups) == (False, 1, 0)
    assert [lying.done for lying in done.elsewhere] == ["rewritten", "rewritten"]
    assert memory.found("heron") == ["2"]


@pytest.mark.parametrize("selection", [{}, {"text": ""}, {"ids": ("what?",)}, {"project": "nope"}])
def test_nothing_is_forgotten_by_mistake(memory: House, selection: dict[str, Any]) -> None:
    memory.keep("one")
    with pytest.raises(InvalidInput):
        memory.deleter.forget(ForgetRequest(**selection), dry_run=False)
    assert memory.found("one") == ["1"]


def test_what_members_wrote_is_forgotten_on_this_machine_and_the_answer_says_so(memory: House) -> None:
    memory.keep("my heron", days_ago=9)
    shared = shared_session("adas", ORIGIN, "heron of ada", "crane of ada", at=memory.clock())
    memory.store.transfer.absorb(shared, own=False, author="ada")
    assert memory.deleter.forget(ForgetRequest(ids=(1, 2)), dry_run=True).of_others == 1
    assert memory.deleter.forget(ForgetRequest(ids=(2,)), dry_run=False).of_others == 1
    assert memory.deleter.forget(ForgetRequest(session="adas"), dry_run=False).of_others == 1
    assert memory.deleter.forget(ForgetRequest(project="shop"), dry_run=False).of_others == 0


def test_an_id_that_two_sessions_begin_with_deletes_neither(memory: House) -> None:
    for session in ("codex:0199aaaa-1", "codex:0199aaaa-2"):
        memory.keep(session, session=session)
    with pytest.raises(AmbiguousSession):
        memory.deleter.forget(ForgetRequest(session="0199aaaa"), dry_run=False)
    assert memory.deleter.forget(ForgetRequest(session="0199aaaa-1"), dry_run=False).sessions == 1
    assert [each.session_id for each in memory.reading.sessions(FilterRequest(), Page()).items] == [
        "codex:0199aaaa-2"
    ]


def test_a_session_is_forgotten_by_the_beginning_of_its_id_and_what_is_in_it_is_told_first(
    memory: House,
) -> None:
    memory.keep("heron", session="88e16f61-d1b7")
    tried = memory.deleter.forget(ForgetRequest(session="88e16f61"), dry_run=True)
    assert (tried.sessions, tried.observations) == (1, 1)
    assert [sample.title for sample in tried.sample] == ["heron"]
    assert memory.deleter.forget(ForgetRequest(session="88e16f61"), dry_run=False).sessions == 1
    assert memory.found("heron") == []


def test_whoever_names_what_is_not_there_forgets_nothing(memory: House) -> None:
    memory.keep("heron")
    with pytest.raises(NotFound, match="99"):
        memory.deleter.forget(ForgetRequest(ids=("1", "99")), dry_run=False)
    with pytest.raises(InvalidInput, match="nobodys"):
        memory.deleter.forget(ForgetRequest(session="nobodys"), dry_run=False)
    assert memory.found("heron") == ["1"]
