"""The status line's command, as the client runs it: always one line, and nothing is started for it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import claude_mem
from claude_mem.serve import control
from claude_mem.testing import hooks, payloads, workers
from claude_mem.testing.model_server import ModelServer, Say

COMMAND = [sys.executable, "-m", "claude_mem", "statusline"]


def line(data: Path, given: bytes = b'{"session_id":"s-1"}', **env: str) -> str:
    said = subprocess.run(
        COMMAND,
        input=given,
        capture_output=True,
        env=hooks.environment(data, **({"NO_COLOR": "1"} | env)),
        timeout=60,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, b"")
    text = said.stdout.decode()
    assert text.count("\n") == 1
    return text.removesuffix("\n")


def off(data: Path, *words: str) -> None:
    command = [sys.executable, "-m", "claude_mem", "off", *words]
    subprocess.run(command, env=hooks.environment(data), capture_output=True, check=True)


@pytest.mark.parametrize("given", [b"", b"garbage", b"[1]", b'{"session_id":7}', b'{"session_id":"\xff"}'])
def test_whatever_the_client_says_a_line_comes_and_nothing_is_made(data: Path, given: bytes) -> None:
    assert line(data, given) == "mem ● worker asleep"
    assert not data.exists()


def test_a_client_that_never_closes_the_pipe_is_not_waited_for(data: Path) -> None:
    read, write = os.pipe()
    try:
        env = hooks.environment(data, NO_COLOR="1")
        said = subprocess.run(COMMAND, stdin=read, capture_output=True, env=env, timeout=60, check=True)
        assert said.stdout.decode() == "mem ● worker asleep\n"
    finally:
        os.close(read)
        os.close(write)


def test_a_running_worker_says_what_waits_and_a_hung_one_holds_up_nothing(data: Path) -> None:
    with workers.running(data):
        assert line(data) == "mem ●"
        hooks.run(data, payloads.prompt("why does login fail"))
        workers.until(lambda: line(data) == "mem ● 1 queued", "the prompt waits for its turn's end")
        pid = control.status(data).pid
        assert pid
        os.kill(pid, signal.SIGSTOP)
        try:
            assert re.fullmatch(r"mem ● (\d queued · )?worker busy", line(data))
        finally:
            os.kill(pid, signal.SIGCONT)
    assert line(data) == "mem ● worker asleep"
    assert workers.processes(data) == []


def test_a_pause_is_shown_to_whom_it_concerns(data: Path) -> None:
    off(data, "--session", "s-1")
    assert line(data).startswith("mem ○ off for this session · ")
    assert line(data, b'{"session_id":"s-2"}') == "mem ● worker asleep"
    assert line(data, b"", CLAUDE_CODE_SESSION_ID="s-1").startswith("mem ○ off for this session · ")
    off(data)
    assert line(data, b'{"session_id":"s-2"}').startswith("mem ○ off · ")
    assert line(data, CLAUDE_MEM_OFF="1") == "mem ○ off"


def test_why_nothing_is_recorded_is_shown(data: Path, tmp_path: Path) -> None:
    with hooks.listening(data):
        hooks.run(data, payloads.bash("toolu_1"))
        assert line(data) == "mem ● 1 queued · worker asleep"
        ledger = data / "spool" / ".ledger"
        last, files, size, _, most_bytes = ledger.read_text().split()
        ledger.write_text(f"{last} {files} {size} {1:020d} {most_bytes}\n")
        assert line(data) == "mem ! not recording: the spool is full"
    file = tmp_path / "file"
    file.touch()
    assert line(file) == "mem ! not recording: Not a directory"


def test_colours_are_for_those_who_do_not_object(data: Path) -> None:
    painted = line(data, NO_COLOR="")
    assert "\x1b[32m●" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == line(data)


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
        env=hooks.environment(data),
        check=True,
    )
    loaded = set(said.stderr.decode().split())
    assert "claude_mem.cli.statusline" in loaded
    assert not loaded & {
        "argparse",
        "dataclasses",
        "pathlib",
        "http",
        "socket",
        "sqlite3",
        "claude_mem.cli.run",
    }


def test_what_remembering_cost_today_is_shown(data: Path) -> None:
    paid = Say("<summary><request>Login</request></summary>", input_tokens=900_000, output_tokens=50)
    with ModelServer([paid]) as server:
        asking = workers.asking(server.url, CLAUDE_MEM_MODEL="claude-haiku-4-5")
        with workers.running(data, **asking):
            assert line(data) == "mem ●"
            hooks.run(data, payloads.prompt("why does login fail"))
            hooks.run(data, payloads.stop("The cookie expires."))
            workers.until(
                lambda: bool(re.fullmatch(r"mem ● \$0\.\d\d today.*", line(data))), "the cost is shown"
            )
