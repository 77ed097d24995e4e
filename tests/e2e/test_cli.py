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
from claude_mem.clients.claude_code import connection
from claude_mem.testing import hooks, payloads, workers
from claude_mem.testing.model_server import ModelServer, Request, Say, Status, Step

DEADLINE_S = 60  # for the test: a hang fails instead of blocking the suite


class Cli:
    """Runs `claude-mem` on one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.home = data_dir.with_name("home")
        self.env = hooks.environment(
            data_dir, CLAUDE_MEM_WORKER_PORT=str(workers.free_port()), HOME=str(self.home)
        )

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

    def connect(self) -> None:
        """Claude Code knows the hooks: written into its settings by hand."""
        settings = self.home / ".claude/settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"hooks": connection.hooks(hooks.MACHINE)}))

    def hook(self, payload: bytes) -> None:
        """An event arrives, and nothing is there that would take it out of the spool."""
        with hooks.listening(self.data_dir):
            hooks.run(self.data_dir, payload)
        (self.data_dir / "hook.sock").unlink()


@pytest.fixture
def cli(data: Path) -> Iterator[Cli]:
    made = Cli(data)
    made.connect()
    yield made
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
    nouns = ("doctor", "stats", "worker", "queue", "hooks", "token", "backup", "restore", "demo", "version")
    others = ("save", "context")
    verbs = tuple(("worker", verb) for verb in ("start", "stop", "restart", "status", "run", "logs"))
    verbs += tuple(("queue", verb) for verb in ("list", "retry", "drop"))
    for words in ((), *((noun,) for noun in (*nouns, *others)), *verbs):
        said = cli(*words, "--help", env={"COLUMNS": "80"})
        assert (said.returncode, said.stderr) == (0, ""), words
        assert "Example:" in said.stdout
        assert max(map(len, said.stdout.splitlines())) <= 80, words


@pytest.mark.parametrize("words", [("doctor", "--bogus"), ("worker",), ("queue",), ()])
def test_wrong_usage_is_explained_on_standard_error_and_exits_2(cli: Cli, words: tuple[str, ...]) -> None:
    said = cli(*words)
    assert (said.returncode, said.stdout) == (2, "")
    assert "usage: claude-mem" in said.stderr


def test_the_version_is_said_in_one_line_and_as_data(cli: Cli) -> None:
    assert cli("--version").stdout == f"claude-mem {__version__}\n"
    assert cli.json("version")["claude-mem"] == __version__


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


@pytest.mark.parametrize("words", [["version"], ["save"], ["mcp"]])
def test_an_interrupt_while_half_of_the_command_is_loaded_leaves_without_a_traceback(
    words: list[str],
) -> None:
    code = (
        "import os, signal, sys\n"
        "from claude_mem.cli import main\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('claude_mem.c'):\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        f"sys.exit(main({words}))"
    )
    said = subprocess.run([sys.executable, "-c", code], input=b"", capture_output=True, check=False)
    assert (said.returncode, said.stdout, said.stderr) == (130, b"", b"")


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
    assert said.stderr.splitlines()[-1].startswith("claude-mem: ")
    assert "Traceback" not in said.stderr
    assert cli.json("worker", "status")["state"] == "running"


def test_without_a_database_there_is_nothing_to_back_up_and_nothing_is_made(cli: Cli, data: Path) -> None:
    assert cli("backup").returncode == 1
    assert cli("restore", "--yes").returncode == 1
    assert not data.exists()


# The queue

REASON = "no XML in the reply: Sorry, I cannot do that."
REPLY = "<observation><type>bugfix</type><title>It holds</title></observation>"


def turn(data: Path, number: int = 1) -> None:
    """A turn from the user's words to the agent's last, by its hooks; a worker comes up to take it in."""
    here = f"p-{number}"
    for event in (
        payloads.prompt("mend the fence", prompt_id=here),
        payloads.bash(f"toolu_{number}", "git commit -m 'Mend the fence'", "[main 4e1f0c2] Mend the fence"),
        payloads.stop("The fence is mended.", prompt_id=here),
    ):
        hooks.run(data, event)


def parked(cli: Cli) -> list[int]:
    """A turn was given up; the worker is running. Their ids."""
    for event in (payloads.prompt("mend the fence"), payloads.bash("toolu_1"), payloads.stop("It is.")):
        cli.hook(event)
    cli("worker", "start")
    workers.settled(cli.data_dir)
    cli("worker", "stop")
    with closing(sqlite3.connect(cli.data_dir / "claude-mem.db")) as db:
        db.execute("DELETE FROM observations")
        db.execute("DELETE FROM session_summaries")
        db.execute("UPDATE pending_messages SET state = 'parked', attempts = 3, reason = ?", (REASON,))
        ids = [id for (id,) in db.execute("SELECT id FROM pending_messages ORDER BY id")]
        db.commit()
    cli("worker", "start")
    return ids


def count(data: Path, table: str) -> int:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        (rows,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(rows)


@pytest.mark.parametrize("words", [("list",), ("retry",), ("drop", "7", "--yes")])
def test_the_queue_of_a_worker_that_is_down_leads_to_its_start(cli: Cli, words: tuple[str, ...]) -> None:
    said = cli("queue", *words)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == "claude-mem: The worker is not running. Run: claude-mem worker start\n"


def test_what_was_given_up_is_listed_with_its_reason_and_the_next_step(cli: Cli) -> None:
    first, second, _ = parked(cli)
    said = cli("queue", "list")
    assert said.returncode == 0
    assert said.stdout.count("5694c0de") == 3
    assert REASON[:30] in said.stdout
    assert "claude-mem queue retry" in said.stderr
    assert max(map(len, said.stdout.splitlines())) <= 80
    listed = cli.json("queue", "list", "--limit", "2")
    assert [job["id"] for job in listed["jobs"]] == [first, second]
    assert (listed["total"], listed["jobs"][0]["reason"]) == (3, REASON)
    assert "first 2 of 3" in cli("queue", "list", "--limit", "2").stderr
    assert cli("queue", "list", "--state", "ready").stderr == "Nothing is ready.\n"


def test_what_was_given_up_is_tried_again_and_becomes_memory(cli: Cli, data: Path) -> None:
    assert len(parked(cli)) == 3
    assert count(data, "session_summaries") == 0
    said = cli("queue", "retry")
    assert (said.returncode, said.stdout) == (0, "3 events will be tried again.\n")
    workers.settled(data)
    assert count(data, "session_summaries") == 1
    assert cli("queue", "list").stderr == "Nothing is parked.\n"
    assert cli("queue", "retry").stdout.startswith("Nothing was parked.")


def test_one_of_several_is_tried_again_and_a_stranger_among_them_is_named(cli: Cli) -> None:
    first, *rest = parked(cli)
    said = cli("queue", "retry", str(first), "999999")
    assert (said.returncode, said.stdout) == (1, "1 event will be tried again.\n")
    assert "1 of the 2 events named were not parked" in said.stderr
    assert [job["id"] for job in cli.json("queue", "list")["jobs"]] == rest
    assert cli("queue", "retry", "--all", str(first)).returncode == 2


def test_giving_up_asks_first_and_keeps_the_evidence(cli: Cli, data: Path) -> None:
    first, second, third = map(str, parked(cli))
    assert cli("queue", "drop", first).returncode == 2
    answer = typed("n")
    assert cli("queue", "drop", first, stdin=answer).returncode == 1
    os.close(answer)
    assert cli.json("queue", "list")["total"] == 3
    answer = typed("y")
    said = cli("queue", "drop", first, second, stdin=answer)
    os.close(answer)
    assert (said.returncode, said.stdout) == (0, "2 events given up.\n")
    assert cli("queue", "drop", first, "--yes").returncode == 1  # it is not parked any more
    assert [str(job["id"]) for job in cli.json("queue", "list")["jobs"]] == [third]
    assert (count(data, "pending_messages"), count(data, "observations")) == (3, 0)


def test_a_pause_is_told_by_doctor_and_ended_by_a_retry(cli: Cli, data: Path) -> None:
    mended = False

    def script(_: Request) -> Step:
        return Say(REPLY) if mended else Status(401)

    with ModelServer(script) as server:
        cli.env |= workers.asking(server.url)
        cli("worker", "start")
        turn(data)
        workers.until(lambda: findings(cli)[0]["observing"] is False, "doctor names the pause")
        report, levels = findings(cli)
        assert levels["paused"] == "bad"
        assert cli("doctor").stdout.startswith("recording: yes\nobserving: no, because ")
        assert "claude-mem queue retry" in str(report["findings"])
        mended = True
        assert cli("queue", "retry").returncode == 0
        workers.settled(data)
        assert count(data, "observations") == 1
        assert findings(cli)[0]["observing"] is True


# Stats


def test_stats_tell_what_came_in_what_became_of_it_and_what_it_cost(cli: Cli, data: Path) -> None:
    with ModelServer([Say(REPLY, input_tokens=1000, cached_tokens=200, output_tokens=50)]) as server:
        cli.env |= workers.asking(server.url)
        cli("worker", "start")
        turn(data)
        workers.settled(data)
    up = cli.json("stats")
    cli("worker", "stop")
    down = cli.json("stats", "--days", "1")
    assert down == up | {"since": down["since"]}
    assert up["captured"] == {"sessions": 1, "prompts": 1, "events": 3}
    assert (up["became"]["by_type"], up["became"]["summaries"]) == ({"bugfix": 1}, 0)
    assert up["cost"]["calls"] == 1
    assert (up["cost"]["cached_tokens"], up["cost"]["output_tokens"]) == (200, 50)
    assert list(up["cost"]["by_project"]) == ["proj"]
    screen = cli("stats").stdout
    assert "Captured  1 session, 1 prompt, 3 events" in screen
    assert max(map(len, screen.splitlines())) <= 80
    assert cli.json("stats", "--since", "2999-01-01")["captured"]["events"] == 0


def test_stats_without_a_database_say_so_and_make_none(cli: Cli, data: Path) -> None:
    said = cli("stats")
    assert (said.returncode, said.stdout) == (1, "")
    assert "There is no database yet" in said.stderr
    assert not data.exists()


@pytest.mark.parametrize(
    "words", [("--since", "soon"), ("--days", "0"), ("--days", "2", "--since", "2026-01-31")]
)
def test_a_period_that_makes_no_sense_is_wrong_usage(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("stats", *words).returncode == 2


def test_a_spent_budget_shows_in_stats_and_doctor_and_the_offline_observer_takes_over(
    cli: Cli, data: Path
) -> None:
    with ModelServer([Say(REPLY, input_tokens=1000)]) as server:
        cli.env |= workers.asking(server.url, CLAUDE_MEM_DAILY_TOKENS="1000")
        cli("worker", "start")
        turn(data)
        workers.settled(data)
        turn(data, 2)
        workers.until(lambda: count(data, "session_summaries") == 1, "the offline observer took over")
        assert len(server.requests) == 1
        report, levels = findings(cli)
        assert (levels["budget"], report["observing"]) == ("warn", True)
        assert "the offline observer has taken over" in cli("stats").stdout
        assert set(cli.json("stats")["became"]["by_provider"]) == {"anthropic:scripted", "offline"}


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
    cli("install", "--settings", "--yes", env={"PATH": "/usr/bin:/bin"})
    cli.hook(payloads.prompt("hello"))
    cli("worker", "start")
    report, levels = findings(cli)
    assert report["recording"] is True
    assert set(levels.values()) == {"ok"}
    assert report["observing"] is True
    assert cli("doctor").stdout.startswith("recording: yes\nobserving: yes\n")


def test_doctor_says_no_before_the_client_is_connected_and_changes_nothing(cli: Cli, data: Path) -> None:
    (cli.home / ".claude/settings.json").unlink()
    said = cli("doctor")
    assert said.stdout.startswith("recording: no, because Claude Code is not connected\n")
    assert said.returncode == 1
    assert "claude-mem install" in said.stdout
    assert not data.exists()


def test_doctor_finds_nothing_wrong_before_the_first_session(cli: Cli, data: Path) -> None:
    said = cli("doctor")
    assert said.stdout.startswith("recording: yes\n")
    assert "start a new session" in said.stdout
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
        "nothing": f"{wanted} cannot be made: {wanted.parent} is not there",
        "a file": f"{wanted} cannot be made: {wanted.parent} is not a directory",
        "a link": f"{wanted} is a link that leads nowhere",
    }[above]
    report, levels = findings(cli, env)
    assert (report["recording"], report["because"], levels["directory"]) == (False, reason, "bad")
    hooks.run(wanted, payloads.prompt("hello"))
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
    assert "CLAUDE_MEM_BOGUS" in cli("doctor").stdout
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
