"""A pause: hooks record nothing, tell nothing, count nothing; and what was private stays so when it ends."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.harness import hook_process, payloads, workers
from tests.harness.commands import Mem

CONTINUE = {"continue": True, "suppressOutput": True}
CANARY = "canary-5b1e9d"
OTHER = "5694c0de-0000-4000-8000-000000000002"

EVENTS = {
    "UserPromptSubmit": payloads.prompt("create hello.txt please"),
    "PostToolUse": payloads.bash("toolu_1"),
    "PostToolUseFailure": payloads.failure("toolu_2", "Exit code 3\nbad"),
    "Stop": payloads.stop("All done."),
    "PostCompact": payloads.payload("PostCompact", trigger="manual", compact_summary="We did things."),
    "SessionEnd": payloads.end(),
}


def mem(data: Path, *words: str, **env: str) -> str:
    said = Mem(data)(*words, env=env)
    assert said.stderr == ""
    return said.stdout


def kept(data: Path) -> list[str]:
    """What has been spooled: a tool use's id, or the event's name."""
    return [one["payload"].get("tool_use_id") or one["event"] for one in hook_process.spooled(data)]


def everything_on_disk(data: Path) -> str:
    return " ".join(p.read_text(errors="replace") for p in data.rglob("*") if p.is_file())


def test_paused_no_event_is_recorded_and_resumed_each_is(data: Path) -> None:
    with hook_process.listening(data) as worker:
        mem(data, "off")
        for payload in EVENTS.values():
            answered = hook_process.run(data, payload)
            assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
        assert hook_process.spooled(data) == []
        assert hook_process.lines(worker) == []
        assert not (data / "drops").exists()
        mem(data, "on")
        for payload in EVENTS.values():
            hook_process.run(data, payload)
        assert [one["event"] for one in hook_process.spooled(data)] == list(EVENTS)


def test_a_paused_hook_starts_no_worker_and_a_resumed_one_does(data: Path) -> None:
    try:
        mem(data, "off")
        hook_process.run(data, payloads.bash("toolu_1"))
        assert not (data / "start.stamp").exists()
        mem(data, "on")
        hook_process.run(data, payloads.bash("toolu_1"))
        assert (data / "start.stamp").exists()
    finally:
        workers.finish(data)


def test_a_start_says_in_one_line_that_memory_is_paused_and_is_shown_nothing(awake: Path) -> None:
    mem(awake, "off")
    for verb in ("hook", "context"):
        said = hook_process.run(awake, payloads.start(), verb).json
        assert re.fullmatch(
            r"claude-mem has been paused for \d+ s: nothing is recorded\. Resume: claude-mem on",
            said.pop("systemMessage"),
        )
        assert said == CONTINUE
    mem(awake, "on")
    assert hook_process.run(awake, payloads.start()).json == CONTINUE
    assert kept(awake) == ["SessionStart"]


def test_what_the_worker_left_to_be_told_waits_until_the_pause_is_over(awake: Path) -> None:
    (awake / "notice").write_text("the database was damaged")
    mem(awake, "off")
    assert "damaged" not in hook_process.run(awake, payloads.start()).json["systemMessage"]
    mem(awake, "on")
    assert hook_process.run(awake, payloads.start()).json["systemMessage"] == "the database was damaged"


def test_before_a_tool_a_paused_session_asks_nobody(data: Path) -> None:
    touching = payloads.payload(
        "PreToolUse", tool_name="Read", tool_input={"file_path": "/home/u/proj/a.py"}, tool_use_id="toolu_1"
    )
    with hook_process.listening(data) as worker:
        mem(data, "off", "--session", payloads.SESSION)
        assert hook_process.run(data, touching).json == CONTINUE
        assert hook_process.lines(worker) == []
        mem(data, "on", "--session", payloads.SESSION)
        hook_process.run(data, touching)
        assert len(hook_process.lines(worker)) == 1


def test_one_session_is_paused_and_the_others_are_recorded(awake: Path) -> None:
    mem(awake, "off", "--session", CLAUDE_CODE_SESSION_ID=payloads.SESSION)
    hook_process.run(awake, payloads.bash("toolu_here"))
    hook_process.run(awake, payloads.bash("toolu_there", session=OTHER))
    assert kept(awake) == ["toolu_there"]
    said = hook_process.run(awake, payloads.start(source="resume")).json["systemMessage"]
    assert re.match(r"This session has been paused for \d+ s: ", said)
    assert said.endswith(f"Resume: claude-mem on --session {payloads.SESSION}")
    assert "systemMessage" not in hook_process.run(awake, payloads.start(OTHER)).json


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps({"prompt": CANARY, "session_id": payloads.SESSION, "hook_event_name": "UserPromptSubmit"}),
        payloads.prompt(CANARY).decode().replace("5694c0de", r"\u0035694c0de", 1),
        payloads.prompt(CANARY + " x" * (1 << 20)).decode(),
        payloads.prompt(CANARY, session_title="y" * 200).decode()[:-100],
    ],
    ids=["another order", "an id that is spelled", "longer than is kept", "cut off"],
)
def test_a_paused_session_is_known_in_whatever_shape_its_payload_comes(awake: Path, payload: str) -> None:
    mem(awake, "off", "--session", payloads.SESSION)
    hook_process.run(awake, payload.encode())
    assert CANARY not in everything_on_disk(awake)
    mem(awake, "on", "--session", payloads.SESSION)
    hook_process.run(awake, payload.encode())
    assert CANARY in everything_on_disk(awake)


@pytest.mark.parametrize("session", ["../../escape", "all", "x" * 300, "naïve session"])
def test_a_session_of_any_name_is_paused_alone(awake: Path, session: str) -> None:
    around = {p for p in awake.parent.rglob("*") if awake not in p.parents}
    mem(awake, "off", "--session", session)
    hook_process.run(awake, payloads.bash("toolu_paused", session=session))
    hook_process.run(awake, payloads.bash("toolu_open"))
    assert kept(awake) == ["toolu_open"]
    assert {p for p in awake.parent.rglob("*") if awake not in p.parents} == around
    mem(awake, "on", "--session", session)
    hook_process.run(awake, payloads.bash("toolu_open_again", session=session))
    assert kept(awake) == ["toolu_open", "toolu_open_again"]


def test_a_switch_that_cannot_be_looked_at_counts_as_set_until_it_is_turned_on(awake: Path) -> None:
    (awake / "off").write_text("not a folder")
    hook_process.run(awake, payloads.bash("toolu_1"))
    assert kept(awake) == []
    assert mem(awake, "on") == "Recording again.\n"
    hook_process.run(awake, payloads.bash("toolu_2"))
    assert kept(awake) == ["toolu_2"]


def test_input_that_is_no_payload_is_not_counted_as_lost_while_paused(awake: Path) -> None:
    mem(awake, "off")
    assert hook_process.run(awake, b"not JSON").json == CONTINUE
    assert not (awake / "drops").exists()
    mem(awake, "on")
    hook_process.run(awake, b"not JSON")
    assert "unreadable 000000000001" in (awake / "drops").read_text()


def test_resumed_in_the_middle_of_a_private_turn_the_rest_of_it_is_still_private(awake: Path) -> None:
    mem(awake, "off")
    hook_process.run(awake, payloads.prompt(f"<private>{CANARY}</private>", prompt_id="p-1"))
    mem(awake, "on")
    hook_process.run(awake, payloads.bash("toolu_private", stdout=CANARY, prompt_id="p-1"))
    hook_process.run(awake, payloads.prompt("in the open", prompt_id="p-2"))
    hook_process.run(awake, payloads.bash("toolu_open", prompt_id="p-2"))
    assert kept(awake) == ["UserPromptSubmit", "toolu_open"]
    assert CANARY not in everything_on_disk(awake)


def compacted() -> bytes:
    return payloads.payload("PostCompact", trigger="auto", compact_summary=f"The user said {CANARY}")


def test_a_compaction_after_a_pause_is_recorded_without_the_summary_that_tells_of_it(awake: Path) -> None:
    mem(awake, "off")
    hook_process.run(awake, payloads.bash("toolu_1", stdout=CANARY))
    mem(awake, "on")
    hook_process.run(awake, compacted())
    assert kept(awake) == ["PostCompact"]
    assert CANARY not in everything_on_disk(awake)


def test_a_session_that_only_started_while_paused_keeps_its_compactions(awake: Path) -> None:
    mem(awake, "off")
    hook_process.run(awake, payloads.start())
    mem(awake, "on")
    hook_process.run(awake, compacted())
    assert CANARY in everything_on_disk(awake)


# The commands


def paused(data: Path, *words: str) -> Any:
    return json.loads(mem(data, *words, "--json"))


def test_turning_off_makes_the_data_directory_and_only_its_owner_can_read_the_switch(data: Path) -> None:
    said = mem(data, "off")
    assert said == "Paused: nothing is recorded and nothing is injected. Resume: claude-mem on\n"
    modes = {str(p.relative_to(data)): stat.S_IMODE(p.stat().st_mode) for p in [data, *data.rglob("*")]}
    assert modes == {".": 0o700, "off": 0o700, "off/all": 0o600}


def test_twice_is_once_and_on_leaves_nothing_behind(data: Path) -> None:
    assert paused(data, "off")["changed"]
    before = (data / "off" / "all").stat().st_mtime_ns
    again = paused(data, "off")
    assert (again["changed"], again["recording"]) == (False, False)
    assert (data / "off" / "all").stat().st_mtime_ns == before  # still paused since then
    assert paused(data, "on") == {
        "changed": True,
        "session": None,
        "recording": True,
        "paused_since": None,
        "paused_sessions": {},
    }
    assert list(data.iterdir()) == []
    assert mem(data, "on") == "Already recording: it was not paused.\n"


def test_a_session_paused_by_itself_stays_so_and_is_named(data: Path) -> None:
    mem(data, "off", "--session", "s-1")
    mem(data, "off")
    said = mem(data, "on", "--session", "s-2")
    assert said.startswith("The session was not paused individually, but everything is")
    assert re.fullmatch(
        r"Recording again\.\nSession s-1 \(paused \d+ s ago\) stays paused; "
        r"to resume it: claude-mem on --session s-1\n",
        mem(data, "on"),
    )
    state = paused(data, "on", "--session", "s-1")
    assert (state["changed"], state["recording"], state["paused_sessions"]) == (True, True, {})


def test_a_paused_session_that_has_ended_is_not_named(data: Path) -> None:
    with workers.running(data):
        for session in (payloads.SESSION, OTHER):
            hook_process.run(data, payloads.prompt("hello", session=session))
        hook_process.run(data, payloads.end())
        workers.drained(data)
        for session in (payloads.SESSION, OTHER, "never-heard-of"):
            Mem(data)("off", "--session", session)
        mem(data, "off")
        named = re.findall(r"to resume it: claude-mem on --session (\S+)", mem(data, "on"))
    assert sorted(named) == sorted([OTHER, "never-heard-of"])


def test_a_session_is_paused_by_the_beginning_of_its_id_and_never_a_guessed_one(data: Path) -> None:
    """Hooks look for the whole id: a switch by a part of it would pause nothing."""
    codex = [f"codex:0199aaaa-{n}-7000-8000-000000000001" for n in (1111, 2222)]
    with workers.running(data):
        for session in codex:
            hook_process.run(data, payloads.prompt("hello", session=session))
        workers.drained(data)
        assert list(paused(data, "off", "--session", "0199aaaa-1111")["paused_sessions"]) == codex[:1]
        refused = Mem(data)("off", "--session", "0199aaaa", code=2)
        assert all(session in refused.stderr for session in codex)
        assert "nobodys" in Mem(data)("off", "--session", "nobodys").stderr
        assert list(paused(data, "on", "--session", "0199aaaa-1111")["paused_sessions"]) == ["nobodys"]


def test_without_an_id_the_client_has_to_say_which_session_it_is(data: Path) -> None:
    for word in ("off", "on"):
        said = Mem(data)(word, "--session", code=2)
        assert said.stdout == ""
        assert "--session ID" in said.stderr
    assert not data.exists()


def test_doctor_and_status_tell_of_the_pause(data: Path) -> None:
    def said(*words: str) -> str:
        return Mem(data)(*words, code=None).stdout

    mem(data, "off")
    doctor = said("doctor")
    assert "recording: no, because it has been paused since " in doctor
    assert "→ claude-mem on" in doctor
    assert "paused       for " in said("worker", "status")
    mem(data, "on")
    assert "paused" not in said("doctor") + said("worker", "status")
