"""What is to be done with a database, decided from what it says of itself. Knows none by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from the version before it; never changed once released, only followed by another."""

    version: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a database says of itself."""

    ours: bool
    version: int
    empty: bool  # it holds no table


@dataclass(frozen=True, slots=True)
class Create:
    """There is nothing yet."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """It is ours, and lacks some migrations or none."""


@dataclass(frozen=True, slots=True)
class TooNew:
    """It is ours, from a version that knows more than this one. Hands off."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """It is somebody else's. Hands off."""


Plan = Create | Upgrade | TooNew | Foreign


def load(folder: Path) -> tuple[Migration, ...]:
    """The migrations in a folder of `0001_name.sql` files, which must count up from one without a gap."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        named = _FILE.fullmatch(path.name)
        if named is None:
            raise ValueError(f"{path.name} is not named like 0001_name.sql")
        found.append(Migration(int(named[1]), named[2], path.read_text(encoding="utf-8")))
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations in {folder} do not count up from 0001 without a gap")
    return tuple(found)


def plan(found: Found | None, migrations: Sequence[Migration]) -> Plan:
    """What is to be done with a database (None: there is none)."""
    if found is None or (found.empty and not found.ours):
        return Create()
    if not found.ours:
        return Foreign()
    if found.version > len(migrations):
        return TooNew()
    return Upgrade()
