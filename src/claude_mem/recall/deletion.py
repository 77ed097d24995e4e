"""Deletes memories for good: in the store, in its copies, in exported files and in unreadable spool
files."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from claude_mem.api import memories as api
from claude_mem.api.filters import FilterRequest
from claude_mem.api.memories import CopyReport
from claude_mem.model.errors import InvalidInput, NotFound
from claude_mem.model.full_text import LiteralText
from claude_mem.model.refs import KINDS, Card, Filters, Hit, Ref
from claude_mem.recall import json_shapes
from claude_mem.recall.context_files import OnChange
from claude_mem.recall.exported_files import ExportedFiles
from claude_mem.recall.filter_resolver import UNDERSTOOD, FilterResolver
from claude_mem.store.base import Copies, Store
from claude_mem.store.values import DeletionRequest, ForgetPlan, Forgotten, Selection

SAMPLE = 10


class MemoryDeleter(Struct, frozen=True, kw_only=True):
    store: Store
    resolver: FilterResolver
    copies: OtherCopies
    drain: Callable[[], int]
    """Takes in some of what waits outside the store."""
    on_change: OnChange
    on_forget: Callable[[], None]
    """Hears that something was deleted."""

    def forget(self, wanted: api.ForgetRequest, *, dry_run: bool) -> api.ForgetAnswer:
        selected = self._selection(wanted)
        while self.drain():
            pass
        self._check(selected.refs)
        plan = self.store.deletion.plan(selected)
        request = self._request(selected, plan)
        sample = [json_shapes.result(Hit(card, 0.0)) for card in self._sample(plan)]
        if dry_run:
            counts, reports = self._count(plan), self.copies.look(request)
        else:
            # In copies first: killed on the way, the same question still finds here what to look for there.
            reports = self.copies.forget(request, exports=wanted.exports)
            counts = self.store.deletion.forget(plan)
            self.on_change(None)  # nobody can say any more where it was told
            self.on_forget()
            reports = _merged_reports([*reports, *self.copies.forget(request, exports=False)])
        copies = [one for one in reports if one.kind in ("backup", "quarantine")]
        return api.ForgetAnswer(
            dry_run=dry_run,
            **asdict(counts),
            sample=sample,
            backups=sum(one.stays for one in copies),
            elsewhere=reports,
        )

    def _request(self, selected: Selection, plan: ForgetPlan) -> DeletionRequest:
        project = self.store.projects.by_id(selected.project_id) if selected.project_id is not None else None
        return DeletionRequest(
            selected,
            project_key=project.key if project else None,
            project_root=project.root if project else None,
            sessions=plan.sessions,
            traces=tuple(self.store.deletion.identities(plan.refs)),
        )

    def _check(self, refs: Sequence[Ref]) -> None:
        """What is not there cannot be forgotten, and somebody who names it means something else."""
        there = {card.ref for card in self.store.memories.cards(refs)} if refs else set()
        missing = [str(ref) for ref in refs if ref not in there]
        if missing:
            raise NotFound(f"No memory with id {', '.join(missing)}. Nothing was deleted.")

    def _sample(self, plan: ForgetPlan) -> list[Card]:
        if plan.refs:
            return self.store.memories.cards(plan.refs[:SAMPLE])
        cards: list[Card] = []
        for session in plan.sessions[:SAMPLE]:
            of_session = Filters(session=session, kinds=UNDERSTOOD)
            cards += self.store.memories.list_cards(of_session, limit=SAMPLE - len(cards))
        return cards

    def _count(self, plan: ForgetPlan) -> Forgotten:
        """With what is in the sessions that go as a whole."""
        kinds = Counter(ref.kind for ref in plan.refs)
        for session in plan.sessions:
            kinds.update(self.store.memories.count_by_kind(session))
        vectors = sum(kinds[kind] for kind in UNDERSTOOD)
        return Forgotten(*(len(plan.sessions), *(kinds[kind] for kind in KINDS), vectors))

    def _selection(self, wanted: api.ForgetRequest) -> Selection:
        if wanted.is_empty:
            raise InvalidInput("refs", f"Specify at least one of: {', '.join(api.FORGET_BY)}.")
        refs = []
        for text in dict.fromkeys(map(str, wanted.ids)):
            ref = Ref.parse(text)
            if ref is None:
                raise InvalidInput("refs", f"{text!r} is not a memory id such as 12 or s3.")
            refs.append(ref)
        filters = self.resolver.filters(
            FilterRequest(
                project=wanted.project, session=wanted.session, since=wanted.since, until=wanted.until
            )
        )
        return Selection(
            refs=tuple(refs),
            session=filters.session,
            project_id=filters.project_id,
            file=wanted.file or None,
            since=filters.since,
            until=filters.until,
            text=wanted.text or None,
        )


def _merged_reports(reports: Sequence[CopyReport]) -> list[CopyReport]:
    """What was looked at twice, as it was left the first time something was done about it."""
    first: dict[str, CopyReport] = {}
    for one in reports:
        if one.path not in first or (first[one.path].stays and not one.stays):
            first[one.path] = one
    return list(first.values())


ContentTest = Callable[[bytes], bool]


class OtherCopies:
    """`unread` and `remove_unread`: the paths of spool files that could not be read and pass a test
    of their content."""

    def __init__(
        self,
        *,
        copies: Copies,
        exports: ExportedFiles,
        unread: Callable[[ContentTest], list[str]],
        remove_unread: Callable[[ContentTest], list[str]],
        data_path: Callable[[str], Path],
    ) -> None:
        self._copies, self._exports = copies, exports
        self.copying = threading.Lock()
        """Held while a copy of the database is made, so that none is made of what is being forgotten."""
        self._unread, self._remove_unread, self._data_path = unread, remove_unread, data_path

    def look(self, request: DeletionRequest) -> list[CopyReport]:
        with self.copying:
            return [
                *self._copies.look(request),
                *self._exports.look(request),
                *self._spooled(request, self._unread, "holds"),
            ]

    def forget(self, request: DeletionRequest, *, exports: bool) -> list[CopyReport]:
        with self.copying:
            done = self._copies.forget(request)
        written = self._exports.forget(request) if exports else self._exports.look(request)
        return [*done, *written, *self._spooled(request, self._remove_unread, "removed")]

    def _spooled(
        self, request: DeletionRequest, find: Callable[[ContentTest], list[str]], done: str
    ) -> list[CopyReport]:
        test = _content_test(request)
        return [CopyReport(str(self._data_path(path)), "spool", done) for path in find(test)] if test else []


def _content_test(request: DeletionRequest) -> ContentTest | None:
    """Whether bytes that are no event are of what is forgotten: they name its session or its project's
    directory, or hold its words. None: the request does not say."""
    named = {trace.session for trace in request.traces} if request.selection.refs else set()
    needles = {os.fsencode(session) for session in (*request.sessions, *named) if session}
    if request.project_root and request.selection.text is None:
        needles.add(os.fsencode(f"{Path(request.project_root)}/"))
    wording = LiteralText(request.selection.text) if request.selection.text else None
    if not needles and wording is None:
        return None

    def is_meant(content: bytes) -> bool:
        if any(needle in content for needle in needles):
            return True
        return wording is not None and wording.is_in(content.decode(errors="replace"))

    return is_meant
