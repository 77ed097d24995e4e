"""How edits become observations: one per change, folded into its commit if there is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from claude_mem.model.memory import FIXES, Observation
from claude_mem.model.refs import ObservationType
from claude_mem.observe.offline import file_names, findings, fixed_failures, headlines, outline, user_request
from claude_mem.observe.offline.commits import Commit
from claude_mem.observe.offline.details import details
from claude_mem.observe.offline.file_change import FileChange
from claude_mem.observe.offline.fixed_failures import Mended
from claude_mem.observe.offline.renames import is_renamed, renames
from claude_mem.observe.offline.steps import Edited
from claude_mem.observe.offline.turns import Turn
from claude_mem.observe.offline.wording import (
    FACT,
    FACTS,
    NARRATIVE,
    SUBTITLE,
    TITLE,
    clip,
    folded,
    listed,
    unique,
)

TOGETHER = 9  # files; more of them in several folders are told folder by folder


@dataclass(frozen=True, slots=True)
class Group:
    changes: tuple[FileChange, ...]
    commit: Commit | None = None


def observe(turn: Turn, known: frozenset[str]) -> Iterator[Observation]:
    """`known`: titles recorded already, folded. A commit among them was amended: the rest stands alone."""
    work = [
        (at, edit)
        for at, edit in turn.edits
        if not file_names.is_scratch(edit.path) and not file_names.PLAN.search(edit.path)
    ]
    work = [(at, edit) for at, edit in work if not file_names.MEMORY.search(edit.path)]
    taken: set[int] = set()
    last_of = {commit.subject: commit for commit in turn.commits}
    for commit in turn.commits:
        mine = [
            index
            for index, (at, edit) in enumerate(work)
            if index not in taken
            and at < commit.at
            and (len(turn.commits) == 1 or not commit.files or edit.path in commit.files)
        ]
        again = folded(commit.subject) in known and (mine or commit.amended)
        if commit is not last_of[commit.subject] or again:
            continue  # amended later in this turn, or told before: its edits stand for themselves
        taken.update(mine)
        changes = _gathered(turn, [work[index][1] for index in mine])
        yield _committed(turn, Group(changes, commit))
    changes = _gathered(turn, [edit for index, (_, edit) in enumerate(work) if index not in taken])
    for group in _grouped(changes):
        yield _changed(turn, group)
    if not work and not turn.commits:
        written = [
            edit
            for _, edit in turn.edits
            if file_names.is_scratch(edit.path) and file_names.nature(edit.path) == "docs"
        ]
        drafts = _gathered(turn, written)
        if drafts:
            yield _changed(turn, Group(drafts))


def _gathered(turn: Turn, edits: Iterable[Edited]) -> tuple[FileChange, ...]:
    found: dict[str, FileChange] = {}
    outlines: dict[str, tuple[outline.Outline, ...]] = {}
    for edit in edits:
        if edit.path not in found:
            found[edit.path] = FileChange(edit.path)
            outlines[edit.path] = turn.outlines(edit.path)
        found[edit.path].take(edit, outlines[edit.path])
    return tuple(found.values())


def _grouped(changes: tuple[FileChange, ...]) -> Iterator[Group]:
    if not changes:
        return
    if len(changes) <= TOGETHER:
        yield Group(changes)
        return
    folders: dict[str, list[FileChange]] = {}
    for change in changes:
        folders.setdefault("/".join(change.path.split("/")[:-1][:2]), []).append(change)
    small = [change for group in folders.values() if len(group) < 3 for change in group]
    for group in folders.values():
        if len(group) >= 3:
            yield Group(tuple(group))
    if small:
        yield Group(tuple(small))


def _committed(turn: Turn, group: Group) -> Observation:
    commit = group.commit
    assert commit is not None
    mends = _mends(turn, group)
    kind = commit.kind or _type(turn, group, mends)
    files = unique([*(change.path for change in group.changes), *commit.files])
    where = " ".join(part for part in (commit.sha, f"on {commit.branch}" if commit.branch else "") if part)
    verb = "amended" if commit.amended else "commit"
    first = clip(f"{verb} {where}".strip() + (f": {commit.stat}" if commit.stat else ""), FACT)
    body = re.sub(r"\s*\n\s*", " ", commit.body)
    checked = fixed_failures.checked(turn)
    narrative = " ".join(
        part
        for part in (
            clip(body, 620) if body else _asked(turn.request),
            "" if body else findings.gist(turn.message),
            f"Checked: {checked}." if checked else "",
        )
        if part
    )
    told = [*(mend.told for mend in mends), *details(group.changes, titled=False)]
    minor = [operation.title for operation in turn.operations if operation.weight == "minor"]
    facts = unique([first, *told[: FACTS - 2], *minor[:1], *fixed_failures.still(turn)], FACTS)
    subtitle = (
        clip(listed((file_names.name(file) for file in files), SUBTITLE - 20), SUBTITLE) if files else None
    )
    return Observation(
        kind,
        clip(commit.subject, TITLE),
        subtitle,
        clip(narrative, NARRATIVE),
        facts,
        _concepts(kind),
        (),
        files,
    )


def _changed(turn: Turn, group: Group) -> Observation:
    mends = _mends(turn, group)
    kind = _type(turn, group, mends)
    title = headlines.title(group.changes)
    cured = next((mend for mend in mends if mend.failed.run and mend.failed.run.failing), None)
    if kind == "bugfix" and cured and cured.failed.run:
        name = cured.failed.run.failing[0].rpartition("::")[2]
        title = f"{name} passes again: {title}"
    facts = unique(
        [
            *(mend.told for mend in mends),
            *details(group.changes, titled=True),
            *_led(turn, group),
            *fixed_failures.still(turn),
        ],
        FACTS,
    )
    checked = fixed_failures.checked(turn)
    told = "; ".join(change.told() for change in group.changes[:3])
    narrative = " ".join(
        part
        for part in (
            _asked(turn.request),
            findings.gist(turn.message) or told + ".",
            f"Checked: {checked}." if checked and not mends else "",
        )
        if part
    )
    files = unique(change.moved_to or change.path for change in group.changes)
    return Observation(
        kind,
        clip(title, TITLE),
        headlines.subtitle(group.changes),
        clip(narrative, NARRATIVE),
        facts,
        _concepts(kind),
        (),
        files,
    )


def _asked(request: str) -> str:
    asked = user_request.quoted(request, 260)
    return f"Asked: “{asked}”" if asked else ""


def _mends(turn: Turn, group: Group) -> list[Mended]:
    code = any(change.nature in ("code", "tests", "config") for change in group.changes) or not group.changes
    return (
        [
            mend
            for mend in fixed_failures.mended(turn)
            if mend.by_edits
            and mend.failed.sort != "command"
            and (not mend.own or mend.failed.sort == "test")
        ][:2]
        if code
        else []
    )


def _type(turn: Turn, group: Group, mends: list[Mended]) -> ObservationType:
    code = [change for change in group.changes if change.nature == "code"]
    if not code and not mends:
        return "change"
    if any(not mend.own for mend in mends) or (code and FIXES.search(turn.request[:400])):
        return "bugfix"
    if any(change.created for change in code) or any(
        name.endswith("()") or name[:1].isupper()
        for change in code
        for name in change.added
        if not is_renamed(group.changes, name)
    ):
        return "feature"
    came = {line for change in group.changes for line in change.came if len(line) > 3}
    went = {line for change in group.changes for line in change.went if len(line) > 3}
    moved = len(came & went)
    if (
        (moved and moved * 10 >= 6 * max(1, min(len(came), len(went))))
        or any(renames(group.changes))
        or (went and not came)
    ):
        return "refactor"
    return "change"


def _led(turn: Turn, group: Group) -> Iterator[str]:
    """Searches that led to one of these files."""
    edited = {change.path for change in group.changes}
    led = [search for search in turn.searches if edited & set(search.hits)]
    for search in led[:1]:
        yield clip(f"found by searching {clip(search.pattern, 80)} in {listed(search.hits, 90)}", FACT)


def _concepts(kind: ObservationType) -> tuple[str, ...]:
    return ("problem-solution", "what-changed") if kind == "bugfix" else ("what-changed",)
