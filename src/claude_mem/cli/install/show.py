"""Shows what an install or its undoing would change: as a diff, or as data."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claude_mem.cli import say
from claude_mem.cli.install.plan import Change


def changed(changes: Iterable[Change], removed: Iterable[Path], commands: Iterable[tuple[str, ...]]) -> str:
    parts = [_file(change) for change in changes]
    parts += [f"remove {path}\n" for path in removed]
    parts += [f"run claude {shlex.join(command)}\n" for command in commands]
    return "".join(parts)


def brief(changes: Iterable[Change], removed: Iterable[Path], commands: Iterable[tuple[str, ...]]) -> str:
    """One line for every file of the user's, one for all that are only ours, one for each command."""
    changes = list(changes)
    new = [change for change in changes if change.before is None]
    lines = [f"  change {change.path}" for change in changes if change.before is not None]
    lines += [f"  write {say.many(len(new), 'new file')}, such as {new[0].path}"] if new else []
    gone = list(removed)
    lines += [f"  remove {say.many(len(gone), 'file')}, such as {gone[0]}"] if gone else []
    lines += [f"  run claude {_words(command)}" for command in commands]
    return "\n".join(lines)


def data(
    changes: Iterable[Change], removed: Iterable[Path], commands: Iterable[tuple[str, ...]]
) -> dict[str, Any]:
    return {
        "files": [str(change.path) for change in changes],
        "removed": [str(path) for path in removed],
        "commands": [["claude", *command] for command in commands],
    }


def _file(change: Change) -> str:
    if change.before is None:
        lines = change.after.splitlines()
        return f"new file {change.path} ({say.many(len(lines), 'line')})\n"
    return "".join(
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(
            change.before.splitlines(keepends=True),
            change.after.splitlines(keepends=True),
            str(change.path),
            str(change.path),
        )
    )


def _words(command: tuple[str, ...]) -> str:
    return say.fit(shlex.join(command), 90)
