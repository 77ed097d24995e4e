"""When a newer version takes over the worker: once, and never back and forth.

An upgraded hook sends its version with every wake. A worker that receives a newer one stops between jobs and
starts its own interpreter once more: after an upgrade in place that is the new version. If it is still the
old one (two installs side by side), it finds the record of the handover and stays away; the newer install's
hooks start their own.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from claude_mem.files import read_object, write_file

HONOURED_MS = 60 * 60 * 1000
"""For how long a worker started by an older hook stays away after a handover."""

_VERSION = re.compile(
    r"(?P<release>\d{1,9}(?:\.\d{1,9}){0,5})"
    r"(?:(?P<stage>a|b|rc)(?P<nth>\d{1,9}))?"
    r"(?:\.post(?P<post>\d{1,9}))?(?:\.dev(?P<dev>\d{1,9}))?(?:\+[a-z0-9.]{1,40})?",
    re.ASCII,
)
_STAGES = {"a": 1, "b": 2, "rc": 3, None: 4}

Order = tuple[tuple[int, ...], int, int, int, int, int]


class Handover(Struct, frozen=True):
    to: str
    at: int  # epoch milliseconds


def order(version: str) -> Order | None:
    """A key that sorts versions as packaging does; None for an invalid one."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    is_dev = match["dev"] is not None
    stage = 0 if is_dev and not (match["stage"] or match["post"]) else _STAGES[match["stage"]]
    return (
        tuple(release),
        stage,
        int(match["nth"] or 0),
        int(match["post"]) + 1 if match["post"] else 0,
        0 if is_dev else 1,
        int(match["dev"] or 0),
    )


def is_newer(one: str, than: str) -> bool:
    """False if either is not a valid version."""
    first, second = order(one), order(than)
    return first is not None and second is not None and first > second


def should_hand_over(running: str, hook: str, last: Handover | None, now: int) -> bool:
    """Whether a worker of version `running` makes way on hearing from a hook of version `hook`."""
    if not is_newer(hook, than=running):
        return False
    # It made way a moment ago and runs again because a person said so: that stands.
    return last is None or not _is_recent(last, now) or is_newer(hook, than=last.to)


def must_yield(starting: str, last: Handover | None, now: int) -> bool:
    """Whether a worker that a hook started must exit, because a newer version took over."""
    return last is not None and _is_recent(last, now) and is_newer(last.to, than=starting)


def _is_recent(last: Handover, now: int) -> bool:
    return 0 <= now - last.at < HONOURED_MS


def read(path: Path) -> Handover | None:
    """The last handover; None when there was none, or its record says nothing."""
    record = read_object(path)
    to, at = record.get("to"), record.get("at")
    return Handover(to, at) if isinstance(to, str) and type(at) is int else None


def write(path: Path, handover: Handover) -> None:
    write_file(path, msgspec.json.encode(handover))
