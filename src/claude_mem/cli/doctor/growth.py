"""Judges whether the database grows within bounds: what it takes, how fast, what lies unused in it."""

from __future__ import annotations

from claude_mem.cli import say
from claude_mem.cli.doctor.facts import Database, Disk, Facts
from claude_mem.cli.doctor.finding import Finding

WEEK = 7
UNUSED, UNUSED_BYTES = 0.4, 64 << 20
"""More than the worker lets lie, and enough to matter."""
LONG_LOG = 256 << 20
"""Several times what it is cut back to: somebody has been reading for long."""
WEEKS_LEFT = 4.0
GC = "claude-mem gc"


def judge(facts: Facts) -> list[Finding]:
    fact = facts.database
    if not isinstance(fact, Database) or fact.free is None or not fact.bytes:
        return []
    share = fact.free / fact.bytes
    weekly = None if fact.grows is None else fact.grows * WEEK
    rate = "" if weekly is None else f", {_signed(weekly)} a week"
    says = f"{say.size(fact.bytes)}{rate}, {share:.0%} free".replace("%", " %")
    if share > UNUSED and fact.free > UNUSED_BYTES:
        return [Finding("growth", "warn", f"{says}: more than is given back by itself", next=GC)]
    if fact.log > LONG_LOG:
        says = f"{says}; its log has grown to {say.size(fact.log)}, for somebody is reading it"
        return [Finding("growth", "warn", says, next="claude-mem worker restart")]
    if weekly and weekly > 0 and isinstance(facts.disk, Disk) and facts.disk.total:
        left = facts.disk.free / weekly
        if left < WEEKS_LEFT:
            step = f"make room, or keep less (CLAUDE_MEM_EVIDENCE_MB), then: {GC}"
            return [Finding("growth", "warn", f"{says}: the disk is full in {left:.1f} weeks", next=step)]
    return [Finding("growth", "ok", says)]


def _signed(bytes_: float) -> str:
    return say.size(bytes_) if bytes_ >= 0 else f"-{say.size(-bytes_)}"
