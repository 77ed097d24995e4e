"""Which name a line of source defines: a function, a type, a heading, a key, a target."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from claude_mem.observe.offline import file_names
from claude_mem.observe.offline.wording import words

LONGEST = 300  # of a line; a definition is rarely longer, generated code often is

_BEFORE = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|async|abstract|final|override|virtual|inline"
    r"|unsafe|extern|const|suspend|open|sealed|data|partial|readonly|pub(?:\([^)\s]{1,30}\))?|local|global)\s+){0,6}"
)
_CODE = re.compile(
    rf"^\s*{_BEFORE}(?:"
    r"func\s+\((?:\w+\s+)?\*?(?P<receiver>\w+)(?:\[[^\]]{1,60}\])?\)\s*(?P<method>\w+)"
    r"|(?:def|func|fn|function\*?|fun|sub|defp|defmacro)\s+(?P<function>[\w.$-]+(?::\w+)?[?!]?)"
    r"|(?:class|interface|struct|enum|trait|union|protocol|namespace|mixin|extension|record|object|module|mod|defmodule)"
    r"\s+(?P<shape>[A-Za-z_][\w.]*)(?!\s+(?:of|is|are|in|the|to)\b)"
    r"|impl(?:<[^>]{0,60}>)?\s+(?P<impl>[A-Za-z_][\w:<>, ]{0,60}?)\s*\{"
    r"|type\s+(?P<alias>\w+)\s*(?:[=<\[{(*]|(?:struct|interface|func|map|chan|int|string|\w+)\b)"
    r"|(?:const|let|var)\s+(?P<arrow>[A-Za-z_$][\w$]*)\s*(?::[^=]{1,80})?=\s*(?:async\s*)?(?:function\b|\([^)]{0,120}\)\s*(?::[^=]{1,60})?=>|[\w$]+\s*=>)"
    r"|(?:describe|it|test)(?:\.\w+)?\(\s*(?P<case>['\"`][^'\"`]{3,90}['\"`])"
    r"|(?P<shell>[A-Za-z_][\w.:-]*)\s*\(\)\s*\{\s*$"
    r")"
)
_C_LIKE = re.compile(
    r"^\s*(?:[\w<>\[\].&*?:~]+\s+){1,4}[*&]?(?P<name>[A-Za-z_~][\w:~]*)\s*\([^;={}]*\)\s*(?:const|override|noexcept)?\s*\{\s*$"
)
_NOT_C = words(
    """if for while switch return else catch new do try match case throw using lock foreach elif unless
    when"""
)
_CONSTANT = re.compile(
    r"^(?:export\s+)?(?:const\s+|final\s+|static\s+|let\s+|var\s+|val\s+|readonly\s+)*([A-Z][A-Z0-9_]{2,})\s*(?::[^=]{1,60})?="
)
_SQL = re.compile(
    r"^\s*(?:CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+|VIRTUAL\s+|TEMP\s+)?(?:TABLE|VIEW|INDEX|FUNCTION|TRIGGER|TYPE|SCHEMA|PROCEDURE)"
    r"\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?([\w.\"]+)",
    re.I,
)
_STYLE = re.compile(r"^\s*([.#&@][\w-][^;{}]{0,80}?)\s*\{\s*$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$|^\s*<h[1-6][^>]*>([^<]{2,120})")
_TABLE = re.compile(r"^\[{1,2}([^\]\s\"][^\]]{0,80})\]{1,2}\s*$")
_KEY = re.compile(r"^\s*(?:-\s+)?[\"']?([\w.$/@-]{1,80})[\"']?\s*[:=](?:\s|$|[\"'\[{])")
_NAMED_STEP = re.compile(r"^\s*-\s+name:\s*[\"']?(.{2,80}?)[\"']?\s*$")
_TARGET = re.compile(r"^([\w./%-]+)\s*:(?!=)")
_STYLES = frozenset({"css", "scss", "less", "sass"})


def defines(line: str, path: str) -> str | None:
    """The name this line of this file defines; functions carry their parentheses."""
    if len(line) > LONGEST or not line.strip():
        return None
    return _by_kind(line, _kind(path))


@lru_cache(maxsize=4096)
def _by_kind(line: str, kind: str) -> str | None:
    match kind:
        case "docs":
            found = _HEADING.match(line)
            return (found[1] or found[2]).strip() if found else None
        case "config":
            found = _NAMED_STEP.match(line) or _TABLE.match(line) or _KEY.match(line)
            return found[1] if found else None
        case "make":
            found = _TARGET.match(line)
            return found[1] if found else None
        case "style":
            found = _STYLE.match(line)
            return found[1] if found else None
        case "sql":
            found = _SQL.match(line)
            return found[1].strip('"') if found else None
    return _code(line)


def _code(line: str) -> str | None:
    found = _CODE.match(line)
    if found:
        receiver, method = found["receiver"], found["method"]
        if method:
            return f"{receiver}.{method}()"
        called = found["function"] or found["arrow"] or found["shell"]
        if called and called not in _NOT_C:
            return f"{called}()"
        return (
            found["shape"] or found["impl"] or found["alias"] or (found["case"] or "").strip("'\"`") or None
        )
    found = _CONSTANT.match(line)
    if found:
        return found[1]
    if not line.rstrip().endswith("{"):
        return None
    found = _C_LIKE.match(line)
    words = line.split(None, 1)
    return f"{found['name']}()" if found and words[0] not in _NOT_C and found["name"] not in _NOT_C else None


@lru_cache(maxsize=1024)
def _kind(path: str) -> str:
    base, suffix = file_names.name(path).lower(), file_names.suffix(path)
    if base in ("makefile", "justfile") or suffix == "mk":
        return "make"
    if suffix in _STYLES:
        return "style"
    if suffix == "sql":
        return "sql"
    if suffix in file_names.DOCS and base != "requirements.txt":
        return "docs"
    return "config" if file_names.nature(path) == "config" or suffix in file_names.CONFIG else "code"


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def nests(path: str) -> bool:
    """Whether a name holds the lines below it (a function does, a key of a table does not)."""
    return _kind(path) in ("code", "docs", "style", "make", "sql")


class Outline:
    """What a file that was read defines, by line: names the function that a change fell in."""

    def __init__(self, path: str, content: str, start: int) -> None:
        self.numbers: list[int] = []
        self.names: list[str] = []
        self.indents: list[int] = []
        self.end = start
        for number, line in enumerate(content.splitlines(), start):
            self.end = number
            name = defines(line, path)
            if name:
                self.numbers.append(number)
                self.names.append(name)
                self.indents.append(indent(line))
        self.start = start

    def around(self, number: int, depth: int) -> str | None:
        """The innermost definition above this line that is indented less than it."""
        if not self.start <= number <= self.end:
            return None
        at = bisect_right(self.numbers, number) - 1
        for index in range(at, max(-1, at - 40), -1):
            if self.indents[index] < depth:
                return self.names[index]
        return None
