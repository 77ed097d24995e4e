"""Measures how often a stale memory is shown without a mark, in every interface, in invented histories.

    python benchmarks/stale_recall.py

Prints for each history what was shown, and how much of what is stale was shown without a mark. The histories
are those of the tests (tests/unit/recall/stale_histories.py).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.unit.recall.recall_store import house
from tests.unit.recall.stale_histories import HISTORIES, shown


def main() -> int:
    unmarked = stale = doubted = 0
    print(f"{'history':<36} {'stale shown':>11} {'unmarked':>9} {'current marked':>15}")
    for history in HISTORIES:
        with tempfile.TemporaryDirectory() as folder, house(Path(folder)) as memory:
            outcome, found = shown(memory, history)
        of_stale = [each for each in found if each.ref in outcome.stale]
        without = sum(not each.marked for each in of_stale)
        in_doubt = sum(each.marked for each in found if each.ref in outcome.holds)
        print(f"{history.__name__:<36} {len(of_stale):>11} {without:>9} {in_doubt:>15}")
        unmarked, stale, doubted = unmarked + without, stale + len(of_stale), doubted + in_doubt
    print(f"{'all':<36} {stale:>11} {unmarked:>9} {doubted:>15}")
    return 1 if unmarked else 0


if __name__ == "__main__":
    sys.exit(main())
