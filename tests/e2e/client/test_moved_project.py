"""A project whose directory was moved between two sessions: its remote is its name, else its path is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.client.session_runs import make, memories, refs
from tests.harness.claude import Claude, Playing
from tests.harness.model_script import Request, Say, Use
from tests.harness.model_server import ModelServer

ZEBRA = "src/zebra.py"


@pytest.fixture(scope="module")
def claude(house: Claude) -> Claude:
    return house


def moved(claude: Claude, before: Path) -> Path:
    """As `mv` does it, after a session that made src/zebra.py."""
    (before / "src").mkdir()
    make(claude, "src/zebra", cwd=before)
    return before.rename(before.with_name(f"{before.name}-elsewhere"))


def read_zebra(claude: Claude, place: Path) -> Request:
    """A session that reads the file where it is now; all that the model was sent."""
    look = Use("Read", {"file_path": str(place / "src" / "zebra.py")})
    with ModelServer(Playing([Say("", uses=(look,)), Say("Read.")])) as server:
        ran = claude.run(server, "Greet.", cwd=place)
    assert (ran.code, ran.result, ran.err) == (0, "Read.", "")
    claude.settle()
    return server.requests[-1]


def projects(claude: Claude, place: Path) -> list[str]:
    return [name for (name,) in claude.rows("SELECT name FROM projects") if name.startswith(place.name)]


def test_with_a_remote_the_memory_follows_and_so_does_a_files_history(claude: Claude) -> None:
    before = claude.repository(claude.home / "known")
    claude.git("remote", "add", "origin", "git@example.com:u/known.git", cwd=before)
    start, history = memories(read_zebra(claude, moved(claude, before)))
    assert "Asked: Make src/zebra.py." in start
    assert "History of src/zebra.py." in history
    assert f"- {refs(claude, ZEBRA)[0]} " in history
    assert len(projects(claude, before)) == 1


def test_without_one_it_is_another_project_and_what_the_old_one_knew_can_still_be_found(
    claude: Claude,
) -> None:
    before = claude.repository(claude.home / "lonely")
    assert memories(read_zebra(claude, moved(claude, before))) == []
    assert projects(claude, before) == ["lonely", "lonely-elsewhere"]
    found = claude.mem("search", "zebra", "--project", "lonely").stdout
    assert refs(claude, ZEBRA)[-1].removeprefix("#") in found.split()
