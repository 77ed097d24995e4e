"""Deletes memories permanently: from the store, its copies, exported files and unreadable spool files.

An exported file belongs to its owner: it is only searched and listed, unless the request says otherwise. In
that case, records (JSON lines) are rewritten without what is deleted; a journal (Markdown) has no records, so
it is only listed.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from claude_mem.api import memories as api
from claude_mem.api.filters import FilterRequest
from claude_mem.api.memories import CopyReport
from claude_mem.files import atomic_file
from claude_mem.model.errors import InvalidInput, NotFound
from claude_mem.model.full_text import LiteralText
from claude_mem.model.records import (
    FORMAT,
    name_of_card,
    name_of_session,
    parse_name,
)
from claude_mem.model.refs import KINDS, Card, Filters, Hit, Ref
from claude_mem.recall import answers
from claude_mem.recall.background import OnChange
from claude_mem.recall.filter_resolver import WITHOUT_EVIDENCE, FilterResolver
from claude_mem.store.base import Copies, Store
from claude_mem.store.values import DeletionRequest, ForgetPlan, Forgotten, Selection

SAMPLE = 10


class MemoryDeleter(Struct, frozen=True, kw_only=True):
    store: Store
    resolver: FilterResolver
    copies: OtherCopies
    drain: Callable[[], int]
    """Stores some of the events that wait outside the store."""
    on_change: OnChange
    on_forget: Callable[[], None]
    """Called when something was deleted."""

    def forget(self, request: api.ForgetRequest, *, dry_run: bool) -> api.ForgetAnswer:
        selected = self._selection(request)
        while self.drain():
            pass
        self._check(selected.refs)
        plan = self.store.deletion.plan(selected)
        of_others = self._of_others(plan)
        deletion = self._request(selected, plan)
        sample = [answers.result(Hit(card, 0.0)) for card in self._sample(plan)]
        if dry_run:
            counts, reports = self._count(plan), self.copies.look(deletion)
        else:
            counts, reports = self._delete(plan, deletion, exports=request.exports)
        copies = [one for one in reports if one.kind in ("backup", "quarantine")]
        return api.ForgetAnswer(
            dry_run=dry_run,
            **asdict(counts),
            of_others=of_others,
            sample=sample,
            backups=sum(one.stays for one in copies),
            elsewhere=reports,
        )

    def carry_out(self, refs: Sequence[Ref], sessions: Sequence[str]) -> None:
        """Applies deletions from another machine to these memories and complete sessions, as far as they
        exist here. Exported files stay: their owner decides."""
        while self.drain():
            pass
        there = tuple(card.ref for card in self.store.memories.cards(refs)) if refs else ()
        plan = ForgetPlan(there, tuple(sessions))
        if plan != ForgetPlan():
            self._delete(plan, self._request(Selection(refs=there), plan), exports=False)

    def _delete(
        self, plan: ForgetPlan, request: DeletionRequest, *, exports: bool
    ) -> tuple[Forgotten, list[CopyReport]]:
        # Copies first: if this is interrupted, the same request still finds the memories here.
        reports = self.copies.forget(request, exports=exports)
        counts = self.store.deletion.forget(plan)
        self.on_change(None)  # where it was injected can no longer be known
        self.on_forget()
        return counts, _merged_reports([*reports, *self.copies.forget(request, exports=False)])

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
        """Rejects ids that do not exist, because the caller probably means something else."""
        there = {card.ref for card in self.store.memories.cards(refs)} if refs else set()
        missing = [str(ref) for ref in refs if ref not in there]
        if missing:
            raise NotFound(f"No memory with id {', '.join(missing)}. Nothing was deleted.")

    def _sample(self, plan: ForgetPlan) -> list[Card]:
        if plan.refs:
            return self.store.memories.cards(plan.refs[:SAMPLE])
        cards: list[Card] = []
        for session in plan.sessions[:SAMPLE]:
            of_session = Filters(session=session, kinds=WITHOUT_EVIDENCE)
            cards += self.store.memories.list_cards(of_session, limit=SAMPLE - len(cards))
        return cards

    def names_of_others(self, request: api.ForgetRequest) -> list[str]:
        """The names, in the team, of memories that other members wrote."""
        plan = self.store.deletion.plan(self._selection(request))
        found = self.store.memories.details(plan.refs).values()
        names = [name_of_card(card, columns) for card, columns in found if card.author is not None]
        return [*filter(None, names), *map(name_of_session, self._sessions_of_others(plan))]

    def _of_others(self, plan: ForgetPlan) -> int:
        """How many memories other members of the team wrote."""
        if not self.store.sessions.authors():
            return 0
        single = sum(card.author is not None for card in self.store.memories.cards(plan.refs))
        counts = map(self.store.memories.count_by_kind, self._sessions_of_others(plan))
        return single + sum(sum(each.values()) for each in counts)

    def _sessions_of_others(self, plan: ForgetPlan) -> list[str]:
        found = map(self.store.sessions.session, plan.sessions)
        return [each["claude_session_id"] for each in found if each and each["author"] is not None]

    def _count(self, plan: ForgetPlan) -> Forgotten:
        """How many memories, including those in sessions that are deleted completely."""
        kinds = Counter(ref.kind for ref in plan.refs)
        for session in plan.sessions:
            kinds.update(self.store.memories.count_by_kind(session))
        vectors = sum(kinds[kind] for kind in WITHOUT_EVIDENCE)
        return Forgotten(*(len(plan.sessions), *(kinds[kind] for kind in KINDS), vectors))

    def _selection(self, request: api.ForgetRequest) -> Selection:
        if request.is_empty:
            raise InvalidInput("refs", f"Specify at least one of: {', '.join(api.FORGET_BY)}.")
        refs = []
        for text in dict.fromkeys(map(str, request.ids)):
            ref = Ref.parse(text)
            if ref is None:
                raise InvalidInput("refs", f"{text!r} is not a memory id such as 12 or s3.")
            refs.append(ref)
        filters = self.resolver.filters(
            FilterRequest(
                project=request.project, session=request.session, since=request.since, until=request.until
            )
        )
        return Selection(
            refs=tuple(refs),
            session=filters.session,
            project_id=filters.project_id,
            file=request.file or None,
            since=filters.since,
            until=filters.until,
            text=request.text or None,
        )


def _merged_reports(reports: Sequence[CopyReport]) -> list[CopyReport]:
    """Merges two reports on the same copies; for each copy, the first report of a change is kept."""
    first: dict[str, CopyReport] = {}
    for one in reports:
        if one.path not in first or (first[one.path].stays and not one.stays):
            first[one.path] = one
    return list(first.values())


ContentTest = Callable[[bytes], bool]


class OtherCopies(Struct, frozen=True, kw_only=True):
    """`unread` and `remove_unread`: the paths of spool files that could not be read and pass a test
    of their content."""

    copies: Copies
    exports: ExportedFiles
    unread: Callable[[ContentTest], list[str]]
    remove_unread: Callable[[ContentTest], list[str]]
    data_path: Callable[[str], Path]
    copying: Lock = field(default_factory=Lock)
    """Held while the database is copied, so that no copy is made during a deletion."""

    def look(self, request: DeletionRequest) -> list[CopyReport]:
        with self.copying:
            return [
                *self.copies.look(request),
                *self.exports.look(request),
                *self._spooled(request, self.unread, "holds"),
            ]

    def forget(self, request: DeletionRequest, *, exports: bool) -> list[CopyReport]:
        with self.copying:
            done = self.copies.forget(request)
        written = self.exports.forget(request) if exports else self.exports.look(request)
        return [*done, *written, *self._spooled(request, self.remove_unread, "removed")]

    def _spooled(
        self, request: DeletionRequest, find: Callable[[ContentTest], list[str]], done: str
    ) -> list[CopyReport]:
        test = _content_test(request)
        return [CopyReport(str(self.data_path(path)), "spool", done) for path in find(test)] if test else []


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

    def is_match(content: bytes) -> bool:
        if any(needle in content for needle in needles):
            return True
        return wording is not None and wording.is_in(content.decode(errors="replace"))

    return is_match


_RECORD_KINDS = {"observation": "observation", "summary": "summary", "prompt": "prompt", "evidence": "event"}
"""The names of the kinds of memory in records."""

HEAD = 4096
_BY_A_PERSON = "it is a Markdown file: edit or delete it yourself"

Record = dict[str, Any]


class ExportedFiles(Struct, frozen=True):
    listed: Path
    """The file that names every file an export has made."""

    def look(self, request: DeletionRequest) -> list[CopyReport]:
        return [report for path in self._made() if (report := _report(path, request)) is not None]

    def forget(self, request: DeletionRequest) -> list[CopyReport]:
        return [_rewrite(report, request) for report in self.look(request)]

    def _made(self) -> list[Path]:
        """The exported files that still exist, each once."""
        try:
            lines = self.listed.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        paths = []
        for line in lines:
            with suppress(ValueError, TypeError, KeyError):
                paths.append(Path(json.loads(line)["path"]))
        return [path for path in dict.fromkeys(paths) if _is_file(path)]


def _is_file(path: Path) -> bool:
    """Whether it is a regular file; not a link, nor a pipe, which would block."""
    try:
        return path.is_absolute() and stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _report(path: Path, request: DeletionRequest) -> CopyReport | None:
    """The report on an exported file; None: it does not contain it."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            is_records = _is_head(file.read(HEAD))
            file.seek(0)
            if is_records:
                holds = any(line != left for line, left in _ExportFilter(request).filter_lines(file))
            else:
                text = request.selection.text
                holds = not text or any(map(LiteralText(text).is_in, file))
    except OSError as error:
        return CopyReport(str(path), "export", "left", error.strerror or "it cannot be read")
    return CopyReport(str(path), "export", "holds", "" if is_records else _BY_A_PERSON) if holds else None


def _rewrite(report: CopyReport, request: DeletionRequest) -> CopyReport:
    path, export_filter = Path(report.path), _ExportFilter(request)
    if report.note:
        return CopyReport(report.path, "export", "left", report.note)
    try:
        with path.open(encoding="utf-8", errors="replace") as file, atomic_file(path, durable=True) as new:
            for _ in export_filter.filter_lines(file):  # what goes is known before its session is rewritten
                pass
            file.seek(0)
            for _, left in export_filter.filter_lines(file):
                new.write(left.encode(errors="replace"))
    except OSError as error:
        return CopyReport(report.path, "export", "left", error.strerror or "it cannot be written")
    return CopyReport(report.path, "export", "rewritten")


def _is_head(beginning: str) -> bool:
    """Of a file of records."""
    try:
        head = json.loads(beginning.partition("\n")[0])
    except ValueError:
        return False
    return isinstance(head, dict) and head.get("kind") == FORMAT


class _ExportFilter:
    def __init__(self, request: DeletionRequest) -> None:
        selection = request.selection
        self._wording = LiteralText(selection.text) if selection.text else None
        self._memories = {
            (_RECORD_KINDS[trace.ref.kind], trace.session, trace.at) for trace in request.traces
        }
        self._sessions = frozenset(request.sessions)
        self._project = request.project_key if selection.is_whole and not selection.session else None
        # What sessions lose and may be named after, because their records precede those of their contents.
        self._prompts: set[tuple[str, str]] = set()
        self._summaries: set[str] = set()

    def filter_lines(self, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yields each line and what remains of it: the same, a changed one, or nothing."""
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                yield line, "" if self._holds(line) else line
                continue
            if not isinstance(record, dict):
                yield line, line
                continue
            left = self._left(record)
            if left is None:
                self._note(record)
                yield line, ""
            else:
                yield line, line if left == record else json.dumps(left, ensure_ascii=False) + "\n"

    def _left(self, record: Record) -> Record | None:
        kind, session = record.get("kind"), record.get("session_id")
        if session in self._sessions or (kind, session, record.get("at")) in self._memories:
            return None
        project = record.get("key" if kind == "project" else "project")
        if self._project is not None and self._project == project:
            return None
        if kind == "session":
            return self._renamed(record)
        if any(map(self._holds, _texts_in(record))):
            return None
        older = record.get("supersedes")
        name = parse_name(older) if isinstance(older, str) else None
        return record | {"supersedes": None} if name is not None and name[0] in self._sessions else record

    def _renamed(self, record: Record) -> Record:
        """Renames a session after its first remaining prompt and summary."""
        left, session = dict(record), str(record.get("session_id"))
        if (session, record.get("first_user_prompt")) in self._prompts:
            left["first_user_prompt"] = None
        if session in self._summaries:
            left |= {name: None for name in ("title", "subtitle") if record.get(name) is not None}
        for name, value in record.items():
            if isinstance(value, str) and name != "session_id" and self._holds(value):
                left[name] = None
        return left

    def _note(self, record: Record) -> None:
        session = str(record.get("session_id"))
        if record.get("kind") == "prompt":
            self._prompts.add((session, str(record.get("text"))))
        elif record.get("kind") == "summary":
            self._summaries.add(session)

    def _holds(self, text: str) -> bool:
        return self._wording is not None and self._wording.is_in(text)


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(one)
