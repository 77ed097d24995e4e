"""Builds this machine's membership in a team."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from claude_mem.model.clock import now
from claude_mem.model.records import Record
from claude_mem.recall.record_exchange import UnfitRecord, fit_members
from claude_mem.serve.services import Recall
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import ImportResult
from claude_mem.team.exchange import Exchange, Sides
from claude_mem.team.membership import KEY_FILE, Membership, read_key
from claude_mem.team.merged import MergedBranches


def build(
    settings: Settings,
    store: SqliteStore,
    recall: Recall,
    *,
    clean: Callable[[str], str],
    notify: Callable[[str], None],
) -> Membership:
    key_file = settings.data_path(KEY_FILE)

    def fit(record: Record) -> Record:
        return fit_members(record, clean, now())

    def absorb(records: Sequence[Record], author: str) -> ImportResult:
        """What is not fit to be stored is left out, and so is what it would have been needed for."""
        fitting = []
        for record in records:
            try:
                fitting.append(fit(record))
            except UnfitRecord:
                continue
        return store.transfer.absorb(fitting, own=False, author=author)

    exchange = Exchange(
        store.outbox,
        Sides(
            absorb=absorb,
            forget=recall.deleter.carry_out,
            fit=fit,
            key=partial(read_key, key_file),
            notify=notify,
        ),
        MergedBranches(store.outbox, now, always=settings.share_when == "always"),
        now,
        random.random,
    )
    return Membership(
        exchange,
        key_file,
        now,
        share_when=settings.share_when,
        project_of=recall.injector.resolver.project,
    )
