"""Row 31: what is forgotten is in no byte of the database, its log and its shared memory."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, new_events

from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Ref
from claude_mem.store.sqlite import SqliteStore, page_scan, secure_delete, text_index
from claude_mem.store.values import ForgetPlan, Injection, Revision, Selection

CANARY = "zarquonvex"
"""A word that stems to itself."""


class Life:
    """A store in use: sessions with and without the canary in all that they leave behind."""

    def __init__(self, directory: Path) -> None:
        self.database = directory / "claude-mem.db"
        self.clock, self.events = SettableClock(), Events()
        self.store = SqliteStore.open(self.database, clock=self.clock, backups=directory / "backups")
        self.keeping = self.store
        self.indexing = self.store.text_index
        self._random = random.Random(31)
        self._uses = itertools.count(1)

    def words(self, word: str, length: int) -> str:
        others = [f"w{self._random.randrange(3000)}" for _ in range(length)]
        others.insert(self._random.randrange(length + 1), word)
        return " ".join(others)

    def turn(self, session: str, word: str, *, size: int = 20) -> None:
        tool = ToolCall(
            "Bash",
            f'{{"command": "{self.words(word, size)}", "file_path": "/src/{word}.py"}}',
            self.words(word, self._random.randrange(30 * size)),
            f"t{next(self._uses)}",
        )
        said = self.events.make(Kind.STOP, session, text=self.words(word, size))
        made = [self.events.make(Kind.TOOL_USE, session, tool=tool), said]
        self.store.events.accept(new_events(self.events.prompt(self.words(word, size), session), *made))
        found = self.store.sessions.find(session)
        assert found is not None
        lease = self.store.queue.lease(50, found.id)
        assert lease is not None
        files = (f"/src/{word}.py",)
        observation = Observation(
            "change",
            f"{word.title()} {self.words(word, 3)}",
            subtitle=word,
            narrative=self.words(word.upper(), 3 * size),
            facts=(self.words(word, 5),),
            concepts=(word,),
            files_read=files,
            files_modified=files,
        )
        summary = Summary(
            request=self.words(word, 5), learned=word, completed=word, files_edited=files, notes=word
        )
        self.store.queue.settle(lease, Findings((observation,), (summary,)))

    def bytes_left(self, word: str = CANARY) -> dict[str, int]:
        files = self.database.parent.glob(f"{self.database.name}*")
        return {
            file.name: count for file in files if (count := file.read_bytes().lower().count(word.encode()))
        }


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    life = Life(tmp_path)
    with life.store:
        yield life


def lived_in(life: Life) -> None:
    """Some of it lies in the database, some still in the log; some indexed in one piece, some in others."""
    for number in range(120):
        life.turn(f"s{number % 7}", CANARY if number % 11 == 3 else "harmless")
        if number % 20 == 7:
            life.indexing.catch_up()
        if number == 60:
            life.store.upkeep.checkpoint()
    life.keeping.injections.note_injection(Injection("s1", "SessionStart", ("4",), 9, NOON))


def test_no_byte_of_forgotten_words_is_left_if_the_index_was_just_being_tidied(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "MERGED_PAGES", 1)
    life.indexing.prepare()
    lived_in(life)
    life.indexing.catch_up()
    assert life.indexing.tidy(), "there is more to do"
    life.keeping.deletion.forget(life.keeping.deletion.plan(Selection(text=CANARY)))
    assert life.bytes_left() == {}
    while life.indexing.tidy():
        pass
    assert life.bytes_left() == {}
    assert life.bytes_left("harmless")


@pytest.mark.parametrize("indexed", [True, False])
def test_no_byte_of_forgotten_words_is_left_in_the_database_or_its_log(life: Life, indexed: bool) -> None:
    lived_in(life)
    if indexed:
        life.indexing.catch_up()
    assert life.bytes_left()
    told = life.keeping.deletion.forget(life.keeping.deletion.plan(Selection(text=CANARY)))
    assert (told.observations, told.summaries, told.prompts, told.evidence) == (11, 11, 11, 22)
    assert life.bytes_left() == {}
    life.indexing.catch_up()
    assert life.bytes_left() == {}, "and indexing what is left does not bring it back"
    assert life.bytes_left("harmless")


def test_a_small_file_need_not_be_written_anew_for_it(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is freed is overwritten at once; else every forgetting would end with the whole file rewritten."""
    monkeypatch.setattr(secure_delete, "vacuum", _not_needed)
    for number in range(6):
        life.turn("s1", CANARY if number == 2 else "harmless")
    life.indexing.catch_up()
    life.keeping.deletion.forget(life.keeping.deletion.plan(Selection(text=CANARY)))
    assert life.bytes_left() == {}


def test_a_forgotten_session_leaves_no_byte(life: Life) -> None:
    for number in range(40):
        life.turn("gone" if number % 3 else "stays", CANARY if number % 3 else "harmless")
    life.indexing.catch_up()
    life.keeping.deletion.forget(ForgetPlan(sessions=("gone",)))
    assert life.bytes_left() == {}


def test_a_kept_note_that_is_forgotten_leaves_no_byte(life: Life) -> None:
    note = Observation("decision", f"Never use {CANARY}", narrative=f"{CANARY} is out of order.")
    ref, _ = life.keeping.memories.remember(note, ORIGIN, session="by-hand", at=NOON)
    life.indexing.catch_up()
    assert life.bytes_left()
    life.keeping.deletion.forget(ForgetPlan(refs=(ref,)))
    assert life.bytes_left() == {}


def test_expired_evidence_is_found_by_its_words_no_more(life: Life) -> None:
    life.turn("s1", "harmless")
    life.turn("s1", CANARY)
    life.indexing.catch_up()
    while life.keeping.upkeep.expire_evidence(NOON * 2):
        pass
    left = life.keeping.deletion.plan(Selection(text=CANARY)).refs
    assert {ref.kind for ref in left} == {"observation", "summary", "prompt"}


def test_a_vector_goes_with_its_memory(life: Life) -> None:
    life.turn("s1", CANARY)
    embedding = life.store.embeddings
    embedding.begin("test")
    waiting = embedding.unembedded(10)
    assert waiting is not None
    vector = b"canary-vector-bytes!"
    assert life.store.vectors.put({place: vector for place, _ in waiting.texts})
    assert life.bytes_left(vector.decode())
    told = life.keeping.deletion.forget(ForgetPlan(refs=(Ref("observation", 1),)))
    assert told.vectors == 1
    assert life.bytes_left(vector.decode()) == {}


def test_copies_that_sqlite_leaves_in_its_pages_are_found_and_removed(tmp_path: Path) -> None:
    """Rows that grow make pages overflow; SQLite moves some to another page and leaves bytes behind."""
    for seed in range(40):
        life = Life(tmp_path / str(seed))
        with life.store:
            _grown(life, seed)
            life.store.writer.run(_delete_canaries)
            life.store.upkeep.checkpoint()
            if not life.bytes_left():
                continue
            looked_for = page_scan.PageScan()
            looked_for.add([(f"{CANARY} was here, and went to another page",)])
            assert looked_for.is_in(life.database)
            secure_delete.overwrite_deleted(life.store.writer, lambda: looked_for.is_in(life.database))  # noqa: B023
            assert life.bytes_left() == {}
            assert not looked_for.is_in(life.database)
            return
    pytest.fail("SQLite left no copy in any of the files: is this test needed any more?")


def _grown(life: Life, seed: int) -> None:
    """Prompts of all lengths that were changed as they lay, some with the canary."""
    dice = random.Random(seed)
    life.store.events.accept(new_events(life.events.prompt("first")))

    def work(db: sqlite3.Connection) -> None:
        add = """INSERT INTO user_prompts (session_id, prompt_number, prompt, created_at, created_at_epoch)
                 VALUES (1, ?, ?, '', 0)"""
        for number in range(2, 3000):
            told = f"{CANARY} was here, and went to another page" if dice.random() < 0.05 else "harmless"
            db.execute(add, (number, told + "x" * int(dice.expovariate(1 / 300))))
            grown, by = dice.randrange(2, number + 1), "y" * dice.randrange(400)
            db.execute("UPDATE user_prompts SET prompt = prompt || ? WHERE id = ?", (by, grown))

    life.store.writer.run(work)


def _delete_canaries(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM user_prompts WHERE prompt LIKE ?", (f"{CANARY}%",))


def test_what_a_memory_said_before_it_was_edited_goes_with_it(tmp_path: Path) -> None:
    """Nobody knows those words any more, and SQLite leaves some behind where rows grow and shrink."""
    for seed in range(40):
        life = Life(tmp_path / str(seed))
        with life.store:
            edited = _edited(life, 1200, random.Random(seed))
            if not life.bytes_left():
                continue
            life.keeping.deletion.forget(ForgetPlan(refs=(Ref("observation", edited),)))
            assert life.bytes_left() == {}
            return
    pytest.fail("SQLite left no copy in any of the files: is this test needed any more?")


def _edited(life: Life, rows: int, dice: random.Random) -> int:
    """Many are edited, some of them to hold the canary, and then to hold it no more; one of them."""
    life.store.writer.run(lambda db: _observed(db, rows, dice))
    revising = life.store.memories
    edited = [dice.randrange(1, rows + 1) for _ in range(600)]
    for id in edited:
        said = f"{CANARY} was here and went" if dice.random() < 0.3 else "harmless"
        said += "y" * dice.randrange(700)
        revising.revise([Revision(id, {"narrative": said, "edited_at_epoch": NOON})])
    for id in sorted(set(edited)):
        revising.revise([Revision(id, {"narrative": "z" * dice.randrange(50), "edited_at_epoch": NOON})])
    life.store.upkeep.checkpoint()
    return edited[0]


def _observed(db: sqlite3.Connection, rows: int, dice: random.Random) -> None:
    db.execute(
        "INSERT INTO projects (key, name, root, created_at, created_at_epoch) VALUES ('k', 'k', '/k', '', 0)"
    )
    db.execute(
        """INSERT INTO sdk_sessions (claude_session_id, project, project_id, status, client, created_at,
                                     created_at_epoch, updated_at, updated_at_epoch)
           VALUES ('s', 'k', 1, 'completed', 'c', '', 0, '', 0)"""
    )
    add = """INSERT INTO observations (session_id, project, project_id, type, title, narrative, created_at,
                                       created_at_epoch)
             VALUES (1, 'k', 1, 'change', ?, ?, '', 0)"""
    db.executemany(add, [(f"t{number}", "x" * int(dice.expovariate(1 / 300))) for number in range(rows)])


def test_forgetting_waits_for_a_reader_and_says_so_when_it_takes_too_long(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure_delete, "DEADLINE_S", 0.05)
    life.turn("s1", CANARY)
    doomed = life.keeping.deletion.plan(Selection(text=CANARY))
    with closing(sqlite3.connect(life.database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM observations").fetchone()
        with pytest.raises(StoreUnavailable, match="a reader keeps it open"):
            life.keeping.deletion.forget(doomed)
        assert life.keeping.deletion.plan(Selection(text=CANARY)) == ForgetPlan(), (
            "but nobody finds it any more"
        )
    assert life.bytes_left()
    life.keeping.deletion.forget(doomed)
    assert life.bytes_left() == {}


def test_what_a_kill_interrupted_is_finished_at_the_next_start(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.turn("s1", CANARY)
    life.indexing.catch_up()
    with monkeypatch.context() as killed:
        killed.setattr(secure_delete, "merge", _killed)
        with pytest.raises(KeyboardInterrupt):
            life.keeping.deletion.forget(life.keeping.deletion.plan(Selection(text=CANARY)))
    assert life.bytes_left()
    assert life.keeping.deletion.finish_forgetting()
    assert life.bytes_left() == {}
    assert not life.keeping.deletion.finish_forgetting()


def _killed(_writer: object) -> None:
    raise KeyboardInterrupt


def _not_needed(_db: object) -> None:
    raise AssertionError("the file was written anew")
