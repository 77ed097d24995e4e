"""What recall answers with in the HTTP API: a memory's fields, and the shape of each answer."""

from __future__ import annotations

from dataclasses import replace

from claude_mem.serve.endpoint import LINES, Answer, Field
from claude_mem.serve.fields import ERROR
from claude_mem.serve.recall_fields import LIMIT, OFFSET, PATH

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
INJECTED = Answer(200, "The text.", media_type="text/plain")
INJECTED_AS_JSON = Answer(
    200,
    "With format=json.",
    (
        Field("text", "string", "What is told.", "# shop, recent context"),
        Field("tokens", "integer", "What reading it costs, about.", 640),
        Field("refs", "array", "The memories in it.", ["12", "s3"], items="string"),
        Field("project", "string", "Whose memory it is; null: no project goes by that name.", "shop"),
    ),
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
