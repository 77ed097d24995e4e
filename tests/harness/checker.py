"""The check that runs after every fault: no accepted event is lost or duplicated, and the file is intact.

It reads the database with its own SQL, on purpose: a check that asked the store would share its mistakes.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

STATES = {"ready", "leased", "parked", "done"}


def check(
    data_dir: Path, accepted: Iterable[str], maybe: Iterable[str] = (), *, titles_are_ids: bool = False
) -> dict[str, int]:
    """`accepted`: tool-use ids of hooks that returned 0; `maybe`: of hooks that were killed, kept or not.
    `titles_are_ids`: the test's own observer wrote into each title which tool uses it was shown.
    Returns how many are where; raises AssertionError with what is wrong."""
    accepted, maybe = set(accepted), set(maybe)
    where: Counter[str] = Counter()
    in_spool = _spooled(data_dir)  # before the database: a worker may be moving them while we look
    with closing(sqlite3.connect(f"file:{data_dir / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        db.execute("BEGIN")  # one moment for both
        rows = db.execute(
            "SELECT tool_use_id, state FROM pending_messages WHERE tool_use_id NOT NULL"
        ).fetchall()
        observed = db.execute("SELECT session_id, tool_use_ids, title FROM observations").fetchall()
    ids = Counter(row[0] for row in rows)
    assert [id for id, times in ids.items() if times > 1] == [], "queued twice"
    assert {state for _, state in rows} <= STATES
    where.update(state for _, state in rows)
    spooled = in_spool - set(ids)  # one that is in both was committed and not yet removed
    where["spooled"] = len(spooled)
    stored = set(ids) | spooled
    assert accepted - stored == set(), f"lost: {sorted(accepted - stored)[:5]}"
    assert stored - accepted - maybe == set(), f"from nowhere: {sorted(stored - accepted - maybe)[:5]}"
    done = {id for id, state in rows if state == "done"}
    _observed_once(observed, done)
    if titles_are_ids:
        effects = Counter(id for _, _, title in observed for id in (title or "").split())
        assert [id for id, times in effects.items() if times > 1] == [], "remembered twice"
        assert set(effects) == done
    return dict(where)


def _observed_once(observed: list[tuple[int, str, str | None]], done: set[str]) -> None:
    """What one settlement kept names all tool uses of its batch, so two batches never share one."""
    assert [what for what, times in Counter(observed).items() if times > 1] == [], "observed twice"
    batches = {(session, ids): json.loads(ids) for session, ids, _ in observed}
    shown = Counter(id for ids in batches.values() for id in ids)
    assert [id for id, times in shown.items() if times > 1] == [], "in two batches"
    assert shown.keys() <= done, "observed, and not settled"


def _spooled(data_dir: Path) -> set[str]:
    found = set()
    for file in (data_dir / "spool").glob("[0-9]*.json"):
        with suppress(FileNotFoundError):  # committed, and removed just now
            found.add(json.loads(file.read_bytes())["payload"].get("tool_use_id"))
    return found - {None}
