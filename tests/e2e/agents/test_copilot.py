"""Memory in the real Copilot CLI, which runs the hooks of a project's Claude Code as well as its own."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.agents.agent_suite import AgentSuite
from tests.harness.agent_clients.agent_home import AgentHome
from tests.harness.agent_clients.clients import Client
from tests.harness.model_script import Say

AGENT = "copilot"


class TestCopilot(AgentSuite):
    pass


def test_what_two_hooks_report_counts_once(client: Client, tmp_path: Path) -> None:
    home = AgentHome(tmp_path, client)
    try:
        home.connect("--agent", "claude-code", "--settings", "--scope", "project")
        home.connect("--agent", client.name)
        with home.model([Say("", uses=(client.shell("echo once"),)), Say("Done.")]):
            ran = home.run("Say it once.")
        assert ran.code == 0, ran.err
        home.settle()
        counted = home.rows(
            "SELECT s.client, p.kind FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
        )
        assert sorted(counted) == sorted(
            (client.name, kind) for kind in ("session_start", "prompt", "tool_use", "stop", "session_end")
        )
    finally:
        home.end()


def test_the_answer_of_a_session_so_short_that_it_has_no_transcript_yet_is_recorded(
    client: Client, tmp_path: Path
) -> None:
    home = AgentHome(tmp_path, client)
    try:
        home.connect("--agent", client.name)
        with home.model([Say("Hello.")]):
            home.run("Greet.")
        home.settle()
        assert home.rows("SELECT text FROM pending_messages WHERE kind = 'stop'") == [("Hello.",)]
    finally:
        home.end()
