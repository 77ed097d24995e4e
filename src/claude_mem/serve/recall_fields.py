"""The words recall is asked with in the HTTP API: what narrows a question, and what goes with each change."""

from __future__ import annotations

from dataclasses import replace

from claude_mem.model.refs import KINDS
from claude_mem.serve.endpoint import Field

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
