"""Settings without us again, when nobody kept them as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.agents import settings_file
from claude_mem.agents.claude_code import install_plan, registration
from claude_mem.agents.launcher import Machine

OURS = registration.hooks(Machine("/py", "/package", None))
THEIRS = {"type": "command", "command": "bun worker-service.cjs hook"}
OWN = {"type": "command", "command": "mine"}

groups = st.lists(st.fixed_dictionaries({"hooks": st.lists(st.sampled_from([OWN]), max_size=2)}), max_size=2)
settings = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(),
        "hooks": st.dictionaries(st.sampled_from(["Stop", "SessionStart", "Notification"]), groups),
        "enabledPlugins": st.dictionaries(st.text(), st.booleans()),
        "extraKnownMarketplaces": st.dictionaries(st.text(), st.just({})),
        "statusLine": st.just({"type": "command", "command": "mine"}),
    },
)


@given(settings)
def test_a_user_gets_back_what_was_there_also_what_was_empty(user: dict[str, Any]) -> None:
    by_settings = settings_file.with_hooks(user, OURS)
    as_plugin = install_plan.declared(user, Path("/data/plugin"))
    switched_off = settings_file.with_entry(as_plugin, "enabledPlugins", registration.PLUGIN_ID, False)
    removed_by_the_client = {"enabledPlugins": {}, "extraKnownMarketplaces": {}} | user
    for now in (by_settings, as_plugin, switched_off, removed_by_the_client):
        assert install_plan.restored(now, user) == user


def test_what_the_user_added_since_stays() -> None:
    before = {"hooks": {"Stop": [{"hooks": [OWN]}]}}
    now = settings_file.with_hooks(before, OURS) | {"model": "opus"}
    now["hooks"]["Stop"].append({"matcher": "new", "hooks": [OWN]})
    assert install_plan.restored(now, before) == {
        "hooks": {"Stop": [{"hooks": [OWN]}, {"matcher": "new", "hooks": [OWN]}]},
        "model": "opus",
    }


def test_without_a_record_what_is_ours_goes_and_all_else_stays() -> None:
    user = {"enabledPlugins": {}, "hooks": {"Notification": []}, "model": "m"}
    now = install_plan.declared(settings_file.with_hooks(user, OURS), Path("/data/plugin"))
    assert install_plan.restored(now, None) == {"hooks": {"Notification": []}, "model": "m"}


def test_another_claude_mem_is_given_back() -> None:
    before = {
        "enabledPlugins": {"claude-mem@thedotmack": True},
        "hooks": {"Stop": [{"matcher": "x", "hooks": [THEIRS, OWN]}]},
    }
    now = {"enabledPlugins": {"claude-mem@thedotmack": False}, "hooks": {"Stop": [{"hooks": [OWN]}]}, "a": 1}
    assert install_plan.restored(settings_file.with_hooks(now, OURS), before) == {
        "enabledPlugins": {"claude-mem@thedotmack": True},
        "hooks": {"Stop": [{"hooks": [OWN]}, {"matcher": "x", "hooks": [THEIRS]}]},
        "a": 1,
    }
    assert install_plan.restored({"a": 1}, before | {"hooks": {}})["a"] == 1


def test_another_claude_mem_that_was_removed_since_is_not_given_back() -> None:
    before = {"enabledPlugins": {"claude-mem@thedotmack": True}}
    assert install_plan.restored({"enabledPlugins": {registration.PLUGIN_ID: True}}, before) == {}


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        ("/home/u/bin/claude-mem statusline", True),
        ("'/home/a b/bin/claude-mem' statusline", True),
        ("env CLAUDE_MEM_DATA_DIR=/x /bin/claude-mem statusline", True),
        ("/usr/bin/python3 -m claude_mem statusline", True),
        ("my-line; claude-mem statusline", False),
        ("printf '%s' \"$(claude-mem statusline)\"", False),
        ("not-claude-mem statusline", False),
        ("'unclosed claude-mem statusline", False),
    ],
)
def test_only_a_status_line_that_is_ours_alone_is_taken_for_ours(command: str, is_ours: bool) -> None:
    assert install_plan.is_status_line({"statusLine": {"type": "command", "command": command}}) is is_ours


@pytest.mark.parametrize("line", [None, 5, "claude-mem statusline", {"command": 5}, {}])
def test_a_status_line_of_another_shape_is_not_ours(line: object) -> None:
    assert not install_plan.is_status_line({"statusLine": line})


def test_settings_tell_where_what_they_connect_records() -> None:
    machine = Machine("/py", "/package", "/srv/memory")
    assert install_plan.data_dir_of(settings_file.with_hooks({}, registration.hooks(machine))) == Path(
        "/srv/memory"
    )
    assert install_plan.data_dir_of(settings_file.with_hooks({}, OURS)) is None


def test_settings_tell_where_the_plugin_lies() -> None:
    assert install_plan.marketplace_of(install_plan.declared({}, Path("/home/u/.claude/claude-mem"))) == Path(
        "/home/u/.claude/claude-mem"
    )
    assert (
        install_plan.marketplace_of({"extraKnownMarketplaces": {registration.MARKETPLACE: {"source": "odd"}}})
        is None
    )
