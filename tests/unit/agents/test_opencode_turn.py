"""What OpenCode's agent said in a turn, as its database has it when the turn ends."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.agents.test_session_files import opencode_database

from claude_mem.agents import catalog
from claude_mem.agents.catalog import TurnWords
from claude_mem.agents.claude_code.transcript_tail import WINDOWS
from claude_mem.model.events import Event, Kind

PROMPT = "msg_1ee6a979d001z1Q9uJGXM2UEvc"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """The database's path, with the session's id below it."""
    database = tmp_path / "opencode" / "opencode.db"
    database.parent.mkdir()
    return database / opencode_database(database)


def words(path: Path, prompt: str | None = PROMPT, session: str = "") -> TurnWords:
    words_of = catalog.load("opencode").words_of
    assert words_of is not None
    stop = Event(
        id="e",
        at=1_999_999_999_999,
        kind=Kind.STOP,
        session=f"opencode:{session or path.name}",
        client="opencode",
        prompt_id=prompt,
        transcript_path=str(path),
    )
    return words_of(stop)


def test_what_was_said_on_the_way_is_found_with_the_ids_that_a_backfill_gives_it(session: Path) -> None:
    found = words(session)
    said = [each for each in found.during_turn if each.event == "AgentMessage"]
    assert [each.payload["message"] for each in said] == ["I begin."]
    assert found.last == "It is done."
    told = list(catalog.transcripts("opencode").read(session, (), over=False))
    assert {each.id for each in found.during_turn} <= {each.id for each in told}


def test_of_another_turn_or_session_or_of_one_without_a_name_nothing_is_found(session: Path) -> None:
    assert words(session).during_turn
    assert words(session, "msg_another") == TurnWords()
    assert words(session, None) == TurnWords()
    assert words(session, session="ses_another") == TurnWords()
    assert words(session.with_name("ses_another")) == TurnWords()


def test_only_the_turn_itself_is_read(session: Path) -> None:
    """The next one's prompt is in the database when the worker comes to the end of the last."""
    with closing(sqlite3.connect(session.parent)) as db:
        rows = (
            ("msg_z1", {"role": "user"}, "And now the light ones."),
            ("msg_z2", {"role": "assistant", "parentID": "msg_z1"}, "I look."),
        )
        for id, about, text in rows:
            message = (id, session.name, 1_999_999_999_990, json.dumps(about))
            part = (f"prt_{id}", id, session.name, 1_999_999_999_990, 0)
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", message)
            data = json.dumps({"type": "text", "text": text})
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (*part, data))
        db.commit()
    found = words(session)
    assert found.last == "It is done."
    assert "I look." not in [each.payload.get("message") for each in found.during_turn]
    assert words(session, "msg_z1").last == "I look."


def test_a_database_in_another_place_or_linked_or_that_is_none_is_not_read(
    session: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere" / "opencode.db"
    elsewhere.parent.mkdir()
    session.parent.rename(elsewhere)
    assert words(elsewhere / session.name) == TurnWords()
    assert words(session) == TurnWords()
    session.parent.symlink_to(elsewhere)
    assert words(session) == TurnWords()
    session.parent.unlink()
    session.parent.write_text("not a database")
    assert words(session) == TurnWords()


def test_a_turn_that_is_too_large_is_not_read_in_part(session: Path) -> None:
    with closing(sqlite3.connect(session.parent)) as db:
        large = json.dumps({"type": "text", "text": "a" * WINDOWS[-1]})
        db.execute("INSERT INTO part VALUES ('prt_large', ?, ?, 1, 1, ?)", (PROMPT, session.name, large))
        db.commit()
    assert words(session) == TurnWords()
