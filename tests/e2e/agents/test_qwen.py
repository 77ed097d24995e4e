"""Memory in the real Qwen Code."""

from __future__ import annotations

from tests.e2e.agents.agent_suite import AgentSuite

AGENT = "qwen"


class TestQwen(AgentSuite):
    pass
