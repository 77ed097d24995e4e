"""The hook process, run as the client runs it."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads

from claude_mem.hook import drop_counters, notices
from claude_mem.serve.data_dir import leave_notice

CONTINUE = {"continue": True, "suppressOutput": True}

RECORDED = {
    "SessionStart": payloads.start(),
    "UserPromptSubmit": payloads.prompt("create hello.txt please"),
    "PostToolUse": payloads.bash("toolu_1"),
    "PostToolUseFailure": payloads.failure("toolu_2", "Exit code 3\nbad"),
    "Stop": payloads.stop("All done."),
    "StopFailure": payloads.payload("StopFailure", error="rate_limit", last_assistant_message="API Error"),
    "SubagentStop": payloads.payload("SubagentStop", agent_id="a", agent_type="general-purpose"),
    "PreCompact": payloads.payload("PreCompact", trigger="manual", custom_instructions="keep names"),
    "PostCompact": payloads.payload("PostCompact", trigger="manual", compact_summary="We did things."),
    "SessionEnd": payloads.end(),
}


@pytest.mark.parametrize("event", RECORDED)
def test_every_event_is_spooled_as_one_file_and_answered_with_the_documented_json(
    awake: Path, event: str
) -> None:
    answered = hook_process.run(awake, RECORDED[event])
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    (envelope,) = hook_process.spooled(awake)
    assert (envelope["v"], envelope["agent"], envelope["event"]) == (2, "claude-code", event)
    assert envelope["payload"] == json.loads(RECORDED[event])


@pytest.mark.parametrize("event", ["PreCompact", "PostCompact"])
def test_a_compactions_hooks_print_nothing_for_the_model_that_compacts_would_read_it(
    awake: Path, event: str
) -> None:
    for more in ({}, {"CLAUDE_MEM_OFF": "1"}):
        answered = hook_process.run(awake, RECORDED[event], "compact", more=more)
        assert (answered.code, answered.out, answered.err) == (0, b"", b"")
    assert [envelope["event"] for envelope in hook_process.spooled(awake)] == [event]


def test_what_comes_before_a_tool_is_answered_and_not_recorded(awake: Path) -> None:
    answered = hook_process.run(awake, payloads.payload("PreToolUse", tool_name="Read", tool_input={}))
    assert (answered.code, answered.json) == (0, CONTINUE)
    assert hook_process.spooled(awake) == []


@pytest.mark.parametrize(
    ("verb", "event"),
    [
        ("context", "SessionStart"),
        ("new", "UserPromptSubmit"),
        ("save", "PostToolUse"),
        ("summary", "Stop"),
        ("cleanup", "SessionEnd"),
    ],
)
def test_a_verb_names_the_event_when_the_payload_does_not(awake: Path, verb: str, event: str) -> None:
    hook_process.run(awake, b'{"session_id":"s1","cwd":"/p"}', verb)
    (envelope,) = hook_process.spooled(awake)
    assert envelope["event"] == envelope["payload"]["hook_event_name"] == event


def test_spool_names_keep_the_order_of_arrival_also_when_the_clock_was_set_back(awake: Path) -> None:
    hook_process.run(awake, payloads.bash("toolu_1"))
    spool, ahead = awake / "spool", "9" * 19
    (first,) = spool.glob("*.json")
    first.rename(spool / f"{ahead:0>20}-1-0000.json")  # spooled while the clock was years ahead
    rest = (spool / ".ledger").read_text().split(" ", 1)[1]
    (spool / ".ledger").write_text(f"{ahead:0>20} {rest}")
    hook_process.run(awake, payloads.bash("toolu_2"))
    hook_process.run(awake, payloads.bash("toolu_3"))
    order = [envelope["payload"]["tool_use_id"] for envelope in hook_process.spooled(awake)]
    assert order == ["toolu_1", "toolu_2", "toolu_3"]


def test_a_listening_worker_is_woken_with_the_hooks_version(data: Path) -> None:
    from claude_mem import __version__

    with hook_process.listening(data) as worker:
        hook_process.run(data, payloads.bash("toolu_1"))
        (line,) = hook_process.lines(worker)
    assert json.loads(line) == {"type": "wake", "version": __version__}


def test_switched_off_it_reads_nothing_and_records_nothing(data: Path) -> None:
    for switch in ("CLAUDE_MEM_OFF", "CLAUDE_MEM_OBSERVER"):
        answered = hook_process.run(data, payloads.bash("toolu_1"), more={switch: "1"})
        assert (answered.code, answered.json) == (0, CONTINUE)
        assert not data.exists()


def test_past_its_bound_the_newest_event_is_dropped_and_counted_and_told_once(awake: Path) -> None:
    hook_process.run(awake, payloads.bash("toolu_1"))
    ledger = awake / "spool" / ".ledger"
    last, files, size, _, most_bytes = ledger.read_text().split()
    ledger.write_text(f"{last} {files} {size} {1:020d} {most_bytes}\n")
    answered = hook_process.run(awake, payloads.bash("toolu_2"))
    assert (answered.code, answered.json) == (0, CONTINUE)
    assert [e["payload"]["tool_use_id"] for e in hook_process.spooled(awake)] == ["toolu_1"]
    assert "spool_full 000000000001" in (awake / "drops").read_text()
    told = hook_process.run(awake, payloads.payload("SessionStart", source="startup")).json
    assert "spool is full" in told["systemMessage"]


def test_what_the_worker_left_to_be_told_is_told_at_the_next_start_and_only_there(awake: Path) -> None:
    (awake / "notice").write_text("the database was damaged")
    assert "systemMessage" not in hook_process.run(awake, payloads.bash("toolu_1")).json
    assert hook_process.run(awake, payloads.start()).json["systemMessage"] == "the database was damaged"
    assert "systemMessage" not in hook_process.run(awake, payloads.start()).json


def leave_drops(data: Path, monkeypatch: pytest.MonkeyPatch, **counts: int) -> None:
    """As hooks count them."""
    monkeypatch.chdir(data)
    for reason, number in counts.items():
        for _ in range(number):
            drop_counters.count(reason)


def fill_spool(data: Path) -> None:
    hook_process.run(data, payloads.bash("toolu_1"))
    ledger = data / "spool" / ".ledger"
    last, files, size, _, most_bytes = ledger.read_text().split()
    ledger.write_text(f"{last} {files} {size} {1:020d} {most_bytes}\n")


def test_all_that_is_due_at_a_start_is_shown_at_that_start(
    awake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_spool(awake)
    (awake / "notice").write_text("the database was damaged")
    leave_drops(awake, monkeypatch, late=2)
    shown = hook_process.run(awake, payloads.start()).json["systemMessage"]
    problem, left, missed = shown.split("\n")
    assert notices.STOPPED_BY["spool_full"] in problem
    assert left == "the database was damaged"
    assert notices.LOST_BY["late"] in missed
    assert "2 events" in missed
    assert not (awake / "notice").exists()


def test_a_start_that_is_itself_lost_is_not_counted_among_those_before_it(awake: Path) -> None:
    fill_spool(awake)
    (problem,) = hook_process.run(awake, payloads.start()).json["systemMessage"].split("\n")
    assert notices.STOPPED_BY["spool_full"] in problem
    hook_process.run(awake, payloads.bash("toolu_2"))
    problem, missed = hook_process.run(awake, payloads.start()).json["systemMessage"].split("\n")
    assert notices.STOPPED_BY["spool_full"] in problem
    assert "1 event:" in missed


def test_the_reasons_shown_are_those_of_what_is_new(awake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_drops(awake, monkeypatch, disk_full=5)
    first = hook_process.run(awake, payloads.start()).json["systemMessage"]
    assert notices.LOST_BY["disk_full"] in first
    leave_drops(awake, monkeypatch, late=1)
    second = hook_process.run(awake, payloads.start()).json["systemMessage"]
    assert "1 event:" in second
    assert notices.LOST_BY["late"] in second
    assert notices.LOST_BY["disk_full"] not in second
    leave_drops(awake, monkeypatch, late=2, io_error=1, unreadable=1)
    third = hook_process.run(awake, payloads.start()).json["systemMessage"]
    assert "4 events:" in third
    assert all(f"{notices.LOST_BY[reason]} ({n})" in third for reason, n in (("late", 2), ("io_error", 1)))
    assert "systemMessage" not in hook_process.run(awake, payloads.start()).json


def test_input_that_could_not_be_read_is_told_of_like_any_other_loss(awake: Path) -> None:
    hook_process.run(awake, b"garbage")
    assert "1 event:" in hook_process.run(awake, payloads.start()).json["systemMessage"]
    assert "systemMessage" not in hook_process.run(awake, payloads.start()).json


def test_what_was_not_shown_is_shown_at_the_next_start(awake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (awake / "notice").write_text("the database was damaged")
    leave_drops(awake, monkeypatch, late=1)
    reading, writing = os.pipe()
    os.close(reading)  # the client has gone
    try:
        subprocess.run(
            hook_process.command(),
            input=payloads.start(),
            stdout=writing,
            env=hook_process.environment(awake),
            timeout=hook_process.DEADLINE_S,
            check=True,
        )
    finally:
        os.close(writing)
    left, missed = hook_process.run(awake, payloads.start()).json["systemMessage"].split("\n")
    assert left == "the database was damaged"
    assert notices.LOST_BY["late"] in missed
    assert "systemMessage" not in hook_process.run(awake, payloads.start()).json


def test_two_notices_of_the_worker_are_both_shown_and_the_same_one_once(awake: Path) -> None:
    for message in ("the database was damaged", "the key was refused", "the database was damaged"):
        leave_notice(awake, message)
    shown = hook_process.run(awake, payloads.start()).json["systemMessage"]
    assert sorted(shown.split("\n")) == ["the database was damaged", "the key was refused"]


def test_only_the_standard_library_is_loaded_and_nothing_heavy_on_the_fast_path(awake: Path) -> None:
    probe = (
        "import sys; sys.path.insert(0, sys.argv[1]); import posix\n"
        "posix._exit_for_real = posix._exit\n"
        "def report(code):\n"
        "    posix.write(2, '\\n'.join(sys.modules).encode()); posix._exit_for_real(code)\n"
        "posix._exit = report\n"
        "from claude_mem.hook.entry import main; main('hook')"
    )
    root = hook_process.MACHINE.package
    done = subprocess.run(
        [*hook_process.command()[:3], "-c", probe, root],
        input=payloads.bash("toolu_1"),
        capture_output=True,
        env=hook_process.environment(awake),
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    ours = {name for name in loaded if name.startswith("claude_mem")}
    assert ours == {"claude_mem", "claude_mem.hook", "claude_mem.privacy"} | {
        f"claude_mem.hook.{name}"
        for name in ("drop_counters", "entry", "paths", "spool_writer", "stdin", "worker_link")
    } | {f"claude_mem.privacy.{name}" for name in ("private_turns", "suspect")}
    assert not loaded & {
        "os",
        "re",
        "json",
        "socket",
        "subprocess",
        "sqlite3",
        "pathlib",
        "dataclasses",
        "typing",
    }
    import sys

    builtin_or_stdlib = set(sys.stdlib_module_names)
    assert {name.split(".")[0] for name in loaded - ours} <= builtin_or_stdlib | {"__main__"}


def test_files_and_folders_are_private_under_any_umask(data: Path) -> None:
    import os

    before = os.umask(0)
    try:
        with hook_process.listening(data):
            hook_process.run(data, payloads.bash("toolu_1"))
            hook_process.run(data, payloads.prompt("<private>all of it</private>"))
            hook_process.run(data, b"garbage")
            modes = {
                str(path.relative_to(data)): stat.S_IMODE(path.lstat().st_mode)
                for path in data.rglob("*")
                if path.name != "hook.sock"  # the test's own listener
            }
    finally:
        os.umask(before)
    assert modes
    assert {name: oct(mode) for name, mode in modes.items() if mode not in (0o700, 0o600)} == {}
