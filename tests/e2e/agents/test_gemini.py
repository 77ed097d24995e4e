"""Memory in the real Gemini CLI."""

from __future__ import annotations

from tests.e2e.agents.agent_suite import AgentSuite

AGENT = "gemini"


class TestGemini(AgentSuite):
    pass
