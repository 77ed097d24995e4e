"""What the repository's history says against a memory.

A heuristic, for a mark and a lower rank, never for hiding. It knows its limits:
- A memory's own work is committed after it was made. The first commit to touch a file it changed is taken for
  that work if it comes within a day or stands on the memory's commit; later ones, even of that work, count.
- Times are authors' times: a rebase does not make everything look changed, but a change written before the
  memory and merged after it is not seen.
- A branch that was squashed or rebased into another and deleted looks like one that was never merged, unless
  the memory's commit was on the trunk already.
- Renames are two other files; commits that touch very many files (a formatter's) are not looked at.
- A path without a folder is only known when it is at the top of the repository.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from claude_mem.model.refs import Card

FILES_CHANGED = "files changed since"
NEVER_MERGED = "branch never merged"

_PENALTIES = {FILES_CHANGED: 0.85, NEVER_MERGED: 0.6}
_OWN_WORK_MS = 86_400_000
_MOST_FILES = 24


class Touch(Struct, frozen=True):
    """A commit that changed a file."""

    at: int  # epoch milliseconds
    commit: str
    parents: tuple[str, ...] = ()


class RepoFacts(Struct, frozen=True):
    """What is known of a repository, seen from its HEAD."""

    root: str
    commits: frozenset[str] = frozenset()  # the newest that HEAD stands on
    commits_since: int = 0  # older ones were not looked at; 0: there are none
    touches: Mapping[str, tuple[Touch, ...]] = field(default_factory=dict)  # by path; the newest first
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the same, by their last part
    branches: Mapping[str, bool] = field(default_factory=dict)  # is it in HEAD or in the default branch?
    tags: Mapping[str, int] = field(default_factory=dict)  # epoch milliseconds

    def path(self, file: str) -> str | None:
        """The repository's name of what a session in any of its folders, or in a worktree, called so."""
        file = file.replace("\\", "/")
        file = file.removeprefix(self.root.rstrip("/") + "/")
        if file in self.touches:
            return file
        known = [path for path in self.paths.get(file.rpartition("/")[2], ()) if "/" in path and "/" in file]
        if file.startswith("/"):
            return max((path for path in known if file.endswith(f"/{path}")), key=len, default=None)
        within = [path for path in known if path.endswith(f"/{file}")]
        return within[0] if len(within) == 1 else None


def marks(card: Card, facts: RepoFacts | None, current_branch: str | None) -> tuple[str, ...]:
    """What to know before trusting the memory; empty when nothing is known against it."""
    if facts is None:
        return ()
    found = []
    if _is_outdated(card, facts):
        found.append(FILES_CHANGED)
    if _is_off_the_trunk(card, facts, current_branch):
        found.append(NEVER_MERGED)
    return tuple(found)


def penalty(marks: Sequence[str]) -> float:
    """What a memory's score is multiplied with."""
    product = 1.0
    for mark in set(marks):
        product *= _PENALTIES.get(mark, 1.0)
    return product


def when_tagged(facts: RepoFacts | None, word: str) -> int | None:
    """The time of a tag: `v2.1`, also written `2.1`; else the first of its line, `v2` for v2.0.0."""
    if facts is None or not word:
        return None
    bare = word.removeprefix("v")
    for spelling in (word, f"v{bare}", bare):
        if spelling in facts.tags:
            return facts.tags[spelling]
    line = [at for tag, at in facts.tags.items() if tag.removeprefix("v").startswith(f"{bare}.")]
    return min(line, default=None) if bare[:1].isdigit() else None


def _is_outdated(card: Card, facts: RepoFacts) -> bool:
    """At least half of what it is about has changed: in a busy repository one file of ten always has."""
    own = {path for file in card.files_modified[:_MOST_FILES] if (path := facts.path(file))}
    about = card.files_modified[:_MOST_FILES] or card.files[:_MOST_FILES]
    changed = sum(
        _has_changed(path, path in own, card, facts) for file in about if (path := facts.path(file))
    )
    return changed > 0 and 2 * changed >= len(about)


def _has_changed(path: str, own: bool, card: Card, facts: RepoFacts) -> bool:
    later = [touch for touch in facts.touches[path] if touch.at > card.created_at]
    if own and later:
        first = later[-1]
        if first.at - card.created_at <= _OWN_WORK_MS or card.commit in first.parents:
            later.pop()
    return bool(later)


def _is_off_the_trunk(card: Card, facts: RepoFacts, current_branch: str | None) -> bool:
    if card.branch is None or card.branch == current_branch:
        return False
    if card.branch in facts.branches:
        return not facts.branches[card.branch]
    # Gone. Before the oldest commit we looked at, nothing can be said of reach.
    known = card.commit is not None and card.created_at > facts.commits_since
    return known and card.commit not in facts.commits
