"""Who observes: `install` asks on a terminal, takes the flag, and otherwise what costs nothing unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness import hook_process, payloads
from tests.harness.claude import Claude, write_login
from tests.harness.terminal import Terminal

from claude_mem.cli.observer_choice import KEY


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Claude]:
    """A home with the real Claude Code, an API key in the environment, and no choice made."""
    made = Claude(tmp_path)
    made.commands()
    yield made
    made.end()


def environment(user: Claude) -> dict[str, str]:
    return {name: value for name, value in user.environment().items() if name != KEY}


def install(user: Claude, *flags: str) -> dict[str, Any]:
    done = user.mem("install", "--yes", "--settings", "--json", *flags, CLAUDE_MEM_PROVIDER="")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def saved(user: Claude) -> object:
    return json.loads((user.data / "settings.json").read_text())[KEY]


def test_a_key_is_no_permission_and_a_login_is_the_default(user: Claude) -> None:
    assert install(user)["provider"] == "offline"
    assert saved(user) == "auto"
    user.mem("uninstall", "--yes")
    assert not user.data.exists(), "what an install saved goes with it"
    write_login(user.config)
    assert install(user)["provider"] == "claude"
    assert saved(user) == "auto", "nobody chose"


@pytest.mark.prove
def test_a_flag_answers_for_scripts_and_changes_the_answer_later(user: Claude) -> None:
    write_login(user.config)
    assert install(user, "--observer", "offline")["provider"] == "offline"
    assert install(user)["provider"] == "offline", "asked once"
    assert install(user, "--observer", "anthropic")["provider"] == "anthropic"
    assert saved(user) == "anthropic"
    shown = json.loads(user.mem("doctor", "--json", check=False, CLAUDE_MEM_PROVIDER="").stdout)
    (observer,) = (each for each in shown["findings"] if each["check"] == "observer")
    assert observer["says"].startswith("anthropic")


def test_the_choice_outlives_an_uninstall_if_anything_was_recorded_under_it(user: Claude) -> None:
    write_login(user.config)
    install(user, "--observer", "offline")
    user.mem("uninstall", "--yes", CLAUDE_MEM_PROVIDER="")
    assert not (user.data / "settings.json").exists()
    install(user, "--observer", "offline")
    assert hook_process.run(user.data, payloads.bash("toolu_1")).code == 0
    user.mem("uninstall", "--yes", CLAUDE_MEM_PROVIDER="")
    assert saved(user) == "offline"


@pytest.mark.prove
@pytest.mark.parametrize(("typed", "chosen"), [("", "claude"), ("offline", "offline"), ("7\n2", "anthropic")])
def test_a_person_is_asked(user: Claude, typed: str, chosen: str) -> None:
    write_login(user.config)
    with Terminal(["bash", "--norc"], cwd=user.project, env=environment(user)) as terminal:
        terminal.enter("claude-mem install --settings")
        terminal.wait_for("What should turn recorded events into memories?")
        for word in typed.split():
            terminal.enter(word)
        if not typed:
            terminal.press("Enter")
        terminal.wait_for("Connect claude-mem to Claude Code?")
        terminal.enter("y")
        terminal.wait_for("Connected to Claude Code.")
    assert saved(user) == chosen


@pytest.mark.prove
def test_whoever_does_not_answer_has_changed_nothing(user: Claude) -> None:
    with Terminal(["bash", "--norc"], cwd=user.project, env=environment(user)) as terminal:
        terminal.enter("claude-mem install --settings; echo left with $?")
        terminal.wait_for("What should turn recorded events into memories?")
        terminal.press("C-c")
        terminal.wait_for("left with 130")
    assert not user.data.exists()
    assert not (user.config / "settings.json").exists()
