"""Agents beside the main one: those that outlive their turn, a private one's, the client's inner forks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.client import first_session, session_runs
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.model_script import Say, Use
from tests.harness.model_server import ModelServer

TASK = "Say in a word what the README is about."
FOUND = "It tells of parcels."
CANARY = "canary-1f9c"


@pytest.fixture(scope="module")
def delegated(house: Claude) -> Ran:
    return delegating(house, first_session.ASKED, FOUND)


def delegating(claude: Claude, prompt: str, found: str) -> Ran:
    """A turn that sends an agent out, and ends; the agent goes on working, ends, and the model is told."""
    mark = claude.home / "the turn has ended"
    mark.unlink(missing_ok=True)
    note_it = {"type": "command", "command": "touch", "args": [str(mark)]}
    wait = f"until [ -e '{mark}' ]; do sleep 0.02; done; echo {found}"
    sent = {"description": "Look at the README", "prompt": TASK, "subagent_type": "general-purpose"}
    answer = f"The agent says: {found}"
    steps = [
        Say("", uses=(first_session.writing(claude),)),
        Say("", uses=(Use("Agent", sent),)),
        Say("An agent looks."),
        Say(answer),
    ]
    agent = [Say("", uses=(Use("Bash", {"command": wait}),)), Say(found)]
    with ModelServer(Playing(steps, subagents={TASK: agent})) as server:
        settings = json.dumps({"hooks": {"Stop": [{"hooks": [note_it]}]}})
        ran = claude.run(server, prompt, "--settings", settings)
    assert (ran.code, ran.result, ran.err) == (0, answer, "")
    assert f"<result>{found}</result>" in read(server.requests[-1]), "the client tells its model"
    claude.settle()
    return ran


def events(claude: Claude, ran: Ran, *columns: str) -> list[tuple[Any, ...]]:
    return claude.rows(
        f"SELECT {', '.join(columns)} FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
        " WHERE s.claude_session_id = ? ORDER BY event_id",
        ran.session,
    )


def test_that_an_agent_in_the_background_ended_is_no_prompt_of_the_users(
    house: Claude, delegated: Ran
) -> None:
    of_the_turns = [kind for (kind,) in events(house, delegated, "kind") if kind != "tool_use"]
    assert of_the_turns == [
        *("session_start", "prompt", "stop", "subagent_stop", "task_end", "stop", "session_end")
    ]
    assert house.rows("SELECT prompt FROM user_prompts") == [(first_session.ASKED,)]
    assert set(house.rows("SELECT request FROM session_summaries")) == {(first_session.ASKED,)}


def test_what_an_agent_does_after_its_turn_has_ended_is_recorded_as_its_own(
    house: Claude, delegated: Ran
) -> None:
    (transcript,) = (house.config / "projects").rglob("agent-*.jsonl")
    who = (transcript.stem.removeprefix("agent-"), "general-purpose")
    of_agents = [
        (id, type, tool or kind, response or text)
        for id, type, tool, kind, response, text in events(
            house, delegated, "agent_id", "agent_type", "tool_name", "kind", "tool_response", "text"
        )
        if id
    ]
    assert [(id, type) for id, type, _, _ in of_agents] == [who, who]
    assert [what for _, _, what, _ in of_agents] == ["Bash", "subagent_stop"]
    assert all(FOUND in told for _, _, _, told in of_agents)


def test_the_next_session_is_told_what_the_user_asked_for(house: Claude, delegated: Ran) -> None:
    del delegated  # it comes first
    task = first_session.ASKED.partition(":")[0]
    session_runs.rendered(house, task)
    _, request = session_runs.greet(house)
    (start,) = session_runs.memories(request)
    assert f"- Done: {task}" in start


def test_what_the_agent_of_a_private_turn_finds_later_is_private_too(house: Claude, delegated: Ran) -> None:
    ran = delegating(house, "<private>What is in my diary?</private>", CANARY)
    assert holding(house, CANARY) == []
    assert {kind for (kind,) in events(house, ran, "kind")} == {
        *("session_start", "prompt", "stop", "session_end")
    }
    assert {private for (private,) in events(house, delegated, "private")} == {0}
    assert holding(house, FOUND), "what is not private is kept"


def test_the_clients_own_inner_forks_are_no_subagents(claude: Claude) -> None:
    """In a home where nothing was private: else the summary of a session that is resumed is not kept."""
    summary = f"<summary>{FOUND}</summary>"
    with ModelServer(Playing([Say("Hello.")], summary=summary)) as server:
        ran = claude.run(server, "Greet.")
        compacted = claude.run(server, "/compact", "--resume", ran.session)
    claude.settle()
    assert compacted.hooks("SubagentStop"), "the client says that one of them stopped"
    kept = {kind: text for kind, text in events(claude, ran, "kind", "text") if "compact" in kind or text}
    assert kept.keys() == {"stop", "pre_compact", "post_compact"}
    assert kept["post_compact"] == summary


def holding(claude: Claude, words: str) -> list[Path]:
    return [path for path, content in claude.bytes_of_the_data_directory() if words.encode() in content]
