"""The words of recall in the HTTP API: what narrows a question, and what a memory is told with."""

from __future__ import annotations

from dataclasses import replace

from claude_mem.model.recall import KINDS
from claude_mem.serve.endpoint import LINES, Answer, Field
from claude_mem.serve.fields import ERROR

MOST_RESULTS = 100
MOST_OFFSET = 1_000_000

QUERY = Field("q", "string", "What to look for, in your own words.", "login fails", also=("query",))
PROJECT = Field("project", "string", "Only of this project: its name or its key.", "shop")
CWD = Field("cwd", "string", "Only of the project this directory belongs to.", "/home/ada/shop")
KIND = Field(
    "kind", "array", "Only of these kinds.", ["observation"], items="string", also=("kinds",), choices=KINDS
)
TYPE = Field(
    "type",
    "array",
    "Only observations of these types.",
    ["bugfix", "decision"],
    items="string",
    also=("types", "obs_type"),
)
CONCEPT = Field(
    "concept", "array", "Only with one of these concepts.", ["gotcha"], items="string", also=("concepts",)
)
FILE = Field("file", "string", "A path, the end of one, a directory (`src/`) or a glob.", "src/login.py")
BRANCH = Field("branch", "string", "Only from work on this branch.", "main")
SESSION = Field(
    "session",
    "string",
    "Only of this session, by the coding agent's own id.",
    "claude-session-123",
    also=("session_id", "claudeSessionId", "contentSessionId", "sessionId"),
)
CLIENT = Field("client", "string", "Only from this coding agent.", "claude-code")
SINCE = Field(
    "since", "string", "From then on: `yesterday`, `3 days ago`, `2026-01-31`, `v2`.", also=("dateStart",)
)
UNTIL = Field("until", "string", "Until then, in the same words.", "yesterday", also=("dateEnd",))
SUPERSEDED = Field("superseded", "boolean", "true: only what newer memory replaced; false: none of that.")
WRONG = Field(
    "wrong", "boolean", "true: only what was marked wrong; false, and in a search always: none of that."
)
NARROWING = (
    PROJECT,
    CWD,
    KIND,
    TYPE,
    CONCEPT,
    FILE,
    BRANCH,
    SESSION,
    CLIENT,
    replace(SINCE, example="last week"),
    UNTIL,
    SUPERSEDED,
    WRONG,
)

LIMIT = Field("limit", "integer", "How many at most; 20 if not said.", 20, least=1, most=MOST_RESULTS)
OFFSET = Field("offset", "integer", "How many to pass over.", 0, most=MOST_OFFSET)
PAGING = (LIMIT, OFFSET)
CURSOR = Field(
    "cursor", "string", "The `next` of the page before: quick, however far into a list.", "1769850000000-12"
)
COUNT = Field("count", "boolean", "Tell how many there are in all.", False)
ONLY_PINNED = Field("pinned", "boolean", "true: only what is pinned.", False)
LONG_PAGING = (*PAGING, CURSOR, COUNT)
EXPLAIN = Field("explain", "boolean", "Tell of what each score is made.", False)
ANCHOR = Field("anchor", "string", "A memory (`12`, `s3`), a session's id, or a time in words.", "12")
BEFORE = Field(
    "before", "integer", "How many from before it; 10 if not said.", 10, most=50, also=("depth_before",)
)
AFTER = Field(
    "after", "integer", "How many from after it; 10 if not said.", 10, most=50, also=("depth_after",)
)
PATH = Field("path", "string", "The file's path, or the end of it.", "src/login.py", required=True)
SOURCE = Field(
    "source",
    "string",
    "What begins; startup if not said.",
    "startup",
    choices=("startup", "resume", "clear", "compact"),
)
FORMAT = Field("format", "string", "text if not said.", "text", choices=("text", "json"))

MEMORY_ID = Field("id", "string", "A memory: `12` an observation, `s12` a summary, `p12` a prompt.", "12")
IDS = Field(
    "ids",
    "array",
    "Memories: 12 or `12` an observation, `s12` a summary, `p12` a prompt.",
    [12, "s3"],
    items="any",
    required=True,
    also=("refs",),
)
ORDER = Field(
    "orderBy",
    "string",
    "By time; as asked for if not said.",
    "date_desc",
    choices=("date_desc", "date_asc"),
    also=("order_by",),
)

TEXT = Field("text", "string", "What to remember.", "Deploys need the VPN.", required=True)
FILES = Field("files", "array", "Paths it is about.", ["deploy.sh"], items="string")
CONCEPTS = Field("concepts", "array", "What it is an example of.", ["gotcha"], items="string")
SAVED = (
    TEXT,
    Field("title", "string", "Its title; else made of the text.", "Deploying"),
    Field("type", "string", "Its type.", "discovery"),
    Field("project", "string", "Whose memory it is: a project's name or key.", "shop"),
    Field("cwd", "string", "Or the directory it follows from.", "/home/ada/shop"),
    FILES,
    CONCEPTS,
    Field("session", "string", "The session it came up in.", "claude-session-123"),
)
PINNED = Field("pinned", "boolean", "false: no longer; true if not said.", True)
SELECTION = (
    replace(IDS, required=False),
    SESSION,
    replace(PROJECT, about="All of this project."),
    FILE,
    replace(SINCE, example="2026-01-31"),
    UNTIL,
    Field("text", "string", "Only what holds this text.", "internal host name"),
)
DRY_RUN = Field("dry_run", "boolean", "Only tell what would go.", False, also=("dryRun",))
CONFIRM = Field("confirm", "boolean", "Must be true for anything to go; else it is a dry run.", True)
OWN = Field(
    "own",
    "boolean",
    "Of lines: true, they are from an export of your own; else they are a stranger's.",
    False,
)
EXPORTS = Field(
    "exports", "boolean", "Also take it out of files that an export has made.", False, also=("also_exports",)
)
RECORDS = Field(
    "records",
    "array",
    "Observations: title, and whatever else is known of each.",
    [{"title": "Deploys need the VPN", "project": "shop"}],
    required=True,
    also=("observations",),
)

RESULT = (
    Field("id", "integer", "Its number among its kind.", 12),
    Field("ref", "string", "Its name among all: `12`, `s12`, `p12`, `e12`.", "12"),
    Field("kind", "string", "observation, summary, prompt or evidence.", "observation"),
    Field("session_id", "string", "The coding agent's own id of its session.", "claude-session-123"),
    Field("project", "string", "Its project's name.", "shop"),
    Field("title", "string", "What it says in a line.", "Empty passwords made login fail"),
    Field("type", "string", "An observation's type.", "bugfix"),
    Field("created_at", "string", "When the work was done, in UTC.", "2026-01-31T09:00:00.000Z"),
    Field("created_at_epoch", "integer", "The same in epoch milliseconds.", 1769850000000),
    Field("files", "array", "Paths it is about.", ["src/login.py"], items="string"),
    Field("branch", "string", "The branch it was made on.", "main"),
    Field("score", "number", "How well it fits; comparable within one answer.", 0.87),
    Field("snippet", "string", "The part that fits.", "… an empty password …"),
    Field("tokens", "integer", "What reading all of it costs.", 180),
    Field("pinned", "boolean", "Somebody wants it remembered first.", False),
    Field("wrong", "boolean", "Somebody says it is: it is kept, and never recalled.", False),
    Field("superseded_by", "any", "The observation that replaced it."),
    Field("source", "string", "work, external (only read) or user (asked for).", "work"),
    Field("marks", "array", "What to know before trusting it.", [], items="string"),
)
RESULTS = Field("results", "array", "The memories.", fields=RESULT)
MISSING = Field("missing", "array", "What was asked for and is not there.", [], items="any")
HAS_MORE = Field("hasMore", "boolean", "Whether another page follows.", False)
NEXT = Field("next", "any", "The `cursor` of the next page; null: there is none.", "1769850000000-12")
TOTAL = Field("total", "any", "How many there are in all, if that was asked for.", 1234)
UNDO = Field(
    "undo",
    "any",
    "How to take it back: `token`, and until when that works (`until`, in epoch milliseconds).",
    {"token": "Zm9v", "until": 1769853600000},
)

FOUND = Answer(
    200,
    "What was found, the best first.",
    (
        Field("query", "string", "As it was understood.", "login fails"),
        RESULTS,
        OFFSET,
        LIMIT,
        HAS_MORE,
        Field("legs", "array", "What searched: text, vectors.", ["text"], items="string"),
        Field("note", "string", "What to know about the search."),
        NEXT,
    ),
)
TIMELINE = Answer(
    200,
    "What was around it, by time.",
    (
        Field("anchor", "object", "The memory in the middle.", fields=RESULT),
        Field("at", "any", "The time in the middle.", 1769850000000),
        Field("before", "array", "From before it.", fields=RESULT),
        Field("after", "array", "From after it.", fields=RESULT),
    ),
)
LISTED = Answer(
    200,
    "The newest first.",
    (
        Field("items", "array", "A page of them.", items="any", example=[]),
        OFFSET,
        LIMIT,
        HAS_MORE,
        NEXT,
        TOTAL,
    ),
)
DETAILED = Answer(200, "Each with all its fields, in the order asked for.", (RESULTS, MISSING))
ONE = Answer(200, "With all its fields.", RESULT)
WHOLE_SESSION = Answer(
    200,
    "The session, by time.",
    (
        Field("session", "object", "Who, where, when, how it stands.", {}),
        Field("prompts", "array", "What was asked.", fields=RESULT),
        Field("observations", "array", "What was learnt.", fields=RESULT),
        Field("summaries", "array", "What each turn came to.", fields=RESULT),
        Field("previous", "any", "The project's session before."),
        Field("next", "any", "And the one after."),
    ),
)
HISTORY = Answer(200, "The newest first.", (replace(PATH, required=False), RESULTS))
INJECTED = Answer(
    200,
    "The text, or with format=json: `text`, `tokens`, `refs`, `project`.",
    media_type="text/plain",
)
STREAMED = Answer(200, "Events, for as long as the caller listens.", media_type="text/event-stream")
STATS = Answer(200, "Figures.")
WAS_SAVED = Answer(
    200,
    "Committed.",
    (
        Field("status", "string", "saved, or known when the project knew it already.", "saved"),
        Field("id", "integer", "The observation's number.", 12),
        Field("ref", "string", "Its name.", "12"),
        Field("title", "string", "Its title.", "Deploying"),
    ),
)


def marked(name: str) -> Answer:
    """That memories have a mark now, or no longer."""
    each = (Field("ref", "string", "The memory.", "12"), Field(name, "boolean", "", True))
    return Answer(
        200, "Committed.", (Field("results", "array", "Each that is there.", fields=each), MISSING, UNDO)
    )


WAS_PINNED = marked("pinned")
WENT = Answer(
    200,
    "What went, or would go.",
    (
        Field("dry_run", "boolean", "Nothing has gone.", True),
        *(
            Field(name, "integer", f"How many {name}.", 0)
            for name in ("sessions", "observations", "summaries", "prompts", "evidence", "vectors")
        ),
        Field("sample", "array", "Some of them.", fields=RESULT),
        Field("backups", "any", "Backups that hold it (still).", 0),
        Field(
            "elsewhere",
            "array",
            "Copies, exports and unreadable files that hold it, and what became of each.",
            fields=(
                Field("path", "string", "The file.", "backups/claude-mem-20260131-090000.db"),
                Field("kind", "string", "backup, aside, export or spool.", "backup"),
                Field("done", "string", "holds, rewritten, removed or left.", "rewritten"),
                Field("note", "string", "Why.", ""),
            ),
        ),
    ),
)
IMPORTED = Answer(
    200,
    "What is fit to be kept is committed.",
    (
        Field("imported", "integer", "How many are new.", 1),
        Field("skipped", "integer", "How many were known.", 0),
        Field(
            "errors",
            "array",
            "Those that were not understood.",
            fields=(
                Field("index", "integer", "Which of the records, from 0.", 3),
                Field("message", "string", "Why.", "title is missing."),
            ),
        ),
        Field("taken", "any", "Of lines: how many are new, by kind.", {"observation": 1}),
        Field("known", "any", "Of lines: how many were known, by kind.", {}),
        Field("refused", "any", "Of lines: the number of each that was not taken, from 0, and why.", []),
    ),
)
EXPORTED = Answer(200, "The records, the head first.", media_type=LINES)

NOT_THERE = Answer(404, "Nothing goes by that name.", (ERROR,))
