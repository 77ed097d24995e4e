"""Finding transcripts: all there are, of whom and of when, without reading them through."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from tests.unit.agents.transcript_shapes import Fields, attached, says, user, write

from claude_mem.agents.catalog import FoundTranscripts
from claude_mem.agents.claude_code import transcript_files
from claude_mem.cli.backfill.scan import roots_first

EPOCH = 1784088000000


def session(
    root: Path, name: str, second: int, cwd: str = "/home/u/parcel", folder: str = "-home-u-parcel"
) -> Path:
    shapes: list[Fields] = [
        {"type": "queue-operation", "operation": "enqueue"},
        attached(second, type="skill_listing"),
        user(second, "go", sessionId=name, cwd=cwd),
        says(second + 1, "x" * 200, sessionId=name, cwd=cwd),
        {"type": "last-prompt", "lastPrompt": "go", "sessionId": name},
    ]
    return write(root, shapes, f"{folder}/{name}.jsonl")


def sessions(seen: FoundTranscripts) -> list[str]:
    return [each.session for each in seen.transcripts]


def test_sessions_are_found_the_newest_first_with_their_times_and_places(tmp_path: Path) -> None:
    old, new = session(tmp_path, "old", 1), session(tmp_path, "new", 30, "/srv/mill", "-srv-mill")
    seen = transcript_files.find(tmp_path)
    assert sessions(seen) == ["new", "old"]
    newest, oldest = seen.transcripts
    assert (newest.path, oldest.path) == (new, old)
    assert (newest.first_at - EPOCH, newest.last_at - EPOCH) == (30_000, 31_000)
    assert (newest.cwd, newest.size) == ("/srv/mill", new.stat().st_size)
    assert (seen.unreadable, seen.others) == ((), 0)


def test_only_one_project_or_only_what_went_on_since(tmp_path: Path) -> None:
    session(tmp_path, "a", 1, "/home/u/parcel")
    session(tmp_path, "b", 10, "/home/u/parcel/web")
    session(tmp_path, "c", 20, "/home/u/parcels")
    session(tmp_path, "d", 30, "D:\\work\\parcel")
    assert sessions(transcript_files.find(tmp_path, project="/home/u/parcel")) == ["b", "a"]
    assert sessions(transcript_files.find(tmp_path, project="/home/u/parcel/")) == ["b", "a"]
    assert sessions(transcript_files.find(tmp_path, project="D:\\work")) == ["d"]
    assert sessions(transcript_files.find(tmp_path, project="parcel")) == ["d", "a"]
    assert sessions(transcript_files.find(tmp_path, since=EPOCH + 21_000)) == ["d", "c"]


def test_the_sessions_of_a_repositorys_worktrees_are_of_its_project(tmp_path: Path) -> None:
    session(tmp_path, "a", 1, "/home/u/parcel")
    session(tmp_path, "b", 10, "/home/u/parcel/.worktrees/3")
    session(tmp_path, "c", 20, "/home/u/parcel.worktrees/topic")
    session(tmp_path, "d", 30, "D:\\work\\parcel\\.claude\\worktrees\\x")
    assert sessions(transcript_files.find(tmp_path, project="parcel")) == ["d", "c", "b", "a"]
    assert sessions(transcript_files.find(tmp_path, project="/home/u/parcel")) == ["c", "b", "a"]
    assert sessions(transcript_files.find(tmp_path, project="D:\\work\\parcel")) == ["d"]


def test_a_directory_comes_before_what_lies_below_it_and_else_the_newest_first(tmp_path: Path) -> None:
    session(tmp_path, "root-old", 1, "/home/u/parcel")
    session(tmp_path, "root", 2, "/home/u/parcel")
    session(tmp_path, "other", 10, "/home/u/other")
    session(tmp_path, "web", 20, "/home/u/parcel/web")
    session(tmp_path, "deep", 30, "/home/u/parcel/web/src")
    session(tmp_path, "home", 3, "/home/u")
    ordered = roots_first(transcript_files.find(tmp_path).transcripts)
    assert [each.session for each in ordered] == ["root", "web", "deep", "other", "home", "root-old"]


def test_a_single_file_and_a_projects_own_folder_are_found_too(tmp_path: Path) -> None:
    path = session(tmp_path, "a", 1)
    assert sessions(transcript_files.find(path)) == ["a"]
    assert sessions(transcript_files.find(path.parent)) == ["a"]
    packed = tmp_path / "archive" / "b.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (seen,) = transcript_files.find(packed).transcripts
    assert (seen.session, seen.last_at - EPOCH) == ("a", 2000)  # the name its lines give


def test_subagents_files_belong_to_their_sessions_wherever_the_client_wrote_them(tmp_path: Path) -> None:
    path = session(tmp_path, "a", 1)
    session(tmp_path, "b", 10)
    task = [user(2, "look", sessionId="a", isSidechain=True, agentId="1f")]
    inside = write(tmp_path, task, "-home-u-parcel/a/subagents/agent-1f.jsonl")
    beside = write(tmp_path, task, "-home-u-parcel/agent-2f.jsonl")
    seen = {each.session: each for each in transcript_files.find(tmp_path).transcripts}
    assert seen["a"].agents == (inside, beside)
    assert seen["a"].size == sum(file.stat().st_size for file in (path, inside, beside))
    assert seen["b"].agents == ()


def test_what_is_no_transcript_is_counted_and_left_alone(tmp_path: Path) -> None:
    session(tmp_path, "a", 1)
    write(tmp_path, [{"kind": "observation", "title": "x"}], "export.jsonl")
    write(tmp_path, [], "empty.jsonl")
    write(tmp_path, ["not json at all"], "notes.jsonl")
    seen = transcript_files.find(tmp_path)
    assert (sessions(seen), seen.others) == (["a"], 3)


def test_links_are_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "projects", tmp_path / "outside"
    real = session(root, "a", 1)
    strange = session(outside, "b", 2)
    (root / "linked").symlink_to(outside)
    (real.parent / "b.jsonl").symlink_to(strange)
    (root / "loop").symlink_to(root)
    (real.with_suffix("")).mkdir()
    task = write(outside, [user(2, "look", sessionId="a")], "agents/agent-1f.jsonl")
    (real.with_suffix("") / "subagents").symlink_to(task.parent)
    (real.parent / task.name).symlink_to(task)
    (seen,) = transcript_files.find(root).transcripts
    assert (seen.session, seen.agents) == ("a", ())
    assert sessions(transcript_files.find(outside)) == ["b"]


def test_a_link_among_a_sessions_subagents_is_not_followed(tmp_path: Path) -> None:
    session(tmp_path / "projects", "a", 1)
    strange = write(tmp_path, [user(2, "look", sessionId="a")], "strange.jsonl")
    kept = write(
        tmp_path / "projects", [user(2, "look", sessionId="a")], "-home-u-parcel/a/subagents/agent-1f.jsonl"
    )
    kept.with_name("agent-2f.jsonl").symlink_to(strange)
    (seen,) = transcript_files.find(tmp_path / "projects").transcripts
    assert seen.agents == (kept,)


def test_a_root_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    seen = transcript_files.find(tmp_path / "gone")
    assert (seen.transcripts, len(seen.unreadable)) == ((), 1)


def test_a_folder_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(tmp_path, "a", 1)
    shut = session(tmp_path, "b", 1, folder="shut").parent
    scan = os.scandir

    def guarded(path: Path) -> object:  # root may read everything: the system is asked to refuse instead
        if Path(path) == shut:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", guarded)
    seen = transcript_files.find(tmp_path)
    assert (sessions(seen), seen.unreadable) == (["a"], ((shut, "Permission denied"),))


def test_the_last_time_is_found_behind_lines_that_are_longer_than_the_tail(tmp_path: Path) -> None:
    long: list[Fields] = [
        user(1, "go", sessionId="a"),
        says(2, "y" * 300_000, sessionId="a"),
        {"type": "mode", "mode": "x" * 99},
    ]
    (seen,) = transcript_files.find(write(tmp_path, long, "a.jsonl")).transcripts
    assert seen.last_at - EPOCH == 2000


def test_a_transcript_without_any_time_has_its_files(tmp_path: Path) -> None:
    bare = user(1, "go", sessionId="a")
    del bare["timestamp"]
    path = write(tmp_path, [bare], "a.jsonl")
    os.utime(path, (1_784_000_000, 1_784_000_000))
    (seen,) = transcript_files.find(path).transcripts
    assert (seen.first_at, seen.last_at) == (1_784_000_000_000, 1_784_000_000_000)


def test_the_clients_folder_is_where_its_settings_say() -> None:
    assert transcript_files.projects_folder({"HOME": "/home/u"}) == Path("/home/u/.claude/projects")
    moved = {"HOME": "/home/u", "CLAUDE_CONFIG_DIR": "/srv/claude"}
    assert transcript_files.projects_folder(moved) == Path("/srv/claude/projects")


def test_a_damaged_file_among_the_others_is_only_counted(tmp_path: Path) -> None:
    session(tmp_path, "a", 1)
    (tmp_path / "bad.jsonl.gz").write_bytes(b"this is no archive")
    (tmp_path / "odd.jsonl").write_bytes(b"\0" * 5000 + b"\xff\n" + json.dumps([1]).encode())
    seen = transcript_files.find(tmp_path)
    assert sessions(seen) == ["a"]
    assert seen.others + len(seen.unreadable) == 2


# A folder of Claude Code's is traced back to the directory it is named for.


def folder_for(directory: Path, home: Path) -> Path:
    found = home / "projects" / transcript_files.dashed(str(directory))
    found.mkdir(parents=True)
    return found


def test_its_sessions_say_it_also_when_the_directory_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "my_shop.old"
    folder = folder_for(gone, tmp_path)
    assert transcript_files.directory_of(folder) is None
    said = [
        {"type": "user", "cwd": str(tmp_path), "message": {}},
        {"type": "user", "cwd": str(gone), "message": {}},
    ]
    (folder / "s.jsonl").write_text("\n".join(map(json.dumps, said)))
    assert transcript_files.directory_of(folder) == str(gone)


def test_without_a_session_the_directories_there_are_say_it(tmp_path: Path) -> None:
    shop = tmp_path / "a-b" / "my_shop.v2"
    shop.mkdir(parents=True)
    (tmp_path / "a").mkdir()
    assert transcript_files.directory_of(folder_for(shop, tmp_path)) == str(shop)


def test_notes_are_found_from_any_folder_above_them(tmp_path: Path) -> None:
    memory = tmp_path / "projects" / "-home-u-shop" / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# Notes")
    for given in (tmp_path / "projects", memory.parent, memory, memory / "MEMORY.md"):
        assert transcript_files.indexes(given) == [memory / "MEMORY.md"]
    assert transcript_files.indexes(tmp_path) == []
