"""Facts that git knows about a repository, queried rarely, in the background, within limits; and what they
say about a memory.

A repository may be untrusted, and its configuration can name programs. Our queries run none of them: no
hooks, no pager, no external diff, no signature check, no fetch for a partial clone.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from threading import Lock

from claude_mem import git
from claude_mem.model.events import Origin
from claude_mem.model.refs import Card
from claude_mem.model.text import lazy_pattern
from claude_mem.recall import staleness
from claude_mem.recall.staleness import RepoFacts, Touch
from claude_mem.store.base import Projects

WITHIN_S = 2.0  # all questions together
RETRY_AFTER_S = 60.0  # after no answer, though nothing has changed
MOST_COMMITS = 5_000
MOST_COMMITS_WITH_FILES = 2_000
MOST_FILES_OF_A_COMMIT = 300  # a formatter or a vendored library: it says little about any of them
MOST_BYTES = 16 << 20
_MOST_FOLDERS = 2_000
_TRUNKS = ("main", "master", "trunk", "develop")

_HEAD = lazy_pattern(r"\x01[0-9a-f]+ \d+(?: [0-9a-f]+)* ?")
_REVERTS = lazy_pattern(r"This reverts commit ([0-9a-f]{40,64})\b")
_QUIET_LOG = ("--no-color", "--no-notes", "--no-mailmap", "--no-show-signature")


class Repository:
    """One working tree. Any thread may query it; answers are cached until HEAD or a ref changes."""

    def __init__(
        self, root: str | Path, *, within_s: float = WITHIN_S, environ: Mapping[str, str] | None = None
    ) -> None:
        self._root, self._within_s = Path(root), within_s
        self._environ = environ
        self._lock = threading.Lock()
        # The top of the tree, its git directory, and the one that worktrees share.
        self._places: tuple[Path, Path, Path] | None = None
        self._state: tuple[object, ...] = ()
        self._read_at = 0.0
        self._facts: RepoFacts | None = None
        self.reads = 0

    def facts(self) -> RepoFacts | None:
        """None: no git, no repository, no commit yet, or no answer in time."""
        with self._lock:
            state, waited = self._current_state(), time.monotonic() - self._read_at
            if state != self._state or (self._facts is None and waited > RETRY_AFTER_S):
                self._update()
                self._read_at = time.monotonic()
            return self._facts

    def _current_state(self) -> tuple[object, ...]:
        """What changes when a commit, a checkout, a fetch or a tag is made."""
        if self._places is None:
            return (_stamp(self._root / ".git"),)
        _, own, common = self._places
        files = (own / "HEAD", own / "logs/HEAD", common / "packed-refs", common / "reftable/tables.list")
        return tuple(map(_stamp, (*files, *_folders(common / "refs"))))

    def _update(self) -> None:
        deadline = time.monotonic() + self._within_s
        self.reads += 1
        self._facts = None
        try:
            if self._places is None:
                self._state = self._current_state()
                where = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
                top, own, common = self._git(deadline, "rev-parse", *where).removesuffix("\n").split("\n")
                self._places = Path(top), Path(own), self._root / common
            # Taken before reading, so that changes in the meantime are noticed next time.
            self._state = self._current_state()
            self._facts = self._read(deadline)
        except (git.Unanswered, ValueError):
            return

    def _read(self, deadline: float) -> RepoFacts:
        assert self._places is not None
        top, _, common = self._places

        def log(most: int, *arguments: str) -> str:
            return self._git(deadline, "log", *_QUIET_LOG, f"-n{most}", *arguments, "HEAD", "--")

        commits = log(MOST_COMMITS, "--format=%H %ct").splitlines()
        oldest = min((int(line.split()[1]) for line in commits), default=0)
        all_seen = len(commits) < MOST_COMMITS and not (common / "shallow").exists()
        how = ("--format=%x01%H %at %P", "--name-status", "-z", "--no-renames", "--diff-merges=off")
        touches, deleted = _touches(log(MOST_COMMITS_WITH_FILES, *how))
        undone = log(MOST_COMMITS, "--grep=^This reverts commit [0-9a-f]", "--format=%H%n%b")
        bases: dict[str, list[str]] = defaultdict(list)
        for path in touches:
            bases[path.rpartition("/")[2]].append(path)
        branches, tags = self._refs(deadline)
        return RepoFacts(
            root=str(top),
            commits=frozenset(line.split()[0] for line in commits),
            commits_since=0 if all_seen else oldest * 1000,
            touches=touches,
            paths={base: tuple(paths) for base, paths in bases.items()},
            branches=branches,
            tags=tags,
            # One that is deleted on one branch and changed on another may still be there.
            deleted=frozenset(path for path in deleted if not os.path.lexists(top / path)),
            reverted=_reverted(undone),
        )

    def _refs(self, deadline: float) -> tuple[dict[str, bool], dict[str, int]]:
        """Is each branch merged, and when was each tag made?"""
        tags: dict[str, int] = {}
        heads: dict[str, str] = {}  # branch: its ref; a local one before a remote's of the same name
        trunk = None
        listing = ("for-each-ref", "--format=%(refname)%00%(creatordate:unix)%00%(symref)")
        for line in self._git(deadline, *listing, "refs/heads", "refs/remotes", "refs/tags").splitlines():
            ref, at, target = line.split("\0")
            if ref.startswith("refs/tags/"):
                tags[ref.removeprefix("refs/tags/")] = int(at or 0) * 1000
            elif target:
                trunk = target if ref == "refs/remotes/origin/HEAD" else trunk
            else:
                heads.setdefault(_branch(ref), ref)
        trunk = trunk or next((heads[name] for name in _TRUNKS if name in heads), None)
        merged: set[str] = set()
        for into in ("HEAD", *((trunk,) if trunk in heads.values() else ())):
            found = ("for-each-ref", "--format=%(refname)", f"--merged={into}", "refs/heads", "refs/remotes")
            merged.update(self._git(deadline, *found).splitlines())
        return {name: ref in merged for name, ref in heads.items()}, tags

    def _git(self, deadline: float, *arguments: str) -> str:
        return git.Git(self._root, deadline, self._environ, most_bytes=MOST_BYTES).output(*arguments)


def _branch(ref: str) -> str:
    if ref.startswith("refs/heads/"):
        return ref.removeprefix("refs/heads/")
    return ref.removeprefix("refs/remotes/").partition("/")[2]


def _touches(changes: str) -> tuple[dict[str, tuple[Touch, ...]], set[str]]:
    """By path, and those that are deleted. Of heads and, after each, how each path changed and the path: all
    ended by NUL, and a newline before the first."""
    by_path: dict[str, list[Touch]] = defaultdict(list)
    deleted: set[str] = set()
    touch = Touch(0, "")
    paths: list[tuple[str, str]] = []
    how = ""
    for token in (*changes.split("\0"), "\x010 0"):
        if how:
            paths.append((how, token))
            how = ""
        elif _HEAD.fullmatch(token):
            for status, path in paths if len(paths) <= MOST_FILES_OF_A_COMMIT else ():
                if status == "D" and path not in by_path:
                    deleted.add(path)  # the newest commit comes first
                by_path[path].append(touch)
            commit, at, *parents = token[1:].split()
            touch, paths = Touch(int(at) * 1000, commit, tuple(parents)), []
        else:
            how = token.removeprefix("\n")
    return {path: tuple(sorted(found, key=lambda one: -one.at)) for path, found in by_path.items()}, deleted


def _reverted(undone: str) -> frozenset[str]:
    """Work that a commit reverts which is not reverted itself; the newest comes first."""
    found: set[str] = set()
    reverts: set[str] = set()
    commit = ""
    for line in undone.splitlines():
        if re.fullmatch(r"[0-9a-f]{40,64}", line):
            commit = line
        elif target := _REVERTS.match(line):
            found |= set() if commit in found else {target[1]}
            reverts.add(commit)
    return frozenset(found - reverts)


def _folders(top: Path) -> Iterable[Path]:
    """A ref is replaced by renaming, which changes its folder."""
    folders = [top]
    for folder in folders:
        if len(folders) >= _MOST_FOLDERS:
            break
        try:
            folders += [Path(entry) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
    return sorted(folders)


def _stamp(path: Path) -> tuple[str, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return str(path), found.st_mtime_ns, 0 if stat.S_ISDIR(found.st_mode) else found.st_size


HOLDS_S = 0.2
"""How long an answer is used without checking the disk, because a search checks 150 cards."""
THREADS = 2

log = logging.getLogger("claude_mem")


class GitFacts:
    """Any thread may use it. `close` ends its threads, and waits no longer than git's own deadline."""

    def __init__(
        self,
        projects: Projects,
        origin_of: Callable[[str], Origin],
        repository: Callable[[str], Repository] = Repository,
    ) -> None:
        self._projects, self._origin_of, self._repository = projects, origin_of, repository
        self._repositories: dict[str, Repository] = {}
        self._facts: dict[str, staleness.RepoFacts | None] = {}  # as git last answered
        self._looks: dict[str, tuple[float, str | None]] = {}
        self._root_of = lru_cache(maxsize=1024)(self._find_root)
        self._lock = Lock()
        self._refreshing: set[str] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="git")

    def __call__(self, card: Card) -> tuple[str, ...]:
        """What to know before trusting it, by what git last said."""
        root = self._root_of(card.project_id)
        if not root or card.ref.kind not in ("observation", "summary"):
            return ()
        branch = self._looked_at(root)
        return staleness.marks(card, self._facts.get(root), branch)

    def facts(self, root: str) -> staleness.RepoFacts | None:
        """The current facts. Waits for git, so it is for background work and for answers that depend on
        it."""
        found = self._repositories.setdefault(root, self._repository(root)).facts()
        self._facts[root] = found
        return found

    def has_commit(self, root: str, commit: str) -> bool:
        """Waits for git."""
        facts = self.facts(root)
        return facts is not None and commit in facts.commits

    def look_again(self) -> None:
        """A project's directory was moved."""
        self._root_of.cache_clear()

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _looked_at(self, root: str) -> str | None:
        """The current branch: read once for all cards of a search, and the trigger for querying git again."""
        now = time.monotonic()
        at, branch = self._looks.get(root, (-HOLDS_S, None))
        if now - at >= HOLDS_S:
            branch = self._origin_of(root).branch
            self._looks[root] = now, branch
            self._refresh(root)
        return branch

    def _refresh(self, root: str) -> None:
        """Queries git, one query per repository at a time."""
        with self._lock:
            if not self._closed and root not in self._refreshing:
                self._refreshing.add(root)
                self._threads.submit(self._refreshed, root)

    def _refreshed(self, root: str) -> None:
        try:
            self.facts(root)
        except Exception:  # the next caller tries again
            log.exception("git could not be queried")
        finally:
            with self._lock:
                self._refreshing.discard(root)

    def _find_root(self, project_id: int) -> str:
        project = self._projects.by_id(project_id)
        return project.root if project else ""
