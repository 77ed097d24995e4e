"""Decides which session made a commit, by records of what happened and of commits taken in before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from claude_mem.backfill import commits
from claude_mem.backfill.commits import SessionOf
from claude_mem.model.records import Record

WITHIN_MS = 10 * 60_000
LOOKED_AT = 8_000  # signs of a command, for its message
_SHORT = 7  # signs of a hash that git shows at least

_ANSWER = re.compile(r"^\[[^\]\n]{1,300}? ([0-9a-f]{7,40})\] (.{1,1000})$", re.M)
_MESSAGE = re.compile(
    r"""git\b[^\n]{0,500}?\bcommit\b[^\n]{0,500}?(?:-\w{0,8}m|--message)[ =]?(["'])(.+?)\1""", re.S
)


@dataclass(frozen=True, slots=True)
class Made:
    """A commit that a session tells of."""

    session: str
    at: int
    subject: str
    sha: str = ""  # as far as it is told


def made_in(record: Record) -> Iterator[Made]:
    """The commits that a record tells of: an observation that is one, or an event in which one was made."""
    session, at = str(record.get("session_id")), record.get("at")
    if not isinstance(at, int):
        return
    if record.get("kind") == "observation" and record.get("client") == commits.CLIENT:
        yield Made(session, at, str(record.get("title") or ""), str(record.get("commit") or ""))
    elif record.get("kind") == "event" and record.get("tool_name") == "Bash":
        command, output = (
            _said(record.get("tool_input"), "command"),
            _said(record.get("tool_response"), "stdout"),
        )
        if "git" not in command or "commit" not in command:
            return
        answers = _ANSWER.findall(output)
        yield from (Made(session, at, subject, sha) for sha, subject in answers)
        if not answers:
            for _, message in _MESSAGE.findall(command[:LOOKED_AT]):
                yield Made(session, at, message.strip().partition("\n")[0])


def finder(records: Iterable[Record], *, within_ms: int = WITHIN_MS) -> SessionOf:
    """Where a commit was taken in stays its place. Else who tells its hash, or its subject near its time."""
    taken: dict[str, str] = {}
    by_sha: dict[str, str] = {}
    by_subject: dict[str, list[Made]] = {}
    for record in records:
        for made in made_in(record):
            if len(made.sha) >= 40:
                taken[made.sha] = made.session
            elif len(made.sha) >= _SHORT:
                by_sha[made.sha[:_SHORT]] = made.session
            by_subject.setdefault(_plain(made.subject), []).append(made)

    def session_of(sha: str, subject: str, at: int) -> str | None:
        known = taken.get(sha) or by_sha.get(sha[:_SHORT])
        if known:
            return known
        told = (made for made in by_subject.get(_plain(subject), ()) if not made.sha)
        near = [made for made in told if abs(made.at - at) <= within_ms]
        return min(near, key=lambda made: abs(made.at - at)).session if near else None

    return session_of


def _said(value: object, key: str) -> str:
    """What a tool was given or gave: a field of its JSON, or all of it where it is none (any more)."""
    text = value if isinstance(value, str) else ""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    found = fields.get(key) if isinstance(fields, dict) else fields
    return found if isinstance(found, str) else ""


def _plain(subject: str) -> str:
    return " ".join(subject.split()).casefold()
