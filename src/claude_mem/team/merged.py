"""Decides whether a memory's branch was merged into the default branch, because only then is the memory
shared.

The default branch is origin/HEAD's or, without one, main or master, both locally and as last fetched. A
branch is merged if its last known tip is in the default branch, if each of its commits is there under another
name (rebase), or if one commit there makes the same changes as the whole branch (squash). The tip of a branch
without a commit of its own since the last merge is in the default branch too, but that does not mean that its
work is. If git cannot tell, a memory waits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from claude_mem.git import Git, Unanswered
from claude_mem.model.clock import Clock
from claude_mem.model.sharing import BranchState, OutboxItem
from claude_mem.model.structs import replace
from claude_mem.store.outbox import Outbox

REFRESH_S = 180.0
WITHIN_S = 5.0
MOST_BRANCHES = 50  # of a project, looked at in one go
MOST_COMMITS = 1_000
MOST_PATHS = 200  # that are named to git; of a branch that changes more, all paths are compared
MOST_LOOKS = 1_000
MOST_BYTES = 32 << 20
DEFAULTS = ("main", "master")
_HASH = re.compile(r"[0-9a-f]{40,64}")

NO_REPOSITORY = "its repository is not on this machine"
NO_ANSWER = "git did not answer"
NO_DEFAULT = "the repository has no default branch"


class RepoHeads(Struct, frozen=True):
    """The branches of a repository."""

    default: str | None  # its name
    default_tips: tuple[str, ...]  # here, and as last fetched
    tips: Mapping[str, str]  # by name; those that were fetched only where there is none here


class Look(Struct, frozen=True):
    """What git reports about a branch's tip."""

    tip: str
    inside: bool  # the default branch has it
    rewritten: bool = False  # the default branch has its changes
    committed: bool = False  # commits were made on the branch, by its log


def after_look(state: BranchState | None, look: Look, now: int) -> BranchState:
    """What is known of the branch now. What was made on it by `merged_at` is in the default branch; what was
    made later waits for further commits."""
    known = state or BranchState(look.tip)
    if known.merged_at is not None and known.tip == look.tip and not known.ahead:
        return known
    ahead = known.ahead or not look.inside or (look.committed and known.merged_at is None)
    if ahead and (look.inside or look.rewritten):
        return BranchState(look.tip, ahead=False, merged_at=now)
    return replace(known, tip=look.tip, ahead=ahead)


class MergedBranches:
    """Queries git rarely and within a deadline. One caller at a time."""

    def __init__(
        self,
        outbox: Outbox,
        clock: Clock,
        *,
        always: bool = False,
        environ: Mapping[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outbox, self._clock, self._always = outbox, clock, always
        self._environ, self._monotonic = environ, monotonic
        self._results: dict[int, tuple[float, dict[str, str | None]]] = {}
        """By project: the time, and why memories of each branch wait, unless they were made before the branch
        was merged."""
        self._looks: dict[tuple[str, str, tuple[str, ...]], Look] = {}
        """By repository, tip and tips of the default branch: results that git would repeat."""
        self.lookup_count = 0

    def discard_results(self) -> None:
        """Discards earlier results from git."""
        self._results.clear()

    def reasons(self, items: Iterable[OutboxItem]) -> dict[OutboxItem, str]:
        """The reasons why items wait; those that need not are omitted."""
        by_project: dict[int, list[OutboxItem]] = {}
        for item in items:
            if not (self._always or item.at_once or item.is_known) and _places(item):
                by_project.setdefault(item.project_id, []).append(item)
        found: dict[OutboxItem, str] = {}
        for project_id, some in by_project.items():
            states = self._outbox.branches(project_id)
            places = {place for item in some for place in _places(item)}
            waiting = self._waiting_reasons(project_id, some[0].root, places, states)
            states = self._outbox.branches(project_id)
            for item in some:
                for place in _places(item):
                    why = waiting.get(place, NO_ANSWER)
                    merged_at = states[place].merged_at if place in states else None
                    if why is not None and (merged_at is None or item.at > merged_at):
                        found[item] = why
        return found

    def _waiting_reasons(
        self, project_id: int, root: str, places: set[str], states: Mapping[str, BranchState]
    ) -> Mapping[str, str | None]:
        now = self._monotonic()
        at, before = self._results.get(project_id, (-REFRESH_S, {}))
        reasons = before if now - at < REFRESH_S else {}
        unknown = [place for place in places if place not in reasons]
        # Branches that took too long come last, so that they do not prevent others from being checked.
        unknown.sort(key=lambda place: (before.get(place) == NO_ANSWER, str(place)))
        unknown = unknown[:MOST_BRANCHES]
        if unknown:
            new, new_reasons = self._look(root, unknown, states)
            self._outbox.note_branches(project_id, new)
            reasons = {**reasons, **new_reasons}
            self._results[project_id] = (now if len(reasons) == len(new_reasons) else at, reasons)
        return reasons

    def _look(
        self, root: str, places: Sequence[str], states: Mapping[str, BranchState]
    ) -> tuple[dict[str, BranchState], dict[str, str | None]]:
        """The current state of each branch, and why its memories wait. A commit counts as its own branch."""
        if not root or not (Path(root) / ".git").exists():
            return {}, dict.fromkeys(places, NO_REPOSITORY)
        self.lookup_count += 1
        git = Git(Path(root), time.monotonic() + WITHIN_S, self._environ, most_bytes=MOST_BYTES)
        new: dict[str, BranchState] = {}
        reasons: dict[str, str | None] = {}
        try:
            heads = read_heads(git)
        except Unanswered:
            return {}, dict.fromkeys(places, NO_ANSWER)
        for place in places:
            if place == heads.default:
                reasons[place] = None
            elif heads.default is None:
                reasons[place] = NO_DEFAULT
            elif place.startswith("@"):
                reasons[place] = self._of_commit(git, place[1:], heads)
            else:
                state, reasons[place] = self._of_branch(git, root, place, heads, states.get(place))
                if state is not None:
                    new[place] = state
        return new, reasons

    def _of_commit(self, git: Git, commit: str, heads: RepoHeads) -> str | None:
        if not _HASH.fullmatch(commit):
            return NO_ANSWER
        try:
            return None if is_inside(git, commit, heads) else f"commit {commit[:9]} is not in {heads.default}"
        except Unanswered:
            return NO_ANSWER

    def _looked_at(self, git: Git, root: str, branch: str | None, tip: str, heads: RepoHeads) -> Look:
        key = (root, tip, heads.default_tips)
        if (found := self._looks.get(key)) is None:
            found = look_at(git, branch, tip, heads)
            if len(self._looks) >= MOST_LOOKS:
                self._looks.clear()
            self._looks[key] = found
        return found

    def _of_branch(
        self, git: Git, root: str, branch: str, heads: RepoHeads, state: BranchState | None
    ) -> tuple[BranchState | None, str]:
        tip = heads.tips.get(branch) or (state.tip if state else None)
        if tip is None:
            return None, f"branch {branch} is gone, and was not seen before"
        try:
            look = self._looked_at(git, root, branch if branch in heads.tips else None, tip, heads)
        except Unanswered:
            return None, NO_ANSWER
        known = after_look(state, look, self._clock())
        what = "is not merged into" if known.ahead else "has no new commit that could be in"
        return known, f"branch {branch} {what} {heads.default}"


def _places(item: OutboxItem) -> tuple[str, ...]:
    """Its branch, of a detached HEAD the commit, and others that its turn worked on; none: no repository."""
    place = item.branch or (f"@{item.commit}" if item.commit else None)
    return tuple(dict.fromkeys((place, *item.also) if place else item.also))


def read_heads(git: Git) -> RepoHeads:
    """Raises Unanswered."""
    form = "--format=%(refname)%00%(objectname)%00%(symref)"
    local: dict[str, str] = {}
    fetched: dict[str, str] = {}
    default = None
    for line in git.output("for-each-ref", form, "refs/heads", "refs/remotes/origin").splitlines():
        ref, commit, points_at = line.split("\0")
        if ref == "refs/remotes/origin/HEAD":
            default = points_at.removeprefix("refs/remotes/origin/") or None
        elif ref.startswith("refs/heads/"):
            local[ref.removeprefix("refs/heads/")] = commit
        else:
            fetched[ref.removeprefix("refs/remotes/origin/")] = commit
    tips = fetched | local
    if default is None:
        default = next((name for name in DEFAULTS if name in tips), None)
    found = [where[default] for where in (local, fetched) if default is not None and default in where]
    return RepoHeads(default if found else None, tuple(dict.fromkeys(found)), tips)


def look_at(git: Git, branch: str | None, tip: str, heads: RepoHeads) -> Look:
    """`branch`: None if it is gone. Raises Unanswered."""
    if is_inside(git, tip, heads):
        return Look(tip, inside=True, committed=branch is not None and _has_commits(git, branch))
    return Look(tip, inside=False, rewritten=any(_is_rewritten(git, tip, one) for one in heads.default_tips))


def is_inside(git: Git, commit: str, heads: RepoHeads) -> bool:
    """Whether the default branch has it. Raises Unanswered, also if there is no such commit."""
    return not git.output("rev-list", "-n1", f"{commit}^{{commit}}", "--not", *heads.default_tips).strip()


def _has_commits(git: Git, branch: str) -> bool:
    """By the branch's own log: whether a commit was ever made on it."""
    try:
        log = git.output("log", "-g", f"-n{MOST_COMMITS}", "--format=%gs", f"refs/heads/{branch}", "--")
    except Unanswered:
        return False  # it keeps none
    return any(re.match(r"commit|cherry-pick|am:", line) for line in log.splitlines())


def _is_rewritten(git: Git, tip: str, default: str) -> bool:
    """Whether the default branch has the changes of each of its commits, or of all together in one."""
    picked = git.output("cherry", default, tip).splitlines()
    if picked and all(line.startswith("-") for line in picked):
        return True
    base = git.output("merge-base", default, tip).strip()
    whole = _changes(git.output(*_DIFF, base, tip, "--"))
    names = git.output("diff", "--name-only", "-z", "--no-renames", base, tip, "--").split("\0")
    paths = [name for name in names if name]
    options = (f"-n{MOST_COMMITS}", "--no-merges", "--format=%x01", f"{base}..{default}", "--")
    log = git.output("log", *_LOG, *options, *(paths if len(paths) <= MOST_PATHS else ()))
    return bool(whole) and any(_changes(each) == whole for each in log.split("\x01"))


_QUIET = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "-U0")
_DIFF = ("diff", *_QUIET)
_LOG = ("log", "-p", *_QUIET, "--no-notes", "--no-show-signature")[1:]


def _changes(diff: str) -> tuple[str, ...]:
    """The changes in a diff, independent of their position: git's patch-id without context."""
    changes = []
    for line in diff.splitlines():
        if line.startswith(("+", "-", "Binary files", "new file", "deleted file", "old mode", "new mode")):
            changes.append("".join(line.split()))
    return tuple(changes)
