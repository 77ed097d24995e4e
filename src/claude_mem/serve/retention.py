"""Deletes expired data, reclaims disk space, and reports how much."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from claude_mem.api.projects import Freed, GcAnswer
from claude_mem.model.clock import DAY_MS, now
from claude_mem.recall.background import ContextFiles
from claude_mem.settings import Settings
from claude_mem.store.base import Store
from claude_mem.store.values import Evidence

MEGABYTE = 1_000_000


class Retention:
    """`stale_markers`: the paths of files in the spool that are no longer needed; `tidy_spool`: removes
    them."""

    def __init__(
        self,
        *,
        settings: Settings,
        store: Store,
        contexts: ContextFiles,
        stale_markers: Callable[[float], list[str]],
        tidy_spool: Callable[[float], object],
    ) -> None:
        self._settings, self._store, self._contexts = settings, store, contexts
        self._stale_markers, self._tidy_spool = stale_markers, tidy_spool

    def upkeep(self) -> dict[str, Callable[[], object]]:
        """What the worker does by itself, every hour: steps, of which none needs the others."""
        return {
            "merges": self._store.projects.finish_merging,
            "copies": self._store.copies.clear_drafts,
            "contexts": self._contexts.tidy,
            "evidence": self._expire,
            "room": self._store.upkeep.shrink,
        }

    def collect(self, *, dry_run: bool) -> GcAnswer:
        old, large = self._old(), self._excess()
        contexts, markers = self._contexts.old(), self._stale_markers(time.time())
        surplus = self._store.copies.surplus()
        items = [
            Freed("evidence_old", old.events, old.characters),
            Freed("evidence_large", large.events, large.characters),
            Freed("contexts", len(contexts), sum(map(_size, contexts))),
            Freed("markers", len(markers), sum(_size(self._settings.data_path(path)) for path in markers)),
            Freed("backups", len(surplus), sum(map(_size, surplus))),
        ]
        freed = self._store.upkeep.size().free
        if not dry_run:
            self._store.projects.finish_merging()
            self._contexts.tidy()
            self._tidy_spool(time.time())
            for path in surplus:
                _remove(path)
            self._expire()
            freed = self._store.upkeep.shrink_fully()
            self._store.upkeep.checkpoint()
        items.append(Freed("free", 0, freed))
        size = self._store.upkeep.size()
        files = sum(item.bytes for item in items if not item.what.startswith("evidence"))
        return GcAnswer(
            dry_run,
            items,
            files + (old.characters + large.characters if dry_run else 0),
            {"size": size.size, "free": size.free, "log": size.log},
        )

    def _expire(self) -> None:
        if self._settings.evidence_days:
            while self._store.upkeep.expire_evidence(self._before()):
                pass
        excess = self._excess().characters
        if excess:
            self._store.upkeep.trim_evidence(excess)

    def _old(self) -> Evidence:
        return (
            self._store.upkeep.expired_evidence(self._before())
            if self._settings.evidence_days
            else Evidence()
        )

    def _excess(self) -> Evidence:
        """How much more there is than there may be. It is not weighed where all of the file is less."""
        most = self._settings.evidence_mb * MEGABYTE
        if not most or self._store.upkeep.size().size <= most:
            return Evidence()
        there = self._store.upkeep.weigh_evidence()
        share = max(0, there.characters - most)
        return Evidence(there.events * share // max(1, there.characters), share)

    def _before(self) -> int:
        return now() - self._settings.evidence_days * DAY_MS


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
