"""How long the viewer waits for a page of a project with 100,000 observations, and for one far down its list.

    python benchmarks/viewer.py          200,000 observations, half of them in one project; some minutes
    python benchmarks/viewer.py --quick  20,000

The memories are those of `search.py` (`crowd.py`). Everything is asked of the same face as HTTP asks, in one
thread; the fastest of five answers counts, in processor time. The list's first page is the baseline: a page
reached by its cursor should cost the same wherever it is, one reached by counting over what comes before it
shows what the cursor saves.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import crowd
from claude_mem.ports.desk import Narrowing, Page
from claude_mem.wiring.recall import Recalling
from crowd import Words, say
from measure import machine, table

PROJECT = "p1"
LIMIT = 50
MOST_RATIO = 2.0
"""How many times the first page's cost one far down may have."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    parser.add_argument("--data", type=Path, help="keep what is made here, and use it again")
    given = parser.parse_args()
    size = 20_000 if given.quick else 200_000
    with tempfile.TemporaryDirectory() as folder:
        data = (given.data or Path(folder)) / f"viewer-{size}"
        crowd.make(data, Words.read(), size)
        with crowd.recalling(data) as recalling:
            return report(recalling)


def report(recalling: Recalling) -> int:
    desk, viewing, of = recalling.desk, recalling.viewing, Narrowing(project=PROJECT)
    counted = desk.listed("observations", of, Page(LIMIT, count=True))
    total = counted["total"]
    half, last = cursor_at(recalling, total // 2), cursor_at(recalling, total - LIMIT)
    some = counted["items"][0]
    first = fastest(lambda: desk.listed("observations", of, Page(LIMIT)))
    far = fastest(lambda: desk.listed("observations", of, Page(LIMIT, cursor=last)))
    asked: list[tuple[str, float]] = [
        ("the first page of the list", first),
        (
            "a page in its middle, by cursor",
            fastest(lambda: desk.listed("observations", of, Page(LIMIT, cursor=half))),
        ),
        ("its last page, by cursor", far),
        (
            "its last page, by offset",
            fastest(lambda: desk.listed("observations", of, Page(LIMIT, min(total - LIMIT, 100_000)))),
        ),
        (
            "the first page, and how many there are",
            fastest(lambda: desk.listed("observations", of, Page(LIMIT, count=True))),
        ),
        ("the merged feed, from its middle", fastest(lambda: desk.search("", of, Page(LIMIT, cursor=half)))),
        ("sessions, the first page", fastest(lambda: desk.listed("sessions", of, Page(LIMIT)))),
        ("the project's page", fastest(lambda: viewing.project(of, days=365))),
        ("a session in order", fastest(lambda: viewing.events(some["session_id"], (), Page(100)))),
        ("where a memory comes from", fastest(lambda: viewing.provenance(some["ref"]))),
        ("choices for the filters", fastest(lambda: viewing.facets(of))),
        ("costs of a month", fastest(lambda: viewing.cost("", days=30))),
    ]
    print(f"{total:,} observations in the project. {machine()}\n")
    print(
        table(
            ("asked", "ms", "of the first page"),
            [(what, f"{ms:.1f}", f"{ms / first:.1f}x") for what, ms in asked],
        )
    )
    return 0 if far <= MOST_RATIO * first else 1


def cursor_at(recalling: Recalling, place: int) -> str:
    """Where the list goes on after so many."""
    say(f"  to the {place:,}th …")
    found = recalling.desk.listed(
        "observations", Narrowing(project=PROJECT), Page(LIMIT, max(0, place - LIMIT))
    )
    return str(found["next"])


def fastest(ask: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        began = time.process_time()
        ask()
        times.append((time.process_time() - began) * 1000)
    return min(times)


if __name__ == "__main__":
    raise SystemExit(main())
