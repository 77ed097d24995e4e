"""Forgetting in copies: backups and databases that were put aside are rewritten; files that an export has
made are looked at, and rewritten only if their owner says so."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem.atomic_write import atomic_file
from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged, StoreError, StoreForeign, StoreTooNew, StoreTooOld
from claude_mem.model.records import FORMAT, parse_name
from claude_mem.store.sqlite import backup, database_files, forget, schema
from claude_mem.store.sqlite.connection import open_draft, open_sealed, translated
from claude_mem.store.sqlite.database_files import copy, is_plain, private_directory, put_in_place
from claude_mem.store.sqlite.forget import plain, spellings
from claude_mem.store.sqlite.store import Store
from claude_mem.store.values import CopyReport, ForgetPlan, ForgetRequest

SHOP = ".forgetting"
"""The folder a copy is rewritten in. Left over, it is of a worker that was killed: removed, begun anew."""

NAME = "copy.db"


class Copy(Struct, frozen=True):
    path: Path
    aside: Path | None = None  # the folder of a database that was put aside


class Copies:
    """Those of the database that lie in `backups/`. One at a time: its owner sees to it. Raises nothing for
    one copy that would keep it from the others.

    Each copy that holds it is rewritten: a second copy is made beside it, forgotten in as the database itself
    is (its words, its bytes), and put in the first one's place. One of an older version is brought to this
    version's tables on the way. What is damaged cannot be rewritten, so it is removed, and that is said."""

    def __init__(self, backups: Path, clock: Clock) -> None:
        self._backups, self._clock = backups, clock

    def look(self, wanted: ForgetRequest) -> list[CopyReport]:
        reports = (_report_of_copy(one, wanted) for one in find_copies(self._backups))
        return [report for report in reports if report is not None]

    def forget(self, wanted: ForgetRequest) -> list[CopyReport]:
        clear_drafts_of_copies(self._backups)
        reports = []
        for one in find_copies(self._backups):
            report = _report_of_copy(one, wanted)
            if report is not None and report.done == "holds":
                report = self._attempt(one, wanted)
            reports.append(report)
        return [report for report in reports if report is not None]

    def _attempt(self, one: Copy, wanted: ForgetRequest) -> CopyReport | None:
        shop = self._backups / f"{SHOP}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            with translated(one.path):
                private_directory(shop)
                changed = self._rewrite(one, shop, wanted)
        except StoreDamaged:
            return _removed(one, "it is damaged, so it cannot be rewritten")
        except (StoreError, OSError) as error:
            return _report(one, "left", _clause(error))
        finally:
            shutil.rmtree(shop, ignore_errors=True)
        return _report(one, "rewritten") if changed else None

    def _rewrite(self, one: Copy, shop: Path, wanted: ForgetRequest) -> bool:
        """Whether there was anything to forget."""
        work = shop / NAME
        copy(one.path, work)
        log = one.path.with_name(one.path.name + "-wal")
        if is_plain(log):
            copy(log, shop / f"{NAME}-wal")
        with Store.open(work, clock=self._clock, backups=shop / "backups") as store:
            if store.recovered is not None:
                raise StoreDamaged(str(one.path), store.recovered.detail)
            if wanted.selection.file:
                store.text_index.catch_up()
            with store.readers.read() as db:
                doomed = forget.forget_plan_in_copy(db, wanted)
            if doomed == ForgetPlan():
                return False
            store.deletion.forget(doomed)
        with closing(open_draft(work)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # one file, complete by itself
        put_in_place(work, one.path)
        for suffix in ("-wal", "-shm", "-journal"):
            one.path.with_name(one.path.name + suffix).unlink(missing_ok=True)
        return True


def find_copies(backups: Path) -> list[Copy]:
    copies = [Copy(one.path) for one in backup.find_backups(backups)]
    if backups.is_dir() and not backups.is_symlink():
        for folder in sorted(backups.iterdir()):
            if backup.is_quarantined(folder):
                databases = (path for path in folder.iterdir() if path.suffix == ".db" and is_plain(path))
                copies += [Copy(path, folder) for path in sorted(databases)]
    return copies


def clear_drafts_of_copies(backups: Path) -> int:
    """What killed workers have left half made. How many."""
    left = drafts_of_copies(backups)
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    return len(left)


def drafts_of_copies(backups: Path) -> list[Path]:
    """Folders in which copies were being rewritten. This process's own is in use."""
    others = (
        path for path in backups.glob(f"{SHOP}-*") if not path.name.startswith(f"{SHOP}-{os.getpid()}-")
    )
    return [path for path in others if path.is_dir() and not path.is_symlink()]


def _report_of_copy(one: Copy, wanted: ForgetRequest) -> CopyReport | None:
    """None: it does not hold it. Without a change to the file, and without a copy of it where that will
    do."""
    try:
        return _report(one, "holds") if _may_hold(one, wanted) else None
    except (StoreTooNew, StoreTooOld, StoreForeign) as error:
        return _report(one, "left", _clause(error))
    except (StoreError, OSError):
        return None if _is_from_before(one, wanted) else _report(one, "holds", "it is damaged")


def _is_from_before(one: Copy, wanted: ForgetRequest) -> bool:
    """It was put aside before the memories in question were made; of other words nothing can be said."""
    at = backup.quarantined_at(one.aside) if one.aside else None
    if at is None or wanted.sessions or not wanted.traces or not wanted.selection.refs:
        return False
    return at < min(trace.at for trace in wanted.traces)


def _may_hold(one: Copy, wanted: ForgetRequest) -> bool:
    path = one.path
    known = schema.migrations()
    with translated(path):
        says = schema.require_readable(path, database_files.read_header(path), known)
    if says is None:
        return False
    is_older, log = says.version < schema.newest(known), path.with_name(path.name + "-wal")
    if is_older or wanted.selection.file or is_plain(log):
        return True  # to be seen in a copy that can be brought up to date
    with closing(open_sealed(path)) as db, translated(path):
        if one.aside is not None:  # a backup was read through when it was made
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise StoreDamaged(str(path), verdict)
        return forget.forget_plan_in_copy(db, wanted) != ForgetPlan()


def _removed(one: Copy, why: str) -> CopyReport:
    try:
        if one.aside is not None:
            shutil.rmtree(one.aside)
        else:
            one.path.unlink(missing_ok=True)
    except OSError as error:
        return _report(one, "left", _clause(error))
    return _report(one, "removed", why)


def _report(one: Copy, done: str, note: str = "") -> CopyReport:
    return CopyReport(str(one.path), "aside" if one.aside else "backup", done, note)


def _clause(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said.rstrip(".")


KINDS = {"observation": "observation", "summary": "summary", "prompt": "prompt", "evidence": "event"}
"""What a record calls each kind of memory."""

HEAD = 4096
_BY_A_PERSON = "it is a Markdown file: edit or delete it yourself"

Record = dict[str, Any]


class ExportedFiles:
    """Such a file is its owner's, wherever they have put it: it is only looked at, unless they say otherwise.
    Records (JSON lines) are then written anew without what is forgotten; a journal (Markdown) has no records
    to tell apart, so it is named and left. `listed`: the file that names every file an export has made."""

    def __init__(self, listed: Path) -> None:
        self._listed = listed

    def look(self, wanted: ForgetRequest) -> list[CopyReport]:
        return [lying for path in self._made() if (lying := _report_of_export(path, wanted)) is not None]

    def forget(self, wanted: ForgetRequest) -> list[CopyReport]:
        return [_rewrite_export(Path(lying.path), lying, wanted) for lying in self.look(wanted)]

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


def _report_of_export(path: Path, wanted: ForgetRequest) -> CopyReport | None:
    try:
        if _is_records(path):
            with path.open(encoding="utf-8", errors="replace") as file:
                holds = any(line != left for line, left in _sifted(file, wanted, _Lost()))
            return CopyReport(str(path), "export", "holds") if holds else None
        words = _spellings(wanted)
        with path.open(encoding="utf-8", errors="replace") as file:
            holds = not words or any(one in plain(line) for line in file for one in words)
        return CopyReport(str(path), "export", "holds", _BY_A_PERSON) if holds else None
    except OSError as error:
        return CopyReport(str(path), "export", "left", error.strerror or "it cannot be read")


def _rewrite_export(path: Path, lying: CopyReport, wanted: ForgetRequest) -> CopyReport:
    if lying.note:
        return CopyReport(lying.path, "export", "left", lying.note)
    lost = _Lost()
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for _ in _sifted(file, wanted, lost):  # what goes is known before its session is rewritten
                pass
        with path.open(encoding="utf-8", errors="replace") as file, atomic_file(path, durable=True) as new:
            for _, left in _sifted(file, wanted, lost):
                new.write(left.encode(errors="replace"))
    except OSError as error:
        return CopyReport(str(path), "export", "left", error.strerror or "it cannot be written")
    return CopyReport(str(path), "export", "rewritten")


def _spellings(wanted: ForgetRequest) -> set[str]:
    return spellings(wanted.selection.text) if wanted.selection.text else set()


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


def _sifted(lines: Iterable[str], wanted: ForgetRequest, lost: _Lost) -> Iterator[tuple[str, str]]:
    """Each line, and what is left of it: itself, another, or nothing."""
    words = _spellings(wanted)
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
    if words and any(one in plain(said) for said in _texts_in(record) for one in words):
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


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(one)


def _is_narrowed(wanted: ForgetRequest) -> bool:
    """Not all of a project is meant."""
    said = wanted.selection
    is_timed = said.since is not None or said.until is not None
    return is_timed or bool(said.refs or said.session or said.file or said.text)
