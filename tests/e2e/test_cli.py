"""The command line as a person meets it: real processes, a real worker, things broken on purpose."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from claude_mem import __version__
from claude_mem.testing import hooks, payloads, workers

DEADLINE_S = 60  # for the test: a hang fails instead of blocking the suite


class Cli:
    """Runs `claude-mem` on one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.env = hooks.environment(data_dir, CLAUDE_MEM_WORKER_PORT=str(workers.free_port()))

    def __call__(
        self, *args: str, stdin: int | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args),
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            capture_output=True,
            text=True,
            env=self.env | (env or {}),
            timeout=DEADLINE_S,
            check=False,
        )

    def json(self, *args: str) -> Any:
        return json.loads(self(*args, "--json").stdout)

    @staticmethod
    def command(*args: str) -> list[str]:
        return [sys.executable, "-m", "claude_mem", *args]

    def hook(self, payload: bytes) -> None:
        """An event arrives, and nothing is there that would take it out of the spool."""
        with hooks.listening(self.data_dir):
            hooks.run(self.data_dir, payload)
        (self.data_dir / "hook.sock").unlink()


@pytest.fixture
def cli(data: Path) -> Iterator[Cli]:
    yield Cli(data)
    if data.is_dir():
        workers.finish(data)


@pytest.fixture
def terminal() -> Iterator[int]:
    """A terminal for standard input, at which nobody types."""
    ours, theirs = pty.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


def typed(line: str) -> int:
    """A terminal for standard input at which somebody has typed a line."""
    ours, theirs = pty.openpty()
    os.write(ours, line.encode() + b"\n")
    return theirs


# Talking


def test_every_command_explains_itself_with_an_example_in_80_columns(cli: Cli) -> None:
    nouns = ("doctor", "worker", "hooks", "token", "backup", "restore", "demo", "version", "save", "context")
    verbs = tuple(("worker", verb) for verb in ("start", "stop", "restart", "status", "run", "logs"))
    for words in ((), *((noun,) for noun in nouns), *verbs):
        said = cli(*words, "--help", env={"COLUMNS": "80"})
        assert (said.returncode, said.stderr) == (0, ""), words
        assert "Example:" in said.stdout
        assert max(map(len, said.stdout.splitlines())) <= 80, words


@pytest.mark.parametrize("words", [("bogus",), ("worker", "bogus"), ("doctor", "--bogus"), ("worker",), ()])
def test_wrong_usage_is_explained_on_standard_error_and_exits_2(cli: Cli, words: tuple[str, ...]) -> None:
    said = cli(*words)
    assert (said.returncode, said.stdout) == (2, "")
    assert "usage: claude-mem" in said.stderr


def test_the_version_is_said_in_one_line_and_as_data(cli: Cli) -> None:
    assert cli("--version").stdout == f"claude-mem {__version__}\n"
    assert cli.json("version")["claude-mem"] == __version__


def test_a_bad_setting_is_one_sentence_that_names_it_and_exits_2(cli: Cli) -> None:
    said = cli("worker", "start", env={"CLAUDE_MEM_WORKER_PORT": "eighty"})
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.count("\n") == 1
    assert "CLAUDE_MEM_WORKER_PORT is 'eighty'" in said.stderr


def test_a_reader_that_leaves_early_is_no_error_worth_words(cli: Cli) -> None:
    read, write = os.pipe()
    os.close(read)
    said = subprocess.run(
        cli.command("hooks"),
        stdout=write,
        stderr=subprocess.PIPE,
        env=cli.env,
        timeout=DEADLINE_S,
        check=False,
    )
    os.close(write)
    assert (said.returncode, said.stderr) == (141, b"")


def test_an_interrupted_command_leaves_with_130_and_without_a_traceback(cli: Cli, data: Path) -> None:
    (data / "logs").mkdir(parents=True)
    (data / "logs" / "worker.log").write_text("hello\n")
    with subprocess.Popen(
        cli.command("worker", "logs", "-f"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli.env
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"hello\n"
        following.send_signal(signal.SIGINT)
        _, said = following.communicate(timeout=DEADLINE_S)
    assert (following.returncode, said) == (130, b"")


# Hooks typed by a person


def test_a_hook_typed_as_a_command_records_its_event(awake: Path) -> None:
    said = subprocess.run(
        Cli.command("save"),
        input=b'{"session_id":"s1","cwd":"/p","tool_name":"Bash"}',
        capture_output=True,
        env=hooks.environment(awake),
        timeout=DEADLINE_S,
        check=False,
    )
    assert (said.returncode, json.loads(said.stdout)) == (0, {"continue": True, "suppressOutput": True})
    (envelope,) = hooks.spooled(awake)
    assert envelope["event"] == "PostToolUse"


def test_a_hook_at_a_terminal_shows_its_help_instead_of_waiting_and_blocks_no_agent(
    cli: Cli, terminal: int
) -> None:
    said = cli("save", stdin=terminal)
    assert said.returncode == 0
    assert "usage: claude-mem save" in said.stdout
    assert not cli.data_dir.exists()


def test_a_hook_verb_pays_for_no_argument_parser(cli: Cli, data: Path) -> None:
    code = (
        "import sys, claude_mem.cli as cli, claude_mem.capture.entry as entry\n"
        "entry.main = lambda verb: (print(sorted(sys.modules)), sys.exit())\n"
        "cli.main(['save'])"
    )
    said = subprocess.run(
        [sys.executable, "-I", "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "argparse" not in said.stdout
    assert "'json'" not in said.stdout


# The worker


def test_the_worker_is_started_seen_restarted_and_stopped(cli: Cli) -> None:
    assert cli.json("worker", "status")["state"] == "stopped"
    assert cli("worker", "status").returncode == 1
    started = cli.json("worker", "start")
    assert (started["state"], started["version"]) == ("running", __version__)
    assert cli.json("worker", "start")["pid"] == started["pid"]
    restarted = cli.json("worker", "restart")
    assert restarted["state"] == "running"
    assert restarted["pid"] != started["pid"]
    assert cli("worker", "status").returncode == 0
    assert cli.json("worker", "stop") == {"state": "stopped", "was_running": True}
    assert cli.json("worker", "stop") == {"state": "stopped", "was_running": False}


def test_status_counts_the_spool_and_the_queue_with_the_worker_down_as_with_it_up(
    cli: Cli, data: Path
) -> None:
    cli.hook(payloads.prompt("hello"))
    cli.hook(payloads.bash("toolu_1"))
    down = cli.json("worker", "status")
    assert (down["state"], down["spooled"], down["ready"]) == ("stopped", 2, None)
    cli("worker", "start")
    workers.drained(data)
    up = cli.json("worker", "status")
    assert (up["spooled"], up["ready"], up["parked"]) == (0, 2, 0)
    assert up["uptime_s"] >= 0
    assert up["oldest_age_s"] > 0
    cli("worker", "stop")
    after = cli.json("worker", "status")
    assert (after["state"], after["spooled"], after["ready"], after["uptime_s"]) == ("stopped", 0, 2, None)


def test_a_worker_that_hangs_is_named_and_a_restart_cures_it(cli: Cli) -> None:
    pid = cli.json("worker", "start")["pid"]
    os.kill(pid, signal.SIGSTOP)
    said = cli("worker", "status")
    assert said.returncode == 1
    assert "does not answer" in said.stdout
    assert cli.json("worker", "restart")["state"] == "running"


def test_a_worker_can_be_stopped_whatever_the_settings_file_holds(cli: Cli, data: Path) -> None:
    cli("worker", "start")
    (data / "settings.json").write_text("rubbish")
    assert cli.json("worker", "status")["state"] == "running"
    assert cli("worker", "restart").returncode == 2
    assert cli.json("worker", "status")["state"] == "running"
    assert cli("worker", "stop").returncode == 0


def test_logs_are_printed_and_none_is_no_error(cli: Cli) -> None:
    assert (cli("worker", "logs").returncode, cli("worker", "logs").stdout) == (0, "")
    cli("worker", "start")
    said = cli("worker", "logs", "-n", "1")
    assert said.returncode == 0
    assert said.stdout.count("\n") == 1


# Token, backup, restore


def test_the_token_is_the_workers_and_none_is_made_for_the_asking(cli: Cli, data: Path) -> None:
    said = cli("token")
    assert (said.returncode, said.stdout) == (1, "")
    assert "claude-mem worker start" in said.stderr
    assert not data.exists()
    cli("worker", "start")
    assert cli("token").stdout.strip() == (data / "token").read_text().strip()


def test_a_backup_is_made_beside_a_running_worker_and_can_be_restored(cli: Cli, data: Path) -> None:
    cli.hook(payloads.prompt("before the backup"))
    first = cli.json("worker", "start")
    workers.drained(data)
    backup = cli("backup").stdout.strip()
    assert Path(backup).is_file()
    hooks.run(data, payloads.prompt("after the backup", prompt_id="p-2"))
    workers.drained(data)
    restored = cli.json("restore", "--yes", backup)
    assert restored["restored_from"] == backup
    assert Path(restored["moved_aside"]).is_dir()
    assert cli.json("worker", "status")["state"] == "running"
    assert cli.json("worker", "status")["pid"] != first["pid"]
    with closing(sqlite3.connect(data / "claude-mem.db")) as db:
        assert db.execute("SELECT prompt FROM user_prompts").fetchall() == [("before the backup",)]


def test_restore_asks_first_and_no_means_no(cli: Cli, data: Path) -> None:
    cli("worker", "start")
    said = cli("restore")
    assert (said.returncode, "--yes" in said.stderr) == (2, True)
    answer = typed("n")
    said = cli("restore", stdin=answer)
    os.close(answer)
    assert said.returncode == 1
    assert "Nothing was changed." in said.stderr
    assert cli.json("worker", "status")["state"] == "running"


def test_a_failed_restore_says_why_and_leaves_the_worker_running(cli: Cli, data: Path) -> None:
    cli("worker", "start")
    (data / "nonsense.db").write_bytes(b"nonsense" * 100)
    said = cli("restore", "--yes", str(data / "nonsense.db"))
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith("claude-mem: ")
    assert "Traceback" not in said.stderr
    assert cli.json("worker", "status")["state"] == "running"


def test_without_a_database_there_is_nothing_to_back_up_and_nothing_is_made(cli: Cli, data: Path) -> None:
    assert cli("backup").returncode == 1
    assert cli("restore", "--yes").returncode == 1
    assert not data.exists()


# Doctor


def findings(cli: Cli, env: dict[str, str] | None = None) -> tuple[Any, dict[str, str]]:
    said = cli("doctor", "--json", env=env)
    report = json.loads(said.stdout)
    assert said.returncode == (1 if any(f["level"] == "bad" for f in report["findings"]) else 0)
    levels: dict[str, str] = {}
    for finding in report["findings"]:
        levels.setdefault(finding["check"], finding["level"])
    return report, levels


def test_doctor_says_yes_when_events_arrive(cli: Cli) -> None:
    cli.hook(payloads.prompt("hello"))
    cli("worker", "start")
    report, levels = findings(cli)
    assert report["recording"] is True
    assert set(levels.values()) == {"ok"}
    assert cli("doctor").stdout.startswith("recording: yes\n")


def test_doctor_says_no_before_any_hook_has_reported_and_changes_nothing(cli: Cli, data: Path) -> None:
    said = cli("doctor")
    assert said.stdout.startswith("recording: no, because no hook has reported anything yet\n")
    assert said.returncode == 1
    assert "claude-mem hooks" in said.stdout
    assert not data.exists()


def test_doctor_names_a_worker_that_hangs_within_its_deadline(cli: Cli) -> None:
    cli.hook(payloads.prompt("hello"))
    os.kill(cli.json("worker", "start")["pid"], signal.SIGSTOP)
    report, levels = findings(cli)
    assert levels["worker"] == "bad"
    assert report["recording"] is True


def test_doctor_names_files_that_others_can_read(cli: Cli, data: Path) -> None:
    cli.hook(payloads.prompt("hello"))
    (data / "token").touch(mode=0o644)
    (data / "token").chmod(0o644)
    report, levels = findings(cli)
    assert levels["directory"] == "bad"
    assert "token" in str(report["findings"])


def test_doctor_names_a_directory_that_belongs_to_somebody_else(cli: Cli, data: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    data.mkdir(mode=0o700)
    os.chown(data, 65534, 65534)
    report, levels = findings(cli)
    assert levels["directory"] == "bad"
    assert report["because"].endswith("belongs to another user")


def test_doctor_works_where_the_data_directory_is_a_file(cli: Cli, data: Path) -> None:
    data.write_text("not a directory")
    report, levels = findings(cli)
    assert levels["directory"] == "bad"
    assert report["because"].endswith("is not a directory")
    data.unlink()


def test_doctor_works_with_broken_settings_a_broken_database_and_things_in_the_way(
    cli: Cli, data: Path
) -> None:
    cli.hook(payloads.prompt("hello"))
    (data / "settings.json").write_text('{"CLAUDE_MEM_BOGUS": 1}')
    (data / "settings.json").chmod(0o600)
    (data / "claude-mem.db").write_bytes(b"garbage" * 1000)
    (data / "claude-mem.db").chmod(0o600)
    (data / "drops").mkdir(mode=0o700)
    (data / "worker.lock").mkdir(mode=0o700)
    report, levels = findings(cli)
    assert (levels["settings"], levels["database"], levels["drops"]) == ("bad", "bad", "warn")
    assert report["recording"] is True
    assert "CLAUDE_MEM_BOGUS" in cli("doctor").stdout
    (data / "worker.lock").rmdir()


def test_doctor_says_that_recording_is_switched_off(cli: Cli) -> None:
    report, _ = findings(cli, {"CLAUDE_MEM_OFF": "1"})
    assert report["because"] == "CLAUDE_MEM_OFF is set in this shell"


def test_doctor_counts_what_could_not_be_kept(cli: Cli, data: Path) -> None:
    cli.hook(b"not json")
    report, levels = findings(cli)
    assert levels["drops"] == "warn"
    assert report["facts"]["drops"]["unreadable"] == 1
