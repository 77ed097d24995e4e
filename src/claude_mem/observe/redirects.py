"""Decides which files a shell command surely changed: what it redirects into, removes or moves under git.

Only what the words alone prove. A variable, a pattern, a loop or a step into another folder makes it
uncertain, and what is uncertain is not told.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import pairwise

MOST_CHARS = 4_000
_DOUBTFUL = ("`", "$", "<<", "||", "(", "{", "~", "\\")
# Once split, a quoted '>' looks like a real one.
_QUOTED = tuple(quote + sign for quote in "'\"" for sign in ">&;|")
_DOUBTFUL_WORDS = frozenset(
    ("if", "then", "else", "for", "while", "until", "do", "case", "cd", "pushd", "function", "set")
)
_SEPARATORS = frozenset(("&&", ";", "|", "&"))


def certain(command: str) -> Iterator[str]:
    words = _words(command)
    start = 0
    for index in range(len(words) + 1):
        if index == len(words) or words[index] in _SEPARATORS:
            # In `a; b` or `a | b` the whole can succeed where a failed, so only && and the end prove it.
            proved = index == len(words) or words[index] == "&&"
            yield from _of(words[start:index], proved=proved)
            start = index + 1


def _words(command: str) -> list[str]:
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


def _of(words: list[str], *, proved: bool) -> Iterator[str]:
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
