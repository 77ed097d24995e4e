"""The command line as a person meets it: a real worker, things broken on purpose, real processes where the
process is the point. That each command is one: test_processes.py."""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.harness import commands, hook_process, payloads, workers
from tests.harness.commands import Mem

from claude_mem import __version__
from claude_mem.agents.claude_code import registration
from claude_mem.cli import commands as command_line
from claude_mem.serve import control

DEADLINE_S = 60  # for the test: a hang fails instead of blocking the suite


class Cli(Mem):
    """`claude-mem` of somebody who has a home of their own."""

    def __init__(self, data_dir: Path) -> None:
        self.home = data_dir.with_name("home")
        port = str(workers.free_port())
        super().__init__(data_dir, CLAUDE_MEM_WORKER_PORT=port, HOME=str(self.home))

    def connect(self) -> None:
        """Claude Code knows the hooks: written into its settings by hand."""
        settings = self.home / ".claude/settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"hooks": registration.hooks(hook_process.MACHINE)}))

    def hook(self, payload: bytes) -> None:
        """An event arrives, and nothing is there that would take it out of the spool."""
        with hook_process.listening(self.data_dir):
            hook_process.run(self.data_dir, payload)
        (self.data_dir / "hook.sock").unlink()


@pytest.fixture
def cli(data: Path) -> Iterator[Cli]:
    """Nothing is there yet, no worker either."""
    made = Cli(data)
    made.connect()
    yield made
    if data.is_dir():
        workers.finish(data)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    made = Cli(tmp_path_factory.mktemp("shared") / "data")
    made.connect()
    yield made
    workers.finish(made.data_dir)


@pytest.fixture
def up(shared: Cli) -> Cli:
    """A worker runs, whatever the test before did to it."""
    if control.status(shared.data_dir).state != "running":
        shared("worker", "restart")
    return shared


# Talking


def every_command(level: argparse.ArgumentParser, *above: str) -> Iterator[tuple[str, ...]]:
    yield above
    for action in level._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from every_command(below, *above, name)


def test_every_command_explains_itself_with_an_example_in_80_columns(
    cli: Cli, subtests: pytest.Subtests
) -> None:
    listed = list(every_command(command_line.build()))
    assert len(listed) > 45
    for words in listed:
        with subtests.test(" ".join(words)):
            said = cli(*words, "--help", env={"COLUMNS": "80"})
            assert said.stderr == ""
            example = said.stdout.partition("\nExample:\n")[2]
            assert f"claude-mem {words[0]}" in example if words else "claude-mem doctor" in example
            assert max(map(len, said.stdout.splitlines())) <= 80


def test_wrong_usage_is_explained_on_standard_error_and_exits_2(cli: Cli, subtests: pytest.Subtests) -> None:
    for words in (("worker",), ("queue",), ()):
        with subtests.test(" ".join(words)):
            said = cli(*words, code=2)
            assert said.stdout == ""
            assert "usage: claude-mem" in said.stderr


def test_the_version_is_said_in_one_line_and_as_data(cli: Cli) -> None:
    assert cli("--version", process=True).stdout == f"claude-mem {__version__}\n"
    assert cli.json("version")["claude-mem"] == __version__


def test_a_reader_that_leaves_early_is_no_error_worth_words(cli: Cli) -> None:
    read, write = os.pipe()
    os.close(read)
    said = subprocess.run(
        commands.command("hooks"),
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
        commands.command("worker", "logs", "-f"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli.env
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"hello\n"
        following.send_signal(signal.SIGINT)
        _, said = following.communicate(timeout=DEADLINE_S)
    assert (following.returncode, said) == (130, b"")


def test_an_interrupt_while_half_of_the_command_is_loaded_leaves_without_a_traceback(
    subtests: pytest.Subtests,
) -> None:
    for words in (["version"], ["save"], ["mcp"]):
        code = (
            "import os, signal, sys\n"
            "from claude_mem.cli import main\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.startswith('claude_mem.'):\n"
            "            os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupting())\n"
            f"sys.exit(main({words}))"
        )
        with subtests.test(words[0]):
            said = subprocess.run([sys.executable, "-c", code], input=b"", capture_output=True, check=False)
            assert (said.returncode, said.stdout, said.stderr) == (130, b"", b"")


# Hooks typed by a person


def test_a_hook_typed_as_a_command_records_its_event(awake: Path) -> None:
    given = b'{"session_id":"s1","cwd":"/p","tool_name":"Bash"}'
    said = Mem(awake)("save", given=given, process=True)
    assert json.loads(said.stdout) == {"continue": True, "suppressOutput": True}
    (envelope,) = hook_process.spooled(awake)
    assert envelope["event"] == "PostToolUse"


def test_a_hook_at_a_terminal_shows_its_help_instead_of_waiting_and_blocks_no_agent(cli: Cli) -> None:
    said = cli("save", typed="", process=True)
    assert "usage: claude-mem save" in said.stdout
    assert not cli.data_dir.exists()


def test_a_hook_verb_pays_for_no_argument_parser() -> None:
    code = (
        "import sys, claude_mem.cli as cli, claude_mem.hook.entry as entry\n"
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
    assert cli.json("worker", "status", code=1)["state"] == "stopped"
    started = json.loads(cli("worker", "start", "--json", process=True).stdout)
    assert (started["state"], started["version"]) == ("running", __version__)
    assert cli.json("worker", "start")["pid"] == started["pid"]
    restarted = json.loads(cli("worker", "restart", "--json", process=True).stdout)
    assert restarted["state"] == "running"
    assert restarted["pid"] != started["pid"]
    assert cli.json("worker", "status")["pid"] == restarted["pid"]
    stopped = json.loads(cli("worker", "stop", "--json", process=True).stdout)
    assert stopped == {"state": "stopped", "was_running": True}
    assert cli.json("worker", "stop") == {"state": "stopped", "was_running": False}


def test_status_counts_the_spool_and_the_queue_with_the_worker_down_as_with_it_up(
    cli: Cli, data: Path
) -> None:
    cli.hook(payloads.prompt("hello"))
    cli.hook(payloads.bash("toolu_1"))
    down = cli.json("worker", "status", code=1)
    assert (down["state"], down["spooled"], down["ready"]) == ("stopped", 2, None)
    cli("worker", "start")
    workers.drained(data)
    up = cli.json("worker", "status")
    assert (up["spooled"], up["ready"], up["parked"]) == (0, 2, 0)
    assert up["uptime_s"] >= 0
    assert up["oldest_age_s"] > 0
    cli("worker", "stop")
    after = cli.json("worker", "status", code=1)
    assert (after["state"], after["spooled"], after["ready"], after["uptime_s"]) == ("stopped", 0, 2, None)


@pytest.mark.prove  # that it is told from others: test_worker_lifecycle.py
def test_a_worker_that_hangs_is_named_also_by_doctor_and_a_restart_cures_it(up: Cli) -> None:
    os.kill(up.json("worker", "status")["pid"], signal.SIGSTOP)
    assert "not responding" in up("worker", "status", code=1).stdout
    report, levels = findings(up)
    assert levels["worker"] == "bad"
    assert report["recording"] is True
    assert up.json("worker", "restart")["state"] == "running"


def test_a_worker_can_be_stopped_whatever_the_settings_file_holds(up: Cli) -> None:
    settings = up.data_dir / "settings.json"
    try:
        settings.write_text("rubbish")
        assert up.json("worker", "status")["state"] == "running"
        up("worker", "stop")
    finally:
        settings.unlink()


def test_logs_are_printed_and_none_is_no_error(cli: Cli, up: Cli) -> None:
    assert cli("worker", "logs").stdout == ""
    assert up("worker", "logs", "-n", "1").stdout.count("\n") == 1


# Token, backup, restore


def test_the_token_is_the_workers_and_none_is_made_for_the_asking(cli: Cli, up: Cli, data: Path) -> None:
    said = cli("token", code=1)
    assert said.stdout == ""
    assert "claude-mem worker start" in said.stderr
    assert not data.exists()
    assert up("token").stdout.strip() == (up.data_dir / "token").read_text().strip()


def test_a_backup_is_made_beside_a_running_worker_and_can_be_restored(cli: Cli, data: Path) -> None:
    cli.hook(payloads.prompt("before the backup"))
    first = cli.json("worker", "start")
    workers.drained(data)
    backup = cli("backup").stdout.strip()
    assert Path(backup).is_file()
    hook_process.run(data, payloads.prompt("after the backup", prompt_id="p-2"))
    workers.drained(data)
    restored = json.loads(cli("restore", "--yes", backup, "--json", process=True).stdout)
    assert restored["restored_from"] == backup
    assert Path(restored["moved_aside"]).is_dir()
    now = cli.json("worker", "status")
    assert now["state"] == "running"
    assert now["pid"] != first["pid"]
    with closing(sqlite3.connect(data / "claude-mem.db")) as db:
        assert db.execute("SELECT prompt FROM user_prompts").fetchall() == [("before the backup",)]


def test_restore_asks_first_and_no_means_no(up: Cli) -> None:
    before = up.json("worker", "status")["pid"]
    assert "--yes" in up("restore", code=2).stderr
    assert "Nothing was changed." in up("restore", typed="n", code=1).stderr
    assert up.json("worker", "status")["pid"] == before


def test_a_failed_restore_says_why_and_leaves_the_worker_running(up: Cli, tmp_path: Path) -> None:
    (tmp_path / "nonsense.db").write_bytes(b"nonsense" * 100)
    said = up("restore", "--yes", tmp_path / "nonsense.db", code=1)
    assert said.stdout == ""
    assert said.stderr.splitlines()[-1].startswith("claude-mem: ")
    assert "Traceback" not in said.stderr
    assert up.json("worker", "status")["state"] == "running"


def test_without_a_database_there_is_nothing_to_back_up_and_nothing_is_made(cli: Cli, data: Path) -> None:
    cli("backup", code=1)
    cli("restore", "--yes", code=1)
    assert not data.exists()


# Doctor


def findings(cli: Cli, env: dict[str, str] | None = None) -> tuple[Any, dict[str, str]]:
    said = cli("doctor", "--json", env=env, code=None)
    report = json.loads(said.stdout)
    assert said.returncode == (1 if any(f["level"] == "bad" for f in report["findings"]) else 0)
    levels: dict[str, str] = {}
    for finding in report["findings"]:
        levels.setdefault(finding["check"], finding["level"])
    return report, levels


def test_doctor_says_yes_when_events_arrive(cli: Cli) -> None:
    cli("install", "--settings", "--yes", env={"PATH": "/usr/bin:/bin"})
    cli.hook(payloads.prompt("hello"))
    cli("worker", "start")
    workers.until(lambda: set(findings(cli)[1].values()) == {"ok"}, "all is well")
    report, _ = findings(cli)
    assert (report["recording"], report["observing"]) == (True, True)
    assert cli("doctor").stdout.startswith("recording: yes\nobserving: yes\n")


def test_doctor_says_no_before_the_client_is_connected_and_changes_nothing(cli: Cli, data: Path) -> None:
    (cli.home / ".claude/settings.json").unlink()
    said = cli("doctor", code=1)
    assert said.stdout.startswith("recording: no, because no coding agent is connected\n")
    assert "claude-mem install" in said.stdout
    assert not data.exists()


def test_doctor_finds_nothing_wrong_before_the_first_session(cli: Cli, data: Path) -> None:
    said = cli("doctor")
    assert said.stdout.startswith("recording: yes\n")
    assert "start a new session" in said.stdout
    assert not data.exists()


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


@pytest.mark.parametrize("above", ["nothing", "a file", "a link"])
def test_doctor_names_a_data_directory_that_cannot_be_made(cli: Cli, tmp_path: Path, above: str) -> None:
    wanted = tmp_path / "above" / "data"
    if above == "a file":
        wanted.parent.write_text("")
    elif above == "a link":
        wanted.parent.mkdir()
        wanted.symlink_to(tmp_path / "nowhere")
    env = {"CLAUDE_MEM_DATA_DIR": str(wanted)}
    reason = {
        "nothing": f"{wanted} cannot be created: {wanted.parent} is missing",
        "a file": f"{wanted} cannot be created: {wanted.parent} is not a directory",
        "a link": f"{wanted} is a broken link",
    }[above]
    report, levels = findings(cli, env)
    assert (report["recording"], report["because"], levels["directory"]) == (False, reason, "bad")
    hook_process.run(wanted, payloads.prompt("hello"))
    assert not wanted.exists(), "and a hook indeed cannot"

    wanted.unlink(missing_ok=True) if above == "a link" else wanted.parent.unlink(missing_ok=True)
    wanted.parent.mkdir(exist_ok=True)
    report, levels = findings(cli, env)
    assert (report["recording"], levels["directory"]) == (True, "ok")
    assert not wanted.exists(), "doctor only looks"


def test_doctor_works_with_broken_settings_a_broken_database_and_things_in_the_way(
    cli: Cli, data: Path
) -> None:
    cli.hook(payloads.prompt("hello"))
    (data / "settings.json").write_text('{"CLAUDE_MEM_BOGUS": 1}')
    (data / "settings.json").chmod(0o600)
    (data / "claude-mem.db").write_bytes(b"garbage" * 1000)
    (data / "claude-mem.db").chmod(0o600)
    (data / "drops").unlink(missing_ok=True)
    (data / "drops").mkdir(mode=0o700)
    (data / "worker.lock").mkdir(mode=0o700)
    report, levels = findings(cli)
    assert (levels["settings"], levels["database"], levels["drops"]) == ("warn", "bad", "warn")
    assert report["recording"] is True
    assert "CLAUDE_MEM_BOGUS" in cli("doctor", code=1).stdout
    (data / "worker.lock").rmdir()


def test_doctor_says_that_recording_is_switched_off(cli: Cli) -> None:
    report, _ = findings(cli, {"CLAUDE_MEM_OFF": "1"})
    assert report["because"] == "CLAUDE_MEM_OFF is set in this shell"


def test_doctor_counts_what_could_not_be_kept(cli: Cli, data: Path) -> None:
    cli.hook(b"not json")
    cli.hook(payloads.start())  # tells the user; what was told of is not counted again
    report, levels = findings(cli)
    assert levels["drops"] == "warn"
    assert {reason: number for reason, number in report["facts"]["drops"].items() if number} == {
        "unreadable": 1
    }
