"""Looks for what must not be there: every byte of every file in the data directory."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

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


def search(data_dir: Path) -> Search:
    files = [path for path in data_dir.rglob("*") if stat.S_ISREG(path.lstat().st_mode)]
    contents = [path.read_bytes() for path in files]
    wanted = (*HIDDEN.values(), *INSTEAD.values(), KEPT)
    return Search(
        files=len(files),
        found={text: sum(text.encode() in content for content in contents) for text in wanted},
    )
