"""Memory in the real Factory droid."""

from __future__ import annotations

from tests.e2e.agents.agent_suite import AgentSuite

AGENT = "droid"


class TestDroid(AgentSuite):
    """As every agent."""
