"""What kind of work a commit's message says it is. Pure."""

from __future__ import annotations

import re

from claude_mem.model.observation import ObservationType

_TYPES: dict[str, ObservationType] = {
    **dict.fromkeys(("feat", "feature", "add", "adds", "added", "implement", "implements"), "feature"),
    **dict.fromkeys(("support", "introduce", "introduces", "allow", "allows", "new"), "feature"),
    **dict.fromkeys(("fix", "fixes", "fixed", "bugfix", "hotfix", "bug", "revert", "correct"), "bugfix"),
    **dict.fromkeys(("refactor", "refactors", "refactored", "perf", "simplify", "extract"), "refactor"),
    **dict.fromkeys(
        ("rename", "cleanup", "restructure", "reorganize", "move", "split", "inline"), "refactor"
    ),
    **dict.fromkeys(("docs", "doc", "chore", "ci", "build", "test", "tests", "style"), "change"),
    **dict.fromkeys(("deps", "release"), "change"),
}
_FIRST_WORD = re.compile(r"^(?:[^\w\s]+\s*|:\w+:\s*)?\[?(\w+)\]?(?:\([^)]{1,80}\))?!?:?(?=\s|$)")
FIXES = re.compile(
    r"\b(?:fix(?:es|ed|ing)?|bug(?:s|fix)?|regression|crash(?:es|ed)?|behebe?n?|behoben|repariert?|korrigiert?"
    r"|fehler|corrig\w+|répar\w+|arregl\w+|correg\w+|corrij\w+|исправ\w*|ошибк\w*|почин\w*)\b"
    r"|修复|修正|错误|不具合|バグ|直し|버그|수정",
    re.I,
)


def type_of(subject: str) -> ObservationType | None:
    """By its first word, a conventional prefix or not, else by what it mentions; None: it does not say."""
    first = _FIRST_WORD.match(subject)
    found = _TYPES.get(first[1].lower()) if first else None
    return found or ("bugfix" if FIXES.search(subject) else None)
