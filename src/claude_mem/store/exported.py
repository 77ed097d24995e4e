"""Forgetting in files that an export has made, wherever their owner has put them.

Such a file is its owner's: it is only looked at, unless they say otherwise. Records (JSON lines) are then
written anew without what is forgotten; a journal (Markdown) has no records to tell apart, so it is named
and left.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from claude_mem.model.records import FORMAT, parse_name
from claude_mem.ports.keeping import Lying, Wanted
from claude_mem.store.sqlite.selecting import plain, spellings

KINDS = {"observation": "observation", "summary": "summary", "prompt": "prompt", "evidence": "event"}
"""What a record calls each kind of memory."""

HEAD = 4096
_BY_A_PERSON = "it is a text for people: edit or delete it yourself"

Record = dict[str, Any]


class Exports:
    """`listed`: the file that names every file an export has made."""

    def __init__(self, listed: Path) -> None:
        self._listed = listed

    def look(self, wanted: Wanted) -> list[Lying]:
        return [lying for path in self._made() if (lying := _looked(path, wanted)) is not None]

    def forget(self, wanted: Wanted) -> list[Lying]:
        return [_rewritten(Path(lying.path), lying, wanted) for lying in self.look(wanted)]

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


def _looked(path: Path, wanted: Wanted) -> Lying | None:
    try:
        if _is_records(path):
            with path.open(encoding="utf-8", errors="replace") as file:
                holds = any(line != left for line, left in _sifted(file, wanted, _Lost()))
            return Lying(str(path), "export", "holds") if holds else None
        words = spellings(wanted.selection.text) if wanted.selection.text else set()
        with path.open(encoding="utf-8", errors="replace") as file:
            holds = not words or any(one in plain(line) for line in file for one in words)
        return Lying(str(path), "export", "holds", _BY_A_PERSON) if holds else None
    except OSError as error:
        return Lying(str(path), "export", "left", error.strerror or "it cannot be read")


def _rewritten(path: Path, lying: Lying, wanted: Wanted) -> Lying:
    if lying.note:
        return Lying(lying.path, "export", "left", lying.note)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        lost = _Lost()
        with path.open(
            encoding="utf-8", errors="replace"
        ) as file:  # what goes is known before its session is told
            for _ in _sifted(file, wanted, lost):
                pass
        draft.unlink(missing_ok=True)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with (
            path.open(encoding="utf-8", errors="replace") as file,
            os.fdopen(fd, "w", encoding="utf-8", errors="replace") as new,
        ):
            new.writelines(left for _, left in _sifted(file, wanted, lost))
            new.flush()
            os.fsync(new.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        return Lying(str(path), "export", "left", error.strerror or "it cannot be written")
    return Lying(str(path), "export", "rewritten")


def _is_records(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.read(HEAD).partition(b"\n")[0]
    try:
        head = json.loads(first)
    except ValueError:
        return False
    return isinstance(head, dict) and head.get("kind") == FORMAT


class _Lost:
    """What sessions lose, by which they may be called: their records come before those of what is in them."""

    def __init__(self) -> None:
        self.prompts: set[tuple[str, str]] = set()
        self.summaries: set[str] = set()


def _sifted(lines: Iterable[str], wanted: Wanted, lost: _Lost) -> Iterator[tuple[str, str]]:
    """Each line, and what is left of it: itself, another, or nothing."""
    words = spellings(wanted.selection.text) if wanted.selection.text else set()
    doomed = {(KINDS[trace.ref.kind], trace.session, trace.at) for trace in wanted.traces}
    sessions = frozenset(wanted.sessions)
    whole = wanted.project_key if not _is_narrowed(wanted) else None
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            yield line, "" if any(one in plain(line) for one in words) else line
            continue
        if not isinstance(record, dict):
            yield line, line
            continue
        kept = _left(record, words, doomed, sessions, whole, lost)
        if kept is None:
            _note(record, lost)
            yield line, ""
        else:
            yield line, line if kept == record else json.dumps(kept, ensure_ascii=False) + "\n"


def _left(
    record: Record,
    words: set[str],
    doomed: set[tuple[str, str, int]],
    sessions: frozenset[str],
    project: str | None,
    lost: _Lost,
) -> Record | None:
    kind, session = record.get("kind"), record.get("session_id")
    if session in sessions or (kind, session, record.get("at")) in doomed:
        return None
    if project is not None and project == record.get("key" if kind == "project" else "project"):
        return None
    if kind == "session":
        return _renamed(record, words, lost)
    if words and any(one in plain(said) for said in _said(record) for one in words):
        return None
    older = record.get("supersedes")
    name = parse_name(older) if isinstance(older, str) else None
    return record | {"supersedes": None} if name is not None and name[0] in sessions else record


def _renamed(record: Record, words: set[str], lost: _Lost) -> Record:
    """A session is called by its first prompt and its first summary."""
    kept, session = dict(record), str(record.get("session_id"))
    if (session, record.get("first_user_prompt")) in lost.prompts:
        kept["first_user_prompt"] = None
    if session in lost.summaries:
        kept |= {name: None for name in ("title", "subtitle") if record.get(name) is not None}
    for name, value in record.items():
        if isinstance(value, str) and name != "session_id" and any(one in plain(value) for one in words):
            kept[name] = None
    return kept


def _note(record: Record, lost: _Lost) -> None:
    session = str(record.get("session_id"))
    if record.get("kind") == "prompt":
        lost.prompts.add((session, str(record.get("text"))))
    elif record.get("kind") == "summary":
        lost.summaries.add(session)


def _said(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _said(one)
    elif isinstance(value, list):
        for one in value:
            yield from _said(one)


def _is_narrowed(wanted: Wanted) -> bool:
    """Not all of a project is meant."""
    said = wanted.selection
    return bool(said.refs or said.session or said.file or said.text) or (said.since, said.until) != (
        None,
        None,
    )
