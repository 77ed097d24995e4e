"""What a person is told at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_mem.cli import install
from claude_mem.settings import Settings

HERE = Settings(data_dir=Path.home() / ".claude-mem")


@pytest.mark.parametrize("provider", ["claude", "anthropic", "openai", "offline"])
@pytest.mark.parametrize("client", [True, False])
def test_five_lines_name_the_provider_and_what_it_may_cost(provider: str, client: bool) -> None:
    told = install.next_steps(HERE, provider, missing="" if client else "Claude Code")
    assert [line.split()[0] for line in told] == ["Next", "Data", "Pause", "Model", "Undo"]
    assert max(len(line) for line in told) <= 120
    assert provider in told[3]
    assert "free" in told[3]
    assert ("$2.00 a day" in told[3]) is (provider != "offline")
    assert ("install Claude Code" in told[0]) is not client


def test_a_limit_that_is_not_there_is_not_promised() -> None:
    no_dollars = Settings(data_dir=HERE.data_dir, daily_usd=0)
    assert "at most 2,000,000 tokens a day" in install.next_steps(no_dollars, "claude")[3]
    none = Settings(data_dir=HERE.data_dir, daily_usd=0, daily_tokens=0)
    assert "no daily limit" in install.next_steps(none, "claude")[3]


def test_another_data_directory_is_named_and_that_its_variable_is_needed() -> None:
    told = install.next_steps(Settings(data_dir=Path("/srv/memory")), "offline")[1]
    assert "/srv/memory" in told
    assert "CLAUDE_MEM_DATA_DIR" in told
    assert "CLAUDE_MEM_DATA_DIR" not in install.next_steps(HERE, "offline")[1]
