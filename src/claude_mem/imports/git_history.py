"""Converts a repository's commits to observations, and finds the session that made each.

A commit that a known session made belongs to that session. All others are in one session for the repository:
one per author and day would hide the real sessions in every list, and would add nothing to the commits' own
times. The ids of that session and of the commits depend only on git, so that reading again, on another day or
in another clone, gives the same result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from claude_mem import git
from claude_mem.git import GitCommit
from claude_mem.imports.import_report import Clean, SourceReport, own_session_id
from claude_mem.model.events import Origin
from claude_mem.model.memory import type_of_commit
from claude_mem.model.records import Record

CLIENT = "git"
MOST = 2_000
MOST_FILES = 200
MOST_TITLE = 500
MOST_BODY = 20_000

SessionOf = Callable[[str, str, int], str | None]
"""The session that made a commit, by its hash, its subject and the time it was made; None if unknown. It
must not change its mind about one that was taken in: that would take it in again, for another session."""

_TRAILER = re.compile(r"(?:[A-Z][\w-]+-[Bb]y: |🤖|Generated with |Change-Id: |git-svn-id: )")

_EMPTY_SUBJECT = re.compile(
    r"(?:wip|work in progress|tmp|temp|test|\.+|-+|fixup!.*|squash!.*|amend!.*|checkpoint|save|updates?"
    r"|minor|changes|stuff|misc|initial commit|first commit)[\s.!]*",
    re.I,
)
_VERSION = re.compile(
    r"(?:\w{1,20}(?:\([^)]{0,80}\))?:\s*)?(?:(?:bump|release|prepare|set|update|tag|publish)\s+)?"
    r"(?:for\s+)?(?:the\s+)?(?:new\s+)?(?:version|release)?\s*(?:to\s+)?v?\d+\.\d+[-+.\w]*"
    r"(?:\s*\[skip ci\])?",
    re.I,
)
_BUMPS = re.compile(r"(?:[\w()-]+:\s*)?bump \S+ from \S+ to \S+", re.I)
_LOCKS = frozenset(
    (
        *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"),
        *("Cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Gemfile.lock", "go.sum"),
        *("composer.lock", "mix.lock", "flake.lock", "packages.lock.json", "Podfile.lock", "pubspec.lock"),
    )
)


def read(
    repo: Path,
    project: Origin,
    *,
    clean: Clean,
    report: SourceReport,
    session_of: SessionOf | None = None,
    since: int | None = None,
    limit: int = MOST,
) -> Iterator[Record]:
    """The newest commits that can be reached from HEAD, oldest first. `since`: epoch milliseconds. Raises
    git.Unanswered."""
    commits = []
    for commit in git.log(repo, since=since, limit=limit):
        if reason := noise(commit):
            report.skip("commit", reason)
        else:
            commits.append(commit)
    commits.reverse()
    import_session = own_session_id(CLIENT, project)
    pairs = [(session_of(each.sha, each.subject, each.at) if session_of else None, each) for each in commits]
    without_session = [commit.at for session, commit in pairs if session is None]
    if without_session:
        # Dated by the first commit, not the newest, so that it comes last in a list of sessions.
        yield from report.begin(
            CLIENT, project, f"Commits of {project.name}", min(without_session), min(without_session)
        )
    elif commits:
        yield report.project(project, commits[0].at)
    for session, commit in pairs:
        is_known = session not in (None, import_session)
        yield _observation(commit, session or import_session, clean, report, is_known=is_known)


def _observation(
    commit: GitCommit, session: str, clean: Clean, report: SourceReport, *, is_known: bool
) -> Record:
    body = clean(message_body(commit.body))[:MOST_BODY].strip()
    return report.record(
        "observation",
        session_id=session,
        type=type_of_commit(commit.subject) or "change",
        title=clean(commit.subject).strip()[:MOST_TITLE],
        narrative=body or None,
        facts=[clean(f"Commit {commit.sha[:12]} by {commit.author}".strip())],
        files_modified=[clean(path) for path in commit.files[:MOST_FILES]],
        client=CLIENT,
        commit=commit.sha,
        provider=CLIENT,
        source="work" if is_known else "external",  # others may have written it
        at=commit.at,
    )


def noise(commit: GitCommit) -> str | None:
    """Why a commit is not worth importing; None: it is."""
    subject, alone = commit.subject.strip(), not message_body(commit.body)
    names = {path.rpartition("/")[2] for path in commit.files}
    reasons = {
        "a merge": commit.merges,
        "the edge of a shallow clone": commit.is_edge,
        "no message": not subject,
        "no changes": not names and alone,
        "only lock files": bool(names) and names <= _LOCKS,
        "uninformative message": alone and _EMPTY_SUBJECT.fullmatch(subject),
        "a version bump": alone and _VERSION.fullmatch(subject),
        "a dependency bump": _BUMPS.fullmatch(subject),
    }
    return next((why for why, holds in reasons.items() if holds), None)


def message_body(body: str) -> str:
    """A commit message's body, without the trailers that tools add."""
    paragraphs = re.split(r"\n[^\S\n]*\n", body.strip())
    return "\n\n".join(part for part in paragraphs if part and not _TRAILER.match(part.strip())).strip()


WITHIN_MS = 10 * 60_000
LOOKED_AT = 8_000  # signs of a command, for its message
_SHORT = 7  # signs of a hash that git shows at least

_ANSWER = re.compile(r"^\[[^\]\n]{1,300}? ([0-9a-f]{7,40})\] (.{1,1000})$", re.M)
_MESSAGE = re.compile(
    r"""git\b[^\n]{0,500}?\bcommit\b[^\n]{0,500}?(?:-\w{0,8}m|--message)[ =]?(["'])(.+?)\1""", re.S
)


class SessionCommit(Struct, frozen=True):
    """A commit that a session made."""

    session: str
    at: int
    subject: str
    sha: str = ""  # as much of it as is known


def commits_in(record: Record) -> Iterator[SessionCommit]:
    """The commits in a record: an observation of a commit, or an event in which one was made."""
    session, at = str(record.get("session_id")), record.get("at")
    if not isinstance(at, int):
        return
    if record.get("kind") == "observation" and record.get("client") == CLIENT:
        yield SessionCommit(session, at, str(record.get("title") or ""), str(record.get("commit") or ""))
    elif record.get("kind") == "event" and record.get("tool_name") == "Bash":
        command = _field(record.get("tool_input"), "command")
        output = _field(record.get("tool_response"), "stdout")
        if "git" not in command or "commit" not in command:
            return
        answers = _ANSWER.findall(output)
        yield from (SessionCommit(session, at, subject, sha) for sha, subject in answers)
        if not answers:
            for _, message in _MESSAGE.findall(command[:LOOKED_AT]):
                yield SessionCommit(session, at, message.strip().partition("\n")[0])


def finder(records: Iterable[Record], *, within_ms: int = WITHIN_MS) -> SessionOf:
    """Finds a commit's session: the one into which it was imported; otherwise one that mentions its hash, or
    its subject at about its time."""
    imported: dict[str, str] = {}
    by_sha: dict[str, str] = {}
    by_subject: dict[str, list[SessionCommit]] = {}
    for record in records:
        for commit in commits_in(record):
            if len(commit.sha) >= 40:
                imported[commit.sha] = commit.session
            elif len(commit.sha) >= _SHORT:
                by_sha[commit.sha[:_SHORT]] = commit.session
            by_subject.setdefault(_plain(commit.subject), []).append(commit)

    def session_of(sha: str, subject: str, at: int) -> str | None:
        known = imported.get(sha) or by_sha.get(sha[:_SHORT])
        if known:
            return known
        named = (commit for commit in by_subject.get(_plain(subject), ()) if not commit.sha)
        near = [commit for commit in named if abs(commit.at - at) <= within_ms]
        return min(near, key=lambda commit: abs(commit.at - at)).session if near else None

    return session_of


def _field(value: object, key: str) -> str:
    """A field of a tool's JSON; the whole text if it is not valid JSON."""
    text = value if isinstance(value, str) else ""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    found = fields.get(key) if isinstance(fields, dict) else fields
    return found if isinstance(found, str) else ""


def _plain(subject: str) -> str:
    return " ".join(subject.split()).casefold()
