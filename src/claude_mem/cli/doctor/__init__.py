"""`claude-mem doctor`: one screen that answers "is it recording?", and whether it becomes memory."""

from __future__ import annotations

import argparse
import sys
import textwrap

from msgspec import to_builtins

from claude_mem.cli import output
from claude_mem.cli.commands import OK, WRONG, Commands, json_flag, terminal_width
from claude_mem.cli.doctor.checks import is_wrong, judge, why_not, why_unobserved
from claude_mem.cli.doctor.facts import Finding

COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}
MARGIN = 21


def add(commands: Commands) -> None:
    json_flag(
        commands.add(
            "doctor",
            more="Changes nothing. Exits 1 if something is wrong.",
            example="claude-mem doctor",
            run=_run,
        )
    )


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.doctor.gather import gather

    with output.waiting("Checking ..."):
        facts = gather()
    findings = judge(facts)
    if args.json:
        reason, unobserved = why_not(findings), why_unobserved(findings)
        output.print_json(
            {
                "recording": reason is None,
                "because": reason,
                "observing": unobserved is None,
                "observing_because": unobserved,
                "findings": to_builtins(findings),
                "facts": to_builtins(facts),
            }
        )
    else:
        width = terminal_width()
        print(render(findings, output.Paint(sys.stdout), min(width, 100)))
    return WRONG if is_wrong(findings) else OK


def render(findings: list[Finding], paint: output.Paint, width: int) -> str:
    lines = [
        _verdict("recording", why_not(findings), paint),
        _verdict("observing", why_unobserved(findings), paint),
        "",
    ]
    for finding in findings:
        first, *more = _wrapped(finding.says, width)
        level = paint(COLOURS[finding.level], f"{finding.level:<4}")
        lines.append(f"  {level}  {finding.check:<11}  {first}")
        lines += [" " * MARGIN + line for line in more]
        if finding.next:
            first, *more = _wrapped(finding.next, width)
            lines.append(" " * (MARGIN - 2) + paint("bold", f"→ {first}"))
            lines += [" " * MARGIN + paint("bold", line) for line in more]
    return "\n".join(lines)


def _verdict(what: str, reason: str | None, paint: output.Paint) -> str:
    said = f"{what}: no, because {reason}" if reason else f"{what}: yes"
    return paint("bold", paint("red" if reason else "green", said))


def _wrapped(text: str, width: int) -> list[str]:
    # Neither paths nor commands are broken: they are there to be copied.
    return textwrap.wrap(text, width - MARGIN, break_long_words=False, break_on_hyphens=False) or [""]
