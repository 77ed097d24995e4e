"""Where work was done: the project, and the branch and commit it stood on."""

from __future__ import annotations

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
