"""Decides to which directory a folder of Claude Code's belongs, in which it keeps a project's notes.

The folder's name is the directory's path with every sign but letters and digits made a dash. The sessions in
it say which it was; where none is left, the directories there are do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_lines import Tally

INDEX = "MEMORY.md"
MOST_LOOKS = 5_000
_SOON = 200  # lines within which a session says where it is
_SESSIONS = 20


def indexes(folder: Path) -> list[Path]:
    """The notes' beginnings in a folder: that of all projects, of one, of its notes, or one itself."""
    if folder.is_file():
        return [folder]
    places = (INDEX, f"memory/{INDEX}", f"*/memory/{INDEX}")
    return sorted({path for place in places for path in folder.glob(place) if path.is_file()})


def directory_of(folder: Path) -> str | None:
    """None: it cannot be told."""
    for path in islice(sorted(folder.glob("*.jsonl")), _SESSIONS):
        for line in islice(transcript_lines.read(path, Tally()), _SOON):
            cwd = line.text("cwd")
            if cwd and dashed(cwd) == folder.name:
                return cwd
    return next(_called(Path("/"), folder.name, [MOST_LOOKS]), None)


def dashed(path: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "-", path)


def _called(folder: Path, name: str, looks: list[int]) -> Iterator[str]:
    """The directories below a folder whose path is so written, as far as the looks last."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for each in inside:
        written = f"-{dashed(each)}"
        looks[0] -= 1
        if looks[0] < 0:
            return
        if name == written:
            yield str(folder / each)
        elif name.startswith(f"{written}-"):
            yield from _called(folder / each, name.removeprefix(written), looks)
