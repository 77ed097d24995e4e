"""Settings that nobody expects are connected and restored to the byte, or refused and left alone."""

from __future__ import annotations

import json

import pytest
from tests.e2e.install.install_home import ONE_EACH, our_hooks, parsed, settings
from tests.harness.claude import Claude
from tests.harness.home_snapshot import picture

from claude_mem.agents.claude_code import registration

pytestmark = pytest.mark.prove


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{\n  "a": 1,\n}', "line 3, column 1"),
        (b"[]", "must contain a JSON object, not list"),
        (b'{"hooks": {"Stop": "x"}}', "hooks.Stop must be a list"),
        (b'{"hooks": {"Stop": [{"hooks": null}]}}', "hooks.Stop must be a list"),
        (b'{"enabledPlugins": 5}', "enabledPlugins must be an object"),
        (b'{"a": "\xff"}', "is not UTF-8"),
        (b"null", "must contain a JSON object"),
    ],
)
def test_settings_that_cannot_be_read_are_refused_and_left_alone(
    home: Claude, text: bytes, said: str
) -> None:
    settings(home).write_bytes(text)
    before = picture(home.home)
    refused = home.mem("install", "--yes", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr
    home.mem("uninstall", "--yes")  # it does not name us, so there is nothing to remove
    assert picture(home.home) == before


def test_what_is_too_large_or_no_file_at_all_is_refused(home: Claude) -> None:
    with settings(home).open("wb") as file:
        file.truncate(65 << 20)
    assert "too large for a settings file" in home.mem("install", "--yes", check=False).stderr
    settings(home).unlink()
    settings(home).mkdir()
    refused = home.mem("install", "--yes", check=False)
    assert (refused.returncode, refused.stderr) == (1, f"claude-mem: Is a directory: {settings(home)}\n")
    assert not home.data.exists()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" \n",
        b'\xef\xbb\xbf{"model": "sonnet"}',
        b'{"half": "\\ud83d"}',
        b'{\r\n    "model": "sonnet"\r\n}\r\n',
        b'{"hooks": {}, "enabledPlugins": {}}',
        b'{"hooks":{"Stop":[],"SessionStart":[{"hooks":[]}]}}',
        b'{"big": "' + b"x" * 5_000_000 + b'"}',
    ],
    ids=["empty", "blank", "bom", "surrogate", "crlf", "empty sections", "empty events", "big"],
)
def test_unusual_settings_are_connected_and_restored_to_the_byte(home: Claude, text: bytes) -> None:
    settings(home).write_bytes(text)
    home.connect("--settings")
    assert our_hooks(parsed(home)) == ONE_EACH
    home.connect()
    assert parsed(home)["enabledPlugins"] == {registration.PLUGIN_ID: True}
    home.mem("uninstall", "--yes")
    assert settings(home).read_bytes() == text


def test_a_link_that_leads_nowhere_is_followed_and_left(home: Claude) -> None:
    settings(home).symlink_to(home.home / "dotfiles/claude.json")
    before = picture(home.home)
    home.connect("--settings")
    assert our_hooks(json.loads((home.home / "dotfiles/claude.json").read_text())) == ONE_EACH
    home.mem("uninstall", "--yes")
    assert picture(home.home, "dotfiles") == before
    assert not (home.home / "dotfiles/claude.json").exists()
