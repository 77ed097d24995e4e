"""Judges whether a broken memory was in the real client's way, and whether it lost anything.

The judge is one turn: a file is written, a command fails, the file is read. Beside it stands the same turn in
a home without any hooks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.harness import checker
from tests.harness.claude import Claude, Playing, Ran, texts
from tests.harness.model_script import Request, Say, Step, Use
from tests.harness.model_server import ModelServer

PROMPT = "Make a.py, see it fail, read it."
USES = ["toolu_write", "toolu_fail", "toolu_read"]
HEARD = {"session_start": 1, "prompt": 1, "tool_use": 2, "tool_failure": 1, "stop": 1, "session_end": 1}
KINDS = HEARD | {"said": 1}
"""What hooks report, and what of the turn is in the transcript alone."""
HOOKS = {
    "SessionStart": 1,
    "UserPromptSubmit": 1,
    "PreToolUse": 3,
    "PostToolUse": 2,
    "PostToolUseFailure": 1,
    "Stop": 1,
}
"""What the client shows of them; that of the session's end comes after its last line."""
UNHAPPY = {"hook_cancelled", "hook_non_blocking_error", "hook_blocking_error", "hook_stopped_continuation"}


@dataclass(frozen=True, slots=True)
class Course:
    """How a run went, as the user and the model saw it."""

    code: int
    err: str
    last: tuple[object, ...]
    tools_said: tuple[str, ...]


def turn(claude: Claude) -> list[Say]:
    file = str(claude.project / "a.py")
    return [
        Say("Writing.", uses=(Use("Write", {"file_path": file, "content": "A = 1\n"}, USES[0]),)),
        Say("", uses=(Use("Bash", {"command": "echo no; exit 3"}, USES[1]),)),
        Say("", uses=(Use("Read", {"file_path": file}, USES[2]),)),
        Say("Done."),
    ]


def run(
    claude: Claude, before: Callable[[Request], object] = lambda _: None, *, port: int | None = None
) -> tuple[Ran, Course]:
    """The turn, with something done before each of the model's answers; `port`, as our settings have it."""
    playing = Playing(turn(claude))

    def script(request: Request) -> Step:
        before(request)
        return playing(request)

    with ModelServer(script) as server:
        ran = claude.run(server, PROMPT, CLAUDE_MEM_WORKER_PORT=str(port or claude.port))
    last = ran.lines[-1]
    blocks = [
        block
        for message in server.requests[-1].body["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    said = tuple(texts({"content": [block]}).replace(str(claude.home), "~") for block in blocks)
    told = tuple(last[key] for key in ("subtype", "is_error", "result", "num_turns", "permission_denials"))
    return ran, Course(ran.code, ran.err, told, said)


def without_us(at: Path) -> Course:
    """The same turn in a home where nobody hooked in."""
    claude = Claude(at)
    try:
        ran, course = run(claude)
    finally:
        claude.end()
    assert not [line for line in ran.lines if str(line.get("subtype")).startswith("hook_")]
    assert (course.code, ran.result, len(course.tools_said)) == (0, "Done.", 3)
    return course


def unhappy_hooks(claude: Claude, ran: Ran) -> list[object]:
    """All that the client says of hooks that failed, were late or wrote to their standard error."""
    answers = [line for line in ran.lines if line.get("subtype") == "hook_response"]
    said = [
        line for line in answers if (line["outcome"], line["exit_code"], line["stderr"]) != ("success", 0, "")
    ]
    (transcript,) = claude.config.glob(f"projects/*/{ran.session}.jsonl")
    kept = [json.loads(line).get("attachment", {}) for line in transcript.read_text().splitlines()]
    return said + [each for each in kept if each.get("type") in UNHAPPY]


def all_hooks_ran_happily(claude: Claude, ran: Ran) -> None:
    answers = [line for line in ran.lines if line.get("subtype") == "hook_response"]
    ran_for = Counter(line["hook_event"] for line in answers)
    assert ran_for == HOOKS, ran_for  # pytest explains nothing outside of test files
    assert unhappy_hooks(claude, ran) == []
    assert all(json.loads(line["stdout"])["continue"] is True for line in answers)


def system_messages(ran: Ran) -> list[str]:
    answers = [json.loads(line["stdout"]) for line in ran.lines if line.get("subtype") == "hook_response"]
    return [answer["systemMessage"] for answer in answers if "systemMessage" in answer]


def everything_is_there_once(claude: Claude, ran: Ran) -> None:
    """The fault is over: a worker, started if there is none, has every event of the run, and none twice."""
    claude.mem("worker", "start")
    claude.settle()
    assert kept_of(claude, ran) == KINDS
    assert checker.check(claude.data, USES) == {"done": 3, "spooled": 0}


def kept_of(claude: Claude, ran: Ran) -> Counter[str]:
    return Counter(
        kind
        for (kind,) in claude.rows(
            "SELECT kind FROM pending_messages JOIN sdk_sessions ON session_id = sdk_sessions.id"
            " WHERE claude_session_id = ?",
            ran.session,
        )
    )
