"""Makes databases and settings as the TypeScript claude-mem has them, of its newest schema and an old one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

NEWEST = """
CREATE TABLE schema_versions (
    id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
CREATE TABLE sdk_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL, memory_session_id TEXT UNIQUE,
    project TEXT NOT NULL, platform_source TEXT NOT NULL DEFAULT 'claude', user_prompt TEXT,
    started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL, completed_at TEXT,
    completed_at_epoch INTEGER, status TEXT NOT NULL DEFAULT 'active', prompt_counter INTEGER DEFAULT 0,
    custom_title TEXT, observed_model TEXT, observed_billing TEXT,
    UNIQUE (platform_source, content_session_id));
CREATE TABLE observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,
    type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
    files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0, content_hash TEXT,
    generated_by_model TEXT, relevance_count INTEGER DEFAULT 0, merged_into_project TEXT, agent_type TEXT,
    agent_id TEXT, metadata TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL,
    request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT,
    files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL);
CREATE TABLE user_prompts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_db_id INTEGER, content_session_id TEXT,
    prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, created_at TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL);
CREATE TABLE tool_uses (
    id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT, tool_use_id TEXT, tool_input TEXT);
CREATE VIRTUAL TABLE observations_fts USING fts5(
    title, narrative, content='observations', content_rowid='id');
INSERT INTO schema_versions (version, applied_at) VALUES (52, '2026-11-01T00:00:00.000Z');
"""

OLD = """
CREATE TABLE schema_versions (
    id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
CREATE TABLE sdk_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, claude_session_id TEXT UNIQUE NOT NULL, sdk_session_id TEXT UNIQUE,
    project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL,
    completed_at TEXT, completed_at_epoch INTEGER, status TEXT NOT NULL DEFAULT 'active');
CREATE TABLE observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL, project TEXT NOT NULL,
    text TEXT NOT NULL, type TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT UNIQUE NOT NULL, project TEXT NOT NULL,
    request TEXT, completed TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
INSERT INTO schema_versions (version, applied_at) VALUES (4, '2025-10-01T00:00:00.000Z');
"""

_SETTINGS = """
MODEL=claude-haiku-4-5-20251001 PROVIDER=claude MODE=code LOG_LEVEL=INFO EXCLUDED_PROJECTS=
SKIP_TOOLS=ListMcpResourcesTool,TodoWrite CLAUDE_AUTH_METHOD=subscription DATA_DIR=/home/ada/.claude-mem
WORKER_HOST=127.0.0.1 GEMINI_API_KEY=canary-gemini GEMINI_MODEL=gemini-flash-latest
GEMINI_RATE_LIMITING_ENABLED=true OPENROUTER_API_KEY= OPENROUTER_MODEL=some/model OPENROUTER_BASE_URL=
MAX_CONCURRENT_AGENTS=2 CONTEXT_OBSERVATIONS=50 CONTEXT_SESSION_COUNT=10 CONTEXT_FULL_COUNT=0
CONTEXT_FULL_FIELD=narrative CONTEXT_SHOW_LAST_SUMMARY=true CONTEXT_SHOW_LAST_MESSAGE=false
CONTEXT_SHOW_TERMINAL_OUTPUT=true CONTEXT_SHOW_READ_TOKENS=false CONTEXT_SHOW_SAVINGS_PERCENT=true
SEMANTIC_INJECT=false SEMANTIC_INJECT_LIMIT=5 TIER_ROUTING_ENABLED=true TIER_SIMPLE_MODEL=haiku
TIER_SUMMARY_MODEL= CHROMA_ENABLED=true CHROMA_MODE=local CHROMA_HOST=127.0.0.1 CHROMA_PORT=8000
CHROMA_SSL=false CHROMA_API_KEY=canary-chroma CHROMA_TENANT=default FOLDER_CLAUDEMD_ENABLED=false
FOLDER_MD_EXCLUDE=[] TRANSCRIPTS_ENABLED=true CODEX_TRANSCRIPT_INGESTION=false WELCOME_HINT_ENABLED=true
API_TIMEOUT_MS=30000 PYTHON_VERSION=3.13 TELEGRAM_BOT_TOKEN=canary-telegram TELEGRAM_CHAT_ID=7
CLOUD_SYNC_TOKEN= RUNTIME=worker SERVER_URL= SERVER_API_KEY= QUEUE_ENGINE=sqlite REDIS_URL=
OBSERVER_MAX_CONVERSATION_CHARS=400000 LLM_TIMEOUT_MS=30000 TV_TOKEN= PRO_API_KEY=
"""
SETTINGS: dict[str, str] = {
    f"CLAUDE_MEM_{key}": value for key, _, value in (each.partition("=") for each in _SETTINGS.split())
}
"""Its `settings.json`, whole: flat, and every value a string."""

AT = 1_760_000_000_000
ISO = "2025-10-09T08:53:20.000Z"


class Incumbent:
    """Fills such a database. Times count up by a second a row."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path, self.db = path, db
        self._at = AT

    def add(self, table: str, **values: object) -> int:
        """A row of it; lists are written as JSON, and times if none are given."""
        self._at += 1_000
        time = "started_at" if table == "sdk_sessions" else "created_at"
        row: dict[str, Any] = {time: ISO, f"{time}_epoch": self._at} | values
        row = {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        added = self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)
        assert added.lastrowid is not None
        return added.lastrowid

    def session(self, number: int = 1, project: str = "shop", **values: object) -> int:
        named = {"content_session_id": f"session-{number}", "memory_session_id": f"memory-{number}"}
        return self.add("sdk_sessions", project=project, **named | values)

    def observation(self, title: str, number: int = 1, project: str = "shop", **values: object) -> int:
        defaults: dict[str, object] = {"type": "bugfix", "title": title, "narrative": f"{title}, and how."}
        return self.add(
            "observations", memory_session_id=f"memory-{number}", project=project, **defaults | values
        )

    def typical(self) -> None:
        """Two sessions with all there is."""
        first = self.session(user_prompt="make retries work", prompt_counter=2, custom_title="Retries")
        self.session(2, status="completed", completed_at=ISO, completed_at_epoch=AT + 60_000)
        self.add("user_prompts", session_db_id=first, prompt_number=1, prompt_text="make retries work")
        self.add("user_prompts", session_db_id=first, prompt_number=2, prompt_text="and test them")
        self.observation(
            "Retries wait longer each time",
            subtitle="in the client",
            facts=["The first wait is 200 ms"],
            concepts=["backoff"],
            files_read=["docs/http.md"],
            files_modified=["src/client.py"],
            prompt_number=1,
            generated_by_model="claude-haiku-4-5",
        )
        self.observation("A token was in the log", 2, type="security_alert")
        self.add(
            "session_summaries",
            memory_session_id="memory-1",
            project="shop",
            request="make retries work",
            learned="The server sends Retry-After",
            files_edited=["src/client.py"],
        )
        self.db.execute(
            "INSERT INTO tool_uses (content_session_id, tool_use_id) VALUES ('session-1', 'toolu_1')"
        )


@contextmanager
def made(path: Path, schema: str = NEWEST, *, journal: str = "wal") -> Iterator[Incumbent]:
    """An open one: with `wal` what was added last is in the log alone, as with its worker running."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.executescript(schema)
        yield Incumbent(path, db)


def typical(path: Path) -> Path:
    """A closed one."""
    with made(path) as incumbent:
        incumbent.typical()
    return path
