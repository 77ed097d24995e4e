"""The interactive client in a window: begun, spoken to and left by keys, its screen read as by a person."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.harness import workers
from tests.harness.claude import Claude, Playing
from tests.harness.model_script import Step
from tests.harness.model_server import ModelServer
from tests.harness.terminal import Terminal

SHELL = "shell>"
TRUST = "Yes, I trust this folder"
STARS = tuple("✻✶✳✢✽·*")  # the client's moods, in front of what it is doing and of what it has done


@contextmanager
def shell(claude: Claude, *steps: Step) -> Iterator[tuple[Terminal, ModelServer]]:
    """A shell in the project. The client is told beforehand what it could only ask with the network up (that
    this is not its first start), and that the API key is meant; all else it asks."""
    file = claude.home / ".claude.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    known |= {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": ["dummy"]}}
    file.write_text(json.dumps(known))
    with ModelServer(Playing(steps)) as server:
        env = claude.environment(ANTHROPIC_BASE_URL=server.url, PS1=f"{SHELL} ")
        with Terminal(["bash", "--noprofile", "--norc"], cwd=claude.project, env=env) as terminal:
            terminal.wait_until(is_back, "the shell")
            yield terminal, server
        workers.until(lambda: not processes(claude), "whatever ran in the window has ended")


@contextmanager
def session(claude: Claude, *steps: Step) -> Iterator[tuple[Terminal, ModelServer]]:
    with shell(claude, *steps) as (terminal, server):
        begin(terminal)
        yield terminal, server


def begin(terminal: Terminal) -> None:
    """Start the client, say that the folder is to be trusted if it asks, and wait for its prompt."""
    terminal.enter("claude --permission-mode default")
    screen = terminal.wait_until(lambda screen: TRUST in screen or waits(screen), "the client")
    if TRUST in screen:
        terminal.choose(TRUST, unless=is_back)
        screen = terminal.wait_until(lambda screen: waits(screen) or is_back(screen), "the client's prompt")
    if is_back(screen):
        # The client draws this dialog twice, the second time with the mark back on "No, exit". An Enter that
        # was meant for the first ends it; then a person starts it again.
        terminal.press("C-l")
        terminal.wait_until(lambda screen: TRUST not in screen, "a clean screen")
        begin(terminal)


def say(terminal: Terminal, prompt: str, answer: str) -> str:
    """A turn to its end, that of its hooks included."""
    terminal.enter(prompt)
    return terminal.wait_until(lambda screen: f"● {answer}" in screen and waits(screen), answer)


def waits(screen: str) -> bool:
    """The client waits for a prompt, and does nothing meanwhile."""
    busy = any(line.startswith(STARS) and "…" in line for line in screen.splitlines())
    return "manual mode on" in screen and "esc to interrupt" not in screen and not busy


def is_back(screen: str) -> bool:
    """The shell waits for a command."""
    return screen.rstrip().endswith(SHELL)


def leave(terminal: Terminal) -> str:
    terminal.enter("/exit")
    return terminal.wait_until(is_back, "the shell")


def said(screen: str) -> list[str]:
    """What stands between the client's name and its prompt, but for animations and hints of its own."""
    lines = screen.partition("~/parcel\n")[2].partition("────")[0].splitlines()
    return [line.rstrip() for line in lines if line[:10].strip() and not line.startswith(STARS)]


def events(claude: Claude, columns: str, sessions: int = 1) -> list[tuple[object, ...]]:
    """What was recorded of the newest sessions, in the order of its happening."""
    claude.settle()
    newest = "SELECT id FROM sdk_sessions ORDER BY id DESC LIMIT ?"
    return claude.rows(
        f"SELECT {columns} FROM pending_messages WHERE session_id IN ({newest}) ORDER BY event_id", sessions
    )


def prompts(claude: Claude) -> list[str]:
    """The newest session's."""
    newest = "SELECT max(id) FROM sdk_sessions"
    return [
        prompt for (prompt,) in claude.rows(f"SELECT prompt FROM user_prompts WHERE session_id = ({newest})")
    ]


def processes(claude: Claude) -> set[int]:
    """All processes of this user but for the worker."""
    mark = b"\0HOME=" + os.fsencode(claude.home) + b"\0"
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in b"\0" + (process / "environ").read_bytes() + b"\0":
                found.add(int(process.name))
    return found - set(workers.processes(claude.data))
