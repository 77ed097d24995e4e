"""Memory in the real Codex CLI, also of what another agent did. Of this folder `make test` runs only this."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.agents.agent_suite import AgentSuite
from tests.e2e.client import first_session
from tests.harness.agent_clients.agent_home import AgentHome, sent
from tests.harness.agent_clients.clients import Client
from tests.harness.claude import Claude
from tests.harness.model_script import Say

AGENT = "codex"


class TestCodex(AgentSuite):
    found_by_search = (
        "Saves a text for later sessions"  # our tools themselves: its model looks for them first
    )


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Claude]:
    made = Claude(tmp_path)
    yield made
    made.end()


@pytest.mark.prove
def test_a_session_is_told_what_claude_code_did_and_that_it_was_claude_code(
    claude: Claude, client: Client, tmp_path: Path
) -> None:
    codex = AgentHome(tmp_path, client, beside=claude)
    codex.connect("--agent", "claude-code", "--agent", "codex")
    first_session.mended(claude)
    with codex.model([Say("Hello.")]) as server:
        codex.run("Greet.")
    told = sent(server.requests[0]).partition(first_session.FENCE)[2]
    assert first_session.ASKED in told
    assert "Claude Code" in told
