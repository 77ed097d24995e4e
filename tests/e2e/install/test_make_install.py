"""`make install` under uv, under pipx and under neither: who is logged in to Claude Code is observed by it.

The real installers fetch the real dependencies; the real client is the user's session and the observer, both
against a scripted model. No Agent SDK, no second client and no API key is needed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.claude import Claude, Playing, write_login
from tests.harness.model_script import Request, Say, Step, Use
from tests.harness.model_server import ModelServer

pytestmark = [pytest.mark.prove, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[3]
PATIENCE_S = 900  # it downloads what claude-mem needs
SEEN = (
    "<observation><type>change</type><title>The parcel has a label</title>"
    "<facts><fact>label.txt holds it.</fact></facts></observation>"
)


class Answers:
    """One model for both: the user's session, and whoever is told to write observations."""

    def __init__(self) -> None:
        self.observed: list[Request] = []
        use = Use("Bash", {"command": "echo label > label.txt", "description": "Write the label"})
        self._session = Playing([Say("", uses=(use,)), Say("The parcel has a label now.")])

    def __call__(self, request: Request) -> Step:
        if "<observation>" not in json.dumps(request.body.get("system", "")):
            return self._session(request)
        self.observed.append(request)
        return Say(SEEN)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Claude]:
    made = Claude(tmp_path)
    (made.commands() / "claude-mem").unlink()
    write_login(made.config)
    yield made
    made.end()


def environment(user: Claude, installer: str | None) -> dict[str, str]:
    """A PATH with this installer and no other."""
    env = user.environment()
    others = [Path(folder) for folder in env["PATH"].split(os.pathsep)]
    clean = [str(each) for each in others if not any((each / name).exists() for name in ("uv", "pipx"))]
    if installer:
        tools = user.home / "tools"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tools)], check=True)
        fetch = [sys.executable, "-m", "pip", "--python", str(tools), "--quiet", "install", installer]
        subprocess.run(fetch, check=True, timeout=PATIENCE_S)
        (user.commands() / installer).symlink_to(tools / "bin" / installer)
    return env | {"PATH": os.pathsep.join([*clean, str(user.home / ".local/bin")])}


@pytest.mark.parametrize("installer", ["uv", "pipx", None])
def test_the_first_session_after_an_install_is_observed_by_ones_own_claude_code(
    user: Claude, installer: str | None
) -> None:
    python = str(Path(sys.base_prefix) / "bin/python3")
    made = subprocess.run(
        ["make", "--no-print-directory", "install", f"PYTHON={python}", "EXTRAS=postgres"],
        cwd=ROOT,
        env=environment(user, installer),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert (f"Installed with {installer}" if installer else "uv and pipx not found") in made.stdout
    beside = (user.home / ".local/bin/claude-mem").resolve().parent / "python"
    assert subprocess.run([beside, "-c", "import psycopg"], check=False).returncode == 0, "the extra"
    (user.commands() / "claude-mem").symlink_to(user.home / ".local/bin/claude-mem")
    answers = Answers()
    with ModelServer(answers) as server:
        here: dict[str, Any] = {
            "CLAUDE_MEM_PROVIDER": "",
            "ANTHROPIC_API_KEY": "",
            "ANTHROPIC_BASE_URL": server.url,
        }
        done = json.loads(user.mem("install", "--yes", "--json", **here).stdout)
        assert done["provider"] == "claude"
        assert user.run(server, "Label the parcel.", CLAUDE_MEM_PROVIDER="", ANTHROPIC_API_KEY="").code == 0
        user.settle()
        found = user.rows("SELECT title, provider FROM observations")
        assert [(title, str(provider).partition(":")[0]) for title, provider in found] == [
            ("The parcel has a label", "claude")
        ]
        user.mem("worker", "stop")
    assert answers.observed
    assert all("authorization" in request.headers for request in server.requests), "by the login alone"
    assert not list((user.home / ".local").rglob("claude_agent_sdk"))
    assert not [file for file in (user.home / ".local").rglob("claude") if file.is_file()], "no second client"
