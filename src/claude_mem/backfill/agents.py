"""Decides which files are a session's subagents', and what they are. Newer clients write one for each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from claude_mem.backfill import lines
from claude_mem.backfill.lines import Tally

FOLDER = "subagents"
_FILE = re.compile(r"agent-(.+?)\.jsonl(?:\.gz)?")
_OF_THE_CLIENT = ("acompact", "aprompt_suggestion", "aside_question")  # its own forks, no work of the user's
_SOON = 50  # lines within which a file says when it began


def is_one(path: Path) -> bool:
    return _FILE.fullmatch(path.name) is not None


def beside(path: Path) -> tuple[Path, ...]:
    """Those in the folder that belongs to a session's file. Links are not followed."""
    folder = path.with_name(path.name.partition(".")[0]) / FOLDER
    if folder.is_symlink() or not folder.is_dir():
        return ()
    return tuple(sorted(file for file in folder.iterdir() if is_users(file)))


def is_users(path: Path) -> bool:
    return (
        is_one(path)
        and not id_of(path).startswith(_OF_THE_CLIENT)
        and not path.is_symlink()
        and path.is_file()
    )


def id_of(path: Path) -> str:
    named = _FILE.fullmatch(path.name)
    return named[1] if named else path.stem


def type_of(path: Path) -> str | None:
    """As the note beside it says; its own lines may say it too."""
    note = path.with_name(f"agent-{id_of(path)}.meta.json")
    try:
        about = json.loads(note.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    kind = about.get("agentType") if isinstance(about, dict) else None
    return kind if isinstance(kind, str) else None


def began(path: Path) -> int | None:
    """When, in epoch milliseconds; None: nothing in it can be read."""
    return next((line.at for line in _head(path)), None)


def session_of(path: Path) -> str | None:
    """Whose subagent it is, for files that lie beside the sessions' own."""
    return next(filter(None, (line.text("sessionId") for line in _head(path))), None)


def _head(path: Path) -> Iterator[lines.Line]:
    try:
        yield from islice(lines.read(path, Tally()), _SOON)
    except OSError:
        return
