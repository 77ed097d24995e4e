"""The decisions of the exchange. Pure, so that a week of failures is tested in microseconds.

They are: when the server is called again after a failed call, and which deletions wait for the user's
consent. A deletion from another member also deletes what this machine has shared on this machine, so an admin
of a project, or the server itself, could delete all of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from claude_mem.model.clock import DAY_MS
from claude_mem.model.errors import TeamFailure
from claude_mem.model.sharing import OwnLoss

FIRST_MS = 5_000
LONGEST_MS = 5 * 60 * 1000
LONGEST_RETRY_AFTER_MS = 60 * 60 * 1000
NOTICE_AFTER_MS = DAY_MS


class Retry(Struct, frozen=True):
    """Retry, not before `until`."""

    until: int


class Stop(Struct, frozen=True):
    """The key is no longer accepted: calling again would not help."""

    reason: str


def decide(failure: TeamFailure, failures: int, now: int, jitter: float) -> Retry | Stop:
    """`failures`: how often in a row, this one included. `jitter` is from 0 to 1."""
    if failure.status == 401:
        return Stop("The team's server rejected this machine's key: it has expired or was revoked.")
    wait = min(FIRST_MS * 2 ** min(failures - 1, 10), LONGEST_MS)
    retry_after = failure.retry_after or ""
    if re.fullmatch(r"[0-9]{1,6}", retry_after):
        wait = max(wait, min(int(retry_after) * 1000, LONGEST_RETRY_AFTER_MS))
    return Retry(now + int(wait * (1 + jitter / 2)))


def is_notice_due(failing_since: int | None, now: int, *, noticed: bool) -> bool:
    """Whether to notify the user, once, that the exchange has failed for a day."""
    return failing_since is not None and not noticed and now - failing_since >= NOTICE_AFTER_MS


LOSS_OF = 30 * DAY_MS
"""The period over which deletions without consent are counted together."""
MOST_LOST = 100
MOST_SHARE_LOST = 0.2


def held(losses: Sequence[OwnLoss], own: Mapping[int, tuple[int, int]]) -> frozenset[str]:
    """The ids of the forgets that wait for consent: all of a project of which too much would be lost. `own`:
    of each project, how many memories are one's own, and how many such forgets have deleted lately."""
    lost_counts = Counter[int]()
    for each in losses:
        lost_counts[each.project_id] += each.memories
    too_much = set()
    for project, count in lost_counts.items():
        remaining, before = own[project]
        if count + before > max(MOST_LOST, MOST_SHARE_LOST * (remaining + before)):
            too_much.add(project)
    return frozenset(each.id for each in losses if each.project_id in too_much)
