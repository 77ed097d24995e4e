"""Sessions: what a coding agent reports while one runs, and what can be read about it later."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, field

from claude_mem.api.fields import SESSION_ALIASES, Author, Body, Count, Kinds, Milliseconds, Params, doc
from claude_mem.api.filters import Page
from claude_mem.api.memories import Cursor, FullMemory, ListAnswer, Next
from claude_mem.model.refs import MemoryKind

SessionId = Annotated[
    str, doc("The coding agent's id of the session.", "claude-session-123", aliases=SESSION_ALIASES)
]
Cwd = Annotated[str | None, doc("The directory the agent works in.", "/home/ada/shop")]
Project = Annotated[
    str | None,
    doc("The project's name or key, if there is no directory: it joins the project that has it.", "shop"),
]
Prompt = Annotated[str | None, doc("The prompt.", "Fix the login bug", aliases=("userPrompt", "prompt"))]
PromptNumber = Annotated[
    Count | None, doc("The prompt it belongs to. Default: the latest.", 1, aliases=("promptNumber",))
]
Client = Annotated[
    str,
    Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$"),
    doc("The program that sends the report.", "my-agent", expected="a name of a-z, 0-9, `.`, `_` and `-`"),
]
Status = Annotated[
    str,
    doc("initialized, active, summarizing (its turn has ended), completed, failed or interrupted.", "active"),
]
DbId = Annotated[int | None, doc("The database's id of the session.", 7)]
QueueLength = Annotated[int, doc("The session's events that are not processed yet.", 3)]
Timestamp = Annotated[
    str | int | None,
    doc(
        "When it happened: ISO 8601, or epoch milliseconds. Ignored if it is in the future or years ago.",
        "2026-01-31T09:00:00Z",
        expected="a time: ISO 8601, or epoch milliseconds",
    ),
]


# -- Reports --


class Report(Body, frozen=True, kw_only=True):
    client: Client = "api"
    timestamp: Timestamp = None


class PromptReport(Report, frozen=True, kw_only=True):
    claude_session_id: SessionId = field(name="claudeSessionId")
    project: Project = None
    prompt: Prompt = None
    cwd: Cwd = None


class PromptById(Report, frozen=True, kw_only=True):
    project: Project = None
    prompt: Prompt = field(name="userPrompt", default=None)
    prompt_number: Annotated[
        Count | None, doc("The prompt's number. Default: the next one.", 1, aliases=("prompt_number",))
    ] = field(name="promptNumber", default=None)


class ToolUseFields(Report, frozen=True, kw_only=True):
    tool_name: Annotated[str | None, doc("The tool's name.", "Read")] = None
    tool_input: Annotated[
        Any, doc("The tool's input: an object, or JSON text.", {"file_path": "/home/ada/shop/login.py"})
    ] = None
    tool_response: Annotated[
        Any,
        doc(
            "The tool's output: an object or text.", "def login(): …", aliases=("tool_output", "tool_result")
        ),
    ] = None
    tool_use_id: Annotated[str | None, doc("The id of the tool use. Duplicates count once.", "toolu_01")] = (
        None
    )


class ToolUseReport(ToolUseFields, frozen=True, kw_only=True):
    claude_session_id: SessionId = field(name="claudeSessionId")
    project: Project = None
    cwd: Cwd = None


class ToolUseById(ToolUseFields, frozen=True, kw_only=True):
    prompt_number: PromptNumber = None


class TurnEnd(Report, frozen=True, kw_only=True):
    last_user_message: Annotated[
        str | None,
        doc("The user's last message: the turn's prompt, if none was reported.", "Fix the login bug"),
    ] = None
    last_assistant_message: Annotated[
        str | None, doc("The agent's last message.", "The login bug is fixed.")
    ] = None


class TurnEndReport(TurnEnd, frozen=True, kw_only=True):
    claude_session_id: SessionId = field(name="claudeSessionId")
    project: Project = None
    cwd: Cwd = None


class TurnEndById(TurnEnd, frozen=True, kw_only=True):
    prompt_number: PromptNumber = None


class SessionEndReport(Report, frozen=True, kw_only=True):
    claude_session_id: SessionId = field(name="claudeSessionId")
    reason: Annotated[
        str | None, doc("Why it ended: exit, clear, logout, prompt_input_exit, other.", "exit")
    ] = None


class ReportResult(Struct, frozen=True, rename="camel"):
    """The outcome of a report."""

    status: Annotated[
        Literal["queued", "skipped"], doc("queued, or skipped if it must not be stored.", "queued")
    ]
    session_db_id: DbId
    duplicate: Annotated[bool, doc("Whether it was already known. Duplicates count once.", False)]
    queue_length: QueueLength


class Initialized(Struct, frozen=True, rename="camel"):
    status: Annotated[Literal["initialized"], doc("initialized")]
    session_db_id: DbId
    prompt_number: Annotated[int | None, doc("The number of the session's latest prompt.", 1)]
    private: Annotated[bool, doc("The prompt was entirely private: none of its text was stored.", False)]
    skipped: Annotated[bool, doc("The prompt was not stored.", False)]
    duplicate: Annotated[bool, doc("Whether it was already known. Duplicates count once.", False)]
    queue_length: QueueLength


class SessionState(Struct, frozen=True, rename="camel"):
    session_db_id: DbId
    claude_session_id: Annotated[str, doc("The coding agent's id of the session.", "claude-session-123")]
    project: Annotated[str | None, doc("The project's name.", "shop")]
    status: Status
    prompt_counter: Annotated[int, doc("How many prompts it has had.", 2)]
    pending_messages: Annotated[int, doc("Its events that are not processed yet.", 3)]
    queue_length: Annotated[int, doc("The same as pendingMessages.", 3)]
    sdk_session_id: Annotated[None, doc("Always null: the observer has no session of its own.")] = None


class SessionAborted(Struct, frozen=True, rename="camel"):
    status: Annotated[Literal["failed"], doc("failed")]
    session_db_id: DbId
    pending_messages: Annotated[int, doc("Its events that are not processed yet.", 3)]
    stopped: Annotated[bool, doc("No work is in progress on it.", True)]


# -- Reading --


class EventsQuery(Params, frozen=True, kw_only=True):
    kinds: Kinds = field(name="kind", default=())
    limit: Annotated[int, Meta(ge=1, le=200), doc("The maximum number of results.", 100)] = 100
    cursor: Cursor = ""

    @property
    def page(self) -> Page:
        return Page(self.limit, cursor=self.cursor)


class SessionSummary(Struct, frozen=True, kw_only=True):
    id: Annotated[str, doc("The coding agent's id of the session.", "claude-session-123")]
    session_id: Annotated[str, doc("The same.", "claude-session-123")]
    session_db_id: Annotated[int, doc("The database's id of the session.", 7)]
    project: Annotated[str, doc("Its project's name.", "shop")]
    title: Annotated[str | None, doc("Its title, or its first prompt.", "Fix the login bug")]
    subtitle: Annotated[str | None, doc("One sentence.")]
    status: Status
    client: Annotated[str, doc("The coding agent.", "claude-code")]
    author: Author = UNSET
    branch: Annotated[str | None, doc("The git branch.", "main")]
    cwd: Annotated[str | None, doc("The directory the agent works in.", "/home/ada/shop")]
    prompts: Annotated[int, doc("How many prompts it has had.", 2)]
    observations: Annotated[int, doc("How many observations.", 4)]
    summaries: Annotated[int, doc("How many summaries.", 2)]
    created_at: Annotated[str, doc("When it began, in UTC.", "2026-01-31T09:00:00.000Z")]
    created_at_epoch: Annotated[int, doc("The same in milliseconds.", 1769850000000)]
    updated_at: Annotated[str, doc("When something last happened, in UTC.", "2026-01-31T10:00:00.000Z")]
    updated_at_epoch: Annotated[int, doc("The same in milliseconds.", 1769853600000)]
    completed_at: Annotated[str | None, doc("When it ended, in UTC.")]


class SessionList(ListAnswer, kw_only=True):
    items: Annotated[list[SessionSummary], doc("Sessions, newest first.")]


class SessionAnswer(Struct, kw_only=True):
    session: Annotated[SessionSummary, doc("Who, where, when, and its status.")]
    prompts: Annotated[list[FullMemory], doc("The user's prompts.")]
    observations: Annotated[list[FullMemory], doc("What was observed.")]
    summaries: Annotated[list[FullMemory], doc("The summary of each turn.")]
    previous: Annotated[SessionSummary | None, doc("The previous session in the project.")]
    next: Annotated[SessionSummary | None, doc("The next session in the project.")]


class EventsAnswer(Struct, kw_only=True):
    session: Annotated[SessionSummary, doc("Who, where, when, and its status.")]
    items: Annotated[list[FullMemory], doc("Prompts, evidence, observations, summaries; each in full.")]
    next: Next
    total: Annotated[int, doc("How many there are in all.", 34)]
    counts: Annotated[dict[MemoryKind, int], doc("How many of each kind.", {"prompt": 2, "evidence": 30})]
    first_at_epoch: Annotated[Milliseconds, doc("When it began.", 1769850000000)]
    last_at_epoch: Annotated[Milliseconds, doc("When something last happened.", 1769853600000)]
