"""What is set, where from, and how the file would read with some of it changed."""

from pathlib import Path

import pytest

from claude_mem.api.system import SettingRow
from claude_mem.model.errors import SettingsError
from claude_mem.model.structs import replace
from claude_mem.settings import SETTINGS, Settings, editor

IN_FORCE = Settings(Path("/data"))


def described(table: dict[str, object], environ: dict[str, str]) -> dict[str, SettingRow]:
    return {each.key: each for each in editor.described(table, environ, IN_FORCE)}


def test_every_setting_has_a_kind_a_page_can_show() -> None:
    kinds = {key: each.kind for key, each in described({}, {}).items()}
    assert len(kinds) == len(SETTINGS)
    assert kinds["CLAUDE_MEM_WORKER_PORT"] == "integer"
    assert kinds["CLAUDE_MEM_DAILY_USD"] == "number"
    assert kinds["CLAUDE_MEM_PROVIDER"] == "choice"
    assert kinds["CLAUDE_MEM_MODEL"] == "text"
    assert kinds["CLAUDE_MEM_SKIP_TOOLS"] == "list"
    assert kinds["CLAUDE_MEM_SECRET_PATTERNS"] == "table"
    assert kinds["CLAUDE_MEM_API_KEY"] == "secret"


def test_the_environment_stands_before_the_file_and_that_before_the_default() -> None:
    key = "CLAUDE_MEM_LOG_LEVEL"
    assert (described({}, {})[key].origin, described({}, {})[key].value) == ("default", "INFO")
    from_file = described({key: "DEBUG"}, {})[key]
    assert (from_file.origin, from_file.value, from_file.pending) == ("file", "DEBUG", True)
    both = described({key: "DEBUG"}, {key: "ERROR"})[key]
    assert (both.origin, both.value) == ("environment", "ERROR")


def test_a_secret_is_never_told_nor_a_password_in_an_address() -> None:
    told = described(
        {"CLAUDE_MEM_API_KEY": "sk-canary", "CLAUDE_MEM_BASE_URL": "http://ada:canary@127.0.0.1:1/v1"}, {}
    )
    assert "canary" not in repr([(each.value, each.default) for each in told.values()])
    assert told["CLAUDE_MEM_BASE_URL"].value == "http://…@127.0.0.1:1/v1"
    assert told["CLAUDE_MEM_API_KEY"].set


def test_what_is_wrong_is_told_without_what_it_is_if_that_is_secret() -> None:
    told = described({"CLAUDE_MEM_LOG_LEVEL": "LOUD", "CLAUDE_MEM_API_KEY": ["canary"]}, {})
    assert "LOUD" in (told["CLAUDE_MEM_LOG_LEVEL"].trouble or "")
    assert told["CLAUDE_MEM_API_KEY"].trouble
    assert "canary" not in told["CLAUDE_MEM_API_KEY"].trouble


def test_a_change_keeps_what_others_have_in_the_file() -> None:
    table: dict[str, object] = {"ANOTHER_PROGRAMS": 1, "CLAUDE_MEM_MODEL": "haiku"}
    changed = editor.changed(table, {"CLAUDE_MEM_MODEL": None, "CLAUDE_MEM_DAILY_TOKENS": "5"})
    assert changed == {"ANOTHER_PROGRAMS": 1, "CLAUDE_MEM_DAILY_TOKENS": 5}
    assert table["CLAUDE_MEM_MODEL"] == "haiku"


def test_an_empty_text_is_no_setting() -> None:
    assert editor.changed({"CLAUDE_MEM_MODEL": "haiku"}, {"CLAUDE_MEM_MODEL": " "}) == {}


@pytest.mark.parametrize(
    "changes", [{"CLAUDE_MEM_LOG_LEVEL": "LOUD"}, {"NOBODY": 1}, {"CLAUDE_MEM_SECRET_PATTERNS": {"a": "("}}]
)
def test_what_is_not_allowed_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"^Not saved: "):
        editor.changed({}, changes)


def test_what_is_wrong_is_said_to_be_where_it_is() -> None:
    loud = {"CLAUDE_MEM_LOG_LEVEL": "LOUD"}
    for trouble, where in (
        (described(dict(loud), {})["CLAUDE_MEM_LOG_LEVEL"].trouble, "settings.json"),
        (described({}, loud)["CLAUDE_MEM_LOG_LEVEL"].trouble, "the environment"),
    ):
        assert trouble is not None
        assert trouble.startswith(f"{where}: CLAUDE_MEM_LOG_LEVEL is 'LOUD'")


def test_an_address_sent_back_as_it_was_shown_keeps_its_password() -> None:
    table = {"CLAUDE_MEM_BASE_URL": "https://ada:word@proxy.example/v1"}
    shown = described(dict(table), {})["CLAUDE_MEM_BASE_URL"].value
    assert "word" not in shown
    assert editor.changed(table, {"CLAUDE_MEM_BASE_URL": shown}) == table
    other = "https://proxy.example/v2"
    assert editor.changed(table, {"CLAUDE_MEM_BASE_URL": other}) == {"CLAUDE_MEM_BASE_URL": other}


def test_how_a_setting_is_worded_changes_neither_its_kind_nor_its_choices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def taken() -> dict[str, tuple[str, list[str]]]:
        return {key: (each.kind, each.choices) for key, each in described({}, {}).items()}

    before = taken()
    words = "an integer, one of these, or a list"
    reworded = tuple(replace(each, takes=replace(each.takes, allowed=words)) for each in SETTINGS)
    monkeypatch.setattr(editor, "SETTINGS", reworded)
    assert taken() == before


def test_a_setting_takes_each_of_its_choices_and_only_choices_are_listed() -> None:
    for setting in SETTINGS:
        choices = setting.takes.choices
        assert (setting.takes.kind == "choice") is bool(choices), setting.key
        assert [setting.takes.parse(choice) for choice in choices] == list(choices), setting.key
