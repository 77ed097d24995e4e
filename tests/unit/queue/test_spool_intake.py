"""What hooks have spooled, on a real spool and a real database; only the process boundary is left out."""

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads
from tests.unit.queue.spool_files import envelope, queued, spool

from claude_mem import settings
from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.jobs import JobState
from claude_mem.serve.services import Services
from claude_mem.wiring import worker_services


def test_what_hooks_spooled_becomes_a_session_prompts_and_queued_events(parts: Services, data: Path) -> None:
    for event in (
        payloads.start(),
        payloads.prompt("fix the login"),
        payloads.bash("toolu_1"),
        payloads.stop("Done."),
        payloads.end(),
    ):
        hook_process.run(data, event)
    assert parts.intake.drain() == 5
    session = parts.store.sessions.find(payloads.SESSION)
    assert session is not None
    assert (session.prompt_counter, session.first_user_prompt, session.status) == (
        1,
        "fix the login",
        "completed",
    )
    assert (session.project, session.pending) == ("proj", 3)
    assert hook_process.spooled(data) == []
    assert parts.intake.spool.measure() == (0, 0)


def test_a_file_that_is_still_there_after_its_commit_is_taken_once(parts: Services, data: Path) -> None:
    content = envelope("e1", payloads.bash("toolu_1"))
    spool(data, "1", content)
    parts.intake.drain()
    spool(data, "1", content)
    parts.intake.drain()
    assert queued(parts) == ["toolu_1"]
    assert parts.store.queue.counters()["duplicate"] == 1


def test_events_of_a_session_keep_their_order(parts: Services, data: Path) -> None:
    names = [f"{n:020d}" for n in range(600)]
    for name in random.Random(7).sample(names, len(names)):
        spool(data, name, envelope(f"e{name}", payloads.bash(f"toolu_{name}")))
    parts.intake.drain()
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
    parts.intake.drain()
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
    parts.intake.drain()
    assert queued(parts) == ["toolu_4"]
    assert secret.exists()
    assert parts.store.queue.counters()["set_aside"] == 3


# Row 8: the clock jumps.


def test_order_follows_the_names_not_the_times_inside(parts: Services, data: Path) -> None:
    spool(data, "1", envelope("e1", payloads.bash("toolu_1"), at=1_900_000_000_000))
    spool(data, "2", envelope("e2", payloads.bash("toolu_2"), at=1_600_000_000_000))
    parts.intake.drain()
    assert queued(parts) == ["toolu_1", "toolu_2"]


def test_tools_on_the_skip_list_are_counted_and_not_queued(parts: Services, data: Path) -> None:
    skipped = payloads.payload("PostToolUse", tool_name="Skill", tool_input={}, tool_use_id="toolu_1")
    spool(data, "1", envelope("e1", skipped))
    parts.intake.drain()
    assert queued(parts) == []
    assert parts.store.queue.counters()["skipped"] == 1


def observed(parts: Services, data: Path, **tool: object) -> None:
    """A turn in which one tool was used, through ingest and the observer, with the settings as they come."""
    hook_process.run(data, payloads.prompt("Set up the database"))
    ids = {"prompt_id": "p-1", "tool_use_id": "toolu_1"}
    hook_process.run(data, payloads.payload("PostToolUse", payloads.SESSION, **ids, **tool))
    hook_process.run(data, payloads.stop("Asked and noted."))
    hook_process.run(data, payloads.end())
    parts.intake.drain()
    while parts.store.queue.figures().ready:
        parts.observing.pump.step()


def test_with_default_settings_an_answer_to_a_question_becomes_a_decision(
    parts: Services, data: Path
) -> None:
    question = {"question": "Which database?", "header": "SqliteStore", "options": [{"label": "PostgreSQL"}]}
    answers = {"Which database?": "PostgreSQL"}
    observed(
        *(parts, data),
        tool_name="AskUserQuestion",
        tool_input={"questions": [question]},
        tool_response={"questions": [question], "answers": answers},
    )
    decisions = FilterRequest(types=("decision",))
    (decision,) = parts.recall.memory.listed("observations", decisions, Page()).items
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
    (summary,) = parts.recall.memory.listed("summaries", FilterRequest(), Page()).items
    assert "Load the test data" in summary["next_steps"]
    assert "Write the schema" not in summary["next_steps"]


def test_what_an_older_hook_let_through_is_scrubbed_again(parts: Services, data: Path) -> None:
    leaky = payloads.bash("toolu_1", stdout="<private>canary-1</private> ghp_" + "a1B2" * 9)
    spool(data, "1", envelope("e1", leaky))
    parts.intake.drain()
    ((job, _),) = parts.store.queue.jobs(JobState.READY, 10)
    assert job.event.tool is not None
    assert "canary-1" not in (job.event.tool.response or "")
    assert "redacted" in (job.event.tool.response or "")


def test_the_ledger_carries_the_users_limits_to_the_hooks(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "spool").mkdir(parents=True, mode=0o700)
    monkeypatch.chdir(data)
    built = worker_services.build(
        settings.load(hook_process.environment(data, CLAUDE_MEM_SPOOL_MAX_FILES="100"))
    )
    built.close()
    with hook_process.listening(data):
        hook_process.run(data, payloads.bash("toolu_1"))
    _, files, _, most_files, _ = map(int, (data / "spool" / ".ledger").read_text().split())
    assert (files, most_files) == (1, 100)


def test_an_event_received_from_elsewhere_is_scrubbed_and_committed_before_it_is_acknowledged(
    parts: Services,
) -> None:
    accepted = parts.intake.receive(
        "PostToolUse", json.loads(payloads.bash("toolu_1", stdout="<private>canary-1</private>ok"))
    )
    assert accepted.fresh == 1
    ((job, _),) = parts.store.queue.jobs(JobState.READY, 10)
    assert job.event.tool is not None
    assert "canary-1" not in (job.event.tool.response or "")


def test_tool_uses_received_for_a_private_turn_are_not_recorded(parts: Services) -> None:
    parts.intake.receive("UserPromptSubmit", json.loads(payloads.prompt("<private>canary-1</private>")))
    assert parts.intake.receive("PostToolUse", json.loads(payloads.bash("toolu_1"))).fresh == 0
    assert queued(parts) == []


def test_the_ledger_forgets_the_weight_of_killed_hooks_when_the_spool_is_empty(
    parts: Services, data: Path
) -> None:
    ledger = data / "spool" / ".ledger"
    last, _, _, most_files, most_bytes = ledger.read_text().split()
    ledger.write_text(f"{last} {7:020d} {7000:020d} {most_files} {most_bytes}\n")
    parts.intake.drain()
    assert [int(number) for number in ledger.read_text().split()[1:3]] == [0, 0]


def test_two_bad_files_of_one_name_are_both_kept(parts: Services, data: Path) -> None:
    for content in (b"first", b"second"):
        spool(data, "1", content)
        parts.intake.drain()
    assert {file.read_bytes() for file in (data / "spool" / "aside").iterdir()} == {b"first", b"second"}


def test_many_private_prompts_at_once_over_the_api_are_all_accepted(parts: Services) -> None:
    def private(n: int) -> int:
        return parts.intake.receive(
            "UserPromptSubmit", json.loads(payloads.prompt("<private>x</private>", prompt_id=f"p{n}"))
        ).fresh

    with ThreadPoolExecutor(16) as at_once:
        assert sum(at_once.map(private, range(100))) == 100


def title(parts: Services) -> tuple[str | None, str | None]:
    session = parts.store.sessions.find(payloads.SESSION)
    assert session is not None
    return session.title, session.subtitle


def test_a_session_has_a_title_after_its_first_prompt_and_a_better_one_when_its_subject_is_clear(
    parts: Services, data: Path
) -> None:
    hook_process.run(data, payloads.prompt("<private>x</private>", prompt_id="p-0"))
    parts.intake.drain()
    assert title(parts) == (None, None)
    hook_process.run(data, payloads.prompt("hi there", prompt_id="p-1"))
    hook_process.run(data, payloads.stop("Hello! What can I do?", prompt_id="p-1"))
    parts.intake.drain()
    assert title(parts) == ("hi there", None)
    while parts.observing.pump.step() is not None and parts.store.queue.figures().ready:
        pass
    assert title(parts) == ("hi there", None)
    asked = "Could you please fix the login redirect? It loses the query string."
    write = payloads.payload(
        "PostToolUse",
        prompt_id="p-2",
        tool_name="Write",
        tool_input={"file_path": "/home/u/proj/login.py", "content": "x = 1\n"},
        tool_response={"type": "create", "filePath": "/home/u/proj/login.py"},
        tool_use_id="toolu_1",
    )
    done = payloads.stop("Fixed the login redirect: it keeps the query string now.", prompt_id="p-2")
    for event in (payloads.prompt(asked, prompt_id="p-2"), write, done):
        hook_process.run(data, event)
    parts.intake.drain()
    while parts.observing.pump.step() is not None and parts.store.queue.figures().ready:
        pass
    called, below = title(parts)
    assert called == "Fix the login redirect"
    assert below is not None
    assert "query string" in below
