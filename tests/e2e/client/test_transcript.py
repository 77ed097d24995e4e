"""What the real client's hooks said while it worked, its transcript tells afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.harness.claude import Claude, Playing
from tests.harness.model_script import Say, Status, Use
from tests.harness.model_server import ModelServer

from claude_mem.agents.claude_code import transcript_files, transcripts
from claude_mem.agents.hook_payload import KINDS
from claude_mem.model.events import TranscriptEvent

TASK = "Say in a word what the README is about."
RECORD = "import json, sys; open(sys.argv[1], 'a').write(json.dumps(json.load(sys.stdin)) + '\\n')"
NOT_WRITTEN = ("effort", "duration_ms", "background_tasks", "session_crons", "prompt_number")
"""Of a payload: what no line of a transcript says, and the number, which no hook says."""


@dataclass(frozen=True)
class Work:
    live: list[dict[str, Any]]
    told: list[TranscriptEvent]

    def said(self, event: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The payloads of an event, live and told."""
        told = [each.payload for each in self.told if each.event == event]
        return [_bare(each) for each in self.live if each["hook_event_name"] == event], [
            _bare(each) for each in told
        ]


def _bare(payload: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in payload.items() if key not in NOT_WRITTEN}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    at = tmp_path_factory.mktemp("told")
    claude = Claude(at)
    log = at / "hooks.jsonl"
    hook = {"type": "command", "command": sys.executable, "args": ["-c", RECORD, str(log)], "timeout": 20}
    (claude.config / "settings.json").write_text(
        json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in KINDS}})
    )
    (claude.config / "commands").mkdir()
    (claude.config / "commands" / "greet.md").write_text("Greet $ARGUMENTS warmly\n")
    sent = {
        "description": "Look",
        "prompt": TASK,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    steps = [
        Say("Looking.", uses=(Use("Bash", {"command": "ls"}), Use("Bash", {"command": "exit 3"}))),
        Say("", uses=(Use("Nonsense", {"a": 1}),)),
        Say("", uses=(Use("Write", {"file_path": str(claude.project / "x.txt"), "content": "hi\n"}),)),
        Say("", uses=(Use("Agent", sent),)),
        Say("All done. "),
    ]
    sub = [Say("", uses=(Use("Bash", {"command": "cat README.md"}),)), Say("It is about parcels.")]
    with ModelServer(Playing(steps, subagents={TASK: sub})) as server:
        session = claude.run(server, "do the work please").session
    for prompt, step in (
        ("/greet Bob", Say("Hello Bob.")),
        ("/compact", Say("")),
        ("go on", Say("After it.")),
        ("fail", Status(400)),
    ):
        with ModelServer(Playing([step])) as server:
            claude.run(server, prompt, "--resume", session, CLAUDE_CODE_MAX_RETRIES="0")
    (seen,) = transcript_files.find(transcript_files.projects_folder({"HOME": str(claude.home)})).transcripts
    assert (seen.session, seen.cwd, len(seen.agents)) == (session, str(claude.project), 1)
    yield Work([json.loads(line) for line in log.read_text().splitlines()], list(transcripts.read(seen.path)))
    claude.end()


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUseFailure", "Stop"])
def test_prompts_failures_and_ends_of_turns_are_told_as_the_hooks_said_them(work: Work, event: str) -> None:
    live, told = work.said(event)
    assert told == live
    assert live


def test_tool_uses_are_told_with_all_that_went_in_and_came_out(work: Work) -> None:
    live, told = work.said("PostToolUse")
    own = [each for each in told if "agent_id" not in each]
    assert own == [each for each in live if "agent_id" not in each]
    (used,), (seen,) = ([each for each in some if "agent_id" in each] for some in (live, told))
    # Of a subagent's tools the client writes down only what it told its model.
    assert seen | {"tool_response": used["tool_response"]["stdout"]} == used | {"tool_response": "# parcel"}


def test_a_subagents_end_and_a_compaction_are_told(work: Work) -> None:
    live, told = work.said("SubagentStop")
    assert told == [each for each in live if each["agent_type"]]
    (after,), (seen,) = work.said("PostCompact")
    assert seen["compact_summary"] == "What was said so far."
    assert after | {"compact_summary": seen["compact_summary"]} == seen
    (before,), (begun,) = work.said("PreCompact")
    assert begun | {"custom_instructions": before["custom_instructions"]} == before


def test_a_turn_that_failed_is_told(work: Work) -> None:
    _, (failed,) = work.said("StopFailure")  # live, that hook is not waited for
    assert failed["last_assistant_message"].startswith("API Error: 400")


def test_the_order_and_the_numbers_are_those_of_the_work(work: Work) -> None:
    prompts = [each for each in work.told if each.event == "UserPromptSubmit"]
    assert [each.payload["prompt_number"] for each in prompts] == [1, 2, 3, 4]
    kept = [each["hook_event_name"] for each in work.live if each.get("agent_type") != ""]
    # One process was started for each prompt; and of what is said on the way no hook tells.
    once = ("SessionStart", "SessionEnd", "StopFailure", "AgentMessage")
    assert [each.event for each in work.told if each.event not in once] == [
        event for event in kept if event not in once
    ]


def test_the_client_is_where_the_payloads_say(work: Work) -> None:
    assert {Path(str(each.payload["cwd"])).name for each in work.told} == {"parcel"}
    assert {each.branch for each in work.told} == {"main"}
