"""The status line's command, as the client runs it: always one line, and nothing is started for it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads, workers
from tests.harness.commands import Mem, command
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer

import claude_mem
from claude_mem.serve import control

COMMAND = command("statusline")


def line(data: Path, given: bytes = b'{"session_id":"s-1"}', **env: str) -> str:
    said = subprocess.run(
        COMMAND,
        input=given,
        capture_output=True,
        env=hook_process.environment(data, **({"NO_COLOR": "1"} | env)),
        timeout=60,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, b"")
    text = said.stdout.decode()
    assert text.count("\n") == 1
    return text.removesuffix("\n")


def shows(data: Path, pattern: str, given: bytes = b'{"session_id":"s-1"}', **env: str) -> None:
    """The client runs it again and again; on a busy machine it may give up on a disk or a worker at times."""
    workers.until(lambda: re.fullmatch(pattern, line(data, given, **env)) is not None, pattern)


def test_whatever_the_client_says_a_line_comes_and_nothing_is_made(
    data: Path, subtests: pytest.Subtests
) -> None:
    for given in (b"", b"garbage", b"[1]", b'{"session_id":7}', b'{"session_id":"\xff"}'):
        with subtests.test(repr(given)):
            shows(data, "mem ● worker asleep", given)
            assert not data.exists()


def test_a_client_that_never_closes_the_pipe_is_not_waited_for(data: Path) -> None:
    read, write = os.pipe()
    try:
        env = hook_process.environment(data, NO_COLOR="1")
        said = subprocess.run(COMMAND, stdin=read, capture_output=True, env=env, timeout=60, check=True)
        assert said.stdout.decode() in ("mem ● worker asleep\n", "mem ?\n")
    finally:
        os.close(read)
        os.close(write)


def test_a_running_worker_says_what_waits_and_a_hung_one_holds_up_nothing(data: Path) -> None:
    with workers.running(data):
        shows(data, "mem ● [a-z]+")
        hook_process.run(data, payloads.prompt("why does login fail"))
        shows(data, "mem ● [a-z]+ · 1 queued")
        pid = control.status(data).pid
        assert pid
        os.kill(pid, signal.SIGSTOP)
        try:
            shows(data, r"mem ● (\d queued · )?worker busy")
        finally:
            os.kill(pid, signal.SIGCONT)
    shows(data, "mem ● worker asleep")
    assert workers.processes(data) == []


def test_a_pause_is_shown_to_whom_it_concerns(data: Path) -> None:
    Mem(data)("off", "--session", "s-1")
    shows(data, "mem ○ off for this session · .*")
    shows(data, "mem ● worker asleep", b'{"session_id":"s-2"}')
    shows(data, "mem ○ off for this session · .*", b"", CLAUDE_CODE_SESSION_ID="s-1")
    Mem(data)("off")
    shows(data, "mem ○ off · .*", b'{"session_id":"s-2"}')
    shows(data, "mem ○ off", CLAUDE_MEM_OFF="1")


def test_why_nothing_is_recorded_is_shown(data: Path, tmp_path: Path) -> None:
    with hook_process.listening(data):
        hook_process.run(data, payloads.bash("toolu_1"))
        shows(data, "mem ● 1 queued · worker asleep")
        ledger = data / "spool" / ".ledger"
        last, files, size, _, most_bytes = ledger.read_text().split()
        ledger.write_text(f"{last} {files} {size} {1:020d} {most_bytes}\n")
        shows(data, "mem ! not recording: the spool is full")
    file = tmp_path / "file"
    file.touch()
    shows(file, "mem ! not recording: Not a directory")


def test_colours_are_for_those_who_do_not_object(data: Path) -> None:
    shows(data, "(\x1b\\[0m|.)*\x1b\\[32m●.*worker asleep.*", NO_COLOR="")
    shows(data, "mem ● worker asleep")


def test_it_pays_for_no_argument_parser(data: Path) -> None:
    root = str(Path(claude_mem.__file__).parents[1])
    probe = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "from claude_mem.cli import main; main(['statusline'])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe],
        input=b"{}",
        capture_output=True,
        env=hook_process.environment(data),
        check=True,
    )
    loaded = set(said.stderr.decode().split())
    assert "claude_mem.cli.status" in loaded
    assert not loaded & {
        "argparse",
        "dataclasses",
        "pathlib",
        "http",
        "socket",
        "sqlite3",
        "claude_mem.cli.commands",
    }


@pytest.mark.prove  # what is rendered of a cost: tests/unit/cli/test_status.py
def test_what_remembering_cost_today_is_shown(data: Path) -> None:
    paid = Say("<summary><request>Login</request></summary>", input_tokens=900_000, output_tokens=50)
    with ModelServer([paid]) as server:
        asking = workers.asking(server.url, CLAUDE_MEM_MODEL="claude-haiku-4-5")
        with workers.running(data, **asking):
            shows(data, "mem ● [a-z]+")
            hook_process.run(data, payloads.prompt("why does login fail"))
            hook_process.run(data, payloads.stop("The cookie expires."))
            shows(data, r"mem ● [a-z]+ · \$0\.\d\d today.*")
