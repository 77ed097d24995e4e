"""The worker itself: its health, queue, settings, logs, recording, signed-in browsers, and backfill."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from claude_mem.api.fields import LARGEST_ID, Body, Count, Milliseconds, Params, Session, doc
from claude_mem.model.jobs import JobState

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
MOST_JOBS = 10_000
MOST_LOG_LINES = 1_000
MOST_SESSIONS = 1_000

JobIds = Annotated[tuple[Annotated[int, Meta(ge=1, le=LARGEST_ID)], ...], Meta(max_length=MOST_JOBS)]
JOBS = f"a list of at most {MOST_JOBS:,} job ids"


# -- Health and queue --


class QueueStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    spooled: Annotated[int, doc("Events in the spool, not yet in the database.", 0)]
    ready: Annotated[int, doc("Events waiting to be processed.", 12)]
    leased: Annotated[int, doc("Events being processed.", 0)]
    parked: Annotated[int, doc("Events that failed repeatedly, with the reason.", 0)]
    fallback: Annotated[int, doc("Parked events that the offline observer processed in the meantime.", 0)] = 0
    done: Annotated[int, doc("Events that are done.", 840)]
    oldest_age_ms: Annotated[Milliseconds, doc("How long the oldest ready event has waited.", 3500)]
    alert: Annotated[str | None, doc("Why the queue is too long or too old, by your settings.")] = None


class QueueSample(Struct, frozen=True, rename="camel"):
    at: Annotated[Milliseconds, doc("The start of the step, in epoch milliseconds.", 1760000100000)]
    waiting: Annotated[int, doc("The maximum number of events that were spooled, ready or leased.", 12)]
    oldest_age_ms: Annotated[int, doc("The longest wait of a ready event.", 3500)]


class QueueHistory(Struct, frozen=True, kw_only=True, rename="camel"):
    every_ms: Annotated[int, doc("The length of a step. Steps in which no worker ran are missing.", 300000)]
    since: Annotated[
        Milliseconds | None, doc("The first step with data, within the last day.", 1760000100000)
    ]
    samples: Annotated[list[QueueSample], doc("By time.")]


class MemoryUse(Struct, frozen=True):
    rss: Annotated[int, doc("Bytes.", 36_700_160)]


class IndexState(Struct, frozen=True):
    waiting: Annotated[int, doc("The maximum number of rows not in the full-text index yet.", 0)]


class VectorState(Struct, frozen=True):
    state: Annotated[
        Literal["on", "off", "unavailable"], doc("unavailable: search uses full text only.", "on")
    ]
    waiting: Annotated[int, doc("The maximum number of memories without a vector.", 0)]
    trouble: Annotated[str | None, doc("Why they are unavailable.")]
    embedder: Annotated[str | None, doc("The embedder.", "wordllama-l2-supercat-256")] = None
    pgvector: Annotated[
        str | None, doc("With PostgreSQL: the version of pgvector, or `not installed`.", "0.8.6")
    ] = None


class ContextState(Struct, frozen=True):
    fresh: Annotated[bool, doc("Whether everything new is rendered.", True)]


class RecallProgress(Struct, frozen=True):
    index: Annotated[IndexState, doc("The full-text index.")]
    vectors: Annotated[VectorState, doc("The index for search by meaning.")]
    context: Annotated[ContextState, doc("What is injected at session starts.")]
    injected: Annotated[
        dict[str, dict[str, int]],
        doc("What was injected, by hook event.", {"SessionStart": {"times": 12, "tokens": 5400}}),
    ]


class Health(Struct, frozen=True, kw_only=True, rename="camel"):
    status: Annotated[Literal["ok", "degraded"], doc("degraded: nothing can be recorded.", "ok")]
    reason: Annotated[str | None, doc("Why it is degraded.")]
    port: Annotated[int | None, doc("The TCP port; null: no port could be opened.", 37777)]
    pid: Annotated[int, doc("The worker's process.", 4242)]
    uptime: Annotated[float, doc("Seconds since it started.", 86.4)]
    memory: Annotated[MemoryUse, doc("The memory it uses.")]
    version: Annotated[str, doc("The worker's version.", "0.1.0")]
    protocol: Annotated[int, doc("The version of this protocol.", 1)]
    active_sessions: Annotated[int | None, doc("Sessions that are still open.", 2)]
    queue: Annotated[QueueStatus | None, doc("The queue in figures.")]
    mishaps: Annotated[dict[str, int], doc("Failures the worker recovered from, by component.", {})]
    hung_asks: Annotated[int, doc("Recall queries that timed out and are still running.", 0)]
    observer: Annotated[
        dict[str, Any], doc("Which observer is used, why, and what is blocking it.", {"provider": "offline"})
    ]
    recall: Annotated[RecallProgress | None, doc("Progress of recall; null if unavailable.")]


class QueueQuery(Params, frozen=True, kw_only=True):
    state: Annotated[JobState, doc("Which jobs to list.", "parked")] = JobState.PARKED
    limit: Annotated[int, Meta(ge=1, le=500), doc("The maximum number of results.", 50)] = 50
    after: Annotated[Count, doc("The `next` of the previous page.", 0)] = 0


class JobRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job: its event and the reason for its state, never captured text."""

    id: Annotated[int, doc("The job's id.", 41)]
    kind: Annotated[str, doc("What happened.", "tool_use")]
    claude_session_id: Annotated[str, doc("In which session.", "claude-session-123")]
    prompt_number: Annotated[int | None, doc("Under which prompt.", 2)]
    tool_name: Annotated[str | None, doc("By which tool.", "Bash")]
    at: Annotated[Milliseconds, doc("When, in epoch milliseconds.", 1760000000000)]
    attempts: Annotated[int, doc("The number of attempts.", 3)]
    reason: Annotated[str | None, doc("Why it is in this state.", "unreadable reply")]


class QueuePage(QueueStatus, frozen=True, kw_only=True, rename="camel"):
    spooled_bytes: Annotated[int, doc("Bytes in the spool.", 0)]
    last_event_at: Annotated[Milliseconds | None, doc("When the last event happened.", 1760000000000)]
    counters: Annotated[
        dict[str, int], doc("Counted over the database's life.", {"accepted": 852, "duplicate": 4})
    ]
    drops: Annotated[dict[str, int], doc("What hooks could not store, by reason.", {"spool_full": 0})]
    state: Annotated[str, doc("Which jobs are listed.", "parked")]
    jobs: Annotated[list[JobRow], doc("A page of them, by id.")]
    next: Annotated[int | None, doc("Pass as `after` for the next page; null at the end.")]
    history: Annotated[QueueHistory, doc("The queue's length over the last day.")]


class RetryRequest(Params, frozen=True, kw_only=True):
    ids: Annotated[
        JobIds | None, doc("Job ids; without it, all that are parked.", [41, 42], expected=JOBS)
    ] = None


class DropRequest(Params, frozen=True, kw_only=True):
    ids: Annotated[JobIds, doc("Job ids.", [41, 42], expected=JOBS)]


class RetryAnswer(Struct):
    status: Literal["ok"]
    resumed: Annotated[
        int, doc("How many were parked. A batch that was processed offline is retried completely.", 2)
    ]


class DropAnswer(Struct):
    status: Literal["ok"]
    dropped: Annotated[int, doc("How many were parked.", 2)]


class ProcessingRequest(Body, frozen=True, kw_only=True):
    is_processing: Annotated[bool, doc("Whether an agent is at work.", True)] = field(name="isProcessing")
    project: Annotated[str | None, doc("The project's name.", "shop")] = None


class ProcessingSet(Struct, rename="camel"):
    status: Literal["ok"]
    is_processing: bool


class ProcessingFlag(Struct, rename="camel"):
    is_processing: Annotated[bool, doc("Whether an agent is at work.", True)]
    project: Annotated[Any, doc("The project's name.", "shop")]
    timestamp: Annotated[Any, doc("When it was set, in epoch milliseconds.", 1760000000000)]


class Stopping(Struct):
    status: Literal["stopping"]
    pid: Annotated[int, doc("The worker's process.", 4242)]


# -- Recording, settings, logs --


class RecordingRequest(Params, frozen=True, kw_only=True):
    paused: Annotated[bool, doc("true: pause recording; false: resume it.", True)]
    session: Annotated[Session, Meta(max_length=200)] = ""


class Banner(Struct, frozen=True):
    code: Annotated[str, doc("A code for programs.", "behind")]
    level: Annotated[Literal["info", "warning", "error"], doc("How serious it is.", "warning")]
    message: Annotated[str, doc("A sentence for people.", "The queue is behind: 2,000 events are waiting.")]
    fix: Annotated[str, doc("How to fix it.", "claude-mem doctor")]


class Pauses(Struct, frozen=True):
    since: Annotated[Milliseconds | None, doc("When everything was paused.")]
    sessions: Annotated[list[str], doc("Sessions that are paused individually.", [])]


class WorkerState(Struct, frozen=True, kw_only=True):
    recording: Annotated[
        Literal["on", "paused", "off"], doc("paused: by a user; off: a banner says why.", "on")
    ]
    banners: Annotated[list[Banner], doc("Notices, most serious first.")]
    paused: Annotated[Pauses, doc("What is paused.")]
    queue: Annotated[QueueStatus | None, doc("As in /health.")]
    observer: Annotated[
        dict[str, Any], doc("As in /health, and whether it is `working`.", {"working": False})
    ]
    version: Annotated[str, doc("The worker's version.", "0.1.0")]
    port: Annotated[int | None, doc("The worker's port.", 37777)]


class SettingRow(Struct, frozen=True, kw_only=True):
    key: Annotated[str, doc("Its name.", "CLAUDE_MEM_LOG_LEVEL")]
    group: Annotated[str, doc("What it belongs to.", "The worker")]
    meaning: Annotated[str, doc("What it does.", "How much the worker writes to its log.")]
    allowed: Annotated[str, doc("Allowed values.", "DEBUG, INFO, WARNING or ERROR")]
    kind: Annotated[str, doc("integer, number, choice, text, list, table, secret.", "choice")]
    choices: Annotated[list[str], doc("The choices, if it is one.", ["DEBUG"])]
    value: Annotated[Any, doc("Its value; never that of a secret.", "INFO")]
    default: Annotated[Any, doc("Its default.", "INFO")]
    origin: Annotated[str, doc("default, file or environment.", "default")]
    set: Annotated[bool, doc("Whether it is set.", False)]
    file_only: Annotated[bool, doc("It cannot be set in the environment.", False)]
    socket_only: Annotated[
        bool, doc("It cannot be changed over the port, only with `claude-mem config`.", False)
    ]
    restart: Annotated[bool, doc("It takes effect when the worker restarts.", True)]
    pending: Annotated[bool, doc("Changed, but not in effect yet.", False)]
    trouble: Annotated[str | None, doc("What is wrong with it.")]


class SettingsAnswer(Struct, frozen=True, kw_only=True):
    file: Annotated[str, doc("Where they are stored.", "/home/ada/.claude-mem/settings.json")]
    settings: Annotated[list[SettingRow], doc("Each of them.")]
    passed_over: Annotated[list[str], doc("Keys that are not settings, at the worker's start.", [])]
    warnings: Annotated[list[str], doc("Warnings about invalid settings at that time.", [])]


class SettingsRequest(Body, frozen=True, kw_only=True):
    changes: Annotated[
        dict[str, Any],
        Meta(min_length=1),
        doc(
            "Settings and their values; null: reset to the default.",
            {"CLAUDE_MEM_LOG_LEVEL": "DEBUG"},
            expected="an object of settings and values",
        ),
    ]


class SettingsSaved(Struct, frozen=True):
    status: Literal["saved"]
    changed: Annotated[list[str], doc("Which.", ["CLAUDE_MEM_LOG_LEVEL"])]
    restart: Annotated[bool, doc("They take effect when the worker restarts.", True)]
    shadowed: Annotated[list[str], doc("Those the environment overrides.", [])]


class LogsQuery(Params, frozen=True, kw_only=True):
    level: Annotated[LogLevel, doc("This level and above.", "WARNING")] = "DEBUG"
    after: Annotated[
        str,
        Meta(pattern=r"^([0-9]{1,20}-[0-9]{1,15})?$"),
        doc(
            "The `next` of a previous response: only newer records.",
            "1234-5678",
            expected="the `next` of an answer",
        ),
    ] = ""
    limit: Annotated[
        int, Meta(ge=1, le=MOST_LOG_LINES), doc("The maximum number of records, counted from the end.", 200)
    ] = 200


class LogLine(Struct, frozen=True):
    at: Annotated[str, doc("When, in the worker's time zone.", "2026-01-31 10:00:00,000")]
    level: Annotated[str, doc("Its level.", "INFO")]
    logger: Annotated[str, doc("Its logger.", "claude_mem.serve")]
    text: Annotated[str, doc("The message.", "stopping")]


class LogsAnswer(Struct, frozen=True):
    lines: Annotated[list[LogLine], doc("Records, the oldest first.")]
    next: Annotated[str | None, doc("Pass as `after` to continue from here.", "1234-5678")]


# -- Browsers --


class SignInQuery(Params, frozen=True, kw_only=True):
    once: Annotated[str, doc("The code in the link.", "Zm9v")] = ""


class SignInLink(Struct, rename="camel"):
    link: Annotated[str, doc("What to open.", "http://127.0.0.1:37777/signin?once=Zm9v")]
    expires_in_ms: Annotated[int, doc("How long the link works.", 60_000)]
    port: Annotated[int, doc("The worker's port.", 37777)]


class SignOutRequest(Params, frozen=True, kw_only=True):
    everywhere: Annotated[bool, doc("Every browser, not only this one.", False)] = False


class SignedOut(Struct):
    status: Literal["signed_out"]
    browsers: Annotated[int, doc("How many were signed in.", 1)]


class StreamQuery(Params, frozen=True, kw_only=True):
    project: Annotated[str, doc("Only this project, by name.", "shop")] = ""


# -- Backfill --


class PastEvent(Body, frozen=True, kw_only=True):
    id: Annotated[str | None, doc("The event's id, always the same; begins with past-.", "past-7-Stop")] = (
        None
    )
    at: Annotated[Any, doc("When it happened, in epoch milliseconds.", 1760000000000)] = None
    event: Annotated[str | None, doc("The hook's name.", "Stop")] = None
    branch: Annotated[str | None, doc("The git branch of that time.", "main")] = None
    agent: Annotated[str, doc("The coding agent that the event is from.", "claude-code")] = "claude-code"
    payload: Annotated[
        Any,
        doc(
            "What the hook would have received.",
            {"session_id": "claude-session-123", "cwd": "/home/ada/shop", "last_assistant_message": "Done."},
        ),
    ] = None


class BackfillParams(Params, frozen=True, kw_only=True):
    offline: Annotated[bool, doc("Use no model for these sessions.", True)] = True
    story: Annotated[str | None, doc("An id for lines that come in several parts.", "a1b2")] = None
    part: Annotated[Literal["first", "more", "last"] | None, doc("Which part this is.", "first")] = None


class BackfillTaken(Struct, kw_only=True):
    fresh: Annotated[int, doc("How many events are new.", 1)]
    duplicate: Annotated[int, doc("How many were known.", 0)]
    live: Annotated[
        int, doc("How many were skipped because their session was recorded live or was deleted.", 0)
    ]
    dropped: Annotated[int, doc("How many are private, or from skipped tools.", 0)]
    unreadable: Annotated[int, doc("How many lines are not valid events.", 0)]


class BackfillQuery(Params, frozen=True, kw_only=True):
    since: Annotated[
        str,
        Meta(pattern=r"^[0-9]{0,15}$"),
        doc("Count costs from this time on.", "1760000000000", expected="a time in epoch milliseconds"),
    ] = ""


class BackfillProgress(Struct, frozen=True):
    waiting: Annotated[int, doc("Past events that are not observed yet.", 0)]
    tokens: Annotated[int, doc("Tokens used for past sessions since then.", 0)]
    usd: Annotated[float, doc("The same in dollars, as far as it is known.", 0.0)]
    paused: Annotated[Any, doc("Why nothing is being observed.")]


class KnownRequest(Params, frozen=True, kw_only=True):
    sessions: Annotated[
        tuple[str, ...],
        Meta(max_length=MOST_SESSIONS),
        doc(
            "Sessions' ids.",
            ["claude-session-123"],
            expected=f"a list of at most {MOST_SESSIONS:,} session ids",
        ),
    ]


class KnownSession(Struct, frozen=True):
    """A session that exists or must not be imported. live: captured as it happened, or imported from
    elsewhere; forgotten: deleted by the user; unseen: it ran while memory was paused. Events can only be
    added to a session that is `past`."""

    state: Annotated[str, doc("live, past, forgotten or unseen.", "past")]
    events: Annotated[int, doc("How many events.", 12)]
    seal: Annotated[str | None, doc("A fingerprint that changes with its content.")]


class KnownAnswer(Struct, frozen=True):
    sessions: Annotated[
        dict[str, KnownSession | None], doc("By id; null: not known.", {"some-session": None})
    ]


# -- MCP --


class McpMessage(Body, frozen=True, kw_only=True):
    jsonrpc: Annotated[str | None, doc("2.0", "2.0")] = None
    method: Annotated[str | None, doc("The method.", "tools/call")] = None
    id: Annotated[Any, doc("The id for the response; without it, there is no response.", 1)] = None
    params: Annotated[
        Any, doc("The method's parameters.", {"name": "search", "arguments": {"query": "login"}})
    ] = None


class McpAnswer(Struct, kw_only=True):
    jsonrpc: str = "2.0"
    id: Annotated[Any, doc("The id of the message.", 1)] = None
    result: Annotated[Any, doc("The result.", {"content": []})] = None
    error: Annotated[Any, doc("Or the error.")] = None
