"""Measures how long the viewer waits for pages of a project with 100,000 observations, and for the last page.

    python benchmarks/viewer.py          200,000 observations, half of them in one project; some minutes
    python benchmarks/viewer.py --quick  20,000

The memories are those of `search.py` (`synthetic_store.py`). Everything is asked of the reader that HTTP
asks, in one thread; the fastest of five answers counts, in processor time. The list's first page is the
baseline: a page should cost the same wherever it is, and however the list is narrowed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import synthetic_store
from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.structs import replace
from claude_mem.serve.services import Recall
from measure import machine, table
from synthetic_store import Words, say

PROJECT = "p1"
LIMIT = 50
OF = FilterRequest(project=PROJECT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    parser.add_argument("--data", type=Path, help="keep what is made here, and use it again")
    given = parser.parse_args()
    size = 20_000 if given.quick else 200_000
    with tempfile.TemporaryDirectory() as folder:
        data = (given.data or Path(folder)) / f"viewer-{size}"
        synthetic_store.make(data, Words.read(), size)
        with synthetic_store.recalling(data) as recalling:
            return report(recalling)


def report(recalling: Recall) -> int:
    first, *rest = ((what, fastest(ask), most) for what, ask, most in questions(recalling))
    rows, missed = [(first[0], f"{first[1]:.1f}", "1.0x", "")], False
    for what, ms, most in rest:
        ratio = ms / first[1]
        missed |= most is not None and ratio > most
        rows.append((what, f"{ms:.1f}", f"{ratio:.1f}x", f"{most:.0f}x" if most else ""))
    total = recalling.memory.listed("observations", OF, Page(LIMIT, count=True)).total
    print(f"{total:,} observations in the project. {machine()}\n")
    print(table(("asked", "ms", "of the first page", "at most"), rows))
    return 1 if missed else 0


def questions(recalling: Recall) -> Iterator[tuple[str, Callable[[], object], float | None]]:
    """What is asked, how, and how many times the first page's cost it may have."""
    memory = recalling.memory
    counted = memory.listed("observations", OF, Page(LIMIT, count=True))
    total, some = counted.total or 0, counted.items[0]
    half, last = cursor_at(recalling, total // 2), cursor_at(recalling, total - LIMIT)

    def listed(page: Page, **narrow: Any) -> Callable[[], object]:
        return lambda: memory.listed("observations", replace(OF, **narrow), page)

    one, counting = Page(LIMIT), Page(LIMIT, count=True)
    yield "the first page of the list", listed(one), None
    yield "and how many there are", listed(counting), 2
    yield "a page in its middle, by cursor", listed(Page(LIMIT, cursor=half)), 2
    yield "its last page, by cursor", listed(Page(LIMIT, cursor=last)), 2
    yield "a page in its middle, by counting", listed(Page(LIMIT, total // 2)), 2
    yield "its last page, by counting", listed(Page(LIMIT, total - LIMIT)), 2
    yield "of one type, and how many", listed(counting, types=("decision",)), 2
    yield "of one file, and how many", listed(counting, file=some["files"][0]), 2
    yield "of a session, and how many", listed(counting, session=some["session_id"]), 2
    yield "since a day, and how many", listed(counting, since="2026-01-01"), 2
    yield "pinned, and how many", listed(counting, pinned=True), 2
    yield "marked wrong, and how many", listed(counting, wrong=True), 2
    yield "of one client, and how many", listed(counting, client="claude-code"), 8
    yield "of one branch, and how many", listed(counting, branch="main"), 8
    yield "the merged feed", lambda: memory.search("", OF, one), 2
    yield "the merged feed, from its middle", lambda: memory.search("", OF, Page(LIMIT, cursor=half)), 2
    yield "the merged feed, half of it counted", lambda: memory.search("", OF, Page(LIMIT, total // 2)), None
    for typed in ("s", "se", "sess", "session", "session c", "session cache"):
        yield f"found for {typed!r}", partial(memory.search, typed, OF, one), None
    yield "sessions, the first page", lambda: memory.sessions(OF, one), 2
    yield "projects, with their figures", lambda: memory.projects(one), 2
    yield "the project's page", lambda: memory.project(OF, days=365), 8
    yield "a session in order", lambda: memory.events(some["session_id"], (), Page(100)), None
    yield "where a memory comes from", lambda: memory.provenance(some["ref"]), None
    yield "choices for the filters", lambda: memory.facets(OF), 3
    yield "costs of a month", lambda: recalling.costs.cost("", days=30), None


def cursor_at(recalling: Recall, place: int) -> str:
    """Where the list goes on after so many."""
    say(f"  to the {place:,}th …")
    found = recalling.memory.listed("observations", OF, Page(LIMIT, max(0, place - LIMIT)))
    return str(found.next)


def fastest(ask: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        began = time.process_time()
        ask()
        times.append((time.process_time() - began) * 1000)
    return min(times)


if __name__ == "__main__":
    raise SystemExit(main())
