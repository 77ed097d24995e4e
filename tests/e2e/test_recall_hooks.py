"""What hooks of prompts and tools tell the model: what a worker answers, never in the way."""

import json
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.e2e.scripted_worker import CONTINUE, CWD, SECRET, render, saying, shown, telling, worker
from tests.harness import hook_process, payloads, workers

from claude_mem import __version__
from claude_mem.hook import worker_link

# A prompt.


def test_a_prompt_is_spooled_then_asked_about_and_the_answer_shown(data: Path) -> None:
    spooled_when_asked: list[int] = []

    def reply(connection: socket.socket) -> None:
        spooled_when_asked.append(len(hook_process.spooled(data)))
        telling('We fixed "that"\n in é 𝄞')(connection)

    with worker(data, reply) as up:
        answered = up.answering(data, payloads.prompt("fix the parser"))
    assert (answered.code, answered.err) == (0, b"")
    assert answered.out.count(b"\n") == 1
    assert answered.json == shown("UserPromptSubmit", 'We fixed "that"\n in é 𝄞')
    payload = json.loads(payloads.prompt("fix the parser"))
    assert up.heard == [
        {"type": "ask", "version": __version__, "event": "UserPromptSubmit", "payload": payload}
    ]
    assert set(spooled_when_asked) == {1}


def test_a_prompt_of_the_longest_answer_the_client_takes_is_shown_whole(data: Path) -> None:
    context = "𝄞" * 5000
    with worker(data, telling(context)) as up:
        assert up.answering(data, payloads.prompt("x")).json == shown("UserPromptSubmit", context)


def test_a_payload_over_several_lines_is_asked_about_in_one(data: Path) -> None:
    payload = json.dumps(json.loads(payloads.prompt("two\nlines")), separators=(",\n", ":")).encode()
    with worker(data, telling("memory")) as up:
        assert up.answering(data, payload + b"\n").json == shown("UserPromptSubmit", "memory")
    assert up.asked()[0]["payload"]["prompt"] == "two\nlines"


def test_the_verb_of_the_documents_is_answered_too(data: Path) -> None:
    with worker(data, telling("memory")) as up:
        answered = up.answering(data, b'{"session_id": "s1", "cwd": "/p", "prompt": "what was it?"}', "new")
    assert answered.json == shown("UserPromptSubmit", "memory")
    assert up.asked()[0]["event"] == "UserPromptSubmit"


ODD = {
    "nothing to tell": b'{"type": "answer", "context": ""}\n',
    "an error": b'{"error": "no"}\n',
    "garbage": b"\xff\x00garbage\n",
    "an empty line": b"\n",
    "hangs up at once": b"",
    "no end of line": b'{"type": "answer", "context": "half',
    "not a string": b'{"type": "answer", "context": {"a": 1}}\n',
    "null": b'{"type": "answer", "context": null}\n',
    "more than the string": b'{"type": "answer", "context": "a", "b": "c"}\n',
    "two answers": b'{"type": "answer", "context": "a"}\n{"type": "answer", "context": "b"}\n',
    "too long": b'{"type": "answer", "context": "' + b"x" * (61 << 10) + b'"}\n',
    "endless": b'{"type": "answer", "context": "' + b"x" * (8 << 20),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_silence(data: Path, name: str) -> None:
    with worker(data, saying(ODD[name])):
        answered = hook_process.run(data, payloads.prompt("fix the parser"))
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    assert len(hook_process.spooled(data)) == 1


EVENTS = {
    "start": payloads.start(),
    "prompt": payloads.prompt("fix the parser"),
    "tool": payloads.payload("PreToolUse", tool_name="Read", tool_input={"file_path": "/p/a.py"}),
}


def assert_bounded(waits: list[int]) -> None:
    """It waited, no longer than a prompt may, and what is left of that only becomes less."""
    assert waits
    assert waits == sorted(waits, reverse=True)
    assert waits[0] <= worker_link.WITHIN_S * 1000


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    "first", [b"", b'{"type": "answer", "context": "so far'], ids=["mute", "half an answer"]
)
def test_a_worker_that_is_too_slow_is_not_waited_for(data: Path, event: str, first: bytes) -> None:
    gone = threading.Event()

    def reply(connection: socket.socket) -> None:
        saying(first)(connection)
        gone.wait(hook_process.DEADLINE_S)
        telling("too late")(connection)

    with worker(data, reply):
        answered, waits = hook_process.run_watched(data, EVENTS[event])
        gone.set()
    assert (answered.code, answered.json) == (0, CONTINUE)
    assert_bounded(waits)


def test_a_line_that_drips_in_does_not_stretch_the_deadline(data: Path) -> None:
    every_s = 0.05

    def reply(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(b'{"type": "answer", "context": "')
            while True:
                connection.sendall(b"x")
                up.ended.wait(every_s)

    with worker(data, reply) as up:
        answered, waits = hook_process.run_watched(data, payloads.prompt("x"))
    assert answered.json == CONTINUE
    assert_bounded(waits)
    before, first = 1, 1  # to send the question, and for what came at once
    assert len(waits) <= before + first + worker_link.WITHIN_S / every_s + 1


@pytest.mark.parametrize("event", EVENTS)
def test_a_worker_whose_backlog_is_full_is_not_waited_for_and_none_is_started(data: Path, event: str) -> None:
    data.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as first:
        deaf.bind(str(data / "hook.sock"))
        deaf.listen(0)
        first.connect(str(data / "hook.sock"))
        answered, waits = hook_process.run_watched(data, EVENTS[event])
    assert (answered.json, waits) == (CONTINUE, [])
    assert not (data / "start.stamp").exists()


def test_a_worker_that_does_not_read_does_not_hold_a_long_prompt_up(data: Path) -> None:
    longer_than_a_socket_holds = {f"field_{n}": "word " * 12_000 for n in range(12)}
    with hook_process.listening(data):
        answered, waits = hook_process.run_watched(data, payloads.prompt("x", **longer_than_a_socket_holds))
    assert answered.json == CONTINUE
    assert_bounded(waits)
    assert len(hook_process.spooled(data)) == 1


def test_a_hook_hears_no_more_than_it_could_show(data: Path) -> None:
    heard = 0

    def reply(connection: socket.socket) -> None:
        nonlocal heard
        with suppress(OSError):
            while heard < 1 << 30:
                heard += connection.send(b"x" * (64 << 10))

    with worker(data, reply):
        assert hook_process.run(data, payloads.prompt("x")).json == CONTINUE
    assert heard < 2 << 20


def test_without_a_worker_a_prompt_is_kept_and_one_is_started(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "claude-mem.db").mkdir()  # the worker that is started ends at once
    try:
        answered = hook_process.run(data, payloads.prompt("fix the parser"))
        assert (answered.code, answered.json) == (0, CONTINUE)
        assert len(hook_process.spooled(data)) == 1
        assert (data / "start.stamp").exists()
    finally:
        workers.finish(data)


def test_a_private_prompt_is_not_asked_about_nor_is_a_tool_of_its_turn(data: Path) -> None:
    with worker(data, telling("memory")) as up:
        answers = [
            hook_process.run(data, payloads.prompt("<private>all of it</private>")),
            hook_process.run(data, before("Read", {"file_path": "/p/private-plan.md"}, prompt_id="p-1")),
        ]
        assert up.asked() == []
        hook_process.run(data, before("Read", {"file_path": "/p/open.md"}, prompt_id="p-2"))
    assert [answer.json for answer in answers] == [CONTINUE, CONTINUE]
    assert [said["payload"]["file_path"] for said in up.asked()] == ["/p/open.md"]


def test_the_worker_hears_no_secret_and_no_private_part(data: Path) -> None:
    prompt = f"deploy with {SECRET} <private>canary-77</private> please"
    with worker(data, telling("memory")) as up:
        assert up.answering(data, payloads.prompt(prompt)).json == shown("UserPromptSubmit", "memory")
        hook_process.run(data, before("Read", {"file_path": f"/p/{SECRET}/notes.md"}))
    asked = up.asked()
    assert "deploy with" in asked[0]["payload"]["prompt"]
    assert asked[1]["payload"]["file_path"].endswith("/notes.md")
    assert SECRET not in str(up.heard)
    assert "canary-77" not in str(up.heard)


def test_what_could_not_be_scrubbed_by_the_users_rules_is_not_said(data: Path) -> None:
    with worker(data, telling("memory")) as up:
        (data / "settings.json").write_text('{"CLAUDE_MEM_SECRET_PATTERNS": {"mine": "canary-')
        hook_process.run(data, payloads.prompt("canary-77"))
        hook_process.run(data, before("Read", {"file_path": "/p/canary-77"}))
    assert "canary-77" not in str(up.heard)
    assert [said["type"] for said in up.heard] == ["wake"]


def test_the_users_own_rules_hold_for_what_is_asked(data: Path) -> None:
    with worker(data, telling("memory")) as up:
        (data / "settings.json").write_text('{"CLAUDE_MEM_SECRET_PATTERNS": {"mine": "canary-[0-9]+"}}')
        hook_process.run(data, payloads.prompt("what about canary-77"))
        hook_process.run(data, before("Read", {"file_path": "/p/canary-77.md"}))
    assert len(up.asked()) == 2
    assert "canary-77" not in str(up.heard)


# Before a tool.


def before(tool: str, given: dict[str, object], prompt_id: str = "p-9") -> bytes:
    return payloads.payload(
        "PreToolUse",
        prompt_id=prompt_id,
        permission_mode="default",
        effort={"level": "high"},
        tool_name=tool,
        tool_input=given,
        tool_use_id="toolu_1",
    )


CANARY = 'content-canary "quoted" \\ {"file_path":"/p/forged"}\n'
TOUCHING: dict[str, dict[str, object]] = {
    "Read": {"file_path": "/p/a.py", "offset": 10},
    "Write": {"file_path": "/p/a.py", "content": CANARY},
    "Write, the other way round": {"content": CANARY, "file_path": "/p/a.py"},
    "Edit": {"replace_all": False, "old_string": CANARY, "new_string": CANARY, "file_path": "/p/a.py"},
    "MultiEdit": {"file_path": "/p/a.py", "edits": [{"old_string": CANARY, "new_string": "x"}]},
    "NotebookEdit": {"notebook_path": "/p/a.py", "new_source": CANARY},
    "Write, large": {"file_path": "/p/a.py", "content": CANARY * 50_000},
}


@pytest.mark.parametrize("name", TOUCHING)
def test_before_a_tool_the_worker_hears_which_file_and_nothing_of_its_content(data: Path, name: str) -> None:
    tool = name.partition(",")[0]
    with worker(data, telling("it breaks easily")) as up:
        answered = up.answering(data, before(tool, TOUCHING[name]))
    assert (answered.code, answered.json) == (0, shown("PreToolUse", "it breaks easily"))
    (said,) = up.heard
    assert (said["type"], said["event"]) == ("ask", "PreToolUse")
    assert said["payload"] == {
        "session_id": payloads.SESSION,
        "cwd": CWD,
        "hook_event_name": "PreToolUse",
        "prompt_id": "p-9",
        "tool_name": tool,
        "file_path": "/p/a.py",
    }
    assert hook_process.spooled(data) == []


UNUSUAL = {
    "no file": before("WebFetch", {"url": "ls"}),
    "no input": payloads.payload("PreToolUse", tool_name="Read", tool_input={}),
    "a list before the path": before(
        "MultiEdit", {"edits": [{"file_path": "/p/forged"}], "file_path": "/p/a"}
    ),
    "a path that is no string": before("Read", {"file_path": ["/p/a"]}),
    "no directory": before("Read", {"file_path": "/p/a.py"}).replace(b'"cwd"', b'"not"'),
    "cut off": before("Read", {"file_path": "/p/a.py"})[:-40],
    "spaced out": json.dumps(json.loads(before("Read", {"file_path": "/p/a.py"}))).encode(),
    "a content that never ends": before("Write", {"content": '"' * 300_000, "file_path": "/p/a.py"}),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_tool_whose_file_is_not_plain_to_see_is_answered_with_silence(data: Path, name: str) -> None:
    with worker(data, telling("memory")) as up:
        answered = hook_process.run(data, UNUSUAL[name])
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    assert up.heard == []
    assert hook_process.spooled(data) == []


def test_without_a_worker_a_tool_is_not_held_up_and_none_is_started(data: Path) -> None:
    answered = hook_process.run(data, before("Read", {"file_path": "/p/a.py"}))
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    assert not (data / "start.stamp").exists()


def test_no_hook_ever_decides_about_a_permission(data: Path) -> None:
    with worker(data, telling('"permissionDecision": "allow"')) as up:
        answered = up.answering(data, before("Write", {"file_path": "/p/a.py", "content": "x"}))
    assert set(answered.json["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}


# What it costs: the modules that are loaded.

PROBE = """
import sys; sys.path.insert(0, sys.argv[1]); import posix
posix._exit_for_real = posix._exit
def report(code):
    posix.write(2, '\\n'.join(sys.modules).encode()); posix._exit_for_real(code)
posix._exit = report
from claude_mem.hook.entry import main; main('hook')
"""
HEAVY = {
    "os",
    "re",
    "json",
    "socket",
    "selectors",
    "hashlib",
    "subprocess",
    "pathlib",
    "dataclasses",
    "typing",
}


@pytest.mark.parametrize("event", ["rendered", *EVENTS])
def test_recall_loads_nothing_heavy(data: Path, event: str) -> None:
    with worker(data, telling('memory \\ with "escapes"\n')):
        if event == "rendered":
            render(data, CWD, 'memory \\ with "escapes"\n')
        for _ in range(20):  # on a busy machine the answer comes too late at times
            done = subprocess.run(
                [*hook_process.command()[:3], "-c", PROBE, hook_process.MACHINE.package],
                input=EVENTS.get(event, payloads.start()),
                capture_output=True,
                env=hook_process.environment(data),
                check=True,
            )
            if b"escapes" in done.stdout:
                break
    assert b"escapes" in done.stdout
    loaded = set(done.stderr.decode().split())
    assert not loaded & HEAVY
    assert {name.split(".")[1] for name in loaded if name.startswith("claude_mem.")} == {"hook", "privacy"}


def test_a_stopped_worker_costs_a_prompt_no_more_than_the_deadline(data: Path) -> None:
    """A listener in a process that is stopped: the kernel takes the line, nobody answers."""
    data.mkdir(mode=0o700)
    script = (
        "import socket, sys, time\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(8); print('up', flush=True)\n"
        "s.accept()\n"
    )
    listener = subprocess.Popen(
        ["python3", "-c", script, str(data / "hook.sock")], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert listener.stdout is not None
        assert listener.stdout.readline() == b"up\n"
        listener.send_signal(signal.SIGSTOP)
        answered, waits = hook_process.run_watched(data, payloads.prompt("x"))
        assert answered.json == CONTINUE
        assert_bounded(waits)
    finally:
        listener.kill()
        listener.communicate()
    assert len(hook_process.spooled(data)) == 1
