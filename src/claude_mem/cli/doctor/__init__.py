"""`claude-mem doctor`: shows on one screen whether events are recorded and whether they become memory."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import to_builtins

from claude_mem.cli import output
from claude_mem.cli.commands import OK, WRONG, Commands, terminal_width
from claude_mem.cli.doctor import checks, memory_checks
from claude_mem.cli.doctor.checks import Finding
from claude_mem.cli.doctor.facts import Facts, Unknown, gather

T = TypeVar("T")

COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}
MARGIN = 21


def add(commands: Commands) -> None:
    commands.add("doctor", run=_run)


def _run(args: argparse.Namespace) -> int:
    """Changes nothing. Exits 1 if something is wrong."""
    with output.waiting("Checking ..."):
        facts = gather()
    findings = judge(facts)
    reason, unobserved = why_not(findings), why_unobserved(findings)
    data = {
        "recording": reason is None,
        "because": reason,
        "observing": unobserved is None,
        "observing_because": unobserved,
        "findings": to_builtins(findings),
        "facts": to_builtins(facts, enc_hook=str),
        "team": to_builtins(facts.team),
    }
    text = render(findings, output.Paint(sys.stdout), min(terminal_width(), 100))
    return output.result(args, data, text, code=WRONG if is_wrong(findings) else OK)


def judge(facts: Facts) -> list[Finding]:
    def judged(check: str, fact: T | Unknown, judge: Callable[[T], Iterator[Finding]]) -> list[Finding]:
        if isinstance(fact, Unknown):
            return [checks.warn(check, f"could not be checked: {fact.why}")]
        return list(judge(fact))

    return [
        checks.last_event(facts),
        *judged("client", facts.connected, checks.judge_connection),
        *judged("interpreter", facts.interpreter, checks.judge_interpreter),
        *judged("directory", facts.directory, checks.judge_directory),
        *judged("settings", facts.configuration, checks.judge_settings),
        *judged("pause", facts.paused, checks.judge_pause),
        *judged("worker", facts.worker, checks.judge_worker),
        *judged("spool", facts.spool, checks.judge_spool),
        *judged("database", facts.database, lambda survey: memory_checks.judge_database(survey, facts)),
        *memory_checks.judge_growth(facts),
        *judged("observer", facts.observing, lambda observer: memory_checks.judge_observer(observer, facts)),
        *judged("recall", facts.recall, memory_checks.judge_recall),
        *judged("drops", facts.drops, checks.judge_drops),
        *judged("disk", facts.disk, checks.judge_disk),
        *judged("team", facts.team, lambda found: memory_checks.judge_team(found, facts.now)),
    ]


def why_not(findings: list[Finding]) -> str | None:
    """Why nothing is recorded. The last finding is closest to the cause."""
    return next((finding.stops for finding in reversed(findings) if finding.stops), None)


def why_unobserved(findings: list[Finding]) -> str | None:
    """Why recorded events do not become memory."""
    return next((finding.hinders for finding in reversed(findings) if finding.hinders), None)


def is_wrong(findings: list[Finding]) -> bool:
    return any(finding.level == "bad" for finding in findings)


def render(findings: list[Finding], paint: output.Paint, width: int) -> str:
    def verdict(what: str, reason: str | None) -> str:
        text = f"{what}: no, because {reason}" if reason else f"{what}: yes"
        return paint("bold", paint("red" if reason else "green", text))

    def wrapped(text: str) -> list[str]:
        # Paths and commands are not wrapped, so that they can be copied.
        return textwrap.wrap(text, width - MARGIN, break_long_words=False, break_on_hyphens=False) or [""]

    lines = [verdict("recording", why_not(findings)), verdict("observing", why_unobserved(findings)), ""]
    for finding in findings:
        first, *more = wrapped(finding.says)
        level = paint(COLOURS[finding.level], f"{finding.level:<4}")
        lines.append(f"  {level}  {finding.check:<11}  {first}")
        lines += [" " * MARGIN + line for line in more]
        if finding.next:
            first, *more = wrapped(finding.next)
            lines.append(" " * (MARGIN - 2) + paint("bold", f"→ {first}"))
            lines += [" " * MARGIN + paint("bold", line) for line in more]
    return "\n".join(lines)
