import json
from pathlib import Path

import pytest
from tests.harness import claude_mem_ts_data

from claude_mem.model.errors import SettingsError
from claude_mem.model.structs import replace
from claude_mem.settings import SETTINGS, Settings, load, read_file, resolution


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


def said(settings: Settings) -> dict[str, str]:
    return {each.key: each.message for each in settings.warnings}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("CLAUDE_MEM_WORKER_PORT", 80),
        ("CLAUDE_MEM_WORKER_PORT", "many"),
        ("CLAUDE_MEM_WORKER_PORT", True),
        ("CLAUDE_MEM_WORKER_PORT", None),
        ("CLAUDE_MEM_WORKER_PORT", 40_000.5),
        ("CLAUDE_MEM_WORKER_PORT", "9" * 5000),
        ("CLAUDE_MEM_SPOOL_MAX_FILES", 1),
        ("CLAUDE_MEM_SKIP_TOOLS", {"a": {"b": []}}),
        ("CLAUDE_MEM_WATCH", ["~/x", None]),
        ("CLAUDE_MEM_LOG_LEVEL", "LOUD"),
        ("CLAUDE_MEM_LOG_LEVEL", ["INFO"]),
        ("CLAUDE_MEM_DAILY_USD", "lots"),
        ("CLAUDE_MEM_DAILY_USD", -1),
        ("CLAUDE_MEM_DAILY_USD", float("inf")),
        pytest.param("CLAUDE_MEM_DAILY_USD", 10**400, id="more than a float holds"),
        ("CLAUDE_MEM_DAILY_TOKENS", "NaN"),
        ("CLAUDE_MEM_SESSION_USD", [0]),
        ("CLAUDE_MEM_SESSION_TOKENS", 10**30),
        ("CLAUDE_MEM_MODEL", 7),
        ("CLAUDE_MEM_LANGUAGE", "a\u0000b"),
        ("CLAUDE_MEM_MODEL", "\ud800"),
        ("CLAUDE_MEM_CHROMA_URL", "http://[half"),
        ("CLAUDE_MEM_CHROMA_URL", "http://host:port"),
        ("CLAUDE_MEM_API_KEY", 7),
        ("CLAUDE_MEM_DATABASE_URL", "mysql://me:word@host/memory"),
        ("CLAUDE_MEM_DATABASE_URL", "postgresql://me:wo@rd@host/memory"),
        ("CLAUDE_MEM_DATABASE_URL", "postgresql://me:wo/rd@host/memory"),
        ("CLAUDE_MEM_DATABASE_URL", "postgresql://me:50%off@host/memory"),
        ("CLAUDE_MEM_DATABASE_URL", "postgresql://me:two words@host/memory"),
    ],
)
def test_a_bad_value_is_named_and_the_default_holds(tmp_path: Path, key: str, value: object) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({key: value, "CLAUDE_MEM_VERBOSITY": "verbose"}))
    settings = load(environment(tmp_path))
    (warned,) = settings.warnings
    assert (warned.kind, warned.key) == ("bad", key)
    assert key in warned.message
    assert "settings.json" in warned.message
    assert "allowed:" in warned.message
    assert len(warned.message) < 400
    assert "//me:" not in warned.message, "a password"
    assert replace(settings, warnings=()) == Settings(data_dir=tmp_path, verbosity="verbose")


def test_a_bad_value_in_the_environment_leaves_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"CLAUDE_MEM_DAILY_USD": 0.5}')
    settings = load(environment(tmp_path, CLAUDE_MEM_DAILY_USD="lots"))
    assert settings.daily_usd == 0.5
    assert "the environment" in said(settings)["CLAUDE_MEM_DAILY_USD"]
    assert "0.5" in said(settings)["CLAUDE_MEM_DAILY_USD"]


@pytest.mark.parametrize("key", [setting.key for setting in SETTINGS])
def test_a_blank_value_is_as_if_nobody_had_said(tmp_path: Path, key: str) -> None:
    settings = load(environment(tmp_path, **{key: " "}))
    assert settings.warnings == ()
    assert settings.mode == "code"


def test_while_nobody_can_tell_who_was_to_be_asked_nobody_is(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    for content in ('{"CLAUDE_MEM_PROVIDER": "ofline"}', '{"CLAUDE_MEM_BASE_URL": "localhost:1"}', "{"):
        file.write_text(content)
        assert load(environment(tmp_path)).provider == "offline", content
    asked = {"CLAUDE_MEM_PROVIDER": "openai", "CLAUDE_MEM_BASE_URL": "http://127.0.0.1:1/v1"}
    assert load(environment(tmp_path, CLAUDE_MEM_PROVIDER="openai")).provider == "offline", "where to?"
    assert load(environment(tmp_path, **asked)).provider == "openai"
    assert load(environment(tmp_path, CLAUDE_MEM_PROVIDER="claude")).provider == "claude"
    file.write_text('{"CLAUDE_MEM_PROVIDER": "claude"}')
    assert load(environment(tmp_path, CLAUDE_MEM_PROVIDER="ofline")).provider == "offline"
    file.write_text('{"CLAUDE_MEM_PROVIDER": null}')
    assert load(environment(tmp_path)).provider == "auto"


def test_while_it_cannot_be_read_how_long_evidence_is_kept_none_is_deleted(tmp_path: Path) -> None:
    for content in ('{"CLAUDE_MEM_EVIDENCE_DAYS": "forever", "CLAUDE_MEM_EVIDENCE_MB": "all"}', "{"):
        (tmp_path / "settings.json").write_text(content)
        settings = load(environment(tmp_path))
        assert (settings.evidence_days, settings.evidence_mb) == (0, 0)


@pytest.mark.parametrize(
    ("content", "excluded"),
    [
        ('["payroll", 7, null, ["x"]]', ("payroll",)),
        ('"payroll, other"', ("payroll", "other")),
        ('"[\\"payroll\\"]"', ("payroll",)),
        ('["payroll"], "CLAUDE_MEM_LOG_LEVEL": }', ("payroll",)),
        ('["payroll", "other', ("payroll",)),
        ('["payroll" "other"', ("payroll", "other")),
        ("7", ()),
        ("null", ()),
        ('{"payroll": true}', ()),
        ("['payroll']", ()),
        ("[" * 100_000, ()),
    ],
)
def test_what_can_be_read_of_an_exclusion_list_holds_and_the_rest_is_told(
    tmp_path: Path, content: str, excluded: tuple[str, ...]
) -> None:
    (tmp_path / "settings.json").write_text(f'{{"CLAUDE_MEM_EXCLUDED_PROJECTS": {content}}}')
    settings = load(environment(tmp_path))
    assert settings.excluded_projects == excluded
    is_whole = content.startswith('"')
    assert bool(settings.warnings) is not is_whole
    assert all(each.kind == "bad" for each in settings.warnings)


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ('{"a": "E[0-9]+", "b": "(", "c": 7, "d": "x{99999999999999}", "e": null}', {"a"}),
        ('"{\\"a\\": \\"x\\"}"', {"a"}),
        ('{"a": "x", "b": "y', {"a"}),
        ('["x"]', set()),
        ('"x"', set()),
        ("null", set()),
    ],
)
def test_what_can_be_read_of_the_secret_patterns_holds(tmp_path: Path, content: str, kept: set[str]) -> None:
    (tmp_path / "settings.json").write_text(f'{{"CLAUDE_MEM_SECRET_PATTERNS": {content}}}')
    settings = load(environment(tmp_path))
    assert {name for name, _ in settings.secret_patterns} == kept


def test_what_only_the_file_can_set_is_told_where_the_environment_tries(tmp_path: Path) -> None:
    settings = load(environment(tmp_path, CLAUDE_MEM_EXCLUDED_PROJECTS="payroll"))
    assert settings.excluded_projects == ()
    assert [each.kind for each in settings.warnings] == ["bad"]


def test_the_switch_in_the_file_is_told_for_it_switches_nothing_off(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"CLAUDE_MEM_OFF": "1"}')
    assert [each.kind for each in load(environment(tmp_path)).warnings] == ["bad"]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"7",
        b"null",
        b"",
        b" \n",
        b"\xff",
        bytes(range(256)),
        b"[" * 200_000,
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"x": "' + b"x" * (2 << 20) + b'"}',
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_file_that_cannot_be_used_is_told_and_defaults_hold(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)
    settings = load(environment(tmp_path, CLAUDE_MEM_PROVIDER="claude"))
    (warned,) = settings.warnings
    assert (warned.kind, "settings.json" in warned.message) == ("bad", True)
    safe = Settings(data_dir=tmp_path, provider="claude", evidence_days=0, evidence_mb=0)
    assert replace(settings, warnings=()) == safe
    with pytest.raises(SettingsError, match=r"settings\.json"):
        read_file(tmp_path / "settings.json")


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"CLAUDE_MEM_LOG_LEVEL": "DEBUG"}', encoding="utf-8-sig")
    assert load(environment(tmp_path)).log_level == "DEBUG"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("CLAUDE_MEM_PORTT", "CLAUDE_MEM_WORKER_PORT"),
        ("CLAUDE_MEM_PORT", "CLAUDE_MEM_WORKER_PORT"),
        ("CLAUDE_MEM_LOGLEVEL", "CLAUDE_MEM_LOG_LEVEL"),
        ("claude_mem_log_level", "CLAUDE_MEM_LOG_LEVEL"),
        ("CLAUDE_MEM_EXCLUDE_PROJECTS", "CLAUDE_MEM_EXCLUDED_PROJECTS"),
        ("CLAUDE_MEM_MODLE", "CLAUDE_MEM_MODEL"),
        ("LOG_LEVEL", "CLAUDE_MEM_LOG_LEVEL"),
        ("CLAUDE_MEM_TELEPORT", None),
        ("CLAUDE_MEM_", None),
        ("", None),
        ("env", None),
        ("\ud800\n", None),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    tmp_path: Path, key: str, meant: str | None
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({key: "sk-canary", "CLAUDE_MEM_LOG_LEVEL": "DEBUG"}))
    settings = load(environment(tmp_path))
    assert settings.log_level == "DEBUG"
    (warned,) = settings.warnings
    assert warned.kind == "unknown"
    assert ("Did you mean" in warned.message) is (meant is not None)
    assert (meant or "") in warned.message
    assert "canary" not in warned.message
    warned.message.encode()
    "".join(settings.passed_over).encode()


def test_every_setting_of_the_typescript_claude_mem_is_ours_or_known_to_be_its(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(claude_mem_ts_data.SETTINGS))
    settings = load(environment(tmp_path))
    shared = set(claude_mem_ts_data.SETTINGS) & {setting.key for setting in SETTINGS}
    assert {each.kind for each in settings.warnings} == {"theirs"}
    assert set(settings.passed_over) == set(claude_mem_ts_data.SETTINGS) - shared
    (line,) = resolution.summarized(settings.warnings)
    assert f"{len(claude_mem_ts_data.SETTINGS) - len(shared)} settings" in line.message
    assert resolution.session_notice(settings.warnings) == ""
    assert settings.skip_tools == {"ListMcpResourcesTool", "TodoWrite"}


def test_many_unknown_keys_are_one_line_and_a_misspelled_one_keeps_its_own(tmp_path: Path) -> None:
    strange = {f"CLAUDE_MEM_STRANGE{number}": 1 for number in range(9)}
    (tmp_path / "settings.json").write_text(json.dumps(strange | {"CLAUDE_MEM_MODLE": "haiku"}))
    first, rest = resolution.summarized(load(environment(tmp_path)).warnings)
    assert "CLAUDE_MEM_MODEL" in first.message
    assert "9 keys" in rest.message


def test_of_endless_unknown_keys_only_the_first_are_compared_with_what_is_known(tmp_path: Path) -> None:
    wrong = {f"CLAUDE_MEM_MODLE{number}": 1 for number in range(500)}
    (tmp_path / "settings.json").write_text(json.dumps(wrong | {"CLAUDE_MEM_" + "PORT_" * 50_000: 1}))
    warnings = load(environment(tmp_path)).warnings
    assert len(warnings) == 501
    assert sum(each.suggestion is not None for each in warnings) <= resolution.MOST_HINTS
    assert all(len(each.message) < 300 for each in warnings)


def test_a_foreign_variable_is_told_as_one(tmp_path: Path) -> None:
    (warned,) = load(environment(tmp_path, CLAUDE_MEM_STRANGE="sk-canary")).warnings
    assert (warned.kind, "environment" in warned.message, "canary" in warned.message) == (
        "unknown",
        True,
        False,
    )


def test_neither_a_key_nor_a_password_is_shown(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(
        json.dumps({"CLAUDE_MEM_API_KEY": ["sk-canary"], "CLAUDE_MEM_BASE_URL": "ftp://ada:canary@host/x"})
    )
    settings = load(environment(tmp_path))
    assert len(settings.warnings) == 2
    assert "canary" not in str(settings.warnings)


def test_every_field_that_can_be_chosen_has_a_setting_or_is_borrowed() -> None:
    named = {setting.field for setting in SETTINGS} | {"provider_variables"}
    assert named == set(Settings.__struct_fields__) - {"data_dir", "warnings"}


def test_a_key_is_never_printed(tmp_path: Path) -> None:
    settings = load(environment(tmp_path, CLAUDE_MEM_API_KEY="canary-1", ANTHROPIC_API_KEY="canary-2"))
    assert (settings.api_key, settings.provider_variables) == ("canary-1", {"ANTHROPIC_API_KEY": "canary-2"})
    assert "canary" not in repr(settings)
