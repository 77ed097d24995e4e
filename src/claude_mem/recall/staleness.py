"""Detects from the repository's history whether a memory may be stale.

This is a heuristic for a mark and a lower rank, never for hiding. Its limits:
- A memory's own work is committed after the memory was made. The first commit to touch a file that the memory
  changed counts as that work if it follows within a day or directly on the memory's commit. Later ones count
  as changes, even if they belong to that work.
- Times are author dates: a rebase does not make everything look changed, but a change written before the
  memory and merged after it goes unnoticed.
- A branch that was squashed or rebased into another and deleted looks as if it was never merged, unless the
  memory's commit was already on the default branch.
- A renamed file counts as a deleted file and a new one. Commits that touch very many files (such as a
  formatter's) are ignored. A deleted file counts against a memory unless the memory itself mentions it.
- A commit counts as reverted if a later one says so in the way `git revert` does. It counts as a memory's own
  if it touched a file that the memory changed, within a day of it.
- Contradictions between memories are not detected. A newer one on the same subject is named next to the
  older.
- A path without a folder is only recognized at the top of the repository.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct, field

from claude_mem.model.full_text import STOP_WORDS
from claude_mem.model.refs import Card, Hit, Ref
from claude_mem.model.structs import replace

FILES_CHANGED = "files changed since"
FILES_DELETED = "files deleted or renamed since"
REVERTED = "commit reverted since"
NEVER_MERGED = "branch never merged"
NEWER = "newer on this: #"

_PENALTIES = {FILES_CHANGED: 0.85, FILES_DELETED: 0.7, REVERTED: 0.6, NEVER_MERGED: 0.6}
_WORDS = re.compile(r"[^\W_]+")
_REMOVAL = re.compile(r"\b(?:delet|remov|renam|mov|drop|replac)\w*", re.IGNORECASE)
_SAME_SUBJECT, _SAME_SUBJECT_AND_FILE = 0.6, 0.4
"""The share of the words of the shorter title that two titles must have in common."""
_FEWEST_SHARED = 2
_OWN_WORK_MS = 86_400_000
_MOST_FILES = 24


class Touch(Struct, frozen=True):
    """A commit that changed a file."""

    at: int  # epoch milliseconds
    commit: str
    parents: tuple[str, ...] = ()


class RepoFacts(Struct, frozen=True):
    """Facts about a repository, as seen from its HEAD."""

    root: str
    commits: frozenset[str] = frozenset()  # the newest that HEAD contains
    commits_since: int = 0  # older ones were not looked at; 0: there are none
    touches: Mapping[str, tuple[Touch, ...]] = field(default_factory=dict)  # by path; the newest first
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the same, by their last part
    branches: Mapping[str, bool] = field(default_factory=dict)  # is it in HEAD or in the default branch?
    tags: Mapping[str, int] = field(default_factory=dict)  # epoch milliseconds
    deleted: frozenset[str] = frozenset()  # paths whose last change was to be deleted
    reverted: frozenset[str] = frozenset()  # commits that a later one undid

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
    """Warnings about a memory; empty if there are none."""
    if facts is None:
        return ()
    found = []
    if _has_deleted_files(card, facts):
        found.append(FILES_DELETED)
    elif _is_outdated(card, facts):
        found.append(FILES_CHANGED)
    if _is_reverted(card, facts):
        found.append(REVERTED)
    if _is_off_the_trunk(card, facts, current_branch):
        found.append(NEVER_MERGED)
    return tuple(found)


def penalty(marks: Sequence[str]) -> float:
    """The factor by which a memory's score is multiplied."""
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


def with_newer(hits: Sequence[Hit]) -> list[Hit]:
    """Each with a mark that names the newest other observation on the same subject among them, unless it is
    the newest itself."""
    observed = [hit.card for hit in hits if hit.card.ref.kind == "observation" and not hit.card.wrong]
    observed.sort(key=lambda card: card.created_at)
    newer_than: dict[Ref, Ref] = {}
    subjects: list[frozenset[str]] = []
    # Of each project; comparing each with each would take as long as the search.
    by_word: dict[int, dict[str, list[int]]] = {}
    for at, card in enumerate(observed):
        words = _subject(card.title)
        of_project = by_word.setdefault(card.project_id, {})
        shared = Counter(chain.from_iterable(of_project.get(word, ()) for word in words))
        for older, count in shared.items():
            if count >= _FEWEST_SHARED and _is_same_subject(
                observed[older], card, count, min(len(words), len(subjects[older]))
            ):
                newer_than[observed[older].ref] = card.ref  # the last is the newest
        subjects.append(words)
        for word in words:
            of_project.setdefault(word, []).append(at)
    return [
        replace(hit, marks=(*hit.marks, f"{NEWER}{newer}"))
        if (newer := newer_than.get(hit.card.ref))
        else hit
        for hit in hits
    ]


def _is_same_subject(older: Card, newer: Card, shared: int, of: int) -> bool:
    is_known = newer.superseded_by is not None or older.superseded_by == newer.ref.id
    if is_known or newer.created_at <= older.created_at:
        return False
    same_file = not set(older.files_modified).isdisjoint(newer.files_modified)
    return shared >= (_SAME_SUBJECT_AND_FILE if same_file else _SAME_SUBJECT) * of


def _subject(title: str) -> frozenset[str]:
    return frozenset([word[:6] for word in _WORDS.findall(title.lower()) if word not in STOP_WORDS])


def _has_deleted_files(card: Card, facts: RepoFacts) -> bool:
    about = card.files_modified[:_MOST_FILES] or card.files[:_MOST_FILES]
    count = sum(facts.path(file) in facts.deleted for file in about)
    return count > 0 and 2 * count >= len(about) and not _REMOVAL.search(f"{card.title} {card.text[:400]}")


def _is_reverted(card: Card, facts: RepoFacts) -> bool:
    if not facts.reverted:
        return False
    own = [path for file in card.files_modified[:_MOST_FILES] if (path := facts.path(file))]
    return any(
        touch.commit in facts.reverted and abs(touch.at - card.created_at) <= _OWN_WORK_MS
        for path in own
        for touch in facts.touches[path]
    )


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
    # The branch is gone. Reachability is unknown for anything before the oldest examined commit.
    known = card.commit is not None and card.created_at > facts.commits_since
    return known and card.commit not in facts.commits
