"""Who is asked: the user's choice, or the best that is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from claude_mem.model.structs import replace
from claude_mem.providers import claude_process, registry
from claude_mem.providers.registry import CHOSEN, PROVIDERS, Access, Choice, Prompt, choose
from claude_mem.settings import SETTINGS, Settings
from claude_mem.wiring import observer_setup

ANTHROPIC, OPENAI = {"ANTHROPIC_API_KEY": "k"}, {"OPENAI_API_KEY": "k"}
NOWHERE = "/nowhere/claude"


@pytest.mark.parametrize(
    "access",
    [
        Access(),
        Access(variables=ANTHROPIC),
        Access(api_key="k"),
        Access(variables=OPENAI, model="m"),
        Access(base_url="http://127.0.0.1:1/v1", model="m"),
        Access(variables=ANTHROPIC | OPENAI, model="m"),
    ],
)
def test_a_key_that_nobody_chose_is_not_used(access: Access) -> None:
    chosen = choose("auto", replace(access, claude_path=NOWHERE))
    assert (chosen.provider, chosen.problem) == ("offline", None)
    assert ("CLAUDE_MEM_PROVIDER" in chosen.why) is (access != Access())


def test_auto_is_ones_own_claude_code_if_it_is_logged_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = tmp_path / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    claude.chmod(0o755)
    for name in (*claude_process.LOGINS, "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    access = Access(claude_path=str(claude))
    assert choose("auto", access).provider == "offline"
    assert choose("claude", access).problem is None, "chosen, it is used as it is"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/.credentials.json").touch()
    assert choose("auto", access).provider == "claude"
    claude.write_text("#!/bin/sh\necho '2.0.1 (Claude Code)'\n")
    assert choose("auto", access).provider == "offline"
    assert choose("claude", access).problem is not None


@pytest.mark.parametrize(("provider", "seen"), [("auto", "none"), ("claude", "k")])
def test_a_key_takes_the_place_of_a_login_that_is_gone_only_if_the_user_chose_claude(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, seen: str
) -> None:
    claude = tmp_path / "claude"
    claude.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] || echo "${{ANTHROPIC_API_KEY-none}}" > {tmp_path}/seen\n'
        "echo '2.1.325 (Claude Code)'\n"
    )
    claude.chmod(0o755)
    for name in (*claude_process.LOGINS, "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    login = tmp_path / ".claude/.credentials.json"
    login.parent.mkdir()
    login.touch()
    chosen = Settings(data_dir=tmp_path, provider=provider, claude_path=str(claude))
    assert observer_setup.choice(chosen).provider == "claude"
    model = observer_setup.model(chosen, "claude")
    assert model
    login.unlink()  # the worker goes on; somebody logs out
    model.ask(Prompt("s", "u"), deadline_s=60)
    model.close()
    assert (tmp_path / "seen").read_text().strip() == seen


def test_the_users_choice_is_not_questioned_but_what_it_lacks_is_said() -> None:
    assert choose("offline", Access(variables=ANTHROPIC)) == Choice("offline", CHOSEN)
    assert choose("anthropic", Access(variables=ANTHROPIC)) == Choice("anthropic", CHOSEN)
    for provider in PROVIDERS:
        lacking = choose(provider.name, Access(claude_path=NOWHERE))
        assert lacking.provider == provider.name
        assert lacking.problem is not None
    assert "CLAUDE_MEM_MODEL" in (choose("openai", Access(variables=OPENAI)).problem or "")
    assert choose("openai", Access(api_key="k", model="m")) == Choice("openai", CHOSEN)


def test_every_provider_can_be_chosen_and_built() -> None:
    (setting,) = (each for each in SETTINGS if each.field == "provider")
    assert setting.takes.choices == ("auto", *(each.name for each in PROVIDERS), "offline")
    for provider in PROVIDERS:
        model = provider.build(Access(model="m", base_url="http://127.0.0.1:1", api_key="sk-canary"))
        model.close()
        assert "canary" not in repr(model)


def test_no_two_providers_share_a_name() -> None:
    assert len({each.name for each in PROVIDERS}) == len(PROVIDERS) == len(registry.BY_NAME)


def test_reading_settings_imports_no_provider() -> None:
    program = "import sys, claude_mem.settings; print([m for m in sys.modules if 'mem.providers' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['claude_mem.providers', 'claude_mem.providers.registry']"
