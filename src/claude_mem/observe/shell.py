"""What a shell command was for, and which files it surely changed, by its words alone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from enum import Enum, auto
from itertools import pairwise

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

MOST_CHARS = 4_000
_DOUBTFUL = ("`", "$", "<<", "||", "(", "{", "~", "\\")
# Once split, a quoted '>' looks like a real one.
_QUOTED = tuple(quote + sign for quote in "'\"" for sign in ">&;|")
_DOUBTFUL_WORDS = frozenset(
    ("if", "then", "else", "for", "while", "until", "do", "case", "cd", "pushd", "function", "set")
)
_SEPARATORS = frozenset(("&&", ";", "|", "&"))


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


def surely_changed(command: str) -> Iterator[str]:
    """The files it redirects into, removes or moves under git: only what the words alone prove. A variable, a
    pattern, a loop or a step into another folder makes it uncertain, and what is uncertain is not told."""
    words = _split(command)
    start = 0
    for index in range(len(words) + 1):
        if index == len(words) or words[index] in _SEPARATORS:
            # In `a; b` or `a | b` the whole can succeed where a failed, so only && and the end prove it.
            proved = index == len(words) or words[index] == "&&"
            yield from _changed_by(words[start:index], proved=proved)
            start = index + 1


def _split(command: str) -> list[str]:
    if len(command) > MOST_CHARS or any(sign in command for sign in (*_DOUBTFUL, *_QUOTED)):
        return []
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an open quotation
        return []
    return [] if _DOUBTFUL_WORDS.intersection(words) else words


def _changed_by(words: list[str], *, proved: bool) -> Iterator[str]:
    for sign, target in pairwise(words):
        if sign in (">", ">>", "&>") and _is_file(target):
            yield target
    plain = [word for word in words if not word.startswith("-")]
    if not proved or any(sign in words for sign in (">", ">>", "<", "&>")):
        return
    if plain[:1] == ["rm"] and not any(word.startswith("-") and "r" in word.lower() for word in words):
        yield from filter(_is_file, plain[1:])
    if plain[:2] == ["git", "mv"] and len(plain) == 4 and "." in plain[3].rpartition("/")[2].strip("."):
        yield from filter(_is_file, plain[2:])


def _is_file(word: str) -> bool:
    return not (
        word.startswith(("/dev/", "&", "-")) or word.endswith("/") or set(word) & set("*?[") or not word
    )
