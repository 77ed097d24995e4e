"""Declares Claude Code as an agent (`agents.catalog`). Hooks use its event format, so it needs no dialect."""

from __future__ import annotations

from pathlib import Path

from claude_mem.agents import CLAUDE_CODE
from claude_mem.agents.catalog import Agent
from claude_mem.agents.claude_code import install_paths, transcripts
from claude_mem.agents.claude_code.registration import hooks
from claude_mem.agents.claude_code.transcript_tail import words_of

AGENT = Agent(
    CLAUDE_CODE,
    "claude",
    lambda: install_paths.locate(Path(), None, "user").folder,
    lambda machine: {"hooks": hooks(machine)},
    transcripts=transcripts,
    scopes=install_paths.SCOPES,
    program_setting="claude_path",
    words_of=words_of,
)
