"""The TypeScript claude-mem's memory becomes ours: all of it, once, and without what may not be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.harness.claude_mem_ts_data import AT, NEWEST, OLD, Incumbent, made, typical
from tests.unit.imports.import_target import Memory

from claude_mem.imports import claude_mem_ts
from claude_mem.imports.import_report import SourceReport, folders, project_named
from claude_mem.model.events import Origin
from claude_mem.model.records import Record
from claude_mem.privacy.scrub import scrub_text
from claude_mem.store import foreign_tables

SECRET = "ghp_" + "a1B2" * 9
ProjectOf = Callable[[str, Sequence[str]], Origin]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


def by_name(name: str, paths: Sequence[str]) -> Origin:
    return project_named(name)


def read(path: Path, project_of: ProjectOf = by_name) -> tuple[list[Record], SourceReport]:
    report = SourceReport()
    with foreign_tables.opened(path) as tables:
        assert claude_mem_ts.is_one(tables)
        found = claude_mem_ts.TypeScriptMemory(
            tables,
            clean=scrub_text,
            project_of=project_of,
            is_excluded=lambda project: project.name == "hush",
            report=report,
        )
        return list(found.records()), report


def test_sessions_prompts_observations_and_summaries_arrive_with_their_own_times(
    tmp_path: Path, memory: Memory
) -> None:
    records, _ = read(typical(tmp_path / "theirs.db"))
    done = memory.take(records)
    assert done.refused == ()
    assert done.taken == {"project": 1, "session": 2, "prompt": 2, "observation": 2, "summary": 1}
    first, second = memory.holds("session")
    assert (first["session_id"], first["title"], first["client"]) == ("session-1", "Retries", "claude-code")
    assert (first["created_at"], first["first_user_prompt"]) == (AT + 1_000, "make retries work")
    assert (second["completed_at"], second["status"]) == (AT + 60_000, "completed")
    observation, alert = memory.holds("observation")
    assert observation["type"] == "bugfix"
    assert observation["at"] == AT + 5_000
    assert observation["facts"] == ["The first wait is 200 ms"]
    assert observation["files_modified"] == ["src/client.py"]
    assert (observation["provider"], observation["source"]) == ("claude-mem-ts:claude-haiku-4-5", "work")
    assert (observation["session_id"], observation["prompt_number"]) == ("session-1", 1)
    assert alert["session_id"] == "session-2"
    assert [prompt["text"] for prompt in memory.holds("prompt")] == ["make retries work", "and test them"]
    (summary,) = memory.holds("summary")
    assert (summary["learned"], summary["files_edited"]) == (
        "The server sends Retry-After",
        ["src/client.py"],
    )


def test_twice_changes_nothing(tmp_path: Path, memory: Memory) -> None:
    path = typical(tmp_path / "theirs.db")
    memory.take(read(path)[0])
    before = memory.everything()
    again = memory.take(read(path)[0])
    assert again.taken == {}
    assert again.known == {"project": 1, "session": 2, "prompt": 2, "observation": 2, "summary": 1}
    assert memory.everything() == before


def test_what_is_new_since_is_taken_the_next_time(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.typical()
        memory.take(read(their.path)[0])
        their.observation("Retries give up after five")
        assert memory.take(read(their.path)[0]).taken == {"observation": 1}


def test_an_old_schema_is_read_as_far_as_it_goes(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db", OLD) as their:
        their.add("sdk_sessions", claude_session_id="old-1", sdk_session_id="m-1", project="shop")
        words = {"sdk_session_id": "m-1", "project": "shop"}
        their.add("observations", text="The cart is kept in a cookie", type="discovery", **words)
        their.add("session_summaries", request="keep the cart", **words)
    assert memory.take(read(tmp_path / "theirs.db")[0]).refused == ()
    (observation,) = memory.holds("observation")
    assert (observation["narrative"], observation["provider"]) == (
        "The cart is kept in a cookie",
        "claude-mem-ts",
    )
    assert observation["session_id"] == "old-1"
    assert [summary["request"] for summary in memory.holds("summary")] == ["keep the cart"]


def test_types_we_do_not_have_become_ours_and_stay_findable(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.session()
        their.observation("A token was in the log", type="security_alert")
        their.observation("The header was renamed", type="sensitive", files_modified=["a.py"])
        their.observation("It was a bug", type="bugfix")
    records, report = read(tmp_path / "theirs.db")
    assert memory.take(records).refused == ()
    kept = {each["title"]: (each["type"], each.get("concepts")) for each in memory.holds("observation")}
    assert kept == {
        "A token was in the log": ("discovery", ["security_alert"]),
        "The header was renamed": ("change", ["sensitive"]),
        "It was a bug": ("bugfix", None),
    }
    assert report.remapped == {("security_alert", "discovery"): 1, ("sensitive", "change"): 1}


def test_secrets_and_private_text_do_not_come_along(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db") as their:
        session = their.session(user_prompt=f"<private>only {SECRET}</private>")
        hidden = f"the token is {SECRET} <private>and the plan</private>"
        their.add("user_prompts", session_db_id=session, prompt_number=1, prompt_text="<private>x</private>")
        their.add("user_prompts", session_db_id=session, prompt_number=2, prompt_text=hidden)
        their.observation(hidden, narrative=hidden, facts=[hidden], subtitle=hidden, concepts=[hidden])
        words = dict.fromkeys(
            ("request", "investigated", "learned", "completed", "next_steps", "notes"), hidden
        )
        their.add("session_summaries", memory_session_id="memory-1", project="shop", **words)
    assert memory.take(read(tmp_path / "theirs.db")[0]).refused == ()
    kept = str(memory.everything())
    assert "the token is [redacted:" in kept
    assert SECRET not in kept
    assert "the plan" not in kept
    first, second = memory.holds("prompt")
    assert (first.get("text"), first.get("private")) == (None, True)
    assert not second.get("private")


def test_what_cannot_be_taken_is_counted_with_its_reason(tmp_path: Path) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.session(9, "observer-sessions")
        their.observation("Observing an observer", 9, "observer-sessions")
        their.observation("", narrative=None)
        their.observation("Timeless", created_at="", created_at_epoch="")
        their.add("user_prompts", session_db_id=77, prompt_number=1, prompt_text="whose?")
    records, report = read(tmp_path / "theirs.db")
    assert records == []
    assert report.skipped == {
        ("session", "the observer's own session"): 1,
        ("observation", "its session is not imported"): 1,
        ("observation", "no content"): 1,
        ("observation", "no date"): 1,
        ("prompt", "its session is not imported"): 1,
    }


def test_nothing_is_taken_of_an_excluded_project(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.typical()
        hushed = their.session(7, "hush", user_prompt="quiet now")
        their.observation("Quiet one", 7, "hush")
        their.observation("Quiet too, and of no session", 8, "hush")
        their.add("user_prompts", session_db_id=hushed, prompt_number=1, prompt_text="quiet now")
    records, report = read(tmp_path / "theirs.db")
    assert memory.take(records).taken == {
        "project": 1,
        "session": 2,
        "prompt": 2,
        "observation": 2,
        "summary": 1,
    }
    assert "uiet" not in str(memory.everything())
    assert report.skipped.total() == 4


def test_memory_of_a_session_that_its_tables_lack_gets_one(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.observation("Saved by hand", 5)
        their.observation("Saved again", 5)
    assert memory.take(read(tmp_path / "theirs.db")[0]).refused == ()
    assert [session["session_id"] for session in memory.holds("session")] == ["claude-mem-ts-memory-5"]
    assert len(memory.holds("observation")) == 2


def test_the_same_session_id_in_two_clients_is_two_sessions(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.session()
        their.session(2, content_session_id="session-1", platform_source="cursor")
        their.observation("In the editor", 2)
    assert memory.take(read(tmp_path / "theirs.db")[0]).refused == ()
    named = {each["session_id"]: each["client"] for each in memory.holds("session")}
    assert named == {"session-1": "claude-code", "cursor-session-1": "cursor"}
    assert [each["session_id"] for each in memory.holds("observation")] == ["cursor-session-1"]


def test_a_session_that_we_captured_keeps_what_we_know_of_it(tmp_path: Path, memory: Memory) -> None:
    live = {
        "kind": "session",
        "session_id": "session-1",
        "project": "git/shop",
        "created_at": 5,
        "title": "Live",
    }
    memory.take([{"kind": "project", "key": "git/shop", "name": "shop"}, live])
    memory.take(read(typical(tmp_path / "theirs.db"))[0])
    first = memory.holds("session")[0]
    assert (first["title"], first["project"]) == ("Live", "git/shop")
    assert "session-1" in [each["session_id"] for each in memory.holds("observation")]


def test_a_merged_worktree_belongs_to_the_project_that_took_it_in(tmp_path: Path) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.session(project="shop/spike")
        their.observation("Tried in a worktree", project="shop/spike", merged_into_project="shop")
    records, _ = read(tmp_path / "theirs.db")
    assert [each["name"] for each in records if each["kind"] == "project"] == ["shop"]


def test_a_projects_files_tell_where_it_lies(tmp_path: Path) -> None:
    asked: dict[str, list[str]] = {}

    def project_of(name: str, paths: Sequence[str]) -> Origin:
        asked[name] = folders(name, list(paths))
        return Origin("example.com/shop", "shop", "/home/u/shop")

    with made(tmp_path / "theirs.db") as their:
        their.session()
        their.observation("One", files_modified=["/home/u/shop/src/a.py", "b.py"])
        their.observation("Two", files_read=["/home/u/shop/c.py", "/mnt/shop/d.py"])
    records, _ = read(tmp_path / "theirs.db", project_of)
    assert asked == {"shop": ["/home/u/shop", "/mnt/shop"]}
    (session,) = [each for each in records if each["kind"] == "session"]
    assert (session["project"], session["cwd"]) == ("example.com/shop", "/home/u/shop")


def test_odd_values_cost_nothing_but_themselves(tmp_path: Path, memory: Memory) -> None:
    with made(tmp_path / "theirs.db") as their:
        their.session(started_at_epoch=1_760_000_000, prompt_counter="many")
        odd: dict[str, Any] = {
            "facts": "[not json",
            "concepts": '{"a": 1}',
            "files_read": '[1, null, "x.py"]',
        }
        their.observation("Odd", prompt_number="first", files_modified=b"\xff.py", **odd)
    assert memory.take(read(tmp_path / "theirs.db")[0]).refused == ()
    (session,) = memory.holds("session")
    assert session["created_at"] == 1_760_000_000_000
    (observation,) = memory.holds("observation")
    assert observation["facts"] == ["[not json"]
    assert observation["files_read"] == ["1", "x.py"]
    assert observation["files_modified"] == ["�.py"]


@pytest.mark.parametrize(
    "tables", ["", "CREATE TABLE sdk_sessions (id);", "CREATE VIEW observations AS SELECT 1;"]
)
def test_other_databases_are_not_taken_for_one(tmp_path: Path, tables: str) -> None:
    with made(tmp_path / "theirs.db", tables) as their, foreign_tables.opened(their.path) as opened:
        assert not claude_mem_ts.is_one(opened)
    with made(tmp_path / "newest.db", NEWEST) as their, foreign_tables.opened(their.path) as opened:
        assert isinstance(their, Incumbent)
        assert claude_mem_ts.is_one(opened)


def test_ours_is_not_taken_for_one(tmp_path: Path, memory: Memory) -> None:
    memory.take([])
    with foreign_tables.opened(tmp_path / "ours" / "claude-mem.db") as opened:
        assert not claude_mem_ts.is_one(opened)
