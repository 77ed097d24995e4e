"""Git: the repository of a working directory, and a repository's log.

The repository, branch and commit of a directory are read from a few small files without running git. An
answer is cached for a moment, because the events of a turn come from one directory. When git is run, it
is restricted (`Git`): a repository may be untrusted, and its configuration can name programs.
None of them runs: no hooks, no pager, no monitor, no fetch for a partial clone. A bare repository that was
planted in a folder is not used.
"""

from __future__ import annotations

import configparser
import errno
import io
import os
import re
import secrets
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct

from claude_mem.model.clock import Clock
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.events import LONGEST_PATH, Origin, worktree_of
from claude_mem.model.structs import replace

REMEMBER_MS = 2_000
MOST_CACHED = 256
MOST_FILE_BYTES = 64 << 20  # packed-refs of a very large repository
NO_REF = "refs/heads/.invalid"  # git keeps the branch in a reftable, where only git reads it
NOWHERE = Origin(key="unknown", name="unknown", root="")


class Origins:
    """Resolves working directories. The last few answers are cached for a moment, or until another branch is
    checked out, so that work is not attributed to the previous branch."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[int, str, Origin]] = {}

    def of(self, cwd: str | None) -> Origin:
        if not cwd:
            return NOWHERE
        now = self._clock()
        found_at, head, origin = self._known.get(cwd, (None, "", NOWHERE))
        if found_at is not None and 0 <= now - found_at < REMEMBER_MS and head == _checked_out(origin):
            return origin
        origin = resolve(Path(cwd))
        head = _checked_out(origin)
        if len(self._known) >= MOST_CACHED:
            self._known.clear()
        self._known[cwd] = (now, head, origin)
        return origin


def resolve(cwd: Path) -> Origin:
    """The origin of work done in `cwd`; a directory outside any repository is its own project, unless
    it was a worktree."""
    found = _repository(cwd)
    place = worktree_of(str(cwd)) if found is None else None
    if place is None:
        return found or _plain(cwd)
    main, worktree = place
    origin = _repository(Path(main)) or _plain(Path(main))
    return replace(origin, worktree=worktree, branch=None, commit=None)


def _checked_out(origin: Origin) -> str:
    """The content of HEAD; "" if there is none."""
    top = Path(origin.worktree or origin.root)
    dot_git = top / ".git"
    try:
        return _content((dot_git if dot_git.is_dir() else _linked(top, dot_git)) / "HEAD")
    except Exception:  # anybody's files, as in `_repository`; a loop of links is a RuntimeError
        return ""


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
        branch, commit = _head_of(git_dir, common)
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
    remote_section = 'remote "origin"' if 'remote "origin"' in remotes else next(iter(remotes), None)
    url = config.get(remote_section, "url", fallback=None) if remote_section else None
    return normalised(url) if url else None


def normalised(url: str) -> str:
    """The same form for all URLs of a repository, without user name or password."""
    url = url.strip()
    scp_like = re.fullmatch(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)", url)
    if scp_like:
        host, path = scp_like.groups()
    else:
        host, _, path = re.sub(r"^[a-z+]+://(?:[^@/]*@)?", "", url, flags=re.IGNORECASE).partition("/")
        host = re.sub(r":\d+$", "", host)
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"


def _head_of(git_dir: Path, common: Path) -> tuple[str | None, str | None]:
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
    """A file's content; pipes and devices are not read, and at most as much as git would write."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(MOST_FILE_BYTES).decode("utf-8", "replace")
    finally:
        os.close(fd)


_LEASH = (
    *("-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    *("-c", "safe.bareRepository=explicit", "-c", "diff.relative=false"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
    *("--no-optional-locks", "--no-pager", "--literal-pathspecs"),
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_PASSED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME")  # the user's own configuration says whom git trusts


WITHIN_S = 60.0
MOST_BYTES = 256 << 20
MOST_MESSAGE = 200_000
_PIECE = 64 << 10
_LATEST_S = 253_402_300_799  # the end of the year 9999

_QUIET = (
    *("--no-color", "--no-notes", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-decorate"),
    *("--name-only", "--no-renames", "--diff-merges=off", "-z"),
)


class Unanswered(ClaudeMemError):
    """git is not installed, refused, printed too much or took too long; `str()` says which."""


class GitCommit(Struct, frozen=True):
    sha: str
    at: int  # epoch milliseconds: when its author wrote it
    author: str = ""
    subject: str = ""
    body: str = ""
    files: tuple[str, ...] = ()  # from the root of the repository
    merges: bool = False
    is_edge: bool = False  # of a shallow clone: it seems to add every file there is


def log(
    repo: Path,
    *,
    since: int | None = None,
    limit: int,
    within_s: float = WITHIN_S,
    environ: Mapping[str, str] | None = None,
) -> Iterator[GitCommit]:
    """The newest commits reachable from HEAD, newest first; if HEAD has no commit yet, those of all
    branches. `since`: epoch milliseconds. Raises Unanswered."""
    git = Git(repo, time.monotonic() + within_s, environ)
    shallow = git.output("rev-parse", "--git-path", "shallow").removesuffix("\n")
    start = "HEAD"
    try:
        git.output("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    except Unanswered:
        start = "--branches"
    newer = () if since is None else (f"--since={since // 1000}",)
    mark = secrets.token_hex(16).encode()  # nobody could put it into a message or a path
    form = f"--format={mark.decode()}%H %at %P%x00%aN%x00%s%x00%b"
    edges = _edges(repo / shallow)
    printed = git.pieces("log", *_QUIET, f"-n{max(limit, 0)}", *newer, form, start, "--")
    with closing(printed):
        yield from _commits(_tokens(printed), mark, edges)


def _commits(tokens: Iterator[bytes], mark: bytes, edges: frozenset[str]) -> Iterator[GitCommit]:
    """Of each: the mark with hashes and time, author, subject, body; a newline and paths. NUL ends each."""
    head: list[bytes] = []
    files: list[bytes] = []
    for token in tokens:
        if token.startswith(mark):
            yield from _commit(head, files, edges)
            head, files = [token.removeprefix(mark)], []
        elif len(head) < 4:
            head.append(token)
        else:
            files.append(token if files else token.removeprefix(b"\n"))
    yield from _commit(head, files, edges)


def _commit(head: list[bytes], files: list[bytes], edges: frozenset[str]) -> Iterator[GitCommit]:
    if len(head) < 4:
        return
    first, author, subject, body = (raw.decode("utf-8", "replace") for raw in head)
    sha, at, *parents = first.split()
    yield GitCommit(
        sha=sha,
        at=max(0, min(int(at), _LATEST_S)) * 1000,
        author=author.strip(),
        subject=subject.strip()[:MOST_MESSAGE],
        body=body.strip()[:MOST_MESSAGE],
        files=tuple(path.decode("utf-8", "replace") for path in files if path),
        merges=len(parents) > 1,
        is_edge=sha in edges,
    )


def _tokens(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *names, rest = (rest + piece).split(b"\0")
        yield from names
    if rest:
        yield rest


def _edges(shallow: Path) -> frozenset[str]:
    try:
        return frozenset(shallow.read_text("ascii", "replace").split())
    except OSError:
        return frozenset()


class Git:
    """The restricted git command, in one repository and until a deadline (of `time.monotonic`)."""

    def __init__(
        self,
        repo: Path,
        deadline: float,
        environ: Mapping[str, str] | None = None,
        *,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._repo, self._deadline, self._most_bytes = repo, deadline, most_bytes
        given = os.environ if environ is None else environ
        self._environ = {name: given[name] for name in _PASSED_ON if name in given} | _ENVIRONMENT

    def output(self, *arguments: str) -> str:
        """Raises Unanswered."""
        return b"".join(self.pieces(*arguments)).decode("utf-8", "replace")

    def pieces(self, *arguments: str) -> Generator[bytes]:
        """The output as it comes. Raises Unanswered."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Unanswered(self._why(b"", 0))
        with tempfile.TemporaryFile() as complaint:
            try:
                process = subprocess.Popen(  # noqa: S603 - an argument list of our own words
                    ["git", *_LEASH, *arguments],  # noqa: S607 - which git is the user's choice
                    cwd=self._repo,
                    env=self._environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaint,
                )
            except (OSError, ValueError) as error:
                raise Unanswered(f"git cannot run in {self._repo}: {error}.") from error
            timer = threading.Timer(left, process.kill)
            timer.start()
            size = 0
            try:
                with process:
                    assert isinstance(process.stdout, io.BufferedReader)
                    while size <= self._most_bytes and (piece := process.stdout.read1(_PIECE)):
                        size += len(piece)
                        yield piece
                    if size > self._most_bytes:
                        process.kill()
            finally:
                timer.cancel()
                timer.join()
                with suppress(ProcessLookupError):
                    process.kill()
            if process.returncode != 0:
                complaint.seek(0)
                raise Unanswered(self._why(complaint.read(2_000), size))

    def _why(self, complaint: bytes, size: int) -> str:
        if time.monotonic() >= self._deadline:
            return f"git took too long in {self._repo}."
        if size > self._most_bytes:
            return f"git returned over {self._most_bytes >> 20} MB for {self._repo}. Narrow it with --since."
        lines = complaint.decode("utf-8", "replace").strip().splitlines()
        return f"git cannot read {self._repo}: {lines[0] if lines else 'no reason given'}"
