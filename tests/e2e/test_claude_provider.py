"""Our Claude provider and the real Claude Code against the scripted server, in a throwaway home.

Every "nothing happened" has its counterpart beside it: the same set-up, where it does happen.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness import hook_process
from tests.harness.claude import real_client, write_login
from tests.harness.model_script import Drip, Hang, Say, Status
from tests.harness.model_server import ModelServer

from claude_mem.model.memory import Broken, Failure, Paused, Throttled
from claude_mem.providers import claude_process
from claude_mem.providers.claude import ClaudeModel
from claude_mem.providers.registry import Prompt, Reply

PROMPT = Prompt("Instructions.", "Evidence.")
PATIENCE_S = 120
AGAIN = pytest.mark.prove  # the real client takes seconds each time; `make test` asks it once


class Home:
    """A user's home, with Claude Code set up in it and a directory for temporary files."""

    def __init__(self, at: Path) -> None:
        self.at = at
        self.temporary = at / "tmp"
        (at / ".claude").mkdir(parents=True)
        self.temporary.mkdir()

    def environment(self, server: ModelServer, **more: str) -> dict[str, str]:
        return {
            "HOME": str(self.at),
            "CLAUDE_CONFIG_DIR": str(self.at / ".claude"),
            "TMPDIR": str(self.temporary),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "dummy",
            "IS_SANDBOX": "1",
        } | more

    def model(self, server: ModelServer, cli_path: str | None = None, **env: str) -> ClaudeModel:
        return ClaudeModel(cli_path=cli_path or str(real_client()), env=self.environment(server, **env))

    def log_in(self) -> None:
        write_login(self.at / ".claude")

    def run_claude(self, server: ModelServer, words: str, **env: str) -> None:
        """Claude Code as a person runs it, with their settings."""
        quiet = {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        keep = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
        subprocess.run(
            [str(real_client()), "-p", words, "--model", "haiku"],
            env=keep | quiet | self.environment(server, **env),
            cwd=self.at,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=PATIENCE_S,
        )

    def hook_into(self, command: str) -> None:
        """Have the command run on every turn, by the user's own settings."""
        entry = [{"hooks": [{"type": "command", "command": command}]}]
        events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
        (self.at / ".claude/settings.json").write_text(json.dumps({"hooks": dict.fromkeys(events, entry)}))

    def transcripts(self) -> list[Path]:
        return list((self.at / ".claude").glob("projects/**/*.jsonl"))

    def processes(self) -> list[int]:
        """All that run with this home, whoever started them."""
        mark = f"HOME={self.at}\0".encode()
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environ.read_bytes() + b"\0":
                    found.append(int(environ.parent.name))
            except OSError:
                continue
        return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    made = Home(tmp_path / "home")
    monkeypatch.setattr(tempfile, "tempdir", str(made.temporary))
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_S} s"
        threading.Event().wait(0.02)


def test_a_reply_comes_back_and_nothing_is_left_behind(home: Home) -> None:
    with ModelServer([Say("<observation/>")]) as server:
        model = home.model(server)
        reply = model.ask(PROMPT, deadline_s=PATIENCE_S)
        model.close()
    assert isinstance(reply, Reply)
    assert reply.text == "<observation/>"
    until(lambda: home.processes() == [], "no process is left")
    assert home.transcripts() == []
    assert list(home.temporary.iterdir()) == []


@AGAIN
def test_claude_has_no_tools_and_stands_in_an_empty_directory(home: Home) -> None:
    with ModelServer([Say("ok")]) as server:
        home.model(server).ask(PROMPT, deadline_s=PATIENCE_S)
    body = server.requests[0].body
    assert body["tools"] == []
    assert str(home.temporary / "claude-mem-") in json.dumps(body)
    assert {request.path for request in server.requests} == {"/v1/messages?beta=true"}


@AGAIN
def test_a_persons_own_claude_does_leave_a_transcript(home: Home) -> None:
    with ModelServer([Say("ok")]) as server:
        home.run_claude(server, "hello")
    assert home.transcripts() != []


@AGAIN
def test_the_users_hooks_do_not_fire_for_the_observer(home: Home) -> None:
    fired = home.at / "fired"
    home.hook_into(f"echo x >> {shlex.quote(str(fired))}")
    with ModelServer([Say("ok")]) as server:
        assert isinstance(home.model(server).ask(PROMPT, deadline_s=PATIENCE_S), Reply)
        assert not fired.exists()
        home.run_claude(server, "hello")
        assert fired.exists(), "the hook was never set up rightly"


@AGAIN
def test_memory_does_not_watch_itself_even_where_its_hooks_do_fire(home: Home) -> None:
    data = home.at.with_name(f"{home.at.name}-data")  # not inside the project
    command = " ".join(map(shlex.quote, hook_process.command()))
    home.hook_into(f"CLAUDE_MEM_DATA_DIR={shlex.quote(str(data))} {command}")
    with hook_process.listening(data), ModelServer([Say("ok")]) as server:
        assert isinstance(home.model(server).ask(PROMPT, deadline_s=PATIENCE_S), Reply)
        home.run_claude(server, "hello", CLAUDE_MEM_OBSERVER="1")
        assert hook_process.spooled(data) == []
        home.run_claude(server, "hello")
        assert hook_process.spooled(data) != [], "the hook was never set up rightly"


@AGAIN
def test_a_file_named_in_the_evidence_is_not_opened(home: Home) -> None:
    secret = home.at / "secret.txt"
    secret.write_text("canary-4711")
    with ModelServer([Say("ok")]) as server:
        home.model(server).ask(Prompt("s", f"the agent read @{secret} and then"), deadline_s=PATIENCE_S)
        assert "canary-4711" not in json.dumps([request.body for request in server.requests])
        home.run_claude(server, f"look at @{secret} please")
        assert "canary-4711" in json.dumps([request.body for request in server.requests])


@AGAIN
def test_a_command_in_the_evidence_stays_text(home: Home) -> None:
    with ModelServer([Say("ok")]) as server:
        assert isinstance(home.model(server).ask(Prompt("s", "/clear"), deadline_s=PATIENCE_S), Reply)
    assert "/clear" in json.dumps(server.requests[0].body["messages"])


@AGAIN
@pytest.mark.parametrize("step", [Hang(), Drip()], ids=["hang", "drip"])
def test_a_call_that_misses_its_deadline_leaves_no_process(home: Home, step: Hang | Drip) -> None:
    with ModelServer([step]) as server:
        model = home.model(server)
        for deadline_s in (5, 20, PATIENCE_S):  # on a busy machine it needs longer to begin
            outcome = model.ask(PROMPT, deadline_s=deadline_s)
            assert outcome == Broken("Claude Code did not answer in time.", "provider")
            until(lambda: home.processes() == [], "no process is left")
            if server.requests:
                break
        assert server.requests, "it was not even asked"
    assert list(home.temporary.iterdir()) == []


@AGAIN
def test_closing_ends_a_question_at_once(home: Home) -> None:
    outcomes: list[Reply | Failure] = []
    with ModelServer([Hang()]) as server:
        model = home.model(server)
        asking = threading.Thread(target=lambda: outcomes.append(model.ask(PROMPT, deadline_s=600)))
        asking.start()
        server.wait_for_request()
        model.close()
        asking.join(PATIENCE_S)
        assert not asking.is_alive()
        until(lambda: home.processes() == [], "no process is left")
    assert isinstance(outcomes[0], Broken)


WORKER = """
import sys
from claude_mem.providers.registry import Prompt
from claude_mem.providers.claude import ClaudeModel
ClaudeModel(cli_path=sys.argv[1]).ask(Prompt("s", "u"), deadline_s=600)
"""


@AGAIN
@pytest.mark.parametrize("step", [Hang(), Drip()], ids=["hang", "drip"])
def test_a_killed_worker_leaves_no_claude_behind(home: Home, step: Hang | Drip) -> None:
    with ModelServer([step]) as server:
        words = [sys.executable, "-c", WORKER, str(real_client())]
        worker = subprocess.Popen(words, env=os.environ | home.environment(server))
        server.wait_for_request()
        assert len(home.processes()) >= 2
        worker.kill()
        worker.wait()
        until(lambda: home.processes() == [], "no process is left")
    assert list(home.temporary.iterdir()) == []


@AGAIN
def test_the_limit_of_a_subscription_waits_until_it_resets(home: Home) -> None:
    resets = int(time.time()) + 5000
    limit = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(resets),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    subscription = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy"}
    with ModelServer([Status(429, limit, type="rate_limit_error")]) as server:
        outcome = home.model(server, **subscription).ask(PROMPT, deadline_s=PATIENCE_S)
    assert outcome == Throttled(resets * 1000)
    assert len(server.requests) == 1


@AGAIN
def test_without_a_login_it_pauses_and_says_how_to_log_in(home: Home) -> None:
    with ModelServer([Say("ok")]) as server:
        outcome = home.model(server, ANTHROPIC_API_KEY="").ask(PROMPT, deadline_s=PATIENCE_S)
    assert isinstance(outcome, Paused)
    assert "/login" in outcome.reason
    assert server.requests == []


def a_claude_that(does: str, folder: Path) -> str:
    """A command that knows its version, and otherwise does this."""
    file = folder / "claude"
    file.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '2.9.0 (Claude Code)'; exit; }}\n{does}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("exit 3", "Claude Code"),
        ("kill -SEGV $$", "Claude Code"),
        ("read line; exit 3", "exited with code 3"),
        ("echo '{\"type'; exec cat > /dev/null", "not in its stream-json format"),
    ],
    ids=["fails", "crashes", "leaves", "talks nonsense"],
)
def test_a_claude_that_breaks_is_broken(home: Home, tmp_path: Path, does: str, said: str) -> None:
    with ModelServer([Say("ok")]) as server:
        model = home.model(server, cli_path=a_claude_that(does, tmp_path))
        outcome = model.ask(PROMPT, deadline_s=PATIENCE_S)
        assert isinstance(outcome, Broken)
        assert said in outcome.reason
        until(lambda: home.processes() == [], "no process is left")


def test_a_claude_that_says_nothing_is_broken(home: Home, tmp_path: Path) -> None:
    with ModelServer([Say("ok")]) as server:
        model = home.model(server, cli_path=a_claude_that("exec sleep 600", tmp_path))
        outcome = model.ask(PROMPT, deadline_s=1)
        assert isinstance(outcome, Broken)
        assert "did not answer in time" in outcome.reason
        until(lambda: home.processes() == [], "no process is left")


def test_a_claude_behind_a_wrapper_ends_with_it(home: Home, tmp_path: Path) -> None:
    """As npm's fallback starts it: not the command itself is the client, but a child of it."""
    with ModelServer([Say("ok")]) as server:
        model = home.model(server, cli_path=a_claude_that("sleep 600 & wait", tmp_path))
        assert isinstance(model.ask(PROMPT, deadline_s=1), Broken)
        until(lambda: home.processes() == [], "no process is left")


def test_a_claude_that_floods_is_broken(home: Home, tmp_path: Path) -> None:
    with ModelServer([Say("ok")]) as server:
        flood = "printf '{'; exec tr '\\\\0' x < /dev/zero"
        outcome = home.model(server, cli_path=a_claude_that(flood, tmp_path)).ask(PROMPT, deadline_s=60)
        assert isinstance(outcome, Broken)
        assert "stream-json" in outcome.reason
        until(lambda: home.processes() == [], "no process is left")


def test_neither_instructions_nor_evidence_are_on_the_command_line(home: Home, tmp_path: Path) -> None:
    seen = tmp_path / "words"
    with ModelServer([Say("ok")]) as server:
        claude = a_claude_that(f'echo "$@" > {shlex.quote(str(seen))}; exit 3', tmp_path)
        home.model(server, cli_path=claude).ask(PROMPT, deadline_s=PATIENCE_S)
    assert PROMPT.system not in seen.read_text()
    assert PROMPT.user not in seen.read_text()


@AGAIN
def test_a_login_is_used_and_not_a_key_that_is_merely_there(home: Home) -> None:
    """The real client prefers the key; the user's account was asked about, the key was not."""
    with ModelServer([Say("ok")]) as server:
        assert isinstance(home.model(server).ask(PROMPT, deadline_s=PATIENCE_S), Reply)
        home.log_in()
        assert isinstance(home.model(server).ask(PROMPT, deadline_s=PATIENCE_S), Reply)
    by_key, by_login = (set(request.headers) & {"x-api-key", "authorization"} for request in server.requests)
    assert by_key == {"x-api-key"}
    assert by_login == {"authorization"}


def test_a_claude_that_is_missing_pauses(home: Home) -> None:
    with ModelServer([Say("ok")]) as server:
        outcome = home.model(server, cli_path="/nowhere/claude").ask(PROMPT, deadline_s=5)
    assert outcome == Paused(claude_process.NO_COMMAND)


@AGAIN
def test_many_questions_at_once_do_not_disturb_each_other(home: Home) -> None:
    def echo(request: Any) -> Say:
        return Say(
            next(word for word in json.dumps(request.body["messages"]).split() if word.startswith("number-"))
        )

    replies: dict[int, Reply | Failure] = {}
    with ModelServer(echo) as server:
        model = home.model(server)

        def ask(n: int) -> None:
            replies[n] = model.ask(Prompt("s", f"say number-{n} please"), deadline_s=PATIENCE_S)

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model.close()
    texts = {n: reply.text for n, reply in replies.items() if isinstance(reply, Reply)}
    assert texts == {n: f"number-{n}" for n in range(3)}


def test_the_observer_is_marked_so_that_our_hooks_leave_at_once(home: Home, tmp_path: Path) -> None:
    seen = tmp_path / "environment"
    with ModelServer([Say("ok")]) as server:
        claude = a_claude_that(f"env > {shlex.quote(str(seen))}; exit 3", tmp_path)
        home.model(server, cli_path=claude).ask(PROMPT, deadline_s=PATIENCE_S)
    assert "CLAUDE_MEM_OBSERVER=1" in seen.read_text().splitlines()
