"""Which lines of an output say what went wrong."""

from __future__ import annotations

import re

from claude_mem.observe.offline.wording import clip, unique

_TRACE = re.compile(
    r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Fault)\b(?::.*)?$"
)
_PLACED = re.compile(r"^(?:\S+: )?((?:[A-Za-z]:)?[\w@./\\+-]+\.\w{1,12}):(\d+)(?::\d+)?:?\s+(.{3,})$")
_TYPESCRIPT = re.compile(r"^(.+?\.\w{2,4})\((\d+),\d+\): error (TS\d+: .+)$")
_MARKED = re.compile(
    r"^(?:\S{1,40}[:\s]\s*)?(?:error|fatal|panic|FATAL|ERROR|Error|npm ERR!|E)(?:\[\w+\])?:?\s+(?=\S)(.{3,})$"
)
_HTTP = re.compile(r"\bHTTP(?:/[\d.]+)?[ :]+([45]\d\d)\b|\b(?:status|code)[ =:]+([45]\d\d)\b", re.I)
_WARNING = re.compile(r"\bwarn(?:ing)?\b", re.I)
_AT = re.compile(r"^\s*-->\s+(\S+:\d+)")

# A slip of the agent's own, not a property of the project: a wrong folder, a wrong quote.
SLIP = re.compile(
    r"No such file or directory|cannot find the path|can't open input|ambiguous argument|[Uu]nterminated"
    r"|unexpected EOF|unexpected token|does not exist|not recognized as|syntax error near|cannot access"
    r"|pathspec|No such remote|Could not find a part of the path",
)


def placed(output: str, most: int = 5) -> tuple[str, ...]:
    """`file:line: message` diagnostics, warnings left out."""
    found: list[str] = []
    place = ""
    for line in output.splitlines()[:3000]:
        if len(line) > 500 or (_WARNING.search(line) and "error" not in line.lower()):
            continue
        if (match := _TYPESCRIPT.match(line)) or (match := _PLACED.match(line.strip())):
            found.append(f"{match[1]}:{match[2]}: {match[3]}")
        elif (match := _AT.match(line)) and place:
            found.append(f"{match[1]}: {place}")
        place = line.strip() if line.startswith("error") else (place if line.startswith((" ", "\t")) else "")
        if len(found) >= most * 4:
            break
    return unique((clip(text, 180) for text in found), most)


def raised(output: str) -> str | None:
    """The last line of the last traceback."""
    if (
        "Traceback (most recent call last)" not in output
        and "    at " not in output
        and "panicked at" not in output
    ):
        return None
    last = None
    for line in output.splitlines():
        if len(line) < 500 and (_TRACE.match(line.strip()) or "panicked at" in line):
            last = line.strip()
    return clip(last, 180) if last else None


def why(output: str, most: int = 3) -> tuple[str, ...]:
    """What went wrong, best first: a traceback's end, compilers' places, marked lines, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    trace = raised(output)
    marked = [
        line for line in lines[:3000] if len(line) < 500 and (_MARKED.match(line) or _HTTP.search(line))
    ]
    found = [*([trace] if trace else []), *placed(output, most), *(clip(line, 180) for line in marked)]
    if not found and lines:
        found = [clip(lines[-1] if len(lines) > 1 and len(lines[-1]) > 8 else lines[0], 180)]
    return unique(found, most)
