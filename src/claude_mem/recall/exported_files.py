"""Forgetting in files that an export has made.

Such a file is its owner's, wherever they have put it: it is only looked at, unless they say otherwise.
Records (JSON lines) are then written anew without what is forgotten; a journal (Markdown) has no records to
tell apart, so it is named and left.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from claude_mem.api.memories import CopyReport
from claude_mem.files import atomic_file
from claude_mem.model.full_text import LiteralText
from claude_mem.model.records import FORMAT, parse_name
from claude_mem.store.values import DeletionRequest

KINDS = {"observation": "observation", "summary": "summary", "prompt": "prompt", "evidence": "event"}
"""What a record calls each kind of memory."""

HEAD = 4096
_BY_A_PERSON = "it is a Markdown file: edit or delete it yourself"

Record = dict[str, Any]


class ExportedFiles:
    """`listed`: the file that names every file an export has made."""

    def __init__(self, listed: Path) -> None:
        self._listed = listed

    def look(self, request: DeletionRequest) -> list[CopyReport]:
        return [report for path in self._made() if (report := _report(path, request)) is not None]

    def forget(self, request: DeletionRequest) -> list[CopyReport]:
        return [_rewrite(report, request) for report in self.look(request)]

    def _made(self) -> list[Path]:
        """Those that are still there, each once."""
        try:
            lines = self._listed.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        paths = []
        for line in lines:
            with suppress(ValueError, TypeError, KeyError):
                paths.append(Path(json.loads(line)["path"]))
        return [path for path in dict.fromkeys(paths) if _is_file(path)]


def _is_file(path: Path) -> bool:
    """Itself, not where a link leads; a pipe would keep us waiting."""
    try:
        return path.is_absolute() and stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _report(path: Path, request: DeletionRequest) -> CopyReport | None:
    """None: it does not hold it."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            is_records = _is_head(file.read(HEAD))
            file.seek(0)
            if is_records:
                holds = any(line != left for line, left in _Sieve(request).sift(file))
            else:
                text = request.selection.text
                holds = not text or any(map(LiteralText(text).is_in, file))
    except OSError as error:
        return CopyReport(str(path), "export", "left", error.strerror or "it cannot be read")
    return CopyReport(str(path), "export", "holds", "" if is_records else _BY_A_PERSON) if holds else None


def _rewrite(report: CopyReport, request: DeletionRequest) -> CopyReport:
    path, sieve = Path(report.path), _Sieve(request)
    if report.note:
        return CopyReport(report.path, "export", "left", report.note)
    try:
        with path.open(encoding="utf-8", errors="replace") as file, atomic_file(path, durable=True) as new:
            for _ in sieve.sift(file):  # what goes is known before its session is rewritten
                pass
            file.seek(0)
            for _, left in sieve.sift(file):
                new.write(left.encode(errors="replace"))
    except OSError as error:
        return CopyReport(report.path, "export", "left", error.strerror or "it cannot be written")
    return CopyReport(report.path, "export", "rewritten")


def _is_head(beginning: str) -> bool:
    """Of a file of records."""
    try:
        head = json.loads(beginning.partition("\n")[0])
    except ValueError:
        return False
    return isinstance(head, dict) and head.get("kind") == FORMAT


class _Sieve:
    def __init__(self, request: DeletionRequest) -> None:
        selection = request.selection
        self._wording = LiteralText(selection.text) if selection.text else None
        self._memories = {(KINDS[trace.ref.kind], trace.session, trace.at) for trace in request.traces}
        self._sessions = frozenset(request.sessions)
        self._project = request.project_key if selection.is_whole and not selection.session else None
        # What sessions lose, by which they may be called: their records come before those of what is in them.
        self._prompts: set[tuple[str, str]] = set()
        self._summaries: set[str] = set()

    def sift(self, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Each line, and what is left of it: itself, another, or nothing."""
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                yield line, "" if self._holds(line) else line
                continue
            if not isinstance(record, dict):
                yield line, line
                continue
            left = self._left(record)
            if left is None:
                self._note(record)
                yield line, ""
            else:
                yield line, line if left == record else json.dumps(left, ensure_ascii=False) + "\n"

    def _left(self, record: Record) -> Record | None:
        kind, session = record.get("kind"), record.get("session_id")
        if session in self._sessions or (kind, session, record.get("at")) in self._memories:
            return None
        project = record.get("key" if kind == "project" else "project")
        if self._project is not None and self._project == project:
            return None
        if kind == "session":
            return self._renamed(record)
        if any(map(self._holds, _texts_in(record))):
            return None
        older = record.get("supersedes")
        name = parse_name(older) if isinstance(older, str) else None
        return record | {"supersedes": None} if name is not None and name[0] in self._sessions else record

    def _renamed(self, record: Record) -> Record:
        """A session is called by its first prompt and its first summary."""
        left, session = dict(record), str(record.get("session_id"))
        if (session, record.get("first_user_prompt")) in self._prompts:
            left["first_user_prompt"] = None
        if session in self._summaries:
            left |= {name: None for name in ("title", "subtitle") if record.get(name) is not None}
        for name, value in record.items():
            if isinstance(value, str) and name != "session_id" and self._holds(value):
                left[name] = None
        return left

    def _note(self, record: Record) -> None:
        session = str(record.get("session_id"))
        if record.get("kind") == "prompt":
            self._prompts.add((session, str(record.get("text"))))
        elif record.get("kind") == "summary":
            self._summaries.add(session)

    def _holds(self, text: str) -> bool:
        return self._wording is not None and self._wording.is_in(text)


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(one)
