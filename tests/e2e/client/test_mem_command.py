"""`/mem` in the real client: answered by the prompt's hook, so that its model is not asked at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness import hook_process
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer

from claude_mem.hook import slash_command

CANARY = "canary-e41f07"
DEFAULT = ("--permission-mode", "default")  # the one that asks; nobody is there to be asked


class Talk:
    """Prompts to one client, and what its model was sent at each."""

    def __init__(self, claude: Claude) -> None:
        self.claude = claude
        commands = self.prompt("Hello.")[0].lines
        offered = next(line["slash_commands"] for line in commands if line.get("subtype") == "init")
        self.mem = next(f"/{name}" for name in offered if name.split(":")[-1] == "mem")

    def command(self, text: str, *more: str) -> tuple[Ran, str]:
        """What the user is shown; the model has no part in it."""
        with ModelServer(Playing([Say("Nobody asked me.")])) as server:
            ran = self.claude.run(server, f"{self.mem} {text}".strip(), *DEFAULT, *more)
            assert server.requests == []
        assert (ran.code, ran.err) == (0, "")
        return ran, ran.result

    def prompt(self, text: str, *more: str) -> tuple[Ran, str]:
        with ModelServer(Playing([Say(f"I heard {text}")])) as server:
            ran = self.claude.run(server, text, *DEFAULT, *more)
            (request,) = server.requests
        assert (ran.code, ran.err) == (0, "")
        return ran, read(request)


@pytest.fixture(scope="module")
def talk(house: Claude) -> Talk:
    return Talk(house)


def everything_on_disk(data: Path) -> bytes:
    return b" ".join(path.read_bytes() for path in sorted(data.rglob("*")) if path.is_file())


def test_what_was_typed_arrives_as_it_was_typed_and_is_answered_without_a_model(talk: Talk) -> None:
    typed = f'it\'s "quoted" {CANARY} $HOME `id` $(id) \\n'
    assert "Saved as " in talk.command(f"remember {typed}")[1]
    assert typed.strip() in talk.command(f"search {CANARY}")[1]
    assert "Recording." in talk.command("")[1]


def test_with_the_worker_down_it_says_so_and_no_model_is_asked(talk: Talk) -> None:
    talk.claude.mem("worker", "stop")
    with hook_process.starting_no_worker(talk.claude.data):
        _, said = talk.command("search anything")
    assert slash_command.DOWN in said
    talk.claude.mem("worker", "start")


def test_nothing_of_such_a_turn_becomes_memory(talk: Talk) -> None:
    talk.command(f"search unheard-of-{CANARY}")
    talk.prompt("An ordinary prompt.")
    talk.claude.settle()
    assert ("An ordinary prompt.",) in talk.claude.rows("SELECT prompt FROM user_prompts")
    assert f"unheard-of-{CANARY}".encode() not in everything_on_disk(talk.claude.data)


def test_a_paused_session_is_silent_until_it_is_resumed(talk: Talk) -> None:
    ran, _ = talk.prompt("Before the pause.")
    resume = ("--resume", ran.session)
    assert "Paused for one session" in talk.command("off", *resume)[1]
    ran, _ = talk.prompt(f"paused-{CANARY}", *resume)
    assert ran.session == resume[1]
    (start,) = ran.hooks("SessionStart")
    assert f"Resume: claude-mem on --session {ran.session}" in start["output"]
    talk.prompt("Another session, meanwhile.")
    assert "Recording the session again." in talk.command("on", *resume)[1]
    talk.prompt("Recorded once more.", *resume)
    talk.claude.settle()
    prompts = {prompt for (prompt,) in talk.claude.rows("SELECT prompt FROM user_prompts")}
    assert {"Another session, meanwhile.", "Recorded once more."} <= prompts
    assert f"paused-{CANARY}".encode() not in everything_on_disk(talk.claude.data)


def test_with_everything_paused_a_new_session_says_so_and_is_told_nothing(talk: Talk) -> None:
    talk.claude.settle()
    assert "claude-mem-context" in talk.prompt("What do you know?")[1]
    talk.claude.mem("off")
    ran, sent = talk.prompt(f"all-{CANARY}")
    (start,) = ran.hooks("SessionStart")
    assert "nothing is recorded. Resume: claude-mem on" in start["output"]
    assert "claude-mem-context" not in sent
    talk.claude.mem("on")
    ran, sent = talk.prompt("And now?")
    assert "claude-mem-context" in sent
    talk.claude.settle()
    assert f"all-{CANARY}".encode() not in everything_on_disk(talk.claude.data)


def test_the_skills_and_the_command_are_offered(talk: Talk) -> None:
    ran, sent = talk.prompt("What can you do?")
    init = next(line for line in ran.lines if line.get("subtype") == "init")
    assert {name.split(":")[-1] for name in init["skills"]} >= {"mem-search", "remember"}
    assert "Search memory of earlier sessions" in sent
