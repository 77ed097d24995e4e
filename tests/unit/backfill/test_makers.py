"""Who made a commit is told by the events in which it was made, and by where it was taken in before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.backfill.absorbing import Memory
from tests.unit.backfill.test_commits import SHOP, Repository, observations, read

from claude_mem.backfill import commits
from claude_mem.backfill.makers import finder
from claude_mem.model.records import Record

AT = 1_700_000_000_000
SHA = "abcdef0123456789abcdef0123456789abcdef01"


def ran(command: str, output: str = "", at: int = AT, session: str = "maker") -> Record:
    return {
        "kind": "event",
        "session_id": session,
        "event_id": f"e-{at}",
        "event_kind": "tool_use",
        "tool_name": "Bash",
        "tool_input": json.dumps({"command": command}),
        "tool_response": json.dumps({"stdout": output, "stderr": ""}),
        "at": at,
    }


@pytest.mark.parametrize(
    "event",
    [
        ran("git commit -m 'Add a cart'", f"[main {SHA[:8]}] Add a cart\n 1 file changed"),
        ran('git add -A && git -C . commit -qam "Add a cart" && git push'),
        ran("git commit --message='add  a cart\n\nThe body'"),
        ran("cd shop; git commit -F message", f"[main (root-commit) {SHA[:7]}] Something else"),
        {**ran(""), "tool_input": """{"command": "git commit -m 'Add a cart'", "cut"""},
    ],
)
def test_it_is_known_by_its_hash_or_by_its_subject_near_its_time(event: Record) -> None:
    assert finder([event])(SHA, "Add a cart", AT + 30_000) == "maker"


@pytest.mark.parametrize(
    "event",
    [
        ran("git commit -m 'Add a cart'", f"[main {'1' * 8}] Add a cart"),
        ran("git commit -m 'Add a cart'", at=AT - 3_600_000),
        ran("git log", f"[main {SHA[:8]}] Add a cart"),
        ran("echo 'Add a cart'"),
        {**ran("git commit -m 'Add a cart'"), "tool_name": "Read"},
        {**ran("git commit -m 'Add a cart'"), "tool_input": None},
        {"kind": "observation", "session_id": "s", "title": "Add a cart", "commit": SHA, "at": AT},
        {"kind": "event"},
    ],
)
def test_else_nobody_is_said_to_have_made_it(event: Record) -> None:
    assert finder([event])(SHA, "Add a cart", AT + 30_000) is None


def test_of_two_that_tell_the_subject_it_was_the_nearer() -> None:
    told = [ran("git commit -m 'x y'", at=AT, session="far"), ran("git commit -m 'x y'", at=AT + 60_000)]
    assert finder(told)(SHA, "x y", AT + 50_000) == "maker"
    assert finder(told)(SHA, "x y", AT + 10_000) == "far"


def test_one_taken_in_before_stays_where_it_is(tmp_path: Path) -> None:
    """Its maker may become known only later, from a transcript; it is not taken in a second time."""
    repo, memory = Repository(tmp_path / "shop"), Memory(tmp_path)
    repo.commit("Add a cart", "cart.py")
    memory.take(read(repo.path))
    (kept,) = memory.holds("observation")
    maker = {"kind": "session", "session_id": "maker", "project": SHOP.key, "created_at": AT}
    memory.take([maker, ran("git commit -m 'Add a cart'", at=kept["at"])])
    again = memory.take(read(repo.path, session_of=finder(memory.everything())))
    assert again.taken == {}
    assert again.refused == ()
    repo.commit("Add a till", "till.py")
    event = ran("git commit -m 'Add a till'", at=kept["at"] + 60_000)
    found = observations(read(repo.path, session_of=finder([*memory.everything(), event])))
    assert [each["session_id"] for each in found] == [commits.session_id(SHOP), "maker"]
