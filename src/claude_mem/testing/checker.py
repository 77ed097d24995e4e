"""The one check that runs after every fault: nothing accepted is lost, nothing is doubled, the file is whole.

It reads the database with its own SQL, on purpose: a check that asked the store would share its mistakes.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

STATES = {"ready", "leased", "parked", "done"}


def check(data_dir: Path, accepted: Iterable[str], maybe: Iterable[str] = ()) -> dict[str, int]:
    """`accepted`: tool-use ids of hooks that returned 0; `maybe`: of hooks that were killed, kept or not.
    Returns how many are where; raises AssertionError with what is wrong."""
    accepted, maybe = set(accepted), set(maybe)
    where: Counter[str] = Counter()
    with closing(sqlite3.connect(f"file:{data_dir / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        rows = db.execute(
            "SELECT tool_use_id, state FROM pending_messages WHERE tool_use_id NOT NULL"
        ).fetchall()
        remembered = [row[0] for row in db.execute("SELECT title FROM observations WHERE type = 'change'")]
    ids = Counter(row[0] for row in rows)
    assert [id for id, times in ids.items() if times > 1] == [], "queued twice"
    assert {state for _, state in rows} <= STATES
    where.update(state for _, state in rows)
    spooled = _spooled(data_dir) - set(ids)  # one that is in both was committed and not yet removed
    where["spooled"] = len(spooled)
    kept = set(ids) | spooled
    assert accepted - kept == set(), f"lost: {sorted(accepted - kept)[:5]}"
    assert kept - accepted - maybe == set(), f"from nowhere: {sorted(kept - accepted - maybe)[:5]}"
    # Settled work left its ids in the observations' titles, where the test's observer put them.
    effects = Counter(id for title in remembered for id in (title or "").split())
    assert [id for id, times in effects.items() if times > 1] == [], "remembered twice"
    if effects:
        assert set(effects) == {id for id, state in rows if state == "done"}
    return dict(where)


def _spooled(data_dir: Path) -> set[str]:
    files = (data_dir / "spool").glob("[0-9]*.json")
    return {json.loads(file.read_bytes())["payload"].get("tool_use_id") for file in files}
