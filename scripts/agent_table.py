"""Generates the table in docs/agents.md, from the folders of `agents` and the tests of each agent."""

from __future__ import annotations

import json
import re
from pathlib import Path

from claude_mem import agents
from claude_mem.agents import CLAUDE_CODE, TITLES, catalog
from claude_mem.agents.catalog import Agent
from claude_mem.agents.claude_code import registration
from claude_mem.agents.launcher import Machine

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- Generated from src/claude_mem/agents by scripts/docs.py -->\n", "<!-- end -->\n"
HEAD = ("agent", "version run", "capture", "start", "prompt", "file", "MCP", "backfill", "tested")
CAPTURED = {
    "prompts": "UserPromptSubmit",
    "tools": "PostToolUse",
    "turns": "Stop",
    "subagents": "SubagentStop",
    "compaction": "PostCompact",
}
NOT_RUN = "from its documentation, not run here"


def page(there: str) -> str:
    """The page with its table made anew; the rest is written by hand."""
    before, _, rest = there.partition(BEGIN)
    after = rest.partition(END)[2]
    rows = [HEAD, tuple("---" for _ in HEAD), *(_row(catalog.load(name)) for name in TITLES)]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def _row(agent: Agent) -> tuple[str, ...]:
    dialect = catalog.dialect(agent.name)
    events = set(dialect.EVENTS.values()) if dialect else {*registration.RECORDED}
    shown_at = dialect.INJECTION_EVENTS if dialect else {"SessionStart", "UserPromptSubmit", "PreToolUse"}
    captured = [word for word, event in CAPTURED.items() if event in events]
    if "prompts" not in captured and dialect and hasattr(dialect, "prompt"):
        captured.insert(0, "prompts")
    at_a_tool = "before a tool" if "PreToolUse" in shown_at else "after a tool"
    return (
        f"{agent.title} (`{agent.name}`)",
        _version(agent.name) or "-",
        ", ".join(captured) or "-",
        "yes" if "SessionStart" in shown_at else "at the first tool" if "PreToolUse" in shown_at else "-",
        "yes" if "UserPromptSubmit" in shown_at else "-",
        at_a_tool if shown_at & {"PreToolUse", "PostToolUse"} else "-",
        "yes" if agent.name == CLAUDE_CODE or _has_server(agent) else "-",
        "yes" if agent.name in catalog.with_transcripts() else "-",
        _tested(agent.name),
    )


def _has_server(agent: Agent) -> bool:
    assert agent.parts is not None
    machine = Machine("/usr/bin/python3", "/usr/lib/claude-mem", None)
    return any("stdio.py" in part.with_us("") for part in agent.parts(machine))


def _version(name: str) -> str | None:
    if name == CLAUDE_CODE:  # the tests run the client that is in this package
        locked = (ROOT / "requirements/prove.txt").read_text("utf-8")
        found = re.search(r"^claude-agent-sdk==(\S+)", locked, re.MULTILINE)
        return f"that of claude-agent-sdk {found[1]}" if found else None
    recorded = ROOT / "tests/fixtures/agents" / name / "sessions.json"
    return json.loads(recorded.read_text("utf-8"))["version"] if recorded.exists() else None


def _tested(name: str) -> str:
    if name == CLAUDE_CODE or (ROOT / f"tests/e2e/agents/test_{name}.py").exists():
        return "the real program"
    return NOT_RUN if name in agents.NOT_RUN else "payloads recorded from the real program"
