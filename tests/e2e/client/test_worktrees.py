"""Two sessions at once, each in a worktree of its own: one project's memory, and no event in the other's."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.client.session_runs import greet, made, recorded, rendered_work, source, taught, times
from tests.harness import checker
from tests.harness.claude import Claude, Playing
from tests.harness.homes import PATIENCE_S
from tests.harness.model_script import Request, Say, Script, Step, Use
from tests.harness.model_server import ModelServer

WORK = {"swan": ("swan", "cygnet"), "crow": ("crow", "raven")}
FILES = {"swan": "swan.py, cygnet.py", "crow": "crow.py, raven.py"}


@dataclass(frozen=True)
class Pair:
    claude: Claude
    trees: dict[str, Path]
    sessions: dict[str, str]


def uses(tree: Path, name: str) -> list[Use]:
    return [
        Use("Write", {"file_path": str(tree / f"{bird}.py"), "content": source(bird)}, f"toolu_{bird}")
        for bird in WORK[name]
    ]


@pytest.fixture(scope="module")
def pair(house: Claude) -> Pair:
    trees = {name: house.home / f"parcel-{name}" for name in WORK}
    for name, tree in trees.items():
        house.git("worktree", "add", "-q", "-b", f"feature/{name}", str(tree))
    return Pair(house, trees, _both(house, trees))


def _both(claude: Claude, trees: dict[str, Path]) -> dict[str, str]:
    """Side by side: neither is answered the first time before the other has asked, too."""
    both = threading.Barrier(len(WORK), timeout=PATIENCE_S)

    def script(name: str) -> Script:
        first = iter([both.wait])
        playing = Playing([*(Say("", uses=(use,)) for use in uses(trees[name], name)), Say(made(name))])

        def answer(request: Request) -> Step:
            for wait in first:
                wait()
            return playing(request)

        return answer

    with ExitStack() as stack:
        started = {}
        for name in WORK:
            server = stack.enter_context(ModelServer(script(name)))
            started[name] = stack.enter_context(claude.started(server, f"Make a {name}.", cwd=trees[name]))
        said = {name: process.communicate(timeout=PATIENCE_S) for name, process in started.items()}
    assert all(err == "" for _, err in said.values())
    claude.settle()
    return {name: json.loads(out.splitlines()[-1])["session_id"] for name, (out, _) in said.items()}


@pytest.mark.parametrize("name", WORK)
def test_each_has_its_own_events_in_their_order_and_no_others(pair: Pair, name: str) -> None:
    assert recorded(pair.claude, pair.sessions[name]) == [
        ("session_start", None, "done"),
        ("prompt", None, "done"),
        *(("tool_use", f"toolu_{bird}", "done") for bird in WORK[name]),
        ("stop", None, "done"),
        ("session_end", None, "done"),
    ]


def test_both_are_observed_as_work_on_one_project_each_on_its_branch(pair: Pair) -> None:
    for name, session in pair.sessions.items():
        assert taught(pair.claude, session) == [FILES[name]]
    assert pair.claude.rows("SELECT name, root FROM projects") == [("parcel", str(pair.claude.project))]
    told = pair.claude.rows("SELECT files_modified, branch FROM observations")
    assert sorted((", ".join(json.loads(files)), branch) for files, branch in told) == sorted(
        (FILES[name], f"feature/{name}") for name in WORK
    )
    ids = [f"toolu_{bird}" for birds in WORK.values() for bird in birds]
    assert checker.check(pair.claude.data, ids) == {"done": 4, "spooled": 0}


@pytest.mark.parametrize("where", [*WORK, "parcel"])
def test_a_start_in_either_or_in_the_repository_itself_is_told_of_both(pair: Pair, where: str) -> None:
    tree = pair.trees.get(where, pair.claude.project)
    if where in pair.trees:
        for files in FILES.values():
            rendered_work(pair.claude, files, cwd=tree)
    _, request = greet(pair.claude, cwd=tree)
    assert [times(request, files, pair.claude) for files in FILES.values()] == [1, 1]
