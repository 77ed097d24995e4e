"""Ingest on a real spool and a real database; only the process boundary is left out."""

import errno
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads

from claude_mem import settings
from claude_mem.agents.claude_code import events as claude_code
from claude_mem.api.filters import Page, SearchFilters
from claude_mem.hook import spool_writer
from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.events import Event, Origin, SpooledEvent
from claude_mem.model.jobs import JobState
from claude_mem.queue import spool_reader
from claude_mem.queue.ingest import Ingest
from claude_mem.serve.services import Services
from claude_mem.store.sqlite import Store
from claude_mem.wiring import composition


@pytest.fixture
def parts(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """The worker's parts, in its working directory."""
    data.mkdir(mode=0o700)
    (data / "spool").mkdir(mode=0o700)
    monkeypatch.chdir(data)
    with hook_process.listening(data):
        built = composition.build(settings.load(hook_process.environment(data)))
        yield built
        built.close()


def spool(data: Path, name: str, content: bytes) -> Path:
    path = data / "spool" / f"{name}.json"
    path.write_bytes(content)
    return path


def envelope(id: str, payload: bytes, event: str = "PostToolUse", at: int = 1_700_000_000_000) -> bytes:
    return b'{"v":1,"id":"%s","at":%d,"event":"%s","payload":%s}\n' % (
        id.encode(),
        at,
        event.encode(),
        payload,
    )


def queued(parts: Services) -> list[str]:
    jobs = parts.store.queue.jobs(JobState.READY, 10_000)
    return [job.event.tool.use_id or "" for job, _ in jobs if job.event.tool]


def test_what_hooks_spooled_becomes_a_session_prompts_and_queued_events(parts: Services, data: Path) -> None:
    for event in (
        payloads.start(),
        payloads.prompt("fix the login"),
        payloads.bash("toolu_1"),
        payloads.stop("Done."),
        payloads.end(),
    ):
        hook_process.run(data, event)
    assert parts.drain() == 5
    session = parts.store.sessions.find(payloads.SESSION)
    assert session is not None
    assert (session.prompt_counter, session.first_user_prompt, session.status) == (
        1,
        "fix the login",
        "completed",
    )
    assert (session.project, session.pending) == ("proj", 3)
    assert hook_process.spooled(data) == []
    assert parts.spooled() == (0, 0)


def test_a_file_that_is_still_there_after_its_commit_is_taken_once(parts: Services, data: Path) -> None:
    content = envelope("e1", payloads.bash("toolu_1"))
    spool(data, "1", content)
    parts.drain()
    spool(data, "1", content)
    parts.drain()
    assert queued(parts) == ["toolu_1"]
    assert parts.store.queue.counters()["duplicate"] == 1


def test_events_of_a_session_keep_their_order(parts: Services, data: Path) -> None:
    names = [f"{n:020d}" for n in range(600)]
    for name in random.Random(7).sample(names, len(names)):
        spool(data, name, envelope(f"e{name}", payloads.bash(f"toolu_{name}")))
    parts.drain()
    assert queued(parts) == [f"toolu_{name}" for name in names]


# Row 7: foreign and damaged spool files.

BAD = {
    "garbage": b"\x00\xff garbage",
    "empty": b"",
    "half an event": envelope("e1", payloads.bash("toolu_1"))[:200],
    "a newer envelope": b'{"v":2,"id":"e","at":1,"event":"Stop","payload":{}}',
    "somebody else's JSON": b'{"hello": "world"}',
    "an unknown event": envelope("e1", payloads.bash("t"), event="Invented"),
    "no session": envelope("e1", b"{}"),
    "deep JSON": b"[" * 200_000,
    "JSON too deep to be written again": envelope(
        "e1",
        payloads.bash("t").replace(
            b'"tool_use_id":', b'"deep":' + b"[" * 985 + b"]" * 985 + b',"tool_use_id":'
        ),
    ).replace(b'"tool_response":{', b'"tool_response":' + b"[" * 985 + b"]" * 985 + b',"other":{'),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_set_aside_kept_and_counted_and_the_rest_goes_on(
    parts: Services, data: Path, kind: str
) -> None:
    spool(data, "1", BAD[kind])
    spool(data, "2", envelope("e2", payloads.bash("toolu_2")))
    parts.drain()
    assert queued(parts) == ["toolu_2"]
    assert (data / "spool" / "aside" / "1.json").read_bytes() == BAD[kind]
    assert parts.store.queue.counters()["set_aside"] == 1
    assert not (data / "spool" / "1.json").exists()


def test_a_link_a_pipe_or_a_folder_in_the_spool_is_neither_followed_nor_waited_for(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "outside.json"
    secret.write_bytes(envelope("e1", payloads.bash("toolu_outside")))
    (data / "spool" / "1.json").symlink_to(secret)
    os.mkfifo(data / "spool" / "2.json")
    (data / "spool" / "3.json").mkdir()
    spool(data, "4", envelope("e4", payloads.bash("toolu_4")))
    parts.drain()
    assert queued(parts) == ["toolu_4"]
    assert secret.exists()
    assert parts.store.queue.counters()["set_aside"] == 3


# Row 8: the clock jumps.


def test_order_follows_the_names_not_the_times_inside(parts: Services, data: Path) -> None:
    spool(data, "1", envelope("e1", payloads.bash("toolu_1"), at=1_900_000_000_000))
    spool(data, "2", envelope("e2", payloads.bash("toolu_2"), at=1_600_000_000_000))
    parts.drain()
    assert queued(parts) == ["toolu_1", "toolu_2"]


def test_tools_on_the_skip_list_are_counted_and_not_queued(parts: Services, data: Path) -> None:
    skipped = payloads.payload("PostToolUse", tool_name="Skill", tool_input={}, tool_use_id="toolu_1")
    spool(data, "1", envelope("e1", skipped))
    parts.drain()
    assert queued(parts) == []
    assert parts.store.queue.counters()["skipped"] == 1


def observed(parts: Services, data: Path, **tool: object) -> None:
    """A turn in which one tool was used, through ingest and the observer, with the settings as they come."""
    hook_process.run(data, payloads.prompt("Set up the database"))
    ids = {"prompt_id": "p-1", "tool_use_id": "toolu_1"}
    hook_process.run(data, payloads.payload("PostToolUse", payloads.SESSION, **ids, **tool))
    hook_process.run(data, payloads.stop("Asked and noted."))
    hook_process.run(data, payloads.end())
    parts.drain()
    while parts.store.queue.figures().ready:
        parts.pump()


def test_with_default_settings_an_answer_to_a_question_becomes_a_decision(
    parts: Services, data: Path
) -> None:
    question = {"question": "Which database?", "header": "Store", "options": [{"label": "PostgreSQL"}]}
    answers = {"Which database?": "PostgreSQL"}
    observed(
        *(parts, data),
        tool_name="AskUserQuestion",
        tool_input={"questions": [question]},
        tool_response={"questions": [question], "answers": answers},
    )
    (decision,) = parts.recall.memory.listed("observations", SearchFilters(types=("decision",)), Page())[
        "items"
    ]
    assert "PostgreSQL" in decision["title"]


def test_with_default_settings_an_open_to_do_becomes_a_next_step(parts: Services, data: Path) -> None:
    todos = [
        {"content": "Write the schema", "status": "completed", "activeForm": "Writing the schema"},
        {"content": "Load the test data", "status": "pending", "activeForm": "Loading the test data"},
    ]
    observed(
        *(parts, data),
        tool_name="TodoWrite",
        tool_input={"todos": todos},
        tool_response={"oldTodos": [], "newTodos": todos},
    )
    (summary,) = parts.recall.memory.listed("summaries", SearchFilters(), Page())["items"]
    assert "Load the test data" in summary["next_steps"]
    assert "Write the schema" not in summary["next_steps"]


def test_what_an_older_hook_let_through_is_scrubbed_again(parts: Services, data: Path) -> None:
    leaky = payloads.bash("toolu_1", stdout="<private>canary-1</private> ghp_" + "a1B2" * 9)
    spool(data, "1", envelope("e1", leaky))
    parts.drain()
    ((job, _),) = parts.store.queue.jobs(JobState.READY, 10)
    assert job.event.tool is not None
    assert "canary-1" not in (job.event.tool.response or "")
    assert "redacted" in (job.event.tool.response or "")


def test_the_ledger_carries_the_users_limits_to_the_hooks(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "spool").mkdir(parents=True, mode=0o700)
    monkeypatch.chdir(data)
    built = composition.build(settings.load(hook_process.environment(data, CLAUDE_MEM_SPOOL_MAX_FILES="100")))
    built.close()
    with hook_process.listening(data):
        hook_process.run(data, payloads.bash("toolu_1"))
    _, files, _, most_files, _ = map(int, (data / "spool" / ".ledger").read_text().split())
    assert (files, most_files) == (1, 100)


def test_an_event_received_from_elsewhere_is_scrubbed_and_committed_before_it_is_acknowledged(
    parts: Services,
) -> None:
    accepted = parts.receive(
        "PostToolUse", json.loads(payloads.bash("toolu_1", stdout="<private>canary-1</private>ok"))
    )
    assert accepted.fresh == 1
    ((job, _),) = parts.store.queue.jobs(JobState.READY, 10)
    assert job.event.tool is not None
    assert "canary-1" not in (job.event.tool.response or "")


def test_tool_uses_received_for_a_private_turn_are_not_recorded(parts: Services) -> None:
    parts.receive("UserPromptSubmit", json.loads(payloads.prompt("<private>canary-1</private>")))
    assert parts.receive("PostToolUse", json.loads(payloads.bash("toolu_1"))).fresh == 0
    assert queued(parts) == []


def test_the_ledger_forgets_the_weight_of_killed_hooks_when_the_spool_is_empty(
    parts: Services, data: Path
) -> None:
    ledger = data / "spool" / ".ledger"
    last, _, _, most_files, most_bytes = ledger.read_text().split()
    ledger.write_text(f"{last} {7:020d} {7000:020d} {most_files} {most_bytes}\n")
    parts.drain()
    assert [int(number) for number in ledger.read_text().split()[1:3]] == [0, 0]


def test_two_bad_files_of_one_name_are_both_kept(parts: Services, data: Path) -> None:
    for content in (b"first", b"second"):
        spool(data, "1", content)
        parts.drain()
    assert {file.read_bytes() for file in (data / "spool" / "aside").iterdir()} == {b"first", b"second"}


def test_many_private_prompts_at_once_over_the_api_are_all_accepted(parts: Services) -> None:
    def private(n: int) -> int:
        return parts.receive(
            "UserPromptSubmit", json.loads(payloads.prompt("<private>x</private>", prompt_id=f"p{n}"))
        ).fresh

    with ThreadPoolExecutor(16) as at_once:
        assert sum(at_once.map(private, range(100))) == 100


# No event holds up those that come after it.

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
    parts.drain()
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
    built = composition.build(settings.load(hook_process.environment(data)))
    try:
        built.drain()
        assert queued(built) == ["toolu_bad", "toolu_good"]
    finally:
        built.close()


def test_a_worktree_that_is_gone_is_excluded_with_its_repository(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "spool").mkdir(parents=True, mode=0o700)
    monkeypatch.chdir(data)
    (data / "settings.json").write_text('{"CLAUDE_MEM_EXCLUDED_PROJECTS": ["payroll"]}')
    built = composition.build(settings.load(hook_process.environment(data)))
    try:
        for number, place in enumerate(("payroll/.worktrees/3", "payroll.worktrees/3", "shop/.worktrees/3")):
            event = payloads.bash(f"toolu_{number}", cwd=f"/home/u/gone/{place}")
            spool(data, str(number), envelope(f"e{number}", event))
        built.drain()
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
    parts.drain()
    assert queued(parts) == ["toolu_good"]
    assert parts.store.queue.counters()["set_aside"] == 1
    assert [file.name for file in (data / "spool" / "aside").iterdir()] == ["1.json"]
    assert hook_process.spooled(data) == []


class Poison(Exception):
    """What nobody has thought of."""


@dataclass
class Steps:
    """The steps of taking in, each of which can be made to fail for the bad event."""

    poisoned: str
    error: Exception

    def parse(self, file: SpooledEvent) -> Event | None:
        event = claude_code.parse(file.event, file.payload, id=file.id, at=file.at)
        self._fail("parse", event)
        return event

    def is_excluded(self, event: Event) -> bool:
        self._fail("exclude", event)
        return False

    def origin_of(self, cwd: str | None) -> Origin:
        if self.poisoned == "origin" and cwd and cwd.endswith(BAD_PLACE):
            raise self.error
        return Origin(key="k", name="n", root="/r")

    def on_committed(self, file: SpooledEvent) -> None:
        if self.poisoned == "note" and file.payload["session_id"] == "s-bad":
            raise self.error

    def _fail(self, step: str, event: Event | None) -> None:
        if self.poisoned == step and event is not None and event.session == "s-bad":
            raise self.error


@pytest.fixture
def store(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    (data / "spool").mkdir(parents=True, mode=0o700)
    monkeypatch.chdir(data)
    spool_writer.reset_ledger(0, 0, 1000, 1 << 30)
    with Store.open(data / "claude-mem.db", clock=lambda: 1, backups=data / "backups") as opened:
        yield opened


def ingest(store: Store, steps: Steps) -> Ingest:
    return Ingest(
        *(spool_reader.Spool(), store, steps.parse, steps.origin_of, frozenset(), lambda _: None),
        is_excluded=steps.is_excluded,
        on_committed=steps.on_committed,
    )


def accepted(store: Store) -> list[str]:
    return [job.event.session for job, _ in store.queue.jobs(JobState.READY, 10)]


@pytest.mark.parametrize("step", ["parse", "exclude", "origin"])
def test_an_event_that_fails_at_any_step_is_set_aside_and_the_good_one_behind_it_accepted(
    store: Store, data: Path, tmp_path: Path, step: str
) -> None:
    in_front_of_a_good_one(data, tmp_path)
    ingest(store, Steps(step, Poison())).drain()
    assert accepted(store) == ["s-good"]
    assert store.queue.counters()["set_aside"] == 1
    assert [file.name for file in (data / "spool" / "aside").iterdir()] == ["1.json"]
    assert hook_process.spooled(data) == []


def test_what_cannot_be_noted_of_an_accepted_event_holds_up_nothing(
    store: Store, data: Path, tmp_path: Path
) -> None:
    in_front_of_a_good_one(data, tmp_path)
    ingest(store, Steps("note", Poison())).drain()
    assert accepted(store) == ["s-bad", "s-good"]
    assert hook_process.spooled(data) == []


def test_a_bad_file_that_cannot_be_moved_holds_up_nothing(store: Store, data: Path, tmp_path: Path) -> None:
    (data / "spool" / "aside").write_text("a file where the folder should be")
    in_front_of_a_good_one(data, tmp_path)
    taking = ingest(store, Steps("parse", Poison()))
    assert taking.drain() == 1
    assert accepted(store) == ["s-good"]
    assert taking.drain() == 0  # it is tried again, and nobody waits for it
    assert [envelope["id"] for envelope in hook_process.spooled(data)] == ["e1"]


@pytest.mark.parametrize("step", ["parse", "exclude", "origin", "note"])
def test_trouble_of_the_store_is_not_the_events_fault_at_any_step(
    store: Store, data: Path, tmp_path: Path, step: str
) -> None:
    in_front_of_a_good_one(data, tmp_path)
    steps = Steps(step, StoreUnavailable("disk full"))
    taking = ingest(store, steps)
    with pytest.raises(StoreUnavailable):
        taking.drain()
    assert len(hook_process.spooled(data)) == 2
    steps.poisoned = ""
    taking.drain()
    assert accepted(store) == ["s-bad", "s-good"]
    assert "set_aside" not in store.queue.counters()
    assert hook_process.spooled(data) == []


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_machine_short_of_something_is_not_the_events_fault(
    store: Store, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def short(path: str, *given: int) -> int:
        raise OSError(code, os.strerror(code), path)

    in_front_of_a_good_one(data, tmp_path)
    taking = ingest(store, Steps("", Poison()))
    with monkeypatch.context() as patched:
        patched.setattr("claude_mem.queue.spool_reader.os.open", short)
        with pytest.raises(OSError, match=os.strerror(code)):
            taking.drain()
    assert not (data / "spool" / "aside").exists()
    assert taking.drain() == 2
    assert accepted(store) == ["s-bad", "s-good"]
