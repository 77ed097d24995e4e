"""Declares OpenCode as an agent (`agents.catalog`). Its hooks are a plugin in JavaScript."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent, TurnWords
from claude_mem.agents.claude_code.transcript_lines import LineTally
from claude_mem.agents.claude_code.transcript_tail import WINDOWS, WITHIN_S
from claude_mem.agents.file_parts import FilePart, data_dir_note, json_part, own_file
from claude_mem.agents.launcher import Machine, hook_command
from claude_mem.agents.session_files import Fields, Numbered, SessionFiles, TranscriptSession, words_in
from claude_mem.model.events import Event

NAME = "opencode"
DATABASE = "opencode.db"


def home() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(os.environ.get("OPENCODE_CONFIG_DIR") or Path(config) / "opencode")


def hooks(machine: Machine) -> dict[str, Any]:
    """The plugin's text, by its file's name."""
    command = json.dumps(hook_command(machine, "hook", NAME))
    text = Path(__file__).with_name("plugin.js").read_text("utf-8")
    return {"plugin/claude-mem.js": f"// {data_dir_note(machine)}\nconst COMMAND = {command}\n{text}"}


def parts(machine: Machine) -> list[FilePart]:
    entry = launcher.mcp_server(machine)
    server = {"type": "local", "command": [entry["command"], *entry["args"]], "enabled": True}
    server |= {"environment": entry["env"]} if "env" in entry else {}
    plugins = [own_file(home() / name, text) for name, text in hooks(machine).items()]
    return [*plugins, json_part(home() / "opencode.json", servers="mcp", server=server)]


# Reads its sessions from its database as the events that our plugin would have sent. A session's path is the
# database's path, followed by the session's id.


_SESSIONS = "SELECT id FROM session WHERE parent_id IS NULL ORDER BY id"
_PARTS = """
SELECT part.id, part.time_created, part.data, message.id, message.data, session.id, session.directory
  FROM part JOIN message ON message.id = part.message_id JOIN session ON session.id = part.session_id
 WHERE session.id = ? ORDER BY message.time_created, message.id, part.time_created, part.id
"""
_TURN = _PARTS.replace(
    "session.id = ?", "session.id = ? AND ? IN (message.id, json_extract(message.data, '$.parentID'))"
)
_SIZE = "SELECT coalesce(sum(length(data)), 0), coalesce(max(time_updated), 0) FROM part WHERE session_id = ?"


def _rows(database: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    """Raises OSError."""
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise OSError(f"{database}: {error}") from None


def _sessions(database: Path) -> list[Path]:
    return [database / str(id) for (id,) in _rows(database, _SESSIONS)]


def _parts(path: Path, tally: LineTally) -> Numbered:
    for number, row in enumerate(_rows(path.parent, _PARTS, path.name), 1):
        tally.lines += 1
        yield number, _fields(row)


def _fields(row: tuple[Any, ...]) -> dict[str, Any]:
    id, at, data, message, about, session, directory = row
    return {"id": id, "at": at, "data": data, "of": message, "about": about, "in": (session, directory)}


def _read_line(session: TranscriptSession, line: Fields) -> None:
    part, message = json.loads(line["data"]), json.loads(line["about"])
    session.follow(*line["in"])
    if part["type"] == "text" and message["role"] == "user" and not part.get("synthetic"):
        session.turn = line["of"]
        session.prompt(_unquoted(part["text"]))
    elif part["type"] == "text" and message["role"] == "assistant":
        session.agent_message(part["text"])
    elif part["type"] == "tool" and part["state"]["status"] in ("completed", "error"):
        state = part["state"]
        session.call(part["callID"], part["tool"], state["input"])
        done = {"output": state.get("output"), "exit": (state.get("metadata") or {}).get("exit")}
        failed = state["status"] == "error"
        session.answer(part["callID"], state.get("error") if failed else done, failed=failed)


def _unquoted(text: str) -> str:
    """`opencode run` puts a prompt in quotes."""
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text


READER = SessionFiles(
    NAME,
    lambda: Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "opencode",
    DATABASE,
    _read_line,
    at=lambda line: int(line["at"]),
    lines=_parts,
    inside=_sessions,
    size=lambda path: int(_rows(path.parent, _SIZE, path.name)[0][0]),
    last_at=lambda path: int(_rows(path.parent, _SIZE, path.name)[0][1]),
)


# Reads what our plugin does not report: the messages between tool calls. They are read from the database when
# the turn ends. The path comes from a payload, so it must be the user's own file with OpenCode's name, not a
# link.


def words_of(stop: Event) -> TurnWords:
    path, own_id = Path(stop.transcript_path or ""), stop.session.removeprefix(f"{NAME}:")
    if path.name != own_id or stop.prompt_id is None or not _is_users_own(path.parent):
        return TurnWords()
    with suppress(OSError, sqlite3.Error, TimeoutError):
        return words_in(stop, READER, path, _turn(path, stop.prompt_id, time.monotonic() + WITHIN_S))
    return TurnWords()


def _is_users_own(database: Path) -> bool:
    try:
        found = database.lstat()
    except OSError:
        return False
    is_named = database.is_absolute() and (database.parent.name, database.name) == (NAME, DATABASE)
    return is_named and stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


def _turn(path: Path, prompt: str, deadline: float) -> Iterator[bytes]:
    """A complete turn. Raises TimeoutError if it takes too long or is too large."""
    room = WINDOWS[-1]
    with closing(sqlite3.connect(f"{path.parent.as_uri()}?mode=ro", uri=True, timeout=WITHIN_S)) as db:
        for row in db.execute(_TURN, (path.name, prompt)):
            line = json.dumps(_fields(row)).encode()
            room -= len(line)
            if room < 0 or time.monotonic() > deadline:
                raise TimeoutError
            yield line


AGENT = Agent(NAME, "opencode", home, hooks, parts, READER, words_of=words_of)
