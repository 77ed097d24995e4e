"""No event holds up those that come after it."""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads
from tests.unit.queue.spool_files import envelope, queued, spool

from claude_mem import settings
from claude_mem.agents import hook_payload
from claude_mem.hook import paths, spool_writer
from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.events import Event, Origin, SpooledEvent
from claude_mem.model.jobs import JobState
from claude_mem.queue import intake
from claude_mem.queue.intake import Intake
from claude_mem.serve.services import Services
from claude_mem.store.sqlite import SqliteStore
from claude_mem.wiring import worker_services

BAD_PLACE, GOOD_PLACE = "bad", "good"


def in_front_of_a_good_one(data: Path, tmp_path: Path) -> None:
    for number, place in enumerate((BAD_PLACE, GOOD_PLACE), start=1):
        cwd = tmp_path / place
        cwd.mkdir(exist_ok=True)
        event = payloads.bash(f"toolu_{place}", session=f"s-{place}", cwd=str(cwd))
        spool(data, str(number), envelope(f"e{number}", event))


def loop(place: Path) -> None:
    (place / "loop").symlink_to("loop")
    (place / ".git").write_text("gitdir: loop/x\n")


def pipe(place: Path) -> None:
    os.mkfifo(place / ".git")


def pipe_as_head(place: Path) -> None:
    (place / ".git").mkdir()
    (place / ".git" / "config").write_text("[core]\n")
    os.mkfifo(place / ".git" / "HEAD")


def config_that_stops_its_parser(place: Path) -> None:
    (place / ".git").mkdir()
    (place / ".git" / "config").write_text("[core]\nbare\n    true\n")


@pytest.mark.parametrize("damage", [loop, pipe, pipe_as_head, config_that_stops_its_parser])
def test_work_in_a_directory_whose_repository_cannot_be_read_is_recorded_as_of_that_directory(
    parts: Services, data: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    (tmp_path / BAD_PLACE).mkdir()
    damage(tmp_path / BAD_PLACE)
    in_front_of_a_good_one(data, tmp_path)
    parts.intake.drain()
    assert queued(parts) == ["toolu_bad", "toolu_good"]
    session = parts.store.sessions.find("s-bad")
    assert session is not None
    assert session.project == BAD_PLACE
    assert hook_process.spooled(data) == []


def test_a_linked_git_directory_does_not_stop_an_exclusion_from_being_checked(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "spool").mkdir(parents=True, mode=0o700)
    monkeypatch.chdir(data)
    (tmp_path / BAD_PLACE).mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / BAD_PLACE / ".git").symlink_to(tmp_path / "elsewhere")
    in_front_of_a_good_one(data, tmp_path)
    (data / "settings.json").write_text('{"CLAUDE_MEM_EXCLUDED_PROJECTS": ["secret"]}')
    built = worker_services.build(settings.load(hook_process.environment(data)))
    try:
        built.intake.drain()
        assert queued(built) == ["toolu_bad", "toolu_good"]
    finally:
        built.close()


def test_a_worktree_that_is_gone_is_excluded_with_its_repository(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "spool").mkdir(parents=True, mode=0o700)
    monkeypatch.chdir(data)
    (data / "settings.json").write_text('{"CLAUDE_MEM_EXCLUDED_PROJECTS": ["payroll"]}')
    built = worker_services.build(settings.load(hook_process.environment(data)))
    try:
        for number, place in enumerate(("payroll/.worktrees/3", "payroll.worktrees/3", "shop/.worktrees/3")):
            event = payloads.bash(f"toolu_{number}", cwd=f"/home/u/gone/{place}")
            spool(data, str(number), envelope(f"e{number}", event))
        built.intake.drain()
        assert queued(built) == ["toolu_2"]
    finally:
        built.close()


def test_an_event_the_database_refuses_is_set_aside_and_the_good_one_behind_it_accepted(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(data / "claude-mem.db")) as db:
        db.execute(
            "CREATE TRIGGER refuses BEFORE INSERT ON pending_messages WHEN NEW.tool_use_id = 'toolu_bad'"
            " BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )
    in_front_of_a_good_one(data, tmp_path)
    parts.intake.drain()
    assert queued(parts) == ["toolu_good"]
    assert parts.store.queue.counters()["set_aside"] == 1
    assert [file.name for file in (data / "spool" / "aside").iterdir()] == ["1.json"]
    assert hook_process.spooled(data) == []


class Poison(Exception):
    """What nobody has thought of."""


class SteppedIntake(Intake):
    """Each of its steps can be made to fail for the bad event."""

    def __init__(self, store: SqliteStore, poisoned: str, error: Exception) -> None:
        super().__init__(settings.load({"CLAUDE_MEM_DATA_DIR": str(Path.cwd())}), store)
        self.poisoned, self.error = poisoned, error

    def location_of(self, cwd: str | None) -> Origin:
        if self.poisoned == "origin" and cwd and cwd.endswith(BAD_PLACE):
            raise self.error
        return Origin(key="k", name="n", root="/r")

    def _event(self, spooled: SpooledEvent) -> Event | None:
        event = hook_payload.parse(spooled.event, spooled.payload, id=spooled.id, at=spooled.at)
        self._fail("parse", event)
        return event

    def _is_in_excluded_project(self, event: Event) -> bool:
        self._fail("exclude", event)
        return False

    def _note_shown(self, spooled: SpooledEvent) -> None:
        if self.poisoned == "note" and spooled.payload["session_id"] == "s-bad":
            raise self.error

    def _fail(self, step: str, event: Event | None) -> None:
        if self.poisoned == step and event is not None and event.session == "s-bad":
            raise self.error


@pytest.fixture
def store(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    (data / "spool").mkdir(parents=True, mode=0o700)
    monkeypatch.chdir(data)
    spool_writer.reset_ledger(0, 0, 1000, 1 << 30)
    with SqliteStore.open(data / "claude-mem.db", clock=lambda: 1, backups=data / "backups") as opened:
        yield opened


def accepted(store: SqliteStore) -> list[str]:
    return [job.event.session for job, _ in store.queue.jobs(JobState.READY, 10)]


@pytest.mark.parametrize("step", ["parse", "exclude", "origin"])
def test_an_event_that_fails_at_any_step_is_set_aside_and_the_good_one_behind_it_accepted(
    store: SqliteStore, data: Path, tmp_path: Path, step: str
) -> None:
    in_front_of_a_good_one(data, tmp_path)
    SteppedIntake(store, step, Poison()).drain()
    assert accepted(store) == ["s-good"]
    assert store.queue.counters()["set_aside"] == 1
    assert [file.name for file in (data / "spool" / "aside").iterdir()] == ["1.json"]
    assert hook_process.spooled(data) == []


def test_what_cannot_be_noted_of_an_accepted_event_holds_up_nothing(
    store: SqliteStore, data: Path, tmp_path: Path
) -> None:
    in_front_of_a_good_one(data, tmp_path)
    SteppedIntake(store, "note", Poison()).drain()
    assert accepted(store) == ["s-bad", "s-good"]
    assert hook_process.spooled(data) == []


def test_a_bad_file_that_cannot_be_moved_holds_up_nothing(
    store: SqliteStore, data: Path, tmp_path: Path
) -> None:
    (data / "spool" / "aside").write_text("a file where the folder should be")
    in_front_of_a_good_one(data, tmp_path)
    taking = SteppedIntake(store, "parse", Poison())
    assert taking.drain() == 1
    assert accepted(store) == ["s-good"]
    assert taking.drain() == 0  # it is tried again, and nobody waits for it
    assert [envelope["id"] for envelope in hook_process.spooled(data)] == ["e1"]


@pytest.mark.parametrize("step", ["parse", "exclude", "origin", "note"])
def test_trouble_of_the_store_is_not_the_events_fault_at_any_step(
    store: SqliteStore, data: Path, tmp_path: Path, step: str
) -> None:
    in_front_of_a_good_one(data, tmp_path)
    taking = SteppedIntake(store, step, StoreUnavailable("disk full"))
    with pytest.raises(StoreUnavailable):
        taking.drain()
    assert len(hook_process.spooled(data)) == 2
    taking.poisoned = ""
    taking.drain()
    assert accepted(store) == ["s-bad", "s-good"]
    assert "set_aside" not in store.queue.counters()
    assert hook_process.spooled(data) == []


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_machine_short_of_something_is_not_the_events_fault(
    store: SqliteStore, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def short(path: str, *given: int) -> int:
        raise OSError(code, os.strerror(code), path)

    in_front_of_a_good_one(data, tmp_path)
    taking = SteppedIntake(store, "", Poison())
    with monkeypatch.context() as patched:
        patched.setattr("claude_mem.hook.paths.posix.open", short)
        with pytest.raises(OSError, match=os.strerror(code)):
            taking.drain()
    assert not (data / "spool" / "aside").exists()
    assert taking.drain() == 2
    assert accepted(store) == ["s-bad", "s-good"]


def test_files_that_cannot_be_set_aside_do_not_block_those_behind_them(
    parts: Services, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MOST_AT_ONCE", 2)
    (data / paths.ASIDE).write_text("in the way of the folder")
    for number in range(2):
        spool(data, f"{number}", b"{}")
    spool(data, "9", envelope("9", payloads.bash("toolu_9")))
    for _ in range(2):
        parts.intake.drain()
    assert queued(parts) == ["toolu_9"]
