"""Memory in the real OpenCode."""

from __future__ import annotations

from tests.e2e.agents.agent_suite import AgentSuite

AGENT = "opencode"


class TestOpenCode(AgentSuite):
    pass
