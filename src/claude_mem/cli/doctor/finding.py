"""What doctor says about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    level: Level
    says: str
    next: str | None = None  # the next step, where one is needed
    stops: str | None = None  # why nothing is recorded, where that is so
    hinders: str | None = None  # why nothing recorded becomes memory, where that is so
