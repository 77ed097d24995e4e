"""Which memories a person's words select to be forgotten. All that is said must hold.

Words are looked for here and not by SQLite, which tells small letters from capitals outside of ASCII.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from claude_mem.model.refs import KINDS, MemoryKind, Ref
from claude_mem.ports.keeping import Doomed, Selection
from claude_mem.store.sqlite.about import about
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import Value

AT_ONCE = 256
TABLES: dict[MemoryKind, str] = {
    "observation": "observations",
    "summary": "summaries",
    "prompt": "prompts",
    "evidence": "events",
}
"""What the statements call the kinds."""

_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def doomed(db: sqlite3.Connection, selection: Selection) -> Doomed:
    """By file only as far as the index is: see to it first that it is in step."""
    narrow = selection.refs or selection.file or selection.text
    if not narrow and selection.since is None and selection.until is None:
        return Doomed(sessions=tuple(_sessions(db, selection)))
    named = _named(db, selection)
    refs = [Ref(kind, id) for kind in KINDS for id in _ids(db, kind, named, selection)]
    return Doomed(refs=tuple(refs))


def _sessions(db: sqlite3.Connection, selection: Selection) -> list[str]:
    session, project_id = selection.session, selection.project_id
    if session is not None:
        row = execute(db, "session_to_forget", session=session).fetchone()
        fits = row is not None and project_id in (None, row["project_id"])
        return [session] if fits else []
    if project_id is None:
        return []
    return [row["claude_session_id"] for row in execute(db, "sessions_of_project", project_id=project_id)]


def _named(db: sqlite3.Connection, selection: Selection) -> set[Ref] | None:
    """Those that are named, themselves or by their file; None: any may be meant."""
    if not selection.file:
        return set(selection.refs) or None
    meant = {ref for ref, _ in about(db, selection.file, selection.project_id)}
    return meant & set(selection.refs) if selection.refs else meant


def _ids(
    db: sqlite3.Connection, kind: MemoryKind, named: set[Ref] | None, selection: Selection
) -> Iterator[int]:
    conditions: dict[str, Value] = {
        "session": selection.session,
        "project_id": selection.project_id,
        "since": selection.since,
        "until": selection.until,
    }
    if named is None:
        rows = execute(db, f"all_{TABLES[kind]}", **conditions)
    else:
        ids = json.dumps(sorted(ref.id for ref in named if ref.kind == kind))
        rows = execute(db, f"some_{TABLES[kind]}", ids=ids, **conditions)
    fitting = (int(row["id"]) for row in rows)
    return _holding(db, kind, fitting, selection.text) if selection.text else fitting


def _holding(db: sqlite3.Connection, kind: MemoryKind, ids: Iterator[int], text: str) -> Iterator[int]:
    wanted = spellings(text)
    for some in slices(ids, AT_ONCE):
        for row in execute(db, f"words_of_{TABLES[kind]}", ids=json.dumps(some)):
            said = (plain(value) for value in tuple(row)[1:] if value)
            if any(words in one for one in said for words in wanted):
                yield row["id"]


def spellings(text: str) -> set[str]:
    """As a text may stand there: plainly, or in JSON (what went into tools, facts), or in JSON of JSON."""
    once = json.dumps(text, ensure_ascii=False)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    return {plain(text), plain(once), plain(twice)}


def plain(text: str) -> str:
    """All letters small, and as themselves: not as JSON may write those outside of ASCII."""
    if "\\u" in text:
        text = _SURROGATES.sub(_letter, _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text))
    return text.casefold()


def _letter(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def slices(values: Iterable[int], size: int) -> Iterator[Sequence[int]]:
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some
