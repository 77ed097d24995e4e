"""Looks for what must not be there: in every byte of the data directory, and among the words of its index."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from claude_mem.cli.demo import stored
from claude_mem.hook import paths

HIDDEN = {
    "a name inside <private> in a prompt": "Harbour Foods",
    "what tools saw in a wholly private turn": "31 percent off",
    "a password in a test's output": "t1de-p00l-9921",
    "a token in the output of git push": "ghp_ThisTokenIsMadeUpForTheDemo",
    "the contents of a .env file": "correct-horse-7731",
}
INSTEAD = {
    "a password in a test's output": "[redacted:url-password]",
    "a token in the output of git push": "[redacted:github-token]",
    "the contents of a .env file": "[excluded: contents of .env]",
}
"""What stands in the place of some."""
KEPT = "parse_weight"
"""Said openly, all over the session: a search that finds this would find the others."""


@dataclass(frozen=True, slots=True)
class Search:
    files: int
    found: dict[str, int]  # what was looked for, and in how many files it is
    indexed: dict[str, int]  # and in how many texts the index has its words, one after the other


def search(data_dir: Path) -> Search:
    contents = [content for path in data_dir.rglob("*") if (content := _content(path)) is not None]
    wanted = (*HIDDEN.values(), *INSTEAD.values(), KEPT)
    return Search(
        files=len(contents),
        found={text: sum(text.encode() in content for content in contents) for text in wanted},
        indexed=stored.indexed(data_dir / paths.DATABASE, (*HIDDEN.values(), KEPT)),
    )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except FileNotFoundError:
        return None  # the worker is at work: a file being written has its real name by now
