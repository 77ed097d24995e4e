"""Memory in the real OpenCode."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.agents.agent_suite import AgentSuite
from tests.harness import workers
from tests.harness.agent_clients.agent_home import AgentHome, internal
from tests.harness.agent_clients.clients import Client
from tests.harness.model_script import Request, Say
from tests.harness.model_server import ModelServer

AGENT = "opencode"


class TestOpenCode(AgentSuite):
    def test_what_was_said_before_a_tool_is_recorded_when_the_turn_ends(
        self, client: Client, tmp_path: Path
    ) -> None:
        said: list[str] = []

        def model(request: Request) -> Say:
            if internal(request):
                return Say("Crates")
            said.append("The scale comes first." if not said else "It is by freight.")
            return Say(said[-1], uses=(client.shell("true"),) if len(said) == 1 else ())

        home = AgentHome(tmp_path, client)
        try:
            home.connect("--agent", client.name)
            with ModelServer(model, port=home.model_port):
                ran = home.run("How do heavy crates travel?")
            assert ran.code == 0, ran.out + ran.err
            query = "SELECT kind, text FROM pending_messages WHERE kind IN ('said', 'stop') ORDER BY id"
            workers.until(lambda: len(home.rows(query)) > 1, "the turn has ended")
            assert home.rows(query) == [("said", said[0]), ("stop", said[1])]
        finally:
            home.end()
