"""Parses a commit: subject, body, branch and hash. The best summary there is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from claude_mem.model.memory import type_of_commit
from claude_mem.model.refs import ObservationType
from claude_mem.observe.offline.steps import Ran
from claude_mem.observe.shell import SimpleCommand

_MADE = re.compile(
    r"^\[(?P<branch>[^\]]{1,200}?)(?: \(root-commit\))? (?P<sha>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.M
)
_STAT = re.compile(r"^ ?(\d+ files? changed(?:, \d+ insertions?\(\+\))?(?:, \d+ deletions?\(-\))?)", re.M)
_MODE = re.compile(r"^ (?:create|delete) mode \d+ (.+)$", re.M)
_STAT_LINE = re.compile(r"^ (\S[^|\n]{0,300}?) +\| +(?:\d+|Bin)", re.M)
_TRAILER = re.compile(r"^(?:[A-Z][\w-]+(?:-[Bb]y|-[Ii]d)?: |🤖|\[?Generated with |Entire-)", re.M)
_HEAD = 8
_SHORT_M = re.compile(r"-[a-zA-Z]{0,8}m")  # -m, and in a cluster: -am, -qam


@dataclass(slots=True)
class Commit:
    at: int
    subject: str
    body: str = ""
    sha: str = ""
    branch: str = ""
    stat: str = ""
    amended: bool = False
    files: list[str] = field(default_factory=list)

    @property
    def kind(self) -> ObservationType | None:
        """By its subject; None if that does not say."""
        return type_of_commit(self.subject)


def read(at: int, ran: Ran, simples: list[SimpleCommand]) -> list[Commit]:
    """The commits a command made; none if git says it made none."""
    calls = [
        simple
        for simple in simples
        if simple.program == "git" and simple.sub == "commit" and "--dry-run" not in simple.words
    ]
    if not calls:
        return []
    made = list(_MADE.finditer(ran.output))
    if not made and (ran.failed or ran.interrupted):
        return []
    stats = _STAT.findall(ran.output)
    found = []
    for index, call in enumerate(calls):
        subject, body = _message(call)
        line = made[index] if index < len(made) else None
        if line and not subject.startswith(line["subject"].rstrip("….")):
            subject = line["subject"]
        if not subject:
            continue
        found.append(
            Commit(
                at,
                subject.strip(),
                body,
                line["sha"][:_HEAD] if line else "",
                line["branch"] if line else "",
                stats[index] if index < len(stats) else "",
                "--amend" in call.words,
                _MODE.findall(ran.output),
            )
        )
    return found


def _message(call: SimpleCommand) -> tuple[str, str]:
    parts: list[str] = []
    words = call.words
    for index, word in enumerate(words):
        if (word == "--message" or _SHORT_M.fullmatch(word)) and index + 1 < len(words):
            parts.append(words[index + 1])
        elif word.startswith("--message="):
            parts.append(word[10:])
    text = "\n\n".join(parts)
    if call.heredoc is not None and ("HEREDOC" in text or not text):
        text = call.heredoc
    subject, _, body = text.strip().partition("\n")
    return subject, _without_trailers(body)


def _without_trailers(body: str) -> str:
    paragraphs = re.split(r"\n\s*\n", body.strip())
    return "\n\n".join(
        part for part in paragraphs if part.strip() and not _TRAILER.match(part.strip())
    ).strip()


def undone(simple: SimpleCommand) -> int:
    """How many of the last commits this takes back to be made again."""
    if simple.program != "git" or simple.sub != "reset" or "--hard" in simple.words:
        return 0
    found = re.search(r"HEAD(?:~(\d{1,2})|(\^+))?$", " ".join(simple.words))
    return 0 if not found else int(found[1]) if found[1] else len(found[2] or "")


def staged(simples: list[SimpleCommand], output: str) -> list[str]:
    """The files that were named to `git add`, or listed as staged."""
    found: list[str] = []
    for simple in simples:
        if simple.program != "git":
            continue
        if simple.sub == "add":
            found += [
                word
                for word in simple.plain()[1:]
                if word not in (".", "*", ":/") and not re.search(r"[*$]", word)
            ]
        elif "--stat" in simple.words and (
            simple.sub in ("show", "commit") or {"--cached", "--staged"} & set(simple.words)
        ):
            found += [
                name.strip()
                for name in _STAT_LINE.findall(output)
                if "=>" not in name and not name.startswith("...")
            ]
    return found
