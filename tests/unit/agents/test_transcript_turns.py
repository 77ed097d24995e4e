"""What a person typed, what the tools did and how turns ended, each as the live hooks say it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.agents.transcript_shapes import (
    SESSION,
    Fields,
    answers,
    attached,
    line,
    names,
    note,
    one,
    says,
    told,
    user,
    uses,
)

from claude_mem.agents.claude_code.transcript_turns import MOST_CALLS

EPOCH = 1784088000000  # of the shapes' clock
LS = {"command": "ls"}


def test_a_turn_is_told_in_order_at_its_own_times(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-07-15T04:00:00.000Z"},
        user(1, "fix it", promptId="p-1", permissionMode="acceptEdits"),
        says(2, "Looking.", stop="tool_use"),
        uses(2.5, "t-1", "Bash", LS),
        answers(3, "t-1", toolUseResult={"stdout": "a", "stderr": ""}, promptId="p-1"),
        says(4, "Done."),
    )
    assert [(each.event, each.at - EPOCH) for each in events] == [
        ("SessionStart", 1000),
        ("UserPromptSubmit", 1000),
        ("AgentMessage", 2000),
        ("PostToolUse", 3000),
        ("Stop", 4000),
        ("SessionEnd", 4000),
    ]
    assert all(next(iter(each.payload)) == "session_id" and each.branch == "main" for each in events)
    assert one(events, "AgentMessage")["message"] == "Looking."
    assert events[3].payload == {
        "session_id": SESSION,
        "transcript_path": str(tmp_path / f"{SESSION}.jsonl"),
        "cwd": "/home/u/parcel",
        "hook_event_name": "PostToolUse",
        "prompt_id": "p-1",
        "prompt_number": 1,
        "permission_mode": "acceptEdits",
        "tool_name": "Bash",
        "tool_input": LS,
        "tool_response": {"stdout": "a", "stderr": ""},
        "tool_use_id": "t-1",
    }
    assert one(events, "Stop")["last_assistant_message"] == "Done."


def test_ids_are_named_after_their_lines_and_are_the_same_again(tmp_path: Path) -> None:
    bare = user(1, "one")
    del bare["uuid"]
    events = told(tmp_path, bare, user(2, "two", uuid="u-2"), user(3, "three", uuid="not a name\n"))
    assert [each.id for each in events] == [
        f"past-{SESSION}-1-SessionStart",
        f"past-{SESSION}-1-UserPromptSubmit",
        "past-u-2-UserPromptSubmit",
        f"past-{SESSION}-3-UserPromptSubmit",
        f"past-{SESSION}-3-SessionEnd",
    ]


def test_prompts_are_numbered_as_they_were_typed_and_tools_belong_to_theirs(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        user(1, "one"),
        says(2, "Yes."),
        user(3, "two"),
        uses(4, "t", "Bash", LS),
        answers(5, "t"),
    )
    numbers = [(each.event, each.payload.get("prompt_number")) for each in events]
    assert numbers == [
        ("SessionStart", None),
        ("UserPromptSubmit", 1),
        ("Stop", 1),
        ("UserPromptSubmit", 2),
        ("PostToolUse", 2),
        ("SessionEnd", 2),
    ]


@pytest.mark.parametrize(
    "line",
    [
        user(2, "Base directory for this skill: /x", isMeta=True),
        user(2, "<local-command-stdout>Set model</local-command-stdout>"),
        user(2, "<command-name>/clear</command-name>\n<command-message>clear</command-message>"),
        user(2, "<bash-input>ls</bash-input>"),
        user(2, "<system-reminder>Be brief.</system-reminder>"),
        user(2, "[Request interrupted by user for tool use]"),
        user(2, [{"type": "text", "text": "[Request interrupted by user]"}]),
        user(2, "An agent of the team says hello", origin={"kind": "teammate"}),
        attached(2, type="queued_command", prompt="secretly", commandMode="prompt", isMeta=True),
        attached(2, type="queued_command", prompt="<task>", commandMode="task-notification"),
        attached(2, type="hook_success", hookName="UserPromptSubmit", stdout="x"),
    ],
    ids=lambda line: str(line.get("message", line.get("attachment")))[:60],
)
def test_what_nobody_typed_is_no_prompt(tmp_path: Path, line: dict[str, object]) -> None:
    events = told(tmp_path, user(1, "fix it"), line, user(3, "thanks"))
    assert [each.payload.get("prompt") for each in events[1:-1]] == ["fix it", "thanks"]
    assert events[2].payload["prompt_number"] == 2


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        (user(2, "plain"), "plain"),
        (user(2, "plain", origin={"kind": "human"}), "plain"),
        (user(2, [{"type": "text", "text": "in"}, {"type": "text", "text": "parts"}]), "in\nparts"),
        (user(2, "<system-reminder>x</system-reminder>\nthanks"), "thanks"),
        (
            user(
                2,
                "<command-message>greet</command-message>\n<command-name>/greet</command-name>\n"
                "<command-args>Bob</command-args>",
            ),
            "/greet Bob",
        ),
        (
            user(2, "<command-message>tidy is running…</command-message>\n<command-name>tidy</command-name>"),
            "/tidy",
        ),
        (attached(2, prompt="also this", commandMode="prompt", type="queued_command"), "also this"),
    ],
)
def test_what_a_person_typed_is_a_prompt_as_the_hook_was_given_it(
    tmp_path: Path, line: dict[str, object], typed: str
) -> None:
    assert one(told(tmp_path, line), "UserPromptSubmit")["prompt"] == typed


def test_a_task_that_ended_begins_a_turn_but_is_no_numbered_prompt(tmp_path: Path) -> None:
    notice = "<task-notification>\n<summary>Agent finished</summary>\n</task-notification>"
    events = told(
        tmp_path, user(1, "go"), says(2, "Sent."), user(3, notice, promptId="p-9"), says(4, "Back.")
    )
    assert names(events) == ["UserPromptSubmit", "Stop", "UserPromptSubmit", "Stop"]
    assert (events[3].payload["prompt_id"], events[3].payload["prompt_number"]) == ("p-9", 1)


def test_a_line_that_was_written_twice_is_one_prompt(tmp_path: Path) -> None:
    twice = user(1, "go", uuid="same")
    assert names(told(tmp_path, twice, twice, user(2, "on"))) == ["UserPromptSubmit", "UserPromptSubmit"]


def test_a_failure_says_what_went_wrong(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        uses(1, "t", "Bash", LS),
        answers(2, "t", "Exit code 3\nbad", True, toolUseResult="Error: Exit code 3\nbad"),
    )
    failed = one(events, "PostToolUseFailure")
    assert (failed["error"], failed["is_interrupt"], failed["tool_input"]) == ("Exit code 3\nbad", False, LS)


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ("<tool_use_error>No such tool available: X</tool_use_error>", {}),
        ("The user doesn't want to proceed with this tool use. The tool use was rejected", {}),
        ("Permission to use Bash with command rm has been denied.", {}),
        ("Blocked.", {"toolDenialKind": "hook"}),
    ],
)
def test_a_tool_that_never_ran_is_no_event(tmp_path: Path, said: str, fields: dict[str, object]) -> None:
    refused = told(tmp_path, uses(1, "t", "Bash", LS), answers(2, "t", said, True, **fields))
    assert names(refused) == []
    assert names(told(tmp_path, uses(1, "t", "Bash", LS), answers(2, "t", "Exit code 1", True))) == [
        "PostToolUseFailure"
    ]


def test_a_call_without_a_result_and_a_result_without_a_call_are_no_events(tmp_path: Path) -> None:
    assert names(told(tmp_path, answers(1, "nobody"), uses(2, "t", "Bash", LS))) == []


def test_calls_that_are_never_answered_do_not_pile_up(tmp_path: Path) -> None:
    calls = [uses(1, f"t-{n}", "Bash", LS) for n in range(MOST_CALLS + 1)]
    events = told(tmp_path, *calls, answers(2, "t-0"), answers(3, f"t-{MOST_CALLS}"))
    assert one(events, "PostToolUse")["tool_use_id"] == f"t-{MOST_CALLS}"


def test_two_results_in_one_line_are_two_events_with_their_own_answers(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        uses(1, "a", "Read", {"file_path": "/a"}),
        uses(2, "b", "Read", {"file_path": "/b"}),
        user(
            3,
            [
                {"type": "tool_result", "tool_use_id": "a", "content": "in a"},
                {"type": "tool_result", "tool_use_id": "b", "content": "in b"},
            ],
            toolUseResult={"file": "one of them"},
        ),
    )
    assert [each.payload["tool_response"] for each in events[1:-1]] == ["in a", "in b"]
    assert len({each.id for each in events}) == len(events)


def test_a_message_in_several_lines_ends_its_turn_once_with_all_it_said(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        user(1, "go"),
        says(2, {"type": "thinking", "thinking": "hm"}, message={"id": "m"}),
        says(3, "First. ", message={"id": "m"}),
        says(4, "Second.", message={"id": "m"}),
        user(5, "on", promptId="p-2"),
    )
    stop = one(events, "Stop")
    assert stop["last_assistant_message"] == "First. \n\nSecond."
    assert "prompt_id" not in stop  # the next prompt's is not its own


def test_a_turn_that_was_sent_on_by_a_hook_ended_twice(tmp_path: Path) -> None:
    feedback = user(3, "Stop hook feedback: run the tests", isMeta=True)
    events = told(tmp_path, user(1, "go"), says(2, "Done."), feedback, says(4, "Now really."))
    stops = [each.payload["last_assistant_message"] for each in events if each.event == "Stop"]
    assert stops == ["Done.", "Now really."]


def test_a_turn_that_was_broken_off_has_no_end(tmp_path: Path) -> None:
    broken = told(
        tmp_path, user(1, "go"), says(2, "On it", stop=None), user(3, "[Request interrupted by user]")
    )
    assert names(broken) == ["UserPromptSubmit", "AgentMessage"]
    assert names(told(tmp_path, user(1, "go"), says(2, "On it"))) == ["UserPromptSubmit", "Stop"]


@pytest.mark.parametrize(
    "after",
    [user(3, "next"), note(3, "stop_hook_summary"), note(3, "turn_duration")],
    ids=["prompt", "hooks", "time"],
)
def test_where_no_reason_was_written_what_follows_shows_that_a_turn_was_over(
    tmp_path: Path, after: dict[str, object]
) -> None:
    open_end = [user(1, "go"), says(2, "Done.", stop=None)]
    assert "Stop" in names(told(tmp_path, *open_end, after))
    assert "Stop" not in names(told(tmp_path, *open_end))


def test_the_clients_own_words_end_no_turn(tmp_path: Path) -> None:
    made_up = says(
        2, "No response requested.", message={"model": "<synthetic>", "stop_reason": "stop_sequence"}
    )
    assert names(told(tmp_path, user(1, "go"), made_up)) == ["UserPromptSubmit"]


def test_a_turn_that_failed_says_with_what(tmp_path: Path) -> None:
    failure = says(2, "API Error: 529 Overloaded.", isApiErrorMessage=True, error="server_error")
    failed = one(told(tmp_path, user(1, "go"), failure), "StopFailure")
    assert (failed["error"], failed["last_assistant_message"]) == (
        "server_error",
        "API Error: 529 Overloaded.",
    )


SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. The summary below "
    "covers the earlier portion of the conversation.\n\n<system-reminder>\nTools: Bash\n</system-reminder>\n"
    "Summary:\nParcels are weighed.\n\nTwice.\n\nIf you need specific details from before compaction, "
    "read the file.\nContinue the conversation from where it left off."
)


def test_a_compaction_gives_its_summary_without_what_the_client_put_around_it(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        user(1, "go"),
        says(2, "Done."),
        note(3, "compact_boundary", compactMetadata={"trigger": "manual", "preTokens": 9}),
        user(4, SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True, promptId="p-3"),
        user(5, "on"),
    )
    assert names(events) == ["UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "UserPromptSubmit"]
    after = one(events, "PostCompact")
    assert (after["compact_summary"], after["trigger"]) == ("Parcels are weighed.\n\nTwice.", "manual")
    assert one(events, "PreCompact")["prompt_id"] == "p-3"


def test_a_compaction_whose_summary_is_not_there_was_begun_all_the_same(tmp_path: Path) -> None:
    boundary = note(2, "compact_boundary")
    assert names(told(tmp_path, user(1, "go"), boundary)) == ["UserPromptSubmit", "PreCompact"]
    summary = user(2, "What was.", isCompactSummary=True)
    events = told(tmp_path, summary)
    assert names(events) == ["PreCompact", "PostCompact"]
    assert one(events, "PostCompact")["compact_summary"] == "What was."


def test_a_session_says_how_it_started_where_its_hooks_left_a_trace(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        attached(0, type="hook_success", hookName="SessionStart:clear", hookEvent="SessionStart"),
        user(1, "go"),
        attached(2, type="hook_success", hookName="SessionStart:resume", hookEvent="SessionStart"),
        attached(2, type="hook_additional_context", hookName="SessionStart:resume", hookEvent="SessionStart"),
        user(3, "on"),
    )
    sources = [each.payload["source"] for each in events if each.event == "SessionStart"]
    assert sources == ["clear", "resume"]


def test_a_line_without_a_time_has_that_of_the_one_before_it(tmp_path: Path) -> None:
    late = user(5, "on")
    late["timestamp"] = "yesterday"
    events = told(tmp_path, user(1, "go"), late)
    assert [each.at - EPOCH for each in events] == [1000, 1000, 1000, 1000]


def test_every_kind_of_line_that_tells_nothing_tells_nothing(tmp_path: Path) -> None:
    silent: list[Fields] = [
        *(
            note(2, subtype)
            for subtype in ("api_error", "informational", "local_command", "model_refusal_no_fallback")
        ),
        *(
            attached(2, type=kind)
            for kind in ("file", "prompt_snapshot", "date", "skill_listing", "instructions")
        ),
        line("custom-title", 2, customTitle="x"),
        {"type": "summary", "summary": "Parcels", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    ]
    assert names(told(tmp_path, user(1, "go"), *silent)) == ["UserPromptSubmit"]
