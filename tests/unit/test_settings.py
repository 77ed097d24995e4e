import json
from pathlib import Path

import pytest

from claude_mem.model.errors import SettingsError
from claude_mem.settings import SETTINGS, Settings, load
from claude_mem.settings.table import BORROWED


def environment(data: Path, **more: str) -> dict[str, str]:
    return {"CLAUDE_MEM_DATA_DIR": str(data), "HOME": "/nowhere"} | more


def test_without_a_file_the_defaults_are_in_force(tmp_path: Path) -> None:
    assert load(environment(tmp_path)) == Settings(data_dir=tmp_path)


def test_without_a_variable_the_data_directory_is_in_the_home() -> None:
    assert load({"HOME": "/home/u"}).data_dir == Path("/home/u/.claude-mem")


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(
        '{"CLAUDE_MEM_WORKER_PORT": 40000, "CLAUDE_MEM_LOG_LEVEL": "DEBUG"}'
    )
    settings = load(environment(tmp_path, CLAUDE_MEM_WORKER_PORT="41000"))
    assert (settings.worker_port, settings.log_level) == (41000, "DEBUG")


def test_lists_come_as_json_or_with_commas(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"CLAUDE_MEM_SKIP_TOOLS": ["A", "B"]}')
    assert load(environment(tmp_path)).skip_tools == {"A", "B"}
    assert load(environment(tmp_path, CLAUDE_MEM_SKIP_TOOLS="C, D")).skip_tools == {"C", "D"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("CLAUDE_MEM_WORKER_PORT", 80),
        ("CLAUDE_MEM_WORKER_PORT", "many"),
        ("CLAUDE_MEM_WORKER_PORT", True),
        ("CLAUDE_MEM_WORKER_PORT", None),
        ("CLAUDE_MEM_SPOOL_MAX_FILES", 1),
        ("CLAUDE_MEM_SKIP_TOOLS", {"a": 1}),
        ("CLAUDE_MEM_SECRET_PATTERNS", {"x": "("}),
        ("CLAUDE_MEM_SECRET_PATTERNS", ["x"]),
        ("CLAUDE_MEM_LOG_LEVEL", "LOUD"),
    ],
)
def test_a_bad_value_names_the_key_the_value_and_what_is_allowed(
    tmp_path: Path, key: str, value: object
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({key: value}))
    with pytest.raises(SettingsError) as raised:
        load(environment(tmp_path))
    assert key in str(raised.value)
    assert repr(value) in str(raised.value)
    assert "settings.json" in str(raised.value)
    assert "allowed:" in str(raised.value)


@pytest.mark.parametrize("content", ["{", "[]", "\udcff"])
def test_a_file_that_is_no_json_object_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "settings.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(SettingsError, match=r"settings\.json"):
        load(environment(tmp_path))


@pytest.mark.parametrize("key", ["CLAUDE_MEM_ANTHROPIC_KEY", "ANTHROPIC_API_KEY", "X"])
def test_an_unknown_key_is_named_without_its_value_which_may_be_a_secret(tmp_path: Path, key: str) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({key: "sk-canary"}))
    with pytest.raises(SettingsError, match=key) as raised:
        load(environment(tmp_path))
    assert "canary" not in str(raised.value)


def test_a_bad_key_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"CLAUDE_MEM_API_KEY": ["sk-canary"]}')
    with pytest.raises(SettingsError, match="CLAUDE_MEM_API_KEY") as raised:
        load(environment(tmp_path))
    assert "canary" not in str(raised.value)


def test_every_field_that_can_be_chosen_has_a_setting_or_is_borrowed() -> None:
    named = {setting.field for setting in SETTINGS} | set(BORROWED.values())
    assert named == set(Settings.__slots__) - {"data_dir", "passed_over"}


def test_a_key_is_never_printed(tmp_path: Path) -> None:
    settings = load(environment(tmp_path, CLAUDE_MEM_API_KEY="canary-1", ANTHROPIC_API_KEY="canary-2"))
    assert (settings.api_key, settings.anthropic_api_key) == ("canary-1", "canary-2")
    assert "canary" not in repr(settings)
