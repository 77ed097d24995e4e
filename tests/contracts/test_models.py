"""Each model keeps the contract on the wire: the two HTTP ones, and the real Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contracts.model_contract import KEY, Connect, ModelContract
from tests.harness.claude import real_client

from claude_mem.providers import anthropic, openai
from claude_mem.providers.claude import ClaudeModel
from claude_mem.providers.registry import Access, Model

TIMING = ("clock", "jitter")


def parted(**given: Any) -> tuple[Access, dict[str, Any]]:
    timing = {name: given.pop(name) for name in TIMING if name in given}
    return Access(api_key=KEY, **given), timing


class TestAnthropic(ModelContract):
    @pytest.fixture
    def connect(self) -> Connect:
        def connect(url: str, **more: Any) -> Model:
            access, timing = parted(base_url=url, **more)
            return anthropic.build(access, **timing)

        return connect


class TestOpenAiCompatible(ModelContract):
    @pytest.fixture
    def connect(self) -> Connect:
        def connect(url: str, **more: Any) -> Model:
            access, timing = parted(base_url=f"{url}/v1", **{"model": "claude-haiku-4-5"} | more)
            return openai.build(access, **timing)

        return connect


class ClaudeConnects:
    @pytest.fixture
    def connect(self, tmp_path: Path) -> Connect:
        def connect(url: str, **more: Any) -> Model:
            home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
            server = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, "IS_SANDBOX": "1"}
            return ClaudeModel(cli_path=str(real_client()), env=home | server, **more)

        return connect


@pytest.mark.prove
class TestClaude(ClaudeConnects, ModelContract):
    """A process for each test, and each of them takes a second to start."""

    short_s = 3.0


class TestClaudeInShort(ClaudeConnects):
    """Of the contract as much as `make test` has time for."""

    answering = ModelContract.answering
    test_a_reply_comes_back_whole = ModelContract.test_a_reply_comes_back_whole_with_what_it_cost
    test_a_429_waits_as_long_as_it_was_told = ModelContract.test_a_429_waits_as_long_as_it_was_told
    test_nobody_listening_is_broken = ModelContract.test_nobody_listening_is_broken
