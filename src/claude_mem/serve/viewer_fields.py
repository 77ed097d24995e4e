"""The words of the viewer in the HTTP API: corrections, pages, costs, previews, settings, logs."""

from __future__ import annotations

from dataclasses import replace

from claude_mem.serve.endpoint import Answer, Field
from claude_mem.serve.fields import ERROR
from claude_mem.serve.logtail import LEVELS, MOST_LINES
from claude_mem.serve.recall_answers import NEXT, RESULT, TOTAL, UNDO, marked
from claude_mem.serve.recall_fields import CONCEPTS, CURSOR, CWD, IDS, KIND, PROJECT, SESSION

MOST_EVENTS = 200

ONE_ID = replace(
    IDS, name="id", type="any", about="An observation: 12 or `12`.", example=12, also=("ref",), items="object"
)
EDITED = (
    ONE_ID,
    Field("title", "string", "What it says in a line.", "Empty passwords made login fail"),
    Field("subtitle", "string", "In a sentence.", "An empty password was compared as text."),
    Field("narrative", "string", "In some more.", "The check ran before the hash was made."),
    Field("facts", "array", "Each by itself.", ["login() takes bytes"], items="string"),
    CONCEPTS,
    Field("type", "string", "Its type.", "bugfix"),
)
WRONG = Field("wrong", "boolean", "false: no longer; true if not said.", True)
INTO = replace(ONE_ID, name="into", about="The observation that stays.", also=())
TOKEN = Field("id", "string", "The `token` of an `undo`.", "Zm9v")
WAS_EDITED = Answer(200, "Committed.", (Field("result", "object", "The memory, whole.", fields=RESULT), UNDO))
WAS_MARKED = marked("wrong")
WAS_MERGED = Answer(
    200,
    "Committed.",
    (
        Field("into", "string", "The one that stands.", "12"),
        Field("merged", "array", "Those superseded by it.", ["13"], items="string"),
        UNDO,
    ),
)
WAS_UNDONE = Answer(
    200,
    "It is as it was.",
    (
        Field("status", "string", "undone", "undone"),
        Field("what", "string", "What was undone: edit, pinned, wrong, merge.", "edit"),
        Field("refs", "array", "Whose.", ["12"], items="string"),
    ),
)
MEANWHILE = Answer(409, "It was changed again since; nothing was done.", (ERROR,))
SELECTED = Answer(
    200,
    "What it comes to.",
    (
        Field("ids", "array", "The memories, at most 500.", ["12", "s3"], items="string"),
        Field("more", "boolean", "There are more.", False),
        NEXT,
    ),
)

_RESULTS = {"fields": RESULT}
PROVENANCE = Answer(
    200,
    "Where it comes from, and what became of it.",
    (
        Field("ref", "string", "The memory.", "12"),
        Field("branch", "string", "The branch it was made on.", "main"),
        Field("commit", "string", "The commit that was checked out.", "1c2d3e4"),
        Field("client", "string", "The coding agent.", "claude-code"),
        Field("provider", "string", "Who understood it.", "offline"),
        Field("session", "any", "Its session.", {}),
        Field("prompt", "any", "What was asked: a result.", {}),
        Field("tool_uses", "array", "What was done: results.", fields=RESULT),
        Field("supersedes", "array", "What it stands in the place of.", fields=RESULT),
        Field("superseded_by", "any", "What stands in its place: a result.", None),
        Field(
            "injected",
            "array",
            "The last sessions that were told of it.",
            [{"session_id": "claude-session-123", "event": "SessionStart", "at": "…", "tokens": 700}],
            items="any",
        ),
        Field("injected_times", "integer", "How often that was, in all.", 3),
        Field("duplicates", "array", "Others that may say the same.", fields=RESULT),
    ),
)
EVENT_LIMIT = Field("limit", "integer", "How many at most; 100 if not said.", 100, least=1, most=MOST_EVENTS)
EVENTS_ASKED = (KIND, EVENT_LIMIT, CURSOR)
EVENTS = Answer(
    200,
    "All that happened, in order.",
    (
        Field("session", "object", "Who, where, when, how it stands.", {}),
        Field("items", "array", "Prompts, evidence, observations, summaries; each whole.", [], items="any"),
        NEXT,
        TOTAL,
        Field("counts", "any", "How many of each kind.", {"prompt": 2, "evidence": 30}),
        Field("first_at_epoch", "integer", "When it began.", 1769850000000),
        Field("last_at_epoch", "integer", "When something last happened.", 1769853600000),
    ),
)
DAYS = Field("days", "integer", "How many days back; 365 if not said.", 365, least=1, most=3_660)
PROJECT_PAGE = Answer(
    200,
    "The project.",
    (
        Field("project", "object", "Its name, key, place and figures.", {}),
        DAYS,
        Field(
            "activity",
            "array",
            "Days on which something happened, as they are where the user is.",
            [{"day": "2026-01-31", "observations": 4, "prompts": 2, "summaries": 2}],
            items="any",
        ),
        Field("types", "any", "How many observations of each type.", {"bugfix": 3}),
        Field("files", "array", "Those changed most: `path`, `changes`, `last_at`.", [], items="any"),
        Field(
            "next_steps", "array", "What was left open: `ref`, `session_id`, `at`, `text`.", [], items="any"
        ),
        Field("pinned", "array", "What is kept in front.", fields=RESULT),
        Field("sessions", "array", "The last ones.", [], items="any"),
    ),
)
FACETS = Answer(
    200,
    "What filters can be set to.",
    tuple(
        Field(name, "array", f"The {name} there are.", [], items="string")
        for name in ("projects", "types", "branches", "clients", "concepts")
    ),
)
COST_DAYS = replace(DAYS, about="How many days of UTC, with today; 30 if not said.", example=30, most=366)
COST = Answer(
    200,
    "In tokens, and in money where prices are known.",
    (
        COST_DAYS,
        Field("since", "string", "The first day.", "2026-01-02"),
        *(
            Field(name, "array", about, [], items="any")
            for name, about in (
                ("rows", "By day, project, provider and model."),
                ("by_day", "Every day, also those without."),
                ("by_model", "By provider and model."),
                ("by_project", "By project."),
            )
        ),
        Field("total", "any", "calls, input_tokens, cached_tokens, output_tokens, cost_usd.", {}),
        Field("injected", "array", "What sessions were told: `day`, `times`, `tokens`.", [], items="any"),
        Field("injected_by_event", "array", "The same by occasion.", [], items="any"),
        Field("batching", "any", "What one call per tool use would have cost, and how that is known.", {}),
        Field("budget", "any", "The limits (0: none), and what today has cost.", {}),
    ),
)
PREVIEW_ASKED = (
    PROJECT,
    CWD,
    replace(SESSION, about="The session that goes on, after a compaction."),
    Field("prompt", "string", "What a user might ask.", "Why does the login fail?"),
    Field("context_characters", "integer", "Instead of the setting, here only.", 9500, most=9_900),
    Field("context_tokens", "integer", "Likewise.", 3000, most=10_000),
    Field("prompt_characters", "integer", "Likewise.", 2400, most=9_900),
)
PREVIEW = Answer(
    200,
    "What would be told. Nothing is noted.",
    (
        Field("project", "string", "The project's name.", "shop"),
        Field("start", "any", "At a session's start: `text`, `plain`, `characters`, `tokens`, `refs`.", {}),
        Field(
            "prompt",
            "any",
            "At the prompt: the same, and `hits`: results with `parts`, `relevance` and if they are `told`.",
            {},
        ),
        Field("settings", "any", "The sizes it was made with.", {"context_characters": 9500}),
        Field("in_force", "any", "Those that sessions are told by now.", {"context_characters": 9500}),
    ),
)

SETTINGS = Answer(
    200,
    "Every setting.",
    (
        Field("file", "string", "Where they are kept.", "/home/ada/.claude-mem/settings.json"),
        Field(
            "settings",
            "array",
            "Each of them.",
            fields=(
                Field("key", "string", "Its name.", "CLAUDE_MEM_LOG_LEVEL"),
                Field("group", "string", "What it is about, with others.", "The worker"),
                Field("meaning", "string", "What it decides.", "How much the worker writes to its log."),
                Field("allowed", "string", "What it may be.", "DEBUG, INFO, WARNING or ERROR"),
                Field("kind", "string", "integer, number, choice, text, list, table, secret.", "choice"),
                Field("choices", "array", "Of a choice.", ["DEBUG"], items="string"),
                Field("value", "any", "What it is; of a secret never.", "INFO"),
                Field("default", "any", "What it is if nobody says.", "INFO"),
                Field("origin", "string", "default, file or environment.", "default"),
                Field("set", "boolean", "Somebody has said so.", False),
                Field("file_only", "boolean", "The environment cannot.", False),
                Field("restart", "boolean", "It counts from the worker's next start on.", True),
                Field("pending", "boolean", "It is not in force yet.", False),
                Field("trouble", "any", "What is wrong with it.", None),
            ),
        ),
        Field(
            "passed_over", "array", "Keys that are no settings, at the worker's start.", [], items="string"
        ),
        Field("warnings", "array", "What was set then and does not hold, in words.", [], items="string"),
    ),
)
CHANGES = Field(
    "changes",
    "object",
    "Settings and their values; null: as if nobody had said.",
    {"CLAUDE_MEM_LOG_LEVEL": "DEBUG"},
    required=True,
)
SAVED = Answer(
    200,
    "Written.",
    (
        Field("status", "string", "saved", "saved"),
        Field("changed", "array", "Which.", ["CLAUDE_MEM_LOG_LEVEL"], items="string"),
        Field("restart", "boolean", "They count from the worker's next start on.", True),
        Field("shadowed", "array", "Those the environment overrides.", [], items="string"),
    ),
)
UNREADABLE = Answer(409, "settings.json cannot be read; nothing was changed.", (ERROR,))
LOGS_ASKED = (
    Field("level", "string", "From this level on; DEBUG if not said.", "WARNING", choices=LEVELS),
    Field("after", "string", "The `next` of an answer: only what came since.", "1234-5678"),
    Field("limit", "integer", "How many at most, the last; 200 if not said.", 200, least=1, most=MOST_LINES),
)
LOGS = Answer(
    200,
    "The worker's log.",
    (
        Field(
            "lines",
            "array",
            "Records, the oldest first.",
            fields=(
                Field("at", "string", "When, where the worker is.", "2026-01-31 10:00:00,000"),
                Field("level", "string", "How grave.", "INFO"),
                Field("logger", "string", "Who says so.", "claude_mem.serve"),
                Field("text", "string", "What.", "stopping"),
            ),
        ),
        Field("next", "any", "Where it goes on.", "1234-5678"),
    ),
)
PAUSED = Field(
    "paused", "boolean", "true: nothing is recorded from now on; false: it is again.", True, required=True
)
STANDING = Answer(
    200,
    "How recording stands.",
    (
        Field("recording", "string", "on, paused (somebody said so) or off (a banner says why).", "on"),
        Field(
            "banners",
            "array",
            "What to know, the worst first.",
            fields=(
                Field("code", "string", "A word for programs.", "behind"),
                Field("level", "string", "info, warning or error.", "warning"),
                Field("message", "string", "A sentence for people.", "Behind: 2,000 events wait."),
                Field("fix", "string", "What helps.", "claude-mem doctor"),
            ),
        ),
        Field("paused", "any", "Since when (epoch milliseconds), and which sessions.", {"since": None}),
        Field("queue", "any", "As in /health.", {"ready": 0}),
        Field("observer", "any", "As in /health, and whether it is `working`.", {"working": False}),
        Field("version", "string", "The worker's.", "0.1.0"),
        Field("port", "any", "The worker's.", 37777),
    ),
)
