"""Shows what an install or its undoing would change: as a diff, or as data."""

from __future__ import annotations

import difflib
import shlex
from typing import Any

from claude_mem.cli import say
from claude_mem.cli.install.plan import Change, Plan


def changed(how: Plan) -> str:
    parts = [_file(change) for change in how.changes]
    parts += [f"run claude {shlex.join(step.words)}\n" for step in how.steps]
    return "".join(parts)


def brief(how: Plan) -> str:
    """One line for every file of the user's, one for all that are only ours, one for each command."""
    changed = [change for change in how.changes if change.before is not None and change.after is not None]
    new = [change.path for change in how.changes if change.before is None]
    gone = [change.path for change in how.changes if change.after is None]
    lines = [f"  change {change.path}" for change in changed]
    lines += [f"  write {say.many(len(new), 'new file')}, such as {new[0]}"] if new else []
    lines += [f"  remove {say.many(len(gone), 'file')}, such as {gone[0]}"] if gone else []
    lines += [f"  run claude {say.fit(shlex.join(step.words), 90)}" for step in how.steps]
    return "\n".join(lines)


def data(*plans: Plan) -> dict[str, Any]:
    changes = [change for how in plans for change in how.changes]
    return {
        "files": [str(change.path) for change in changes if change.after is not None],
        "removed": [str(change.path) for change in changes if change.after is None],
        "commands": [["claude", *step.words] for how in plans for step in how.steps],
    }


def _file(change: Change) -> str:
    if change.before is None:
        lines = (change.after or "").splitlines()
        return f"new file {change.path} ({say.many(len(lines), 'line')})\n"
    if change.after is None:
        return f"remove {change.path}\n"
    return "".join(
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(
            change.before.splitlines(keepends=True),
            change.after.splitlines(keepends=True),
            str(change.path),
            str(change.path),
        )
    )
