"""Memories: search, reading, saving, correcting, forgetting, export and import."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from claude_mem.api.fields import (
    A_MEMORY,
    MEMORIES,
    Author,
    Body,
    Count,
    MemoryId,
    MemoryIds,
    Milliseconds,
    Params,
    Session,
    doc,
)
from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.refs import MemoryKind

RESULTS = 20
MOST_RESULTS = 100
MOST_OFFSET = 1_000_000
MOST_RECORDS = 1_000
LONGEST_TEXT = 100_000

Query = Annotated[str, doc("What to look for, in your own words.", "login fails", aliases=("query",))]
Limit = Annotated[int, Meta(ge=1, le=MOST_RESULTS), doc("The maximum number of results.", RESULTS)]
Offset = Annotated[int, Meta(ge=0, le=MOST_OFFSET), doc("How many to skip.", 0)]
Cursor = Annotated[str, doc("The `next` of the previous page; faster than `offset`.", "1769850000000-12")]
Ids = Annotated[
    MemoryIds,
    doc(
        "Memories: 12 or `12` an observation, `s12` a summary, `p12` a prompt.",
        [12, "s3"],
        aliases=("refs",),
        expected=MEMORIES,
    ),
]
Next = Annotated[str | None, doc("Pass as `cursor` for the next page; null at the end.", "1769850000000-12")]
DryRun = Annotated[bool | None, doc("Only report what would change.", False, aliases=("dryRun",))]
Confirm = Annotated[bool, doc("Must be true for anything to change; otherwise it is a dry run.", True)]


# -- Requests --


class SearchQuery(FilterRequest, frozen=True, kw_only=True):
    q: Query = ""
    limit: Limit = RESULTS
    offset: Offset = 0
    cursor: Cursor = ""
    explain: Annotated[bool, doc("Explain each score.", False)] = False

    @property
    def page(self) -> Page:
        return Page(self.limit, self.offset, self.cursor)


class ListQuery(FilterRequest, frozen=True, kw_only=True):
    limit: Limit = RESULTS
    offset: Offset = 0
    cursor: Cursor = ""
    count: Annotated[bool, doc("Return the total too.", False)] = False

    @property
    def page(self) -> Page:
        return Page(self.limit, self.offset, self.cursor, self.count)


class TimelineQuery(FilterRequest, frozen=True, kw_only=True):
    anchor: Annotated[str, doc("A memory (`12`, `s3`), a session's id, or a time in words.", "12")] = ""
    q: Query = ""
    before: Annotated[
        int, Meta(ge=0, le=50), doc("How many memories before it.", 10, aliases=("depth_before",))
    ] = 10
    after: Annotated[
        int, Meta(ge=0, le=50), doc("How many memories after it.", 10, aliases=("depth_after",))
    ] = 10


class FileQuery(Params, frozen=True, kw_only=True):
    path: Annotated[str, doc("The file's path, or the end of it.", "src/login.py")]
    project: Annotated[str, doc("Only this project: its name or key.", "shop")] = ""
    cwd: Annotated[str, doc("Only the project this directory belongs to.", "/home/ada/shop")] = ""
    wrong: Annotated[bool | None, doc("true: only memories marked wrong; false: none of them.", False)] = None
    limit: Limit = RESULTS


class ExportQuery(FilterRequest, frozen=True, kw_only=True):
    q: Query = ""


class SelectRequest(FilterRequest, frozen=True, kw_only=True):
    q: Query = ""
    cursor: Cursor = ""


class BatchRequest(Params, frozen=True, kw_only=True):
    ids: Ids
    order_by: Annotated[
        Literal["date_desc", "date_asc"] | None,
        doc("Sort by time; otherwise, the order of `ids`.", "date_desc", aliases=("order_by",)),
    ] = field(name="orderBy", default=None)
    limit: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] | None = None


class SaveRequest(Params, frozen=True, kw_only=True):
    text: Annotated[
        str,
        Meta(max_length=LONGEST_TEXT),
        doc("The text to save.", "Deploys need the VPN.", expected=f"at most {LONGEST_TEXT:,} characters"),
    ]
    title: Annotated[str | None, doc("Its title; otherwise taken from the text.", "Deploying")] = None
    type: Annotated[str | None, doc("Its type.", "discovery")] = None
    project: Annotated[str | None, doc("The project it belongs to: a name or key.", "shop")] = None
    cwd: Annotated[str | None, doc("Or a directory of the project.", "/home/ada/shop")] = None
    files: Annotated[tuple[str, ...] | None, doc("Paths it is about.", ["deploy.sh"])] = None
    concepts: Annotated[tuple[str, ...] | None, doc("Concepts it illustrates.", ["gotcha"])] = None
    session: Annotated[str | None, doc("The session it came up in.", "claude-session-123")] = None


class PinRequest(Params, frozen=True, kw_only=True):
    ids: Ids
    pinned: Annotated[bool, doc("false: unpin.", True)] = True


class WrongRequest(Params, frozen=True, kw_only=True):
    ids: Ids
    wrong: Annotated[bool, doc("false: no longer wrong.", True)] = True


class EditRequest(Body, frozen=True, kw_only=True):
    """An edit. Omitted fields stay; null or empty clears a field."""

    id: Annotated[MemoryId, doc("An observation: 12 or `12`.", 12, aliases=("ref",), expected=A_MEMORY)]
    title: Annotated[str | UnsetType | None, doc("One line.", "Empty passwords made login fail")] = UNSET
    subtitle: Annotated[
        str | UnsetType | None, doc("One sentence.", "An empty password was compared as text.")
    ] = UNSET
    narrative: Annotated[
        str | UnsetType | None, doc("A paragraph.", "The check ran before the hash was made.")
    ] = UNSET
    facts: Annotated[tuple[str, ...] | UnsetType | None, doc("Facts.", ["login() takes bytes"])] = UNSET
    concepts: Annotated[tuple[str, ...] | UnsetType | None, doc("Concepts it illustrates.", ["gotcha"])] = (
        UNSET
    )
    type: Annotated[str | UnsetType | None, doc("Its type.", "bugfix")] = UNSET


class MergeRequest(Params, frozen=True, kw_only=True):
    into: Annotated[MemoryId, doc("The observation to keep.", 12, expected=A_MEMORY)]
    ids: Ids


class ForgetRequest(Params, frozen=True, kw_only=True):
    ids: Ids = ()
    session: Session = ""
    project: Annotated[str, doc("Everything in this project.", "shop")] = ""
    file: Annotated[str, doc("About this path, the end of one, a directory or a glob.", "src/login.py")] = ""
    since: Annotated[str, doc("From this time on.", "2026-01-31", aliases=("dateStart",))] = ""
    until: Annotated[str, doc("Up to this time.", "yesterday", aliases=("dateEnd",))] = ""
    text: Annotated[str, doc("Only what contains this text.", "internal host name")] = ""
    for_team: Annotated[
        bool,
        doc("Also delete what other members wrote for the whole team; needs an admin of the project.", False),
    ] = False
    exports: Annotated[bool, doc("Also remove it from exported files.", False, aliases=("also_exports",))] = (
        False
    )
    dry_run: DryRun = None
    confirm: Confirm = False

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in FORGET_BY)


FORGET_BY = ("ids", "session", "project", "file", "since", "until", "text")


class ImportQuery(Params, frozen=True, kw_only=True):
    own: Annotated[bool, doc("For lines: they come from your own export, so they are trusted.", False)] = (
        False
    )


class ImportRequest(Body, frozen=True, kw_only=True):
    records: Annotated[
        tuple[dict[str, Any], ...],
        Meta(max_length=MOST_RECORDS),
        doc(
            "Observations: a title, and any other fields.",
            [{"title": "Deploys need the VPN", "project": "shop"}],
            aliases=("observations",),
            expected=f"a list of at most {MOST_RECORDS:,} objects",
        ),
    ]


# -- Answers --


class Memory(Struct, frozen=True, kw_only=True):
    """One memory. A memory in full also has the columns of its kind."""

    id: Annotated[int, doc("Its number, unique within its kind.", 12)]
    ref: Annotated[str, doc("Its id, unique across all kinds: `12`, `s12`, `p12`, `e12`.", "12")]
    kind: Annotated[MemoryKind, doc("Its kind.", "observation")]
    session_id: Annotated[str, doc("The coding agent's id of its session.", "claude-session-123")]
    project: Annotated[str, doc("Its project's name.", "shop")]
    title: Annotated[str, doc("One line.", "Empty passwords made login fail")]
    type: Annotated[str | None, doc("An observation's type.", "bugfix")]
    created_at: Annotated[str, doc("When the work was done, in UTC.", "2026-01-31T09:00:00.000Z")]
    created_at_epoch: Annotated[int, doc("The same in milliseconds.", 1769850000000)]
    files: Annotated[list[str], doc("Paths it is about.", ["src/login.py"])]
    branch: Annotated[str | None, doc("The git branch.", "main")]
    client: Annotated[str | None, doc("The coding agent it comes from.", "claude-code")]
    author: Author = UNSET
    score: Annotated[float, doc("How well it matches. Comparable only within one response.", 0.87)]
    snippet: Annotated[str, doc("The matching part of its text.", "… an empty password …")]
    tokens: Annotated[int, doc("Approximate tokens to read it in full.", 180)]
    pinned: Annotated[bool, doc("Pinned: injected first.", False)]
    wrong: Annotated[bool, doc("Marked wrong: stored, but never recalled.", False)]
    superseded_by: Annotated[int | None, doc("The observation that replaced it.")]
    source: Annotated[str, doc("work, external (only read) or user (saved on request).", "work")]
    marks: Annotated[list[str], doc("Caveats, such as staleness.", [])]


class FoundMemory(Memory, frozen=True, kw_only=True):
    """A memory in a list of results."""

    parts: Annotated[dict[str, float] | UnsetType, doc("With `explain`: what makes up the score.")] = UNSET
    how: Annotated[str | UnsetType, doc("In a file's history: modified, read or named.")] = UNSET
    selected: Annotated[bool | UnsetType, doc("In a preview: whether it would be injected.")] = UNSET


FullMemory = Annotated[dict[str, Any], Meta(extra_json_schema={"$ref": "#/components/schemas/Memory"})]
"""The fields of a Memory, plus those of its kind."""
Missing = Annotated[list[Any], doc("Requested ids that do not exist.", [])]


class Undo(Struct, frozen=True):
    token: Annotated[str, doc("For `POST /api/undo/{id}`.", "Zm9v")]
    until: Annotated[Milliseconds, doc("How long the undo remains possible.", 1769853600000)]


class FoundSession(Struct, frozen=True, kw_only=True):
    session_id: Annotated[str, doc("The coding agent's id of it.", "claude-session-123")]
    title: Annotated[str | None, doc("Its title, or its first prompt.", "fix the login")]
    project: Annotated[str, doc("Its project's name.", "shop")]
    created_at: Annotated[str, doc("When it began, in UTC.", "2026-01-31T09:00:00.000Z")]
    created_at_epoch: Annotated[int, doc("The same in milliseconds.", 1769850000000)]
    author: Author = UNSET
    events: Annotated[int, doc("How many raw tool events match; `raw` shows them.", 3)]
    more: Annotated[int, doc("How many of its other memories match; `session` shows them.", 0)]


class SearchAnswer(Struct, kw_only=True):
    query: Annotated[str, doc("The query.", "login fails")]
    results: Annotated[list[FoundMemory], doc("The memories, those of a session together.")]
    sessions: Annotated[list[FoundSession], doc("Their sessions, in the same order.")]
    offset: int
    limit: int
    has_more: Annotated[bool, doc("Whether another page follows.", False)] = field(name="hasMore")
    legs: Annotated[tuple[str, ...], doc("Which indexes were used: text, vectors.", ["text"])]
    note: Annotated[str | None, doc("A remark about the search.")] = None
    next: Next = None


class TimelineAnswer(Struct, kw_only=True):
    anchor: Annotated[FoundMemory | None, doc("The memory in the middle.")]
    at: Annotated[str, doc("The time in the middle.", "2026-01-31T09:00:00.000Z")]
    before: Annotated[list[FoundMemory], doc("Memories before it.")]
    after: Annotated[list[FoundMemory], doc("Memories after it.")]


class ListAnswer(Struct, kw_only=True):
    """A page of a list; what it holds is declared by each list."""

    offset: int
    limit: int
    has_more: Annotated[bool, doc("Whether another page follows.", False)] = field(name="hasMore")
    next: Next = None
    total: Annotated[int | None, doc("How many there are in all, if `count` was set.", 1234)] = None


class MemoryList(ListAnswer, kw_only=True):
    items: Annotated[list[FullMemory], doc("Memories in full, newest first.")]


class MemoriesAnswer(Struct):
    results: Annotated[list[FullMemory], doc("Each in full, in the requested order.")]
    missing: Missing


class FileAnswer(Struct):
    path: Annotated[str, doc("As requested.", "src/login.py")]
    results: Annotated[list[FoundMemory], doc("The newest first.")]


class SavedAnswer(Struct):
    status: Annotated[str, doc("saved, or known if the project already has it.", "saved")]
    id: Annotated[int, doc("The observation's number.", 12)]
    ref: Annotated[str, doc("Its id.", "12")]
    title: Annotated[str, doc("Its title.", "Deploying")]


class FlaggedMemory(Struct):
    ref: Annotated[str, doc("The memory.", "12")]
    pinned: bool | UnsetType = UNSET
    wrong: bool | UnsetType = UNSET


class FlagAnswer(Struct):
    results: Annotated[list[FlaggedMemory], doc("Each that exists.")]
    missing: Missing
    undo: Undo | None


class EditAnswer(Struct):
    result: Annotated[FullMemory | None, doc("The memory in full.")]
    undo: Undo


class MergeAnswer(Struct):
    into: Annotated[str, doc("The observation that was kept.", "12")]
    merged: Annotated[list[str], doc("Those it supersedes.", ["13"])]
    undo: Undo | None


class UndoAnswer(Struct):
    status: Annotated[str, doc("undone", "undone")]
    what: Annotated[str, doc("What was undone: edit, pinned, wrong, merge.", "edit")]
    refs: Annotated[list[str], doc("The memories.", ["12"])]


class SelectAnswer(Struct):
    ids: Annotated[list[str], doc("The memories, at most 500.", ["12", "s3"])]
    more: Annotated[bool, doc("There are more.", False)]
    next: Next


class CopyReport(Struct, frozen=True):
    """A file that contains, or may contain, what is to be deleted."""

    path: Annotated[str, doc("The file.", "backups/claude-mem-20260131-090000.db")]
    kind: Annotated[str, doc("backup, quarantine, export or spool.", "backup")]
    done: Annotated[str, doc("holds, rewritten, removed or left.", "rewritten")]
    note: Annotated[str, doc("Why it was left or removed.", "")] = ""

    @property
    def stays(self) -> bool:
        return self.done in ("holds", "left")


class ForgetAnswer(Struct, kw_only=True):
    dry_run: Annotated[bool, doc("Nothing was deleted.", True)]
    sessions: Count
    observations: Count
    summaries: Count
    prompts: Count
    evidence: Count
    vectors: Count
    of_others: Annotated[
        int, doc("How many of them other members of the team wrote: these stay with the team.", 0)
    ]
    sample: Annotated[list[FoundMemory], doc("Some of them.")]
    backups: Annotated[int, doc("Backups that (still) contain it.", 0)]
    elsewhere: Annotated[
        list[CopyReport],
        doc("Copies, exports and unreadable files that contain it, and what was done with each."),
    ]
    confirm: Annotated[str | UnsetType, doc("For the MCP tool: the text that confirms it.")] = UNSET


class RefusedRecord(Struct):
    index: Annotated[Count, doc("Which of the records, from 0.", 3)]
    message: Annotated[str, doc("Why.", "title is missing.")]
    field: Annotated[str, doc("The field that caused it.", "title")]


class ImportAnswer(Struct, kw_only=True, omit_defaults=True):
    imported: Annotated[Count | UnsetType, doc("How many are new.", 1)] = UNSET
    skipped: Annotated[Count | UnsetType, doc("How many were already known.", 0)] = UNSET
    errors: Annotated[list[RefusedRecord] | UnsetType, doc("Records that could not be read.")] = UNSET
    taken: Annotated[
        dict[str, int] | UnsetType, doc("For lines: how many are new, by kind.", {"observation": 1})
    ] = UNSET
    known: Annotated[
        dict[str, int] | UnsetType, doc("For lines: how many were already known, by kind.", {})
    ] = UNSET
    refused: Annotated[
        list[tuple[int, str]] | UnsetType,
        doc("For lines: the index (from 0) of each rejected line, and why.", []),
    ] = UNSET


class InjectionInfo(Struct, frozen=True):
    session_id: Annotated[str, doc("The session it was injected into.", "claude-session-123")]
    event: Annotated[str, doc("At which hook event.", "SessionStart")]
    at: Annotated[str, doc("When, in UTC.", "2026-01-31T09:00:00.000Z")]
    tokens: Annotated[int, doc("Tokens of everything injected at that event.", 700)]


class Provenance(Struct, kw_only=True):
    """Where a memory comes from, and where it was used."""

    ref: Annotated[str, doc("The memory.", "12")]
    branch: Annotated[str | None, doc("The git branch.", "main")]
    commit: Annotated[str | None, doc("The commit that was checked out.", "1c2d3e4")]
    client: Annotated[str | None, doc("The coding agent.", "claude-code")]
    provider: Annotated[str | None, doc("What observed it.", "offline")]
    session: Annotated[Any, doc("Its session, as in a list of sessions.")]
    prompt: Annotated[FoundMemory | None, doc("The user's request.")]
    tool_uses: Annotated[list[FoundMemory], doc("What was done.")]
    supersedes: Annotated[list[FoundMemory], doc("What it replaced.")]
    superseded_by: Annotated[FoundMemory | None, doc("What replaced it.")]
    injected: Annotated[list[InjectionInfo], doc("The most recent sessions it was injected into.")]
    injected_times: Annotated[int, doc("How often in total.", 3)]
    duplicates: Annotated[list[FoundMemory], doc("Possible duplicates.")]
