"""Judges whether memory is paused, which is no fault and yet why nothing is recorded."""

from __future__ import annotations

from claude_mem.cli import pause, say
from claude_mem.cli.doctor.finding import Finding
from claude_mem.cli.pause import Paused


def judge(fact: Paused) -> list[Finding]:
    if fact.everything is not None:
        says = f"paused since {pause.when(fact.everything)}"
        return [Finding("pause", "bad", says, next="claude-mem on", stops=f"it is {says}")]
    if not fact.sessions:
        return []
    (newest, since), *_ = fact.sessions
    many = say.many(len(fact.sessions), "session")
    says = f"{many} paused; the last one, {newest}, since {pause.when(since)}"
    return [Finding("pause", "ok", says, next=f"to end that: claude-mem on --session {newest}")]
