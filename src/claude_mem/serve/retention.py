"""Deletes expired data, reclaims disk space, and reports how much."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from claude_mem.api.projects import Freed, GcAnswer
from claude_mem.model.clock import DAY_MS, now
from claude_mem.recall.background import ContextFiles
from claude_mem.settings import Settings
from claude_mem.store.base import Store
from claude_mem.store.values import Evidence

MEGABYTE = 1_000_000


class Retention(Struct, frozen=True, kw_only=True):
    settings: Settings
    store: Store
    contexts: ContextFiles
    stale_markers: Callable[[float], list[str]]
    """The paths of files in the spool that are no longer needed."""
    tidy_spool: Callable[[float], object]
    """Removes the files that are no longer needed from the spool."""

    def upkeep(self) -> dict[str, Callable[[], object]]:
        """The worker's hourly maintenance: independent steps."""
        return {
            "merges": self.store.projects.finish_merging,
            "copies": self.store.copies.clear_drafts,
            "contexts": self.contexts.tidy,
            "evidence": self._expire,
            "room": self.store.upkeep.shrink,
        }

    def collect(self, *, dry_run: bool) -> GcAnswer:
        old, large = self._old(), self._excess()
        contexts, markers = self.contexts.expired(), self.stale_markers(time.time())
        surplus = self.store.copies.surplus()
        items = [
            Freed("evidence_old", old.events, old.characters),
            Freed("evidence_large", large.events, large.characters),
            Freed("contexts", len(contexts), sum(map(_size, contexts))),
            Freed("markers", len(markers), sum(_size(self.settings.data_path(path)) for path in markers)),
            Freed("backups", len(surplus), sum(map(_size, surplus))),
        ]
        freed = self.store.upkeep.size().free
        if not dry_run:
            self.store.projects.finish_merging()
            self.contexts.tidy()
            self.tidy_spool(time.time())
            for path in surplus:
                _remove(path)
            self._expire()
            freed = self.store.upkeep.shrink_fully()
            self.store.upkeep.checkpoint()
        items.append(Freed("free", 0, freed))
        size = self.store.upkeep.size()
        files = sum(item.bytes for item in items if not item.what.startswith("evidence"))
        return GcAnswer(
            dry_run,
            items,
            files + (old.characters + large.characters if dry_run else 0),
            {"size": size.size, "free": size.free, "log": size.log},
        )

    def _expire(self) -> None:
        if self.settings.evidence_days:
            while self.store.upkeep.expire_evidence(self._before()):
                pass
        excess = self._excess().characters
        if excess:
            self.store.upkeep.trim_evidence(excess)

    def _old(self) -> Evidence:
        return (
            self.store.upkeep.expired_evidence(self._before()) if self.settings.evidence_days else Evidence()
        )

    def _excess(self) -> Evidence:
        """How much more there is than allowed. It is not measured if the whole file is smaller."""
        most = self.settings.evidence_mb * MEGABYTE
        if not most or self.store.upkeep.size().size <= most:
            return Evidence()
        stored = self.store.upkeep.measure_evidence()
        share = max(0, stored.characters - most)
        return Evidence(stored.events * share // max(1, stored.characters), share)

    def _before(self) -> int:
        return now() - self.settings.evidence_days * DAY_MS


def _size(path: Path) -> int:
    try:
        if path.is_dir() and not path.is_symlink():
            return sum(_size(one) for one in path.iterdir())
        return path.lstat().st_size
    except OSError:
        return 0


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
