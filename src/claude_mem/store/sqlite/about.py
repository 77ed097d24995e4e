"""Which memories are about a file, by the index of files: see to it first that it is in step."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache

from claude_mem.model.refs import Ref, is_glob, is_of_file, ref_at, span
from claude_mem.store.sqlite.matching import EVERYWHERE
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.wordbook import placed

_ALL = 2**62


def about(db: sqlite3.Connection, file: str, project_id: int | None) -> Iterator[tuple[Ref, str]]:
    """Each with how it is, once for each file that is meant: a path, a folder or a glob may mean several."""
    first, last = span(project_id) if project_id is not None else EVERYWHERE
    if is_glob(file) or file.endswith(("/", "\\")):
        rows = execute(db, "all_files", first=first, last=last)
    else:
        rows = execute(db, "files_named", base=placed(file)[1], first=first, last=last, limit=_ALL)
    is_meant = cache(lambda path: is_of_file(path, file))  # files are few beside the memories of them
    return ((ref_at(row["spot"]), row["how"]) for row in rows if is_meant(row["path"]))


def of_file(db: sqlite3.Connection, path: str, project_id: int | None) -> Iterator[tuple[int, str]]:
    """The spots of the memories of one file, the newest of each kind and project first, and how each is about
    it. They are read as they are asked for."""
    first, last = span(project_id) if project_id is not None else EVERYWHERE
    rows = execute(db, "files_named", base=placed(path)[1], first=first, last=last, limit=_ALL)
    is_meant = cache(lambda stored: _is_same(path, stored))
    return ((row["spot"], row["how"]) for row in rows if is_meant(row["path"]))


def _is_same(asked: str, stored: str) -> bool:
    """One is the end of the other: a file is asked for by a whole path and remembered by a short one, or the
    other way round."""
    asked, stored = (f"/{path.replace(chr(92), '/').strip('/').lower()}" for path in (asked, stored))
    return asked.endswith(stored) or stored.endswith(asked)
