"""At the end of a turn its words come in from the transcript: once, scrubbed, and none of a private turn."""

import json
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads
from tests.unit.agents.test_transcript_tail import transcript, turn, unnamed
from tests.unit.agents.transcript_shapes import SESSION

from claude_mem import settings
from claude_mem.agents.claude_code import transcripts
from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import ForgetRequest
from claude_mem.hook import pause
from claude_mem.model.events import Event, Kind
from claude_mem.model.jobs import JobState
from claude_mem.privacy.private_turns import MemoryMarks
from claude_mem.serve.services import Services
from claude_mem.wiring import worker_services

CANARY = "canary-77d0"
TOKEN = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"


def payload(made: bytes, path: Path, **fields: object) -> bytes:
    given = json.loads(made) | {"transcript_path": str(path)} | fields
    return json.dumps({key: value for key, value in given.items() if value is not None}).encode()


def stopped(path: Path, last: str | None = "Done.", prompt: str = "p-1") -> bytes:
    return payload(payloads.stop("", SESSION, prompt), path, last_assistant_message=last)


def asked(text: str, path: Path, prompt: str = "p-1") -> bytes:
    return payload(payloads.prompt(text, SESSION, prompt), path)


def take(parts: Services, data: Path, *events: bytes) -> None:
    for event in events:
        assert hook_process.run(data, event).code == 0
    parts.intake.drain()


def events(parts: Services) -> list[Event]:
    jobs = [job for state in JobState for job, _ in parts.store.queue.jobs(state, 1000)]
    return [job.event for job in sorted(jobs, key=lambda job: job.id)]


def words(parts: Services) -> list[tuple[str, str | None]]:
    return [(each.kind, each.text) for each in events(parts) if each.kind in (Kind.AGENT_MESSAGE, Kind.STOP)]


def test_what_was_said_on_the_way_comes_before_the_end_and_each_once(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "The cause is X.", "Done."))
    take(parts, data, asked("why?", path), stopped(path))
    wanted = [("said", "Looking."), ("said", "The cause is X."), ("stop", "Done.")]
    assert words(parts) == wanted
    take(parts, data, stopped(path))
    assert words(parts) == wanted


def test_a_stop_without_a_last_message_has_it_from_the_transcript(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", f"I added the login form. {TOKEN}"))
    take(parts, data, asked("add it", path), stopped(path, None))
    (_, (_, last)) = words(parts)
    assert last is not None
    assert last.startswith("I added the login form.")
    assert TOKEN not in last


def test_they_are_found_as_the_agents_words_and_are_evidence_of_the_batch(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "The quokka cache was stale.", "Done."))
    take(parts, data, asked("why?", path), stopped(path))
    parts.recall.background.catch_up()
    wanted = FilterRequest(cwd="/home/u/proj", kinds=("evidence",))
    (found,) = parts.recall.memory.search("quokka cache", wanted, Page(5)).results
    assert "quokka" in found.title
    lease = parts.store.queue.lease(100)
    assert lease is not None
    assert [each.text for each in parts.store.queue.batch(lease).events][-2:] == [
        "The quokka cache was stale.",
        "Done.",
    ]


def test_secrets_and_private_text_in_them_never_reach_the_disk(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, turn("p-1", 1, f"It is {TOKEN} <private>{CANARY}</private>.", "Done."))
    take(parts, data, asked("why?", path), stopped(path))
    parts.store.upkeep.checkpoint()
    assert len(words(parts)) == 2
    kept = b" ".join(each.read_bytes() for each in data.rglob("*") if each.is_file())
    assert TOKEN.encode() not in kept
    assert CANARY.encode() not in kept


def test_of_a_private_turn_nothing_is_read_and_of_the_next_one_only_its_own(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(
        tmp_path, turn("p-1", 1, f"Secretly {CANARY}.", "Done."), turn("p-2", 2, "Open.", "Over.")
    )
    take(parts, data, asked("<private>x</private>", path), stopped(path))
    assert [text for _, text in words(parts)] == [None]
    take(parts, data, asked("in the open", path, "p-2"), stopped(path, "Over.", "p-2"))
    assert [text for _, text in words(parts)] == [None, "Open.", "Over."]


def test_of_a_session_that_was_paused_nothing_is_read(parts: Services, data: Path, tmp_path: Path) -> None:
    path = transcript(tmp_path, turn("p-1", 1, f"While paused {CANARY}.", "Done."))
    pause.note_skipped_session(SESSION)
    take(parts, data, asked("why?", path), stopped(path))
    assert words(parts) == [("stop", "Done.")]


def test_of_a_turn_in_which_its_session_was_forgotten_nothing_comes_back(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, turn("p-1", 1, f"Before it was {CANARY}.", "Done."))
    take(parts, data, asked("why?", path))
    parts.recall.deleter.forget(ForgetRequest(session=SESSION), dry_run=False)
    take(parts, data, payloads.bash("t-9", session=SESSION), stopped(path))
    assert words(parts) == [("stop", "Done.")]


def test_the_same_turn_by_a_backfill_and_live_is_not_doubled(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "Done."))
    parts.past_intake.accept(list(transcripts.read(path, over=False)), MemoryMarks())
    before = words(parts)
    assert ("said", "Looking.") in before
    take(parts, data, stopped(path))
    assert sorted(words(parts), key=str) == sorted([("said", "Looking."), ("stop", "Done.")], key=str)
    parts.past_intake.accept(list(transcripts.read(path, over=False)), MemoryMarks())
    assert len(words(parts)) == 2


def test_of_a_client_that_names_no_prompts_each_is_taken_once_too(
    parts: Services, data: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, unnamed(turn("p-1", 1, "Looking.", "Done.")))
    parts.past_intake.accept(list(transcripts.read(path, over=False)), MemoryMarks())
    for _ in range(2):
        take(parts, data, payload(stopped(path), path, prompt_id=None))
    assert [text for kind, text in words(parts) if kind == Kind.AGENT_MESSAGE] == ["Looking."]


def test_what_was_said_in_an_excluded_project_is_not_taken_though_the_turn_ends_in_another(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = turn("p-1", 1, f"In the excluded one {CANARY}.", "In the open.", "Done.")
    for each in lines[:4]:
        each["cwd"] = "/home/u/hidden/src"
    path = transcript(tmp_path, lines)
    (data / "spool").mkdir(mode=0o700, parents=True)
    (data / "settings.json").write_text('{"CLAUDE_MEM_EXCLUDED_PROJECTS": ["/home/u/hidden"]}')
    monkeypatch.chdir(data)
    with hook_process.listening(data):
        built = worker_services.build(settings.load(hook_process.environment(data)))
        take(built, data, stopped(path))
        found = words(built)
        built.close()
    assert found == [("said", "In the open."), ("stop", "Done.")]


@pytest.mark.parametrize("kind", ["StopFailure"])
def test_a_turn_that_failed_is_read_too(parts: Services, data: Path, tmp_path: Path, kind: str) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "Never said.")[:-1])
    failed = payload(payloads.payload(kind, SESSION, prompt_id="p-1", error="rate_limit"), path)
    take(parts, data, asked("why?", path), failed)
    assert words(parts) == [("said", "Looking.")]
