"""Decides what a shell command was for, by its words alone: looking, proving, committing, or other work."""

from __future__ import annotations

import re
from enum import Enum, auto

_LOOKS = """
    ls dir tree find fd cat bat head tail less sed awk nl grep rg ag wc sort uniq cut file stat du df pwd
    which where type echo printf env date get-childitem get-content select-string get-command test-path gci
    gc get-item resolve-path measure-object select-object
"""
_STEPS = "cd pushd popd export set true source . sleep xargs time"
LOOKS = frozenset(f"{_LOOKS} {_STEPS}".split())
GIT_LOOKS = frozenset(("status", "rev-parse", "ls-files", "describe", "remote"))

_PROVES = re.compile(
    r"\b(?:tests?|pytest|unittest|jest|vitest|mocha|rspec|phpunit|ctest|tox|nox|check|lint|vet|clippy|mypy|pyright"
    r"|ruff|eslint|tsc|build|compile|make)\b",
    re.IGNORECASE,
)
_COMMITS = re.compile(
    r"\bgit\s++(?:-[cC]\s++\S++\s++)?(?:commit|merge|revert|cherry-pick|tag|push)\b|\bgh\s++(?:pr|release)\s"
)
_CHANGES = re.compile(r">(?!&|\s*/dev/null|\s*\$null)|\s-i\b|\s-exec\b|\s-delete\b|\btee\b")
_PARTS = re.compile(r"&&|\|\||[;|\n]")


class Purpose(Enum):
    LOOK = auto()
    PROVE = auto()  # a test, a build, a check: its end tells how it went
    COMMIT = auto()
    WORK = auto()


def purpose(command: str) -> Purpose:
    if _COMMITS.search(command):
        return Purpose.COMMIT
    if not _CHANGES.search(command) and all(map(_looks, _PARTS.split(command))):
        return Purpose.LOOK
    return Purpose.PROVE if _PROVES.search(command) else Purpose.WORK


def _looks(part: str) -> bool:
    words = part.split(maxsplit=2)
    if not words:
        return True
    if words[0] == "git" and len(words) > 1:
        return words[1] in GIT_LOOKS
    return words[0].lower() in LOOKS
