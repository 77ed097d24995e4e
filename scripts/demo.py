"""Writes docs/demo.md and the picture on the README's first screen, from a real run of `claude-mem demo`.

Run it with `make pictures`. Everything in both comes from the demo's own output.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from claude_mem.cli.demo import replay

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = """\
# The demo

`make demo` (or `claude-mem demo`, once installed) replays a recorded session through the real hook command
against a real worker, in a throwaway data directory. Then it shows what was saved, what was hidden, what the
hooks cost, and what the next session gets. It takes a few seconds, needs no account and no network, calls no
model, and leaves nothing running.

<!-- Made by scripts/demo.py; run `make pictures` to make it again. -->

```text
{output}
```
"""

WIDTH = 92  # characters
CHARACTER, LINE, MARGIN, BAR = 8.43, 21, 22, 34  # pixels; the character's width is that of 14 px monospace
CLASSES = {
    "text": "#d7dde5",
    "dim": "#8b95a3",
    "you": "#ffffff",
    "tool": "#7cc4a0",
    "mem": "#e8b86d",
    "key": "#8ab4f8",
}

Line = list[tuple[str, str]]  # pieces of a line: class, text


def main() -> None:
    output = _run()
    (DOCS / "demo.md").write_text(PAGE.format(output=output.rstrip()))
    (DOCS / "images" / "demo.svg").write_text(_svg(list(_lines(json.loads(_run("--json"))))))


def _run(*options: str) -> str:
    command = [sys.executable, "-m", "claude_mem", "demo", *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 - our own command


def _lines(demo: dict[str, Any]) -> Iterator[Line]:
    """A first session, what the second is given, and a search: as pieces of text with their colours."""
    payloads = list(map(json.loads, replay.recorded()))
    ends = next(number for number, each in enumerate(payloads) if each["hook_event_name"] == "Stop")
    turn = [each for each in payloads[:ends] if "tool_name" in each]
    files = [each["tool_input"]["file_path"] for each in turn if each["tool_name"] in ("Edit", "Write")]
    edits = dict.fromkeys(file.removeprefix(f"{each['cwd']}/") for each in turn[:1] for file in files)
    commands = [each["tool_input"]["command"] for each in turn if each["tool_name"] == "Bash"]
    yield [("dim", "Session 1")]
    yield from _wrapped("> ", demo["session"]["prompts"][0]["prompt"], "you")
    yield [("tool", "  ● Edit  "), ("text", ", ".join(edits))]
    yield [("tool", "  ● Bash  "), ("text", commands[-1])]
    yield []
    yield [("dim", "Session 2, a new conversation")]
    yield [("mem", "  claude-mem adds at the start:")]
    for line in _start(demo["context"]):
        yield [("mem", "  │ "), ("text", line)]
    yield []
    yield from _wrapped("> ", demo["prompt"], "you")
    yield [("mem", "  claude-mem adds to the prompt:")]
    for line in textwrap.wrap(_observation(demo["reminder"]), WIDTH - 4):
        yield [("mem", "  │ "), ("text", line)]
    yield []
    yield [("dim", "$ "), ("you", f"claude-mem search '{demo['query']}'")]
    for found in demo["results"]:
        if found["kind"] == "observation":
            yield [("key", f"  #{found['id']}  "), ("dim", f"{found['type']:<8}"), ("text", found["title"])]


def _start(fenced: str) -> Iterator[str]:
    """What the last session came to, at a session's start."""
    for line in fenced.splitlines():
        if line.startswith("- "):
            yield from textwrap.wrap(line[2:], WIDTH - 4)


def _observation(fenced: str) -> str:
    """The first observation among the memories of a prompt: `#7 date kind: text`."""
    return next(line[2:] for line in fenced.splitlines() if re.match(r"- #\d", line))


def _wrapped(mark: str, text: str, colour: str) -> Iterator[Line]:
    for number, line in enumerate(textwrap.wrap(text, WIDTH - len(mark))):
        yield [("dim", " " * len(mark) if number else mark), (colour, line)]


def _svg(lines: list[Line]) -> str:
    wide, high = WIDTH * CHARACTER + 2 * MARGIN, len(lines) * LINE + BAR + 2 * MARGIN
    style = "".join(f".{name}{{fill:{colour}}}" for name, colour in CLASSES.items())
    rows = []
    for number, line in enumerate(lines):
        x, y, pieces = MARGIN, BAR + MARGIN + LINE * (number + 0.7), []
        for name, text in line:
            pieces.append(f'<tspan class="{name}">{escape(text, quote=False)}</tspan>')
        rows.append(f'<text x="{x}" y="{y:.0f}" xml:space="preserve">{"".join(pieces)}</text>')
    dots = "".join(
        f'<circle cx="{MARGIN + 18 * n}" cy="{BAR / 2 + 2:.0f}" r="5.5" fill="#4a5361"/>' for n in range(3)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high}" '
        f'viewBox="0 0 {wide:.0f} {high}" role="img" aria-label="A session fixes a bug; the next session '
        'starts with what was done, gets the details with its first prompt about it, and a search finds it.">'
        f"<style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}}"
        f"{style}</style>"
        f'<rect width="100%" height="100%" rx="9" fill="#161b22"/>{dots}{"".join(rows)}</svg>\n'
    )


if __name__ == "__main__":
    main()
