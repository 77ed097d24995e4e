"""Two sessions with the real client, in which it calls every hook. Of this folder `make test` runs only this.

The first one works: every tool call is one event, and what was done is remembered. The second one is told
what is known at its start, at its prompt and at a file, and its context is full half-way.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.client import first_session, session_runs
from tests.harness import workers
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.model_script import Request, Say, Use
from tests.harness.model_server import ModelServer

TASK = "Say in a word what the README is about."
FOUND = "It is about parcels."
FREIGHT = "Crates above thirty kilos travel by freight, never by van."

SCALES = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("scales")

@server.tool()
def weigh(parcel: str) -> str:
    return f"{parcel} weighs 3 kg"

server.run()
"""


@dataclass(frozen=True)
class Session:
    claude: Claude
    ran: Ran
    requests: list[Request]

    def rows(self, of: str, *columns: str) -> list[tuple[Any, ...]]:
        """From a table that belongs to sessions: what this one has there."""
        named = ", ".join(f"t.{column}" for column in columns)
        return self.claude.rows(
            f"SELECT {named} FROM {of} t JOIN sdk_sessions s ON s.id = t.session_id"
            " WHERE s.claude_session_id = ? ORDER BY t.id",
            self.ran.session,
        )

    def events(self, *columns: str) -> list[tuple[Any, ...]]:
        return self.rows("pending_messages", *columns)

    def printed(self) -> dict[str, str]:
        """The tools that the client says it used, by the ids of their uses."""
        lines = [line["message"]["content"] for line in self.ran.lines if line["type"] == "assistant"]
        return _uses(block for content in lines for block in content)

    def written_down(self) -> dict[str, str]:
        """Those in its transcripts, the subagent's included."""
        lines = [
            json.loads(line)
            for file in (self.claude.config / "projects").rglob("*.jsonl")
            for line in file.read_text().splitlines()
        ]
        ours = [line for line in lines if line.get("sessionId") == self.ran.session]
        said = [line["message"]["content"] for line in ours if line.get("type") == "assistant"]
        return _uses(block for content in said for block in content)


def _uses(blocks: Iterable[dict[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in blocks:
        if block["type"] == "tool_use":
            assert block["id"] not in found
            found[block["id"]] = block["name"]
    return found


@dataclass(frozen=True)
class Work(Session):
    failing: Use
    by_the_subagent: tuple[Use, ...]


@pytest.fixture(scope="module")
def work(house: Claude, tmp_path_factory: pytest.TempPathFactory) -> Work:
    at = tmp_path_factory.mktemp("work")
    (at / "scales.py").write_text(SCALES)
    scales = {"type": "stdio", "command": sys.executable, "args": [str(at / "scales.py")]}
    (at / "mcp.json").write_text(json.dumps({"mcpServers": {"post": scales}}))
    failing = Use("Bash", {"command": "python3 -c 'import postage; assert postage.postage(0) == 0'"})
    sent = {"description": "Look at the README", "prompt": TASK, "subagent_type": "general-purpose"}
    by_the_subagent = (first_session.reading(house, "README.md"), Use("Bash", {"command": "ls"}))
    steps = [
        Say("I begin.", uses=(first_session.writing(house),)),
        Say("", uses=(first_session.reading(house),)),
        Say("", uses=(first_session.editing(house),)),
        Say("", uses=(Use("Bash", {"command": "python3 -B -c 'import postage'"}), failing)),
        Say("", uses=(Use("mcp__post__weigh", {"parcel": "the red one"}),)),
        Say("", uses=(Use("Agent", sent | {"run_in_background": False}),)),
        Say(first_session.SAID),
    ]
    subagent = [Say("", uses=by_the_subagent), Say(FOUND)]
    with ModelServer(Playing(steps, subagents={TASK: subagent})) as server:
        ran = house.run(server, first_session.ASKED, "--mcp-config", str(at / "mcp.json"))
    house.settle()
    return Work(house, ran, server.requests, failing, by_the_subagent)


@pytest.fixture(scope="module")
def later(house: Claude, work: Work) -> Session:
    """Asks about something else that is known, and reads the file; then its context is full."""
    house.mem("remember", FREIGHT)
    workers.until(lambda: "thirty kilos" in house.mem("search", "freight").stdout, "it can be found")
    session_runs.rendered(house, first_session.ASKED)
    heron = {"file_path": str(house.project / "heron.py"), "content": session_runs.source("heron")}
    steps = [
        Say("", uses=(first_session.reading(house),)),
        Say("", uses=(Use("Write", heron),), input_tokens=99_500),
        Say("By freight."),
    ]
    with ModelServer(Playing(steps)) as server:
        ran = house.run(
            server,
            "Add heron.py for crates above thirty kilos, which travel by freight.",
            "--autocompact",
            "100k",
        )
    assert (ran.code, ran.result, ran.err) == (0, "By freight.", "")
    house.settle()
    return Session(house, ran, server.requests)


def test_the_session_goes_as_it_would_without_memory(work: Work) -> None:
    assert (work.ran.code, work.ran.result, work.ran.err) == (0, first_session.SAID, "")
    assert first_session.RIGHT in (work.claude.project / first_session.FILE).read_text()
    ended = [line for line in work.ran.lines if line.get("subtype") == "hook_response"]
    assert {(line["outcome"], line["exit_code"], line["stderr"]) for line in ended} == {("success", 0, "")}


def test_every_tool_call_the_client_made_is_one_event(work: Work) -> None:
    made = work.printed()
    assert Counter(made.values()) == Counter(
        ["Write", "Read", "Edit", "Bash", "Bash", "mcp__post__weigh", "Agent", "Read", "Bash"]
    )
    assert work.written_down() == made
    recorded = [(id, name) for id, name in work.events("tool_use_id", "tool_name") if name]
    assert sorted(recorded) == sorted(made.items())


def test_only_the_call_that_failed_is_a_failure(work: Work) -> None:
    outcomes = {id: kind for id, kind in work.events("tool_use_id", "kind") if id}
    assert outcomes.pop(work.failing.id) == "tool_failure"
    assert set(outcomes.values()) == {"tool_use"}
    (error,) = (got for id, got in work.events("tool_use_id", "tool_response") if id == work.failing.id)
    assert "AssertionError" in error


def test_what_other_tools_returned_is_kept_as_the_client_told_it(work: Work) -> None:
    got = {name: response for name, response in work.events("tool_name", "tool_response") if name}
    assert "the red one weighs 3 kg" in got["mcp__post__weigh"]
    assert FOUND in got["Agent"]


def test_the_session_has_a_beginning_a_prompt_a_stop_and_an_end_once_each(work: Work) -> None:
    kinds = [kind for (kind,) in work.events("kind") if kind not in ("tool_use", "tool_failure")]
    assert kinds == ["session_start", "prompt", "subagent_stop", "said", "stop", "session_end"]
    assert work.rows("user_prompts", "prompt") == [(first_session.ASKED,)]
    said = {kind: text for kind, text in work.events("kind", "text") if text}
    assert said == {"subagent_stop": FOUND, "said": "I begin.", "stop": first_session.SAID}
    status = "SELECT status FROM sdk_sessions WHERE claude_session_id = ?"
    assert work.claude.rows(status, work.ran.session) == [("completed",)]


def test_what_a_subagent_did_is_its_own_and_the_sessions(work: Work) -> None:
    (transcript,) = (work.claude.config / "projects").rglob("agent-*.jsonl")
    who = (transcript.stem.removeprefix("agent-"), "general-purpose")
    of_it = {use.id for use in work.by_the_subagent}
    for id, kind, *agent in work.events("tool_use_id", "kind", "agent_id", "agent_type"):
        assert tuple(agent) == (who if id in of_it or kind == "subagent_stop" else (None, None))


def test_the_work_is_remembered_and_summed_up_once_for_the_main_agent_alone(work: Work) -> None:
    learned = work.rows("observations", "type", "narrative", "files_modified")
    assert ("bugfix", json.dumps([first_session.FILE])) in [(type, files) for type, _, files in learned]
    assert any(first_session.SAID in narrative for _, narrative, _ in learned)
    summed_up = work.rows("session_summaries", "request", "files_edited")
    assert summed_up == [(first_session.ASKED, json.dumps([first_session.FILE]))]


def test_nothing_is_left_in_the_spool_and_no_event_is_unsettled(work: Work) -> None:
    assert {state for (state,) in work.events("state")} == {"done"}
    assert [path for path in Path(work.claude.data, "spool").iterdir() if path.suffix == ".json"] == []


TOLD = {
    "SessionStart": (0, f"Asked: {first_session.ASKED}"),
    "UserPromptSubmit": (0, FREIGHT.rstrip(".")),
    "PreToolUse": (1, f"History of {first_session.FILE}."),
}
"""By what hook, in which request to the model for the first time, and what."""


@pytest.mark.parametrize("hook", TOLD)
def test_a_later_session_is_told_what_is_known(later: Session, hook: str) -> None:
    """At its start, at a prompt about it, and when it reads its file; see also `test_injected_context.py`."""
    number, what = TOLD[hook]
    told, *_ = first_session.told(later.ran, hook)
    assert told.startswith(first_session.FENCE)
    assert what in told
    assert read(later.requests[number]).count(told) == 1


def test_a_compaction_is_recorded_and_the_session_begins_again_within_its_turn(later: Session) -> None:
    notes = [(kind, note) for kind, note in later.events("kind", "note") if kind != "tool_use"]
    assert notes.pop(notes.index(("post_compact", "auto"))), "before or after the new beginning"
    assert notes == [
        ("session_start", "startup"),
        ("prompt", None),
        ("pre_compact", "auto"),
        ("session_start", "compact"),
        ("stop", None),
        ("session_end", "other"),
    ]
    assert session_runs.taught(later.claude, later.ran.session) == ["heron.py"]
