"""Who observes: asked once, saved as a setting, and never taken from a key that is merely there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_mem.cli import observer_choice
from claude_mem.cli.observer_choice import NAMES, answered, change, menu
from claude_mem.model.errors import SettingsError
from claude_mem.providers import claude_process
from claude_mem.settings import Settings


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home with a recent claude in it that nobody has logged in to, and keys in the environment."""
    for name in (*claude_process.LOGINS, "CLAUDE_CONFIG_DIR", "CLAUDE_MEM_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "k")
    monkeypatch.setenv("HOME", str(tmp_path))
    claude = tmp_path / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    claude.chmod(0o755)
    (tmp_path / "data").mkdir()
    return Settings(
        data_dir=tmp_path / "data", claude_path=str(claude), provider_variables={"ANTHROPIC_API_KEY": "k"}
    )


def log_in(chosen: Settings) -> None:
    folder = chosen.data_dir.parent / ".claude"
    folder.mkdir()
    (folder / ".credentials.json").touch()


def saved(chosen: Settings, wanted: str | None = None, ask: Callable[[str], str] | None = None) -> object:
    _, found = change(chosen, wanted, ask)
    return None if found is None else json.loads(found.after or "")["CLAUDE_MEM_PROVIDER"]


def test_unasked_nothing_is_saved_as_chosen(chosen: Settings) -> None:
    assert saved(chosen) == "auto"
    log_in(chosen)
    assert saved(chosen) == "auto"


def test_what_was_named_or_answered_is_saved(chosen: Settings) -> None:
    for name in NAMES:
        assert saved(chosen, name) == name
        after, _ = change(chosen, None, dict.fromkeys(("auto", "claude"), name).__getitem__)
        assert after.provider == name


def test_it_is_asked_once(chosen: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    file = chosen.data_dir / "settings.json"
    file.write_text('{"CLAUDE_MEM_PROVIDER": "anthropic", "theirs": 1}')
    assert saved(chosen, ask=pytest.fail) is None
    _, found = change(chosen, "offline", None)
    assert found is not None
    assert json.loads(found.after or "") == {"CLAUDE_MEM_PROVIDER": "offline", "theirs": 1}
    file.unlink()
    monkeypatch.setenv("CLAUDE_MEM_PROVIDER", "offline")
    assert saved(chosen, ask=pytest.fail) is None


def test_a_file_that_cannot_be_read_is_not_written_over(chosen: Settings) -> None:
    (chosen.data_dir / "settings.json").write_text("{ not JSON")
    assert saved(chosen, ask=pytest.fail) is None
    with pytest.raises(SettingsError):
        change(chosen, "offline", None)


def test_the_menu_names_everybody_with_the_limit_and_what_is_missing(chosen: Settings) -> None:
    text = menu(chosen, list(NAMES))
    assert all(name in text for name in NAMES)
    assert text.count("$2.00 a day") == len(NAMES) - 1
    assert text.count("Not ready") == 1, "no endpoint is set; the others have a key, and may be chosen"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("\n", "offline"),
        ("1\n", "offline"),
        ("2\n", "claude"),
        ("Claude\n", "claude"),
        ("9\n", None),
        ("0", None),
    ],
)
def test_an_answer_is_a_number_a_name_or_nothing(line: str, found: str | None) -> None:
    assert answered(line, ["offline", "claude"]) == found


def test_what_it_may_cost_is_one_line(chosen: Settings) -> None:
    for name in NAMES:
        assert "\n" not in observer_choice.cost(chosen, name)
