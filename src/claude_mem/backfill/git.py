"""Asks git for a repository's commits, on a leash: a stranger's repository must run no program of its own."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from claude_mem.model import leash
from claude_mem.model.errors import ClaudeMemError

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
    """git is not there, refused, said too much or took too long; `str()` says which."""


@dataclass(frozen=True, slots=True)
class Commit:
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
) -> Iterator[Commit]:
    """The newest commits that HEAD leads to, the newest first; where it leads nowhere yet, those of all
    branches. `since`: epoch milliseconds. Raises Unanswered."""
    git = _Git(repo, time.monotonic() + within_s, environ)
    shallow = git.said("rev-parse", "--git-path", "shallow").removesuffix("\n")
    start = "HEAD"
    try:
        git.said("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    except Unanswered:
        start = "--branches"
    newer = () if since is None else (f"--since={since // 1000}",)
    mark = secrets.token_hex(16).encode()  # nobody could put it into a message or a path
    form = f"--format={mark.decode()}%H %at %P%x00%aN%x00%s%x00%b"
    edges = _edges(repo / shallow)
    said = git.pieces("log", *_QUIET, f"-n{max(limit, 0)}", *newer, form, start, "--")
    with closing(said):
        yield from _commits(_tokens(said), mark, edges)


def _commits(tokens: Iterator[bytes], mark: bytes, edges: frozenset[str]) -> Iterator[Commit]:
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


def _commit(head: list[bytes], files: list[bytes], edges: frozenset[str]) -> Iterator[Commit]:
    if len(head) < 4:
        return
    first, author, subject, body = (raw.decode("utf-8", "replace") for raw in head)
    sha, at, *parents = first.split()
    yield Commit(
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
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole
    if rest:
        yield rest


def _edges(shallow: Path) -> frozenset[str]:
    try:
        return frozenset(shallow.read_text("ascii", "replace").split())
    except OSError:
        return frozenset()


class _Git:
    def __init__(self, repo: Path, deadline: float, environ: Mapping[str, str] | None) -> None:
        self._repo, self._deadline = repo, deadline
        self._environ = leash.environment(os.environ if environ is None else environ)

    def said(self, *question: str) -> str:
        return b"".join(self.pieces(*question)).decode("utf-8", "replace")

    def pieces(self, *question: str) -> Generator[bytes]:
        left = self._deadline - time.monotonic()
        with tempfile.TemporaryFile() as complaint:
            try:
                process = subprocess.Popen(  # noqa: S603 - an argument list of our own words
                    ["git", *leash.OPTIONS, *question],  # noqa: S607 - which git is the user's choice
                    cwd=self._repo,
                    env=self._environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaint,
                )
            except (OSError, ValueError) as error:
                raise Unanswered(f"git cannot be asked about {self._repo}: {error}.") from error
            timer = threading.Timer(max(left, 0.0), process.kill)
            timer.start()
            size = 0
            try:
                with process:
                    assert process.stdout is not None
                    while size <= MOST_BYTES and (piece := process.stdout.read1(_PIECE)):  # type: ignore[attr-defined]
                        size += len(piece)
                        yield piece
                    if size > MOST_BYTES:
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
            return f"git took too long with {self._repo}."
        if size > MOST_BYTES:
            return f"git has more to tell of {self._repo} than {MOST_BYTES >> 20} MB; say since when."
        lines = complaint.decode("utf-8", "replace").strip().splitlines()
        return f"git cannot read {self._repo}: {lines[0] if lines else 'it does not say why'}"
