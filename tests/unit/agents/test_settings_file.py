"""Settings of a user's, with our hooks and without them again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.agents import launcher, settings_file
from claude_mem.agents.claude_code import registration
from claude_mem.agents.settings_file import Malformed

OURS = registration.hooks(launcher.Machine("/usr/bin/python3", "/opt/claude-mem", None))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
hooks_of_a_group = st.lists(
    st.fixed_dictionaries({"type": st.just("command"), "command": st.text()}) | json_values, max_size=3
)
groups: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"hooks": hooks_of_a_group}, optional={"matcher": st.text()}
) | st.just({})
events = st.sampled_from([*registration.RECORDED, *registration.RECALLED, "Notification"]) | st.text()
users = st.builds(
    lambda rest, own: rest | own,
    st.dictionaries(st.text().filter(lambda key: key not in settings_file.SECTIONS), json_values, max_size=4),
    st.fixed_dictionaries(
        {}, optional={"hooks": st.dictionaries(events, st.lists(groups, min_size=1), min_size=1)}
    ),
)


@given(users)
def test_our_hooks_come_and_go_and_leave_everything_in_its_place(settings: dict[str, Any]) -> None:
    with_ours = settings_file.with_hooks(settings, OURS)
    assert all(with_ours["hooks"][event][-1:] == ours for event, ours in OURS.items())
    without = settings_file.without_hooks(with_ours, launcher.is_our_hook)
    assert json.dumps(without) == json.dumps(settings)  # the order of keys, too


@given(users)
def test_our_hooks_are_there_once_however_often_they_are_added(settings: dict[str, Any]) -> None:
    once = settings_file.with_hooks(settings, OURS)
    assert settings_file.with_hooks(once, OURS) == once


@given(users, st.sampled_from(["", "{}", '{\n\t"a": 1\n}', '{\r\n    "a": 1\r\n}\r\n', "\ufeff{}"]))
def test_what_is_written_reads_as_it_was(settings: dict[str, Any], like: str) -> None:
    text = settings_file.written(settings, like)
    assert settings_file.parsed(text.encode().decode(), "settings.json") == settings


@given(st.text())
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        said = str(settings_file.parsed(text, "settings.json"))
    except Malformed as error:
        said = str(error)
    assert said.startswith(("{", "settings.json"))


def test_the_files_own_indent_and_ends_of_lines_are_kept() -> None:
    assert settings_file.written({"a": {"b": 1}}, '{\n\t"x": 1\n}') == '{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n'
    assert settings_file.written({"a": 1}, '{\r\n    "x": 1\r\n}') == '{\r\n    "a": 1\r\n}\r\n'
    assert settings_file.written({"a": "ü\u2028"}, '{"x":1}') == '{\n  "a": "ü\u2028"\n}\n'


def test_half_a_character_is_written_as_json_says_it() -> None:
    assert settings_file.written({"a": "\ud800"}, "") == '{\n  "a": "\\ud800"\n}\n'


def test_an_empty_file_is_an_empty_object_also_behind_a_byte_order_mark() -> None:
    assert [settings_file.parsed(text, "s") for text in ("", " \n", "\ufeff", "\ufeff{}")] == [{}] * 4


def test_the_line_that_is_wrong_is_shown() -> None:
    with pytest.raises(Malformed, match=r"s\.json is not valid JSON \(line 3, column 3") as refused:
        settings_file.parsed('{\n  "a": 1,\n  // mine\n  "b": 2\n}', "s.json")
    assert "  3 | // mine" in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '"hooks"',
        '{"hooks": 5}',
        '{"hooks": null}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": ["echo"]}}',
        '{"hooks": {"Stop": [{"hooks": null}]}}',
        '{"enabledPlugins": []}',
        '{"extraKnownMarketplaces": "x"}',
        '{"mcpServers": [1]}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": ' + "[" * 100_000,
        "{'a': 1}",
        '{"a": 1}}',
    ],
)
def test_what_cannot_be_kept_as_it_is_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        settings_file.parsed(text, "settings.json")


def test_a_group_that_holds_a_hook_of_the_users_too_keeps_that() -> None:
    own = {"type": "command", "command": "mine"}
    shared = {"matcher": "Bash", "hooks": [own, *OURS["Stop"][0]["hooks"]]}
    left = settings_file.without_hooks({"hooks": {"Stop": [shared]}}, launcher.is_our_hook)
    assert left == {"hooks": {"Stop": [{"matcher": "Bash", "hooks": [own]}]}}


def test_a_section_goes_with_its_last_entry_and_stays_for_others() -> None:
    one = settings_file.with_entry({"model": "m"}, "mcpServers", "x", 1)
    assert settings_file.without_entry(one, "mcpServers", "x") == {"model": "m"}
    two = settings_file.with_entry(one, "mcpServers", "y", 2)
    assert settings_file.without_entry(two, "mcpServers", "x") == {"model": "m", "mcpServers": {"y": 2}}
