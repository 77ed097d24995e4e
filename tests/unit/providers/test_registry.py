"""Who is asked: the user's choice, or the best that is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from claude_mem.model.structs import replace
from claude_mem.providers import registry
from claude_mem.providers.registry import PROVIDERS, Access, Choice, choose
from claude_mem.settings import SETTINGS

ANTHROPIC, OPENAI = {"ANTHROPIC_API_KEY": "k"}, {"OPENAI_API_KEY": "k"}
NOWHERE = "/nowhere/claude"


@pytest.mark.parametrize(
    ("access", "provider"),
    [
        (Access(), "offline"),
        (Access(variables=ANTHROPIC), "anthropic"),
        (Access(api_key="k"), "anthropic"),
        (Access(variables=OPENAI), "offline"),
        (Access(variables=OPENAI, model="m"), "openai"),
        (Access(base_url="http://127.0.0.1:1/v1", model="m"), "openai"),
        (Access(variables={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, model="m"), "openai"),
        (Access(variables=ANTHROPIC | OPENAI, model="m"), "openai"),
        (Access(variables=ANTHROPIC | OPENAI), "anthropic"),
        (Access(variables={"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}), "offline"),
    ],
)
def test_without_claude_code_auto_takes_what_is_set_up(access: Access, provider: str) -> None:
    chosen = choose("auto", replace(access, claude_path=NOWHERE))
    assert chosen.provider == provider


def test_a_provider_that_was_begun_says_what_is_missing_and_one_that_is_absent_how_to_get_it() -> None:
    begun = choose("auto", Access(variables=OPENAI, claude_path=NOWHERE))
    assert "CLAUDE_MEM_MODEL" in begun.why
    nothing = choose("auto", Access(claude_path=NOWHERE))
    assert nothing.why.startswith("no model is set up. ")


def test_the_users_choice_is_not_questioned() -> None:
    assert choose("openai", Access()) == Choice("openai", "chosen by the setting CLAUDE_MEM_PROVIDER")
    assert choose("offline", Access(variables=ANTHROPIC)).provider == "offline"


def test_every_provider_can_be_chosen_and_built() -> None:
    (setting,) = (each for each in SETTINGS if each.field == "provider")
    assert setting.takes.choices == ("auto", *(each.name for each in PROVIDERS), "offline")
    for provider in PROVIDERS:
        model = provider.build(Access(model="m", base_url="http://127.0.0.1:1", api_key="sk-canary"))
        model.close()
        assert "canary" not in repr(model)


def test_no_two_providers_share_a_name_or_a_rank() -> None:
    assert len({each.name for each in PROVIDERS}) == len(PROVIDERS) == len(registry.BY_NAME)
    assert len({each.auto_rank for each in PROVIDERS}) == len(PROVIDERS)


def test_reading_settings_imports_no_provider() -> None:
    program = "import sys, claude_mem.settings; print([m for m in sys.modules if 'mem.providers' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['claude_mem.providers', 'claude_mem.providers.registry']"
