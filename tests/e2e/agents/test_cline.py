"""Memory in the real Cline CLI."""

from __future__ import annotations

from tests.e2e.agents.agent_suite import AgentSuite

AGENT = "cline"


class TestCline(AgentSuite):
    told_in = 1  # text reaches its model only beside a tool
