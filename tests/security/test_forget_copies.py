"""Row 31, further: what is forgotten is in no byte of a backup, of a database that was put aside, or of an
export that its owner wants rewritten."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, Events, SettableClock, new_events
from tests.migration import fake_migrations

from claude_mem.api.memories import CopyReport
from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Ref
from claude_mem.recall.deletion import ExportedFiles
from claude_mem.store.sqlite import SqliteStore, backup, copies, recovery, schema
from claude_mem.store.sqlite.connection import open_writer
from claude_mem.store.values import DeletionRequest, ExportSelection, Selection

CANARY = "zarquonvex"
DAY = 24 * 60 * 60 * 1000


class Home:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.database, self.backups = directory / "claude-mem.db", directory / "backups"
        self.clock, self.events = SettableClock(), Events()
        self.exports = ExportedFiles(directory / "exports.jsonl")
        self.open()

    def open(self) -> None:
        self.store = SqliteStore.open(self.database, clock=self.clock, backups=self.backups)
        self.keeping = self.store

    def turn(self, session: str, word: str) -> None:
        tool = ToolCall("Bash", f'{{"command": "echo {word}"}}', f"{word} again", None)
        made = (
            self.events.prompt(f"about {word}", session),
            self.events.make(Kind.TOOL_USE, session, tool=tool),
            self.events.make(Kind.STOP, session, text=f"done with {word}"),
        )
        self.store.events.accept(new_events(*made))
        found = self.store.sessions.find(session)
        assert found is not None
        lease = self.store.queue.lease(9, found.id)
        assert lease is not None
        told = Observation("change", f"A change of {word}", narrative=f"{word} " * 40)
        self.store.queue.settle(lease, Findings((told,), (Summary(request=f"about {word}"),)))
        self.store.text_index.catch_up()

    def backed_up(self) -> Path:
        self.clock.now += DAY
        return self.store.upkeep.backup()

    def wanted(self, **selection: Any) -> DeletionRequest:
        selected = Selection(**selection)
        doomed = self.keeping.deletion.plan(selected)
        return DeletionRequest(
            selected, sessions=doomed.sessions, traces=tuple(self.keeping.deletion.identities(doomed.refs))
        )

    def holding(self, word: str = CANARY) -> list[str]:
        """Files below `backups/` in which the word stands."""
        files = (path for path in sorted(self.backups.rglob("*")) if path.is_file())
        return [path.name for path in files if word.encode() in path.read_bytes().lower()]

    def export(self, path: Path) -> Path:
        portable = self.store.transfer
        lines = [
            json.dumps(dict(record), ensure_ascii=False) for record in portable.records(ExportSelection())
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return self.noted(path)

    def noted(self, path: Path) -> Path:
        with (self.directory / "exports.jsonl").open("a") as file:
            file.write(json.dumps({"path": str(path), "at": NOON}) + "\n")
        return path


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "data")
    home.turn("s1", CANARY)
    home.turn("s2", "harmless")
    yield home
    home.store.close()


def done(told: list[CopyReport]) -> list[str]:
    return [lying.done for lying in told]


def test_backups_are_rewritten_without_it_and_are_whole(home: Home) -> None:
    first, second = home.backed_up(), home.backed_up()
    wanted = home.wanted(text=CANARY)
    assert done(home.store.copies.look(wanted)) == ["holds", "holds"]
    assert home.holding()
    assert done(home.store.copies.forget(wanted)) == ["rewritten", "rewritten"]
    assert home.holding() == []
    for path in (first, second):
        backup.verify_backup(path, schema.readable())
        with closing(sqlite3.connect(path)) as db:
            titles = [row[0] for row in db.execute("SELECT title FROM observations")]
            assert titles == ["A change of harmless"], "and what was not meant is still there"
    assert sorted(path.name for path in home.backups.iterdir()) == sorted((first.name, second.name))


def test_a_backup_that_does_not_hold_it_is_not_touched(home: Home) -> None:
    before = home.backed_up()
    content = before.read_bytes()
    home.turn("s3", "later")
    after = home.backed_up()
    told = home.store.copies.forget(home.wanted(text="later"))
    assert [Path(lying.path) for lying in told] == [after]
    assert before.read_bytes() == content


@pytest.mark.parametrize("by", ["session", "refs", "text", "file"])
def test_however_it_was_selected_it_is_found_in_the_copy(home: Home, by: str) -> None:
    home.store.events.accept([])
    selections: dict[str, dict[str, Any]] = {
        "session": {"session": "s1"},
        "refs": {"refs": (Ref("observation", 1), Ref("summary", 1), Ref("prompt", 1), Ref("evidence", 2))},
        "text": {"text": CANARY},
        "file": {"file": f"src/{CANARY}.py"},
    }
    selection = selections[by]
    if by == "file":
        tool = ToolCall("Edit", f'{{"file_path": "src/{CANARY}.py"}}', "", None)
        home.store.events.accept(new_events(home.events.make(Kind.TOOL_USE, "s2", tool=tool)))
    home.backed_up()
    wanted = home.wanted(**selection)
    assert done(home.store.copies.forget(wanted)) == ["rewritten"]
    with closing(sqlite3.connect(backup.find_backups(home.backups)[0].path)) as db:
        left = db.execute(
            "SELECT COUNT(*) FROM observations WHERE title LIKE ?", (f"%{CANARY}%",)
        ).fetchone()[0]
    assert left == (1 if by == "file" else 0)
    if by in ("session", "text"):
        assert home.holding() == []


def test_a_backup_from_before_the_first_release_is_named_and_left(home: Home) -> None:
    home.backups.mkdir(exist_ok=True)
    old = home.backups / "claude-mem-20250101-000000.db"
    schema.create(old, schema.script(), schema.FIRST_RELEASE - 1)
    before = old.read_bytes()
    (report,) = home.store.copies.forget(home.wanted(text=CANARY))
    assert (report.done, "development version" in report.note) == ("left", True)
    assert old.read_bytes() == before


def test_a_backup_of_an_older_version_is_rewritten_too(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "migrations", lambda: fake_migrations.MADE_UP)
    monkeypatch.setattr(schema, "script", lambda: fake_migrations.FRESH)
    home.backups.mkdir(exist_ok=True)
    old = home.backups / "claude-mem-20250101-000000.db"
    schema.create(old, fake_migrations.RELEASED, schema.FIRST_RELEASE)
    with closing(open_writer(old)) as db:
        db.executescript(
            f"""INSERT INTO projects (id, key, name, root, created_at, created_at_epoch)
                VALUES (1, 'k', 'n', '/r', 't', 1);
                INSERT INTO sdk_sessions (id, claude_session_id, project, project_id, status, client,
                                          created_at, created_at_epoch, updated_at, updated_at_epoch)
                VALUES (1, 'old', 'n', 1, 'active', 'c', 't', 1, 't', 1);
                INSERT INTO user_prompts (session_id, prompt_number, prompt, created_at, created_at_epoch)
                VALUES (1, 1, 'about {CANARY}', 't', 1), (1, 2, 'about harmless', 't', 1);"""
        )
    assert home.holding()
    assert done(home.store.copies.forget(home.wanted(text=CANARY))) == ["rewritten"]
    assert home.holding() == []
    assert home.holding("harmless") == [old.name]


def test_a_database_that_was_replaced_is_rewritten_with_its_log(home: Home) -> None:
    """Put aside as it lay, with what was only in its log."""
    aside = home.backups / f"{backup.REPLACED}-20260101-000000"
    aside.mkdir(parents=True)
    for path in home.directory.glob("claude-mem.db*"):
        shutil.copy(path, aside)
    assert "claude-mem.db-wal" in home.holding()
    assert done(home.store.copies.forget(home.wanted(text=CANARY))) == ["rewritten"]
    assert home.holding() == []
    assert [path.name for path in aside.iterdir()] == ["claude-mem.db"]


def test_a_damaged_one_cannot_be_rewritten_so_it_is_removed_and_that_is_said(home: Home) -> None:
    home.store.upkeep.checkpoint()
    aside = home.backups / f"{backup.DAMAGED}-20260101-000000"
    aside.mkdir(parents=True)
    content = bytearray(home.database.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    (aside / "claude-mem.db").write_bytes(content)
    told = home.store.copies.forget(home.wanted(text=CANARY))
    assert done(told) == ["removed"]
    assert "damaged" in told[0].note
    assert not aside.exists()


def test_a_damaged_one_from_before_the_memory_was_made_stays(home: Home) -> None:
    aside = home.backups / f"{backup.DAMAGED}-20200101-000000"
    aside.mkdir(parents=True)
    (aside / "claude-mem.db").write_bytes(b"no database at all" * 300)
    assert home.store.copies.forget(home.wanted(refs=(Ref("observation", 1),))) == []
    assert aside.exists()
    assert done(home.store.copies.forget(home.wanted(text=CANARY))) == ["removed"], "words are anywhere"


def test_one_of_a_newer_version_is_left_and_named(home: Home) -> None:
    newer = home.backed_up()
    with closing(sqlite3.connect(newer)) as db:
        db.execute("PRAGMA user_version = 99")
    told = home.store.copies.forget(home.wanted(text=CANARY))
    assert [(lying.path, lying.done, lying.stays) for lying in told] == [(str(newer), "left", True)]
    assert told[0].note


def test_numbers_that_mean_something_else_in_a_copy_take_nothing_there(home: Home) -> None:
    """After a restore, numbers are given out again."""
    first = home.backed_up()
    home.turn("s3", "later")  # observation 3 of the life that is given up
    home.store.close()
    recovery.restore(home.database, clock=home.clock, backups=home.backups, source=first)
    home.open()
    home.turn("s4", "another")  # observation 3 of the other one
    assert home.store.copies.forget(home.wanted(refs=(Ref("observation", 3),))) == []
    assert home.holding("later")
    both = home.store.copies.forget(home.wanted(refs=(Ref("observation", 1),)))
    assert done(both) == ["rewritten", "rewritten"]


def test_without_room_for_a_second_copy_it_is_left_and_said(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.backed_up()

    def full(source: Path, target: Path) -> None:
        del source, target
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies, "copy", full)
    (told,) = home.store.copies.forget(home.wanted(text=CANARY))
    assert (told.done, told.stays) == ("left", True)
    assert "No space left" in told.note
    assert home.holding()


def test_what_a_killed_worker_left_half_made_is_removed_the_next_time(home: Home) -> None:
    left = home.backups / ".forgetting-1-abcd"
    left.mkdir(parents=True)
    (left / "copy.db").write_text(CANARY)
    assert home.store.copies.forget(home.wanted(text=CANARY)) == []
    assert not left.exists()


@pytest.mark.parametrize("by", ["text", "session", "refs"])
def test_an_export_is_only_looked_at_until_its_owner_says_otherwise(
    home: Home, tmp_path: Path, by: str
) -> None:
    made = home.export(tmp_path / "memory.jsonl")
    content = made.read_text()
    selections: dict[str, dict[str, Any]] = {
        "text": {"text": CANARY.upper()},
        "session": {"session": "s1"},
        "refs": {"refs": tuple(Ref(kind, 1) for kind in ("observation", "summary", "prompt"))},
    }
    wanted = home.wanted(**selections[by])
    assert done(home.exports.look(wanted)) == ["holds"]
    assert made.read_text() == content
    assert done(home.exports.forget(wanted)) == ["rewritten"]
    kept = [json.loads(line) for line in made.read_text().splitlines()]
    assert {"claude-mem", "project", "session", "observation"} <= {record["kind"] for record in kept}
    assert "harmless" in made.read_text()
    said = [record for record in kept if CANARY in json.dumps(record)]
    assert {record["kind"] for record in said} == ({"event"} if by == "refs" else set())
    assert made.stat().st_mode & 0o777 == 0o600


def test_an_export_that_holds_nothing_of_it_is_not_named(home: Home, tmp_path: Path) -> None:
    made = home.export(tmp_path / "memory.jsonl")
    content = made.read_text()
    assert home.exports.forget(home.wanted(text="nothing like it")) == []
    assert made.read_text() == content


def test_a_journal_is_named_and_left_to_its_owner(home: Home, tmp_path: Path) -> None:
    journal = home.noted(tmp_path / "JOURNAL.md")
    journal.write_text(f"# Journal\n\nAbout {CANARY.title()}.\n")
    other = home.noted(tmp_path / "OTHER.md")
    other.write_text("# Journal\n\nAbout harmless things.\n")
    (told,) = home.exports.forget(home.wanted(text=CANARY))
    assert (told.path, told.done) == (str(journal), "left")
    assert "yourself" in told.note
    assert CANARY in journal.read_text().lower()


def test_exports_that_are_gone_or_are_no_files_are_passed_over(home: Home, tmp_path: Path) -> None:
    real = home.export(tmp_path / "memory.jsonl")
    link = tmp_path / "link.jsonl"
    link.symlink_to(real)
    for path in (tmp_path / "gone.jsonl", link, tmp_path):
        home.noted(path)
    with (home.directory / "exports.jsonl").open("a") as file:
        file.write('not json\n{"no": "path"}\n[]\n{"path": 7}\n')
    home.noted(real)
    assert [lying.path for lying in home.exports.look(home.wanted(text=CANARY))] == [str(real)]
