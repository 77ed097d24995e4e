"""Files written whole, and a client that does not answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.harness import workers

from claude_mem.agents import file_changes
from claude_mem.agents.claude_code.agent import InstallPaths
from claude_mem.agents.file_changes import Journal, Step
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace


@pytest.fixture
def here(tmp_path: Path) -> InstallPaths:
    config = tmp_path / "config"
    config.mkdir()
    return InstallPaths("user", config, str(config), tmp_path / "data", None)


def client(at: Path, script: str) -> str:
    at.write_text(f"#!/bin/sh\n{script}\n")
    at.chmod(0o755)
    return str(at)


def test_a_file_is_written_through_links_with_its_mode(tmp_path: Path) -> None:
    target, link, chain = tmp_path / "kept/real.json", tmp_path / "link.json", tmp_path / "chain.json"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("kept/real.json")
    chain.symlink_to(link)
    file_changes.write_text(chain, "new")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)
    assert chain.is_symlink()
    assert link.is_symlink()
    assert list(target.parent.iterdir()) == [target]


def test_a_new_file_is_the_users_alone(tmp_path: Path) -> None:
    file_changes.write_text(tmp_path / "a/b/new.json", "x")
    assert (tmp_path / "a/b/new.json").stat().st_mode & 0o777 == 0o600


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClaudeMemError, match=r"cannot be written: .*\. Nothing was changed"):
        file_changes.write_text(tmp_path / "file/settings.json", "x")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ClaudeMemError, match="cannot be written"):
        file_changes.write_text(tmp_path / "folder.json", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.json"]


def test_a_link_to_a_file_that_is_removed_stays(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "elsewhere.json")
    file_changes.write_text(link, "x")
    file_changes.remove_file(link)
    assert link.is_symlink()
    assert not link.exists()


def test_folders_go_with_their_last_file_if_they_were_made_for_it(tmp_path: Path) -> None:
    made = (str(tmp_path / "a"), str(tmp_path / "a/b"))
    file_changes.write_text(tmp_path / "a/b/one", "1")
    file_changes.write_text(tmp_path / "a/b/two", "2")
    file_changes.remove_file(tmp_path / "a/b/one", made)
    assert (tmp_path / "a/b/two").exists()
    file_changes.remove_file(tmp_path / "a/b/two", made)
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    slow = client(tmp_path / "claude", f"sleep 1000 & echo $! > '{pid}.new'; mv '{pid}.new' '{pid}'; wait")
    said = file_changes.run_program([slow, "plugin", "list"], None, os.environ, within_s=1)
    assert said == "no answer within 1 s"
    child = Path(f"/proc/{pid.read_text().strip()}/cmdline")
    workers.until(lambda: not child.exists() or not child.read_bytes(), "what the client started has ended")


def test_what_a_client_says_when_it_refuses_is_told(here: InstallPaths, tmp_path: Path) -> None:
    for script, said in (
        ("echo no such command >&2; exit 1", "no such command"),
        ("exit 3", "exit 3"),
        ("printf '\\377'; exit 1", "\ufffd"),
        ("exit 0", None),
    ):
        refusing = client(tmp_path / "claude", script)
        assert replace(here, program=refusing).run(("claude", "plugin")) == said
    assert "No such file" in str(file_changes.run_program(["/nowhere/claude"], None, {}))


def test_the_client_is_asked_about_the_configuration_that_is_meant_and_is_not_recorded(
    here: InstallPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/another")
    telling = client(tmp_path / "claude", 'echo "$CLAUDE_CONFIG_DIR|$CLAUDE_MEM_OFF|$PWD"; exit 1')
    at = str(Path.cwd())
    assert replace(here, program=telling).run(("claude",)) == f"{here.config}|1|{at}"
    assert replace(here, program=telling, config=None).run(("claude",)) == f"|1|{at}"
    of_a_project = replace(here, program=telling, scope="project", folder=tmp_path / ".claude", config=None)
    assert of_a_project.run(("claude",)) == f"|1|{tmp_path}"


def test_whatever_goes_wrong_everything_is_taken_back_in_reverse(here: InstallPaths, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    here.settings.write_text("before")
    willing = client(tmp_path / "claude", f"echo \"$@\" >> '{asked}'; echo client > '{here.settings}'")
    step = Step(("claude", "do", "it"), ("claude", "undo", "it"))
    with pytest.raises(KeyboardInterrupt), Journal() as journal:  # noqa: PT012 - all of it is taken back
        journal.write(tmp_path / "new/folder/file", "x")
        journal.write(here.settings, "by us")
        assert journal.run(replace(here, program=willing).run, step, here.settings) is None
        journal.remove(here.settings, ())
        raise KeyboardInterrupt
    assert here.settings.read_text() == "before"
    assert asked.read_text() == "do it\nundo it\n"
    assert not (tmp_path / "new").exists()


def test_nothing_is_taken_back_when_all_went_well(here: InstallPaths) -> None:
    with Journal() as journal:
        journal.write(here.settings, "after")
    assert here.settings.read_text() == "after"
