"""The words of the HTTP API: what the documents call each field, and what it means."""

from __future__ import annotations

from claude_mem.model.jobs import JobState
from claude_mem.serve.endpoint import LARGEST, Answer, Field

SESSION = Field(
    "claudeSessionId",
    "string",
    "The coding agent's own id of the session.",
    "claude-session-123",
    required=True,
    also=("contentSessionId", "sessionId", "session_id"),
)
PROJECT = Field(
    "project", "string", "The project's name; else it follows from the working directory.", "shop"
)
CWD = Field("cwd", "string", "The directory the agent works in.", "/home/ada/shop")
USER_PROMPT = Field("userPrompt", "string", "What the user asked.", "Fix the login bug", also=("prompt",))
PROMPT = Field("prompt", "string", "What the user asked.", "Fix the login bug", also=("userPrompt",))
GIVEN_NUMBER = Field(
    "promptNumber",
    "integer",
    "The prompt's number; else it is counted.",
    1,
    also=("prompt_number",),
    most=LARGEST,
)
PROMPT_NUMBER = Field(
    "prompt_number",
    "integer",
    "The prompt it belongs to; else the latest.",
    1,
    also=("promptNumber",),
    most=LARGEST,
)
TOOL_USE = (
    Field("tool_name", "string", "The tool's name.", "Read"),
    Field(
        "tool_input",
        "any",
        "What went in: an object, or JSON text.",
        {"file_path": "/home/ada/shop/login.py"},
    ),
    Field(
        "tool_response", "any", "What came out: an object or text.", "def login(): …", also=("tool_output",)
    ),
    Field("tool_use_id", "string", "The use's id: the same one twice counts once.", "toolu_01"),
)
LAST_WORDS = (
    Field("last_user_message", "string", "The last thing the user said.", "Thanks"),
    Field("last_assistant_message", "string", "The last thing the agent said.", "The login bug is fixed."),
)
REASON = Field("reason", "string", "Why it ended: exit, clear, logout, prompt_input_exit, other.", "exit")
IS_PROCESSING = Field("isProcessing", "boolean", "Whether work is going on.", True, required=True)

DB_ID = Field("sessionDbId", "integer", "The database's id of the session.", 7)
DUPLICATE = Field("duplicate", "boolean", "Whether it was known already; it counts once.", False)
OUTCOME = (
    Field("status", "string", "queued, or skipped when it is not to be kept.", "queued"),
    DB_ID,
    DUPLICATE,
)
PENDING = Field("pendingMessages", "integer", "Its events that are not settled yet.", 3)

ERROR = Field(
    "error",
    "object",
    "What is wrong.",
    required=True,
    fields=(
        Field("code", "string", "A word for programs.", "missing_field", required=True),
        Field("message", "string", "A sentence for people.", "claudeSessionId is missing.", required=True),
        Field("field", "string", "Which field is meant.", "claudeSessionId"),
    ),
)
SPOOLED = Field("spooled", "integer", "Events in the spool, not yet in the database.", 0)
QUEUE = (
    SPOOLED,
    Field("ready", "integer", "Events waiting to be handed out.", 12),
    Field("leased", "integer", "Events being worked on.", 0),
    Field("parked", "integer", "Events given up for now, with a reason.", 0),
    Field("done", "integer", "Events settled.", 840),
    Field("oldestAgeMs", "integer", "How long the oldest ready event has waited.", 3500),
)
JOB = (
    Field("id", "integer", "The job's id.", 41),
    Field("kind", "string", "What happened.", "tool_use"),
    Field("claudeSessionId", "string", "In which session.", "claude-session-123"),
    Field("promptNumber", "integer", "Under which prompt.", 2),
    Field("toolName", "string", "By which tool.", "Bash"),
    Field("at", "integer", "When, in epoch milliseconds.", 1760000000000),
    Field("attempts", "integer", "How often it was tried.", 3),
    Field("reason", "string", "Why it is where it is.", "unreadable reply"),
)
PAGING = (
    Field("state", "string", "Which jobs to list; parked if not said.", "parked", choices=tuple(JobState)),
    Field("limit", "integer", "How many at most.", 50, least=1, most=500),
    Field("after", "integer", "The `next` of the page before.", 0, most=LARGEST),
)
IDS = Field("ids", "any", "An array of jobs' ids; without it, all that are parked.", [41, 42])

RECALL = (
    Field(
        "index",
        "object",
        "The full-text index.",
        fields=(Field("waiting", "integer", "Rows it is behind, at most.", 0),),
    ),
    Field(
        "vectors",
        "object",
        "What finds by meaning.",
        fields=(
            Field("state", "string", "on, off, or unavailable: full text answers alone.", "on"),
            Field("waiting", "integer", "Memories that have none yet, at most.", 0),
            Field("trouble", "string", "Why they are unavailable."),
        ),
    ),
    Field(
        "context",
        "object",
        "What sessions are told at their start.",
        fields=(Field("fresh", "boolean", "Whether all that is new is rendered.", True),),
    ),
    Field(
        "injected",
        "object",
        "How often and in how many tokens sessions were told something, by the hook's event.",
        {"SessionStart": {"times": 12, "tokens": 5400}},
    ),
)
HEALTH = (
    Field("status", "string", "ok, or degraded when nothing can be taken in.", "ok", required=True),
    Field("reason", "string", "Why it is degraded."),
    Field("port", "integer", "The TCP port; null when the loopback could not be had.", 37777),
    Field("pid", "integer", "The worker's process.", 4242),
    Field("uptime", "number", "Seconds since it started.", 86.4),
    Field("memory", "object", "What it occupies.", fields=(Field("rss", "integer", "Bytes.", 36_700_160),)),
    Field("version", "string", "The worker's version.", "0.1.0"),
    Field("protocol", "integer", "The version of this protocol.", 1),
    Field("activeSessions", "integer", "Sessions somebody may still work in.", 2),
    Field("queue", "object", "The queue at a glance.", fields=QUEUE),
    Field("mishaps", "object", "Failures the worker outlived, by where.", {}),
    Field("hungAsks", "integer", "Recall hooks' questions that were given up, and still run.", 0),
    Field("observer", "object", "Who observes, why, and what holds it up.", {"provider": "offline"}),
    Field("recall", "object", "How far recall is; null when that cannot be read.", fields=RECALL),
)
QUEUE_PAGE = (
    *QUEUE,
    Field("spooledBytes", "integer", "Bytes in the spool.", 0),
    Field("lastEventAt", "integer", "When the last event happened, in epoch milliseconds.", 1760000000000),
    Field("counters", "object", "Counted over the database's life.", {"accepted": 852, "duplicate": 4}),
    Field("drops", "object", "What hooks could not keep, by reason.", {"spool_full": 0}),
    Field("state", "string", "Which jobs are listed.", "parked"),
    Field("jobs", "array", "A page of them, by id.", fields=JOB),
    Field("next", "integer", "Ask with after=<this> for the next page; null at the end."),
)
INITIALIZED = Answer(
    200,
    "The session is known.",
    (
        Field("status", "string", "initialized", "initialized"),
        DB_ID,
        Field("promptNumber", "integer", "The number of the session's latest prompt.", 1),
        Field("private", "boolean", "The prompt was wholly private: nothing of its text was kept.", False),
        Field("skipped", "boolean", "Nothing of the prompt was kept.", False),
        DUPLICATE,
    ),
)
QUEUED = (Answer(202, "Committed.", OUTCOME), Answer(200, "Understood, and not to be kept.", OUTCOME))
BAD = Answer(400, "The request makes no sense; `field` names the culprit.", (ERROR,))
UNKNOWN = Answer(404, "There is no such session.", (ERROR,))
UNAVAILABLE = Answer(
    503, "The database cannot be written now; try again after Retry-After seconds.", (ERROR,)
)
COMMON = (
    Answer(401, "The token is missing or wrong (TCP only).", (ERROR,)),
    Answer(403, "The request comes from another site (TCP only).", (ERROR,)),
    Answer(405, "The path exists, the method does not; see Allow.", (ERROR,)),
    Answer(408, "The body did not arrive in time.", (ERROR,)),
    Answer(413, "The body is larger than 10 MiB.", (ERROR,)),
    Answer(415, "The body is not application/json.", (ERROR,)),
    Answer(421, "Host is not this worker's (TCP only).", (ERROR,)),
)
"""What every route may answer."""
