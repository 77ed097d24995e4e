"""Where work was done: the project, and the branch and commit it stood on. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a repository. Worktrees and clones of one repository share a key, and so a memory."""

    key: str  # the normalised remote, else the root's path
    name: str  # what people see: the directory's last part
    root: str
    remote: str | None = None
    worktree: str | None = None  # the linked worktree's path, when the work was not in the main one
    branch: str | None = None  # None: no repository, or a detached head
    commit: str | None = None
    plain: bool = False  # no repository was found there: a project above it, if one is known, is its own


LONGEST = 4096
"""Characters of a path that a system opens. Of a longer one nothing is looked up: the paths of all its
parents together would fill the memory."""
_FOLDERS = (".worktrees", "worktrees")
_BESIDE = (".worktrees", "__worktrees")
_EVERYBODYS = re.compile(
    r"/?|/(?:home|Users)(?:/[^/]+)?|/root|(?:/private|/var)?/tmp|[A-Za-z]:\\?(?:Users(?:\\[^\\]+)?)?"
)


def worktree_of(path: str) -> tuple[str, str] | None:
    """The repository's main directory and the worktree, by where tools put worktrees: `shop/.worktrees/3`,
    `shop/.claude/worktrees/3`, `shop.worktrees/3` beside it. None: no such place. A worktree that is gone can
    be told by its path only."""
    separator = _separator(path)
    parts = path.rstrip(separator).split(separator)
    for index, part in enumerate(parts[:-1]):
        beside = next((end for end in _BESIDE if part.endswith(end) and part != end), None)
        if beside:
            main = [*parts[:index], part.removesuffix(beside)]
        elif part in _FOLDERS:
            is_tools = index > 0 and parts[index - 1].startswith(".")  # .git, .claude
            main = parts[: index - is_tools]
        else:
            continue
        root = separator.join(main)
        return None if _EVERYBODYS.fullmatch(root) else (root, separator.join(parts[: index + 2]))
    return None


def around(directory: str) -> list[str]:
    """A directory and those above it whose project its work may belong to, the nearest first. A home or the
    temporary directory holds everybody's."""
    if len(directory) > LONGEST:
        return [directory]
    separator = _separator(directory)
    parts = directory.rstrip(separator).split(separator)
    above = (separator.join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return [directory, *(path for path in above if not _EVERYBODYS.fullmatch(path))]


def _separator(path: str) -> str:
    return "\\" if re.match(r"[A-Za-z]:\\", path) else "/"  # transcripts come from other machines
