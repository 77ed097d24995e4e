"""Installed and uninstalled again: the user's settings are merged, and everything is as it was before."""

from __future__ import annotations

import json

import pytest
from tests.e2e.install.install_home import ONE_EACH, USERS, our_hooks, parsed, settings
from tests.harness.claude import Claude
from tests.harness.home_snapshot import picture


def test_the_users_settings_are_merged_and_restored_to_the_byte(home: Claude) -> None:
    kept = home.home / "dotfiles/claude.json"
    kept.parent.mkdir()
    kept.write_text(USERS, encoding="utf-8")
    kept.chmod(0o640)
    settings(home).symlink_to(kept)
    before = picture(home.home)
    home.connect("--settings")
    found, own = parsed(home), json.loads(USERS)
    assert our_hooks(found) == ONE_EACH
    assert list(found) == list(own)
    assert found["hooks"]["Stop"][0] == own["hooks"]["Stop"][0]
    assert found["hooks"]["PostToolUse"][:2] == own["hooks"]["PostToolUse"]
    assert {key: found[key] for key in own if key != "hooks"} == {k: own[k] for k in own if k != "hooks"}
    assert kept.read_text("utf-8").startswith('{\n\t"model": "sonnet",\n\t"ünïcode": "日本 \U0001f600",')
    assert (settings(home).is_symlink(), kept.stat().st_mode & 0o777) == (True, 0o640)
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


@pytest.mark.parametrize(
    "how",
    [
        (),
        pytest.param(("--settings",), marks=pytest.mark.prove),
        pytest.param(("--settings", "--scope", "project"), marks=pytest.mark.prove),
    ],
)
def test_a_second_install_changes_no_byte_and_an_uninstall_leaves_none(
    home: Claude, how: tuple[str, ...]
) -> None:
    before = picture(home.home)
    home.connect(*how)
    once = picture(home.home)
    assert once != before
    again = home.mem("install", "--yes", *how)
    assert "nothing would change" in home.mem("install", "--dry-run", *how).stdout
    assert picture(home.home) == once
    assert again.stderr == ""
    assert again.stdout.startswith("Ready already.")
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before
    assert home.mem("uninstall", "--yes").stdout == "Not connected to any agent.\n"
    assert picture(home.home) == before
