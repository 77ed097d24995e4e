"""`claude-mem doctor`: one screen that answers "is it recording?"."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from dataclasses import asdict

from claude_mem.cli import say
from claude_mem.cli.command import OK, WRONG, Commands, json_flag
from claude_mem.cli.doctor.judge import Finding, is_wrong, judge, why_not

COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}
MARGIN = 21


def add(commands: Commands) -> None:
    json_flag(
        commands.add(
            "doctor",
            "say whether it is recording, and what to do if not",
            more="Changes nothing, and works with whatever is broken. Exits 1 if something is bad.",
            example="claude-mem doctor",
            run=_run,
        )
    )


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.doctor.gather import gather

    with say.patiently("Looking ..."):
        facts = gather()
    findings = judge(facts)
    if args.json:
        reason = why_not(findings)
        said = [asdict(finding) for finding in findings]
        say.data({"recording": reason is None, "because": reason, "findings": said, "facts": asdict(facts)})
    else:
        width = shutil.get_terminal_size().columns
        print(render(findings, say.Paint(sys.stdout), min(width, 100)))
    return WRONG if is_wrong(findings) else OK


def render(findings: list[Finding], paint: say.Paint, width: int) -> str:
    reason = why_not(findings)
    verdict = f"recording: no, because {reason}" if reason else "recording: yes"
    lines = [paint("bold", paint("red" if reason else "green", verdict)), ""]
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


def _wrapped(text: str, width: int) -> list[str]:
    # Neither paths nor commands are broken: they are there to be copied.
    return textwrap.wrap(text, width - MARGIN, break_long_words=False, break_on_hyphens=False) or [""]
