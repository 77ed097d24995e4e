"""Finds the repository, branch and commit of a working directory, without running git.

Reads the few small files git keeps for it. Answers are remembered for a moment: the events of one turn come
from one place.
"""

from __future__ import annotations

import configparser
import errno
import os
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from claude_mem.model.events import LONGEST_PATH, Origin, worktree_of

REMEMBER_MS = 2_000
MOST_REMEMBERED = 256
MOST_BYTES = 64 << 20  # packed-refs of a very large repository
NO_REF = "refs/heads/.invalid"  # git keeps the branch in a reftable, where only git reads it
NOWHERE = Origin(key="unknown", name="unknown", root="")


class Origins:
    """Resolves working directories; remembers the last few answers for a moment."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._known: dict[str, tuple[int, Origin]] = {}

    def of(self, cwd: str | None) -> Origin:
        if not cwd:
            return NOWHERE
        now = self._clock()
        asked_at, origin = self._known.get(cwd, (None, NOWHERE))
        if asked_at is not None and 0 <= now - asked_at < REMEMBER_MS:
            return origin
        origin = resolve(Path(cwd))
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[cwd] = (now, origin)
        return origin


def resolve(cwd: Path) -> Origin:
    """The origin of work done in `cwd`; a directory outside any repository is a project of its own, unless
    it was a worktree."""
    found = _repository(cwd)
    place = worktree_of(str(cwd)) if found is None else None
    if place is None:
        return found or _plain(cwd)
    main, worktree = place
    origin = _repository(Path(main)) or _plain(Path(main))
    return replace(origin, worktree=worktree, branch=None, commit=None)


def _plain(cwd: Path) -> Origin:
    return Origin(key=str(cwd), name=cwd.name or str(cwd), root=str(cwd), plain=True)


def _repository(cwd: Path) -> Origin | None:
    if len(str(cwd)) > LONGEST_PATH:
        return None
    try:
        return _in_repository(cwd)
    except Exception:  # anybody's files, damaged in any way: still a place with a name
        return None


def _in_repository(cwd: Path) -> Origin | None:
    for top in (cwd, *cwd.parents):
        dot_git = top / ".git"
        if not dot_git.exists():
            continue
        git_dir = dot_git if dot_git.is_dir() else _linked(top, dot_git)
        common = _common_directory(git_dir)
        config = _config(common)
        main_root = _main_root(top, git_dir, common, config)
        remote = _remote(config)
        branch, commit = _head(git_dir, common)
        return Origin(
            key=remote or str(main_root),
            name=main_root.name or str(main_root),
            root=str(main_root),
            remote=remote,
            worktree=str(top) if git_dir != common else None,
            branch=branch,
            commit=commit,
        )
    return None


def _linked(top: Path, dot_git: Path) -> Path:
    """A worktree's `.git` is a file that says where its directory is."""
    _, _, target = _content(dot_git).partition("gitdir:")
    return (top / target.strip()).resolve()


def _common_directory(git_dir: Path) -> Path:
    common = git_dir / "commondir"
    return (git_dir / _content(common).strip()).resolve() if common.is_file() else git_dir


def _main_root(top: Path, git_dir: Path, common: Path, config: configparser.ConfigParser) -> Path:
    """The main working tree; of a bare repository with worktrees, the repository itself."""
    if git_dir == common:
        return top  # a submodule's git directory lies elsewhere, too
    if common.name == ".git":
        return common.parent
    main = config.get("core", "worktree", fallback=None)  # a submodule's, seen from one of its worktrees
    return (common / main).resolve() if main else common


def _config(common: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    parser.read_string(_content(common / "config").replace("\t", ""))
    return parser


def _remote(config: configparser.ConfigParser) -> str | None:
    """The `origin` remote, else the first one."""
    remotes = [section for section in config.sections() if section.startswith("remote ")]
    chosen = 'remote "origin"' if 'remote "origin"' in remotes else next(iter(remotes), None)
    url = config.get(chosen, "url", fallback=None) if chosen else None
    return normalised(url) if url else None


def normalised(url: str) -> str:
    """One spelling for all addresses of a repository, without user name or password."""
    url = url.strip()
    scp_like = re.fullmatch(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)", url)
    if scp_like:
        host, path = scp_like.groups()
    else:
        host, _, path = re.sub(r"^[a-z+]+://(?:[^@/]*@)?", "", url, flags=re.IGNORECASE).partition("/")
        host = re.sub(r":\d+$", "", host)
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"


def _head(git_dir: Path, common: Path) -> tuple[str | None, str | None]:
    head = _content(git_dir / "HEAD").strip()
    if not head.startswith("ref:"):
        return None, head or None  # detached
    ref = head.removeprefix("ref:").strip()
    if ref == NO_REF:
        return None, None
    branch = ref.removeprefix("refs/heads/")
    loose = common / ref
    if loose.is_file():
        return branch, _content(loose).strip()
    packed = common / "packed-refs"
    if packed.is_file():
        for line in _content(packed).splitlines():
            commit, _, name = line.partition(" ")
            if name == ref:
                return branch, commit
    return branch, None  # no commit yet


def _content(path: Path) -> str:
    """No pipe or device is waited for, and no more is read than git would write."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    finally:
        os.close(fd)
