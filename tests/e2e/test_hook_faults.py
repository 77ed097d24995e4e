"""The hook when something is broken: it exits 0, answers validly, and never half-writes an event."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.harness import faults, hook_process, payloads, workers

from claude_mem.privacy import scrub_payload

CONTINUE = {"continue": True, "suppressOutput": True}


def drops(data: Path) -> dict[str, int]:
    counted = dict(line.split()[:2] for line in (data / "drops").read_text().splitlines())
    return {reason: int(number) for reason, number in counted.items() if int(number)}


def temporaries(data: Path) -> list[str]:
    return [path.name for path in (data / "spool").glob(".*.tmp")]


# Row 2: kill -9 of the hook in mid-write.


@pytest.mark.parametrize(("syscall", "when"), [("write", 1), ("fsync", 1), ("/^rename", 1)])
def test_a_hook_killed_before_the_rename_leaves_at_most_a_temporary_file(
    awake: Path, syscall: str, when: int
) -> None:
    killed = hook_process.run(awake, payloads.bash("toolu_1"), wrap=faults.killing(syscall, when))
    assert killed.code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    assert hook_process.spooled(awake) == []
    assert len(temporaries(awake)) <= 1


def test_a_hook_killed_after_the_rename_has_left_a_whole_event(awake: Path) -> None:
    hook_process.run(awake, payloads.bash("toolu_1"), wrap=faults.killing("fsync", 2))
    (envelope,) = hook_process.spooled(awake)
    assert envelope["payload"]["tool_use_id"] == "toolu_1"


# Row 4: disk full.


def test_on_a_full_disk_the_drop_is_counted_and_recording_resumes_when_space_is_freed(tmp_path: Path) -> None:
    with faults.small_disk(tmp_path / "disk") as disk:
        data = disk / "data"
        with hook_process.listening(data):
            hook_process.run(data, payloads.bash("toolu_1"))
            hook_process.run(data, b"garbage")  # a first drop, so that the counter's file exists
            hog = faults.fill(disk)
            answered = hook_process.run(data, payloads.bash("toolu_2"))
            assert (answered.code, answered.json) == (0, CONTINUE)
            assert drops(data) == {"unreadable": 1, "disk_full": 1}
            assert temporaries(data) == []
            assert "the disk is full" in hook_process.run(data, payloads.start()).json["systemMessage"]
            hog.unlink()
            hook_process.run(data, payloads.bash("toolu_3"))
            assert [e["payload"]["tool_use_id"] for e in hook_process.spooled(data)] == ["toolu_1", "toolu_3"]


# Row 5: EIO on fsync.


@pytest.mark.parametrize("when", ["1", "2"])
def test_an_event_that_could_not_be_synced_is_not_accepted_but_counted(awake: Path, when: str) -> None:
    answered = hook_process.run(awake, payloads.bash("toolu_1"), wrap=faults.failing("fsync", "EIO", when))
    assert (answered.code, answered.json) == (0, CONTINUE)
    assert hook_process.spooled(awake) == []
    assert temporaries(awake) == []
    assert drops(awake) == {"io_error": 1}


# Row 19: the home is read-only, foreign-owned, missing.


@contextmanager
def broken_home(kind: str, where: Path) -> Iterator[Path]:
    match kind:
        case "missing":
            yield where / "nowhere" / "data"
        case "foreign-owned":
            data = where / "data"
            data.mkdir()
            os.chown(data, 65534, 65534)
            yield data
        case "read-only":
            with faults.small_disk(where / "disk") as disk:
                subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
                yield disk


@pytest.mark.parametrize("kind", ["read-only", "foreign-owned", "missing"])
def test_without_a_usable_data_directory_it_leaves_at_once_and_says_so_in_one_line(
    tmp_path: Path, kind: str
) -> None:
    with broken_home(kind, tmp_path) as data:
        started = hook_process.run(data, payloads.start())
        assert started.code == 0
        assert "claude-mem is not recording" in started.json["systemMessage"]
        assert "claude-mem doctor" in started.json["systemMessage"]
        assert "\n" not in started.json["systemMessage"]
        in_between = hook_process.run(data, payloads.bash("toolu_1"))
        assert (in_between.code, in_between.json, in_between.err) == (0, CONTINUE, b"")
        assert not data.exists() or list(data.iterdir()) == []


# Row 21: hostile standard input.

HOSTILE = {
    "nothing": b"",
    "not JSON": b"garbage",
    "a list": b"[1,2]",
    "no session": b'{"hook_event_name":"Stop"}',
    "an empty session": b'{"session_id":"","hook_event_name":"Stop"}',
    "deep JSON": b'{"session_id":"s","hook_event_name":"PostToolUse","tool_input":' + b"[" * 200_000,
    "a huge integer": b'{"session_id":"s","hook_event_name":"PostToolUse","n":' + b"9" * 9000 + b"}",
    "invalid UTF-8": b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"\xff\xfe"}',
    "NUL bytes": b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"a\x00b"}',
    "lone surrogates": rb'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"\ud800"}',
    "a number as the event": b'{"session_id":"s","hook_event_name":7}',
    "an unknown event": b'{"session_id":"s","hook_event_name":"Invented"}',
    "a session with slashes": b'{"session_id":"../../etc/x","hook_event_name":"PostToolUse"}',
    "a cut-off object": payloads.bash("toolu_1")[:-40],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_answered_without_a_traceback(awake: Path, name: str) -> None:
    answered = hook_process.run(awake, HOSTILE[name])
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    for envelope in hook_process.spooled(awake):
        assert isinstance(envelope["payload"], dict)


@pytest.mark.parametrize(
    "megabytes", [pytest.param(5, marks=pytest.mark.short), pytest.param(100, marks=pytest.mark.prove)]
)
def test_a_payload_of_many_megabytes_is_capped_and_marked_and_keeps_its_tool_use_id(
    awake: Path, megabytes: int
) -> None:
    answered = hook_process.run(awake, payloads.bash("toolu_1", stdout="x" * megabytes * 1_000_000))
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    (envelope,) = hook_process.spooled(awake)
    kept = envelope["payload"]
    assert envelope["flags"] == ["cut_off"]
    assert kept["tool_use_id"] == "toolu_1"
    assert "elided" in kept["tool_response"]["stdout"]
    assert len(json.dumps(envelope)) < 200_000


def test_an_edit_of_a_lock_file_over_the_cap_is_spooled_with_its_session_and_is_no_drop(awake: Path) -> None:
    package = {
        "version": "1.0.0",
        "resolved": "https://example.org/a.tgz",
        "cpu": ["x64"],
        "dependencies": {},
    }
    lock = json.dumps({"packages": {f"node_modules/a{n}": package for n in range(12_500)}}, indent=2)
    assert len(lock) > 2_100_000
    edit = payloads.payload(
        "PostToolUse",
        tool_name="Edit",
        tool_input={
            "file_path": "/home/u/proj/package-lock.json",
            "old_string": "1.0.0",
            "new_string": "1.0.1",
        },
        tool_response={"filePath": "/home/u/proj/package-lock.json", "originalFile": lock},
        tool_use_id="toolu_1",
    )
    answered = hook_process.run(awake, edit)
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    assert drops(awake) == {}
    (envelope,) = hook_process.spooled(awake)
    kept = envelope["payload"]
    assert (kept["session_id"], kept["tool_use_id"]) == (payloads.SESSION, "toolu_1")
    assert kept["tool_input"]["new_string"] == "1.0.1"
    assert kept["tool_response"]["originalFile"].startswith('{\n  "packages"')
    assert envelope["flags"] == ["cut_off"]


def test_long_fields_keep_head_and_tail_around_a_mark(awake: Path) -> None:
    hook_process.run(awake, payloads.bash("toolu_1", stdout="head" + "x" * 200_000 + "tail"))
    (envelope,) = hook_process.spooled(awake)
    stdout = envelope["payload"]["tool_response"]["stdout"]
    assert stdout.startswith("head")
    assert stdout.endswith("tail")
    assert "elided" in stdout
    assert len(stdout) <= 64 << 10


def test_an_endless_structure_is_kept_as_head_and_tail_of_its_text(awake: Path) -> None:
    hook_process.run(
        awake, payloads.payload("PostToolUse", tool_name="X", tool_input=[1] * 900_000, tool_use_id="t")
    )
    (envelope,) = hook_process.spooled(awake)
    assert envelope["payload"]["tool_input"].startswith("[1,1,1,")
    assert len(envelope["payload"]["tool_input"]) <= 64 << 10
    assert envelope["payload"]["tool_use_id"] == "t"


def test_standard_input_that_never_closes_does_not_hold_the_hook_and_what_came_is_kept(awake: Path) -> None:
    reading, writing = os.pipe()
    try:
        hook = subprocess.Popen(
            hook_process.command(), stdin=reading, stdout=subprocess.PIPE, env=hook_process.environment(awake)
        )
        os.write(writing, payloads.bash("toolu_1"))
        out, _ = hook.communicate(timeout=hook_process.DEADLINE_S)
    finally:
        os.close(writing)
        os.close(reading)
    assert (hook.returncode, json.loads(out)) == (0, CONTINUE)
    assert [e["payload"]["tool_use_id"] for e in hook_process.spooled(awake)] == ["toolu_1"]


# The worker is there, but does not take the line.


def test_a_worker_with_a_full_backlog_counts_as_there_and_is_not_waited_for(data: Path) -> None:
    data.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind(str(data / "hook.sock"))
        deaf.listen(0)
        for n in range(4):
            assert hook_process.run(data, payloads.bash(f"toolu_{n}")).code == 0
    assert len(hook_process.spooled(data)) == 4
    assert not (data / "start.stamp").exists()


def test_a_data_directory_longer_than_a_sockets_address_is_no_obstacle(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 30) / "data"
    data.parent.mkdir()
    data.mkdir(mode=0o700)
    here = Path.cwd()
    os.chdir(data)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind("hook.sock")
            server.listen(8)
            hook_process.run(data, payloads.bash("toolu_1"))
            assert hook_process.lines(server)
    finally:
        os.chdir(here)
    assert len(hook_process.spooled(data)) == 1


def test_a_ledger_that_somebody_holds_delays_an_event_only_for_a_moment_and_loses_none(awake: Path) -> None:
    hook_process.run(awake, payloads.bash("toolu_1"))
    fd = os.open(awake / "spool" / ".ledger", os.O_RDWR)
    try:
        os.lockf(fd, os.F_LOCK, 0)
        assert hook_process.run(awake, payloads.bash("toolu_2")).code == 0
    finally:
        os.close(fd)
    assert [e["payload"]["tool_use_id"] for e in hook_process.spooled(awake)] == ["toolu_1", "toolu_2"]


def test_a_relative_data_directory_is_the_same_one_for_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        hook_process.run(Path("mem"), payloads.bash("toolu_1"))
        workers.drained(tmp_path / "mem")
    finally:
        workers.finish(tmp_path / "mem")
    assert not (tmp_path / "mem" / "mem").exists()


def test_half_a_secret_at_the_cut_of_an_over_long_payload_is_not_kept() -> None:
    secret = "AIza" + "x1Y2z3" * 5 + "abcde"
    whole = payloads.bash("toolu_1", stdout="y " * 1000 + secret).decode()
    kept = scrub_payload.salvage(whole[: whole.index(secret) + 20], "")
    assert kept is not None
    assert "y y y" in str(kept)
    assert secret[:12] not in str(kept)


def test_broken_settings_are_told_at_the_next_start_though_hooks_go_on(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "settings.json").write_text('{"CLAUDE_MEM_WORKER_PORT": "many"}')
    try:
        hook_process.run(data, payloads.bash("toolu_1"))
        workers.until((data / "notice").exists, "the worker has left word")
        told = hook_process.run(data, payloads.start()).json["systemMessage"]
    finally:
        workers.finish(data)
    assert "CLAUDE_MEM_WORKER_PORT" in told


@pytest.mark.parametrize("globs", ['"notes.txt, vault.md"', '["notes.txt", "vault.md"]'])
def test_excluded_paths_are_understood_in_both_spellings(awake: Path, globs: str) -> None:
    (awake / "settings.json").write_text(f'{{"CLAUDE_MEM_EXCLUDE_PATHS": {globs}}}')
    hook_process.run(awake, payloads.read_file("t1", "/p/vault.md", "canary-vault"))
    hook_process.run(awake, payloads.read_file("t2", "/p/readme.md", "to be kept"))
    spooled = str(hook_process.spooled(awake))
    assert "canary-vault" not in spooled
    assert "to be kept" in spooled
