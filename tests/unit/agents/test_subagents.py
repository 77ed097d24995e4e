"""What subagents did belongs to the session that sent them, at its time, and never as the user's words."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.agents.transcript_shapes import (
    SESSION,
    answers,
    line,
    names,
    one,
    says,
    told,
    user,
    uses,
    write,
)

from claude_mem.agents.claude_code import transcripts

TASK = "Say in a word what the README is about."
CALL = {"prompt": TASK, "subagent_type": "Explore", "description": "Look"}
LS = {"command": "ls"}
ID = "afaf8c53cc6828db5"
FILE = f"{SESSION}/subagents/agent-{ID}.jsonl"


def agent(*found: dict[str, object]) -> list[dict[str, object]]:
    return [each | {"isSidechain": True, "agentId": ID} for each in found]


MAIN = [
    user(1, "go", promptId="p-1", permissionMode="plan"),
    uses(2, "task", "Task", CALL),
    uses(3, "own", "Bash", LS),
    answers(7, "own"),
    answers(8, "task", "It is about parcels."),
    says(9, "Done."),
]
SUB = agent(
    user(3.1, TASK, promptId="p-1"),
    uses(4, "sub", "Bash", {"command": "cat README.md"}, attributionAgent="Explore"),
    answers(5, "sub", "# parcel", promptId="p-1"),
    says(6, "It is about parcels.", attributionAgent="Explore"),
)


def test_a_subagents_own_file_is_told_at_its_times_among_the_sessions_events(tmp_path: Path) -> None:
    write(tmp_path, SUB, FILE)
    events = told(tmp_path, *MAIN)
    assert [(each.event, each.payload.get("tool_use_id")) for each in events[1:-1]] == [
        ("UserPromptSubmit", None),
        ("PostToolUse", "sub"),
        ("SubagentStop", None),
        ("PostToolUse", "own"),
        ("PostToolUse", "task"),
        ("Stop", None),
    ]
    used, stop = events[2].payload, one(events, "SubagentStop")
    assert {each.payload["session_id"] for each in events} == {SESSION}
    assert (used["agent_id"], used["agent_type"], used["prompt_id"]) == (ID, "Explore", "p-1")
    assert (used["prompt_number"], used["permission_mode"], used["tool_response"]) == (1, "plan", "# parcel")
    assert stop["agent_transcript_path"] == str(tmp_path / FILE)
    assert stop["last_assistant_message"] == "It is about parcels."
    assert "agent_id" not in events[4].payload | one(events, "Stop")


def test_a_note_beside_the_file_says_what_the_agent_is(tmp_path: Path) -> None:
    plain = [{key: value for key, value in each.items() if key != "attributionAgent"} for each in SUB]
    note = write(tmp_path, plain, FILE).with_name(f"agent-{ID}.meta.json")
    assert one(told(tmp_path, *MAIN), "SubagentStop")["agent_type"] == "agent"
    note.write_text(json.dumps({"agentType": "reviewer"}))
    assert one(told(tmp_path, *MAIN), "SubagentStop")["agent_type"] == "reviewer"
    note.write_text("{")
    assert one(told(tmp_path, *MAIN), "SubagentStop")["agent_type"] == "agent"


def test_a_subagent_works_for_the_prompt_that_sent_it_however_late(tmp_path: Path) -> None:
    sent = [
        user(1, "go", promptId="p-1"),
        uses(2, "task", "Task", CALL),
        answers(3, "task"),
        says(4, "Sent."),
    ]
    late = agent(
        user(3, TASK, promptId="p-1"),
        uses(8, "sub", "Bash", LS),
        answers(9, "sub", promptId="p-1"),
        says(10, "Here."),
    )
    write(tmp_path, late, FILE)
    events = told(tmp_path, *sent, user(5, "meanwhile", promptId="p-2"), says(6, "Yes."), user(11, "and?"))
    numbers = {each.payload.get("tool_use_id"): each.payload.get("prompt_number") for each in events}
    assert numbers["sub"] == 1
    assert one(events, "SubagentStop")["prompt_number"] == 1


def test_a_session_ends_after_its_last_subagent(tmp_path: Path) -> None:
    late = agent(user(3, TASK), says(30, "At last."))
    write(tmp_path, late, FILE)
    events = told(tmp_path, *MAIN)
    assert [each.event for each in events[-2:]] == ["SubagentStop", "SessionEnd"]
    assert events[-1].at == events[-2].at


def test_the_clients_own_forks_are_no_subagents(tmp_path: Path) -> None:
    write(tmp_path, SUB, f"{SESSION}/subagents/agent-acompact-12ab.jsonl")
    assert "SubagentStop" not in names(told(tmp_path, *MAIN))
    write(tmp_path, SUB, FILE)
    assert "SubagentStop" in names(told(tmp_path, *MAIN))


def test_files_that_are_named_are_read_instead_of_those_beside(tmp_path: Path) -> None:
    elsewhere = write(tmp_path, SUB, "agent-0123abcd.jsonl")
    main = write(tmp_path, MAIN)
    events = list(transcripts.read(main, [elsewhere]))
    assert one(events, "SubagentStop")["agent_id"] == "0123abcd"
    assert "SubagentStop" not in names(list(transcripts.read(main)))


def test_a_subagents_file_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    main = write(tmp_path, MAIN)
    assert names(list(transcripts.read(main, [tmp_path / "gone.jsonl"]))) == names(
        list(transcripts.read(main))
    )


def side(uuid: str, parent: str | None, shape: dict[str, object]) -> dict[str, object]:
    return shape | {"isSidechain": True, "uuid": uuid, "parentUuid": parent}


def test_side_chains_in_the_sessions_own_file_are_kept_apart(tmp_path: Path) -> None:
    """As older clients wrote them: two agents at once, their lines among each other, without ids."""
    other = CALL | {"prompt": "Count the files.", "subagent_type": "Plan"}
    events = told(
        tmp_path,
        user(1, "go"),
        uses(2, "task-1", "Task", CALL),
        uses(2, "task-2", "Task", other),
        side("a1", None, user(3, TASK)),
        side("b1", None, user(3, "Count the files.")),
        side("a2", "a1", uses(4, "sub-a", "Bash", LS)),
        side("b2", "b1", uses(4, "sub-b", "Bash", LS)),
        side("b3", "b2", answers(5, "sub-b", "3 files")),
        side("a3", "a2", answers(5, "sub-a", "README.md")),
        side("a4", "a3", says(6, "Parcels.", stop=None)),
        side("b4", "b3", says(6, "Three.")),
        answers(7, "task-2", "Three."),
        answers(8, "task-1", "Parcels."),
        says(9, "Done."),
    )
    told_of = [
        (each.event, each.payload.get("agent_type"), each.payload.get("tool_use_id")) for each in events[1:-1]
    ]
    assert told_of == [
        ("UserPromptSubmit", None, None),
        ("PostToolUse", "Plan", "sub-b"),
        ("PostToolUse", "Explore", "sub-a"),
        ("SubagentStop", "Plan", None),
        ("PostToolUse", None, "task-2"),
        ("SubagentStop", "Explore", None),
        ("PostToolUse", None, "task-1"),
        ("Stop", None, None),
    ]
    stops = [each.payload["last_assistant_message"] for each in events if each.event == "SubagentStop"]
    assert stops == ["Three.", "Parcels."]


def test_a_result_goes_to_the_side_chain_that_called_wherever_it_hangs(tmp_path: Path) -> None:
    """Results of tools used at once do not all hang on the chain's last line."""
    events = told(
        tmp_path,
        user(1, "go"),
        side("a1", None, user(2, TASK)),
        side("a2", "a1", uses(3, "sub-1", "Bash", LS)),
        side("a3", "a2", uses(3, "sub-2", "Bash", LS)),
        side("b1", None, user(3, "Another.")),
        side("a4", "a2", answers(4, "sub-1")),
        side("a5", "a3", answers(5, "sub-2")),
    )
    used = [
        (each.payload["tool_use_id"], each.payload["agent_id"]) for each in events if "Tool" in each.event
    ]
    assert used == [("sub-1", "side-a1"), ("sub-2", "side-a1")]


def test_a_side_chain_nobody_sent_is_told_at_the_end(tmp_path: Path) -> None:
    events = told(
        tmp_path, user(1, "go"), side("a1", None, user(2, TASK)), side("a2", "a1", says(3, "Parcels."))
    )
    assert names(events) == ["UserPromptSubmit", "SubagentStop"]
    assert one(events, "SubagentStop")["agent_id"] == "side-a1"


def test_many_side_chains_do_not_pile_up(tmp_path: Path) -> None:
    many = [side(f"a{n}", None, user(2, f"task {n}")) for n in range(300)]
    assert names(told(tmp_path, user(1, "go"), *many)) == ["UserPromptSubmit"]


def test_a_line_belongs_to_the_session_it_names(tmp_path: Path) -> None:
    """A resumed session of an older client begins with the lines of the one before it."""
    before = [user(1, "one", uuid="u-1", sessionId="before"), says(2, "Yes.", uuid="u-2", sessionId="before")]
    first = list(transcripts.read(write(tmp_path, before, "before.jsonl")))
    second = told(tmp_path, *before, user(3, "two", uuid="u-3"), says(4, "No.", uuid="u-4"))
    assert {each.id for each in first} <= {each.id for each in second}
    assert [(each.payload["session_id"], each.event) for each in second] == [
        ("before", "SessionStart"),
        ("before", "UserPromptSubmit"),
        (SESSION, "SessionStart"),
        (SESSION, "UserPromptSubmit"),
        ("before", "Stop"),
        (SESSION, "Stop"),
        ("before", "SessionEnd"),
        (SESSION, "SessionEnd"),
    ]
    assert second[3].payload["prompt_number"] == 1


def test_a_fork_names_the_lines_it_copied_as_the_original_does(tmp_path: Path) -> None:
    """As Claude Code 2.1.325 forks: the copies have the new session's name, and their own uuids and times."""
    before = [user(1, "one", uuid="u-1"), says(2, "Yes.", uuid="u-2")]
    original = told(tmp_path, *before)
    copies = [each | {"sessionId": "fork"} for each in before]
    fork = list(transcripts.read(write(tmp_path, [*copies, user(3, "two", sessionId="fork")], "fork.jsonl")))
    shared = {each.id: each.at for each in original[:-1]}
    assert shared.items() <= {each.id: each.at for each in fork}.items()
    assert {each.payload["session_id"] for each in fork} == {"fork"}


def test_a_file_full_of_sessions_does_not_grow_in_memory(tmp_path: Path) -> None:
    events = told(
        tmp_path, *(line("user", n, message={"content": "go"}, sessionId=f"s-{n}") for n in range(300))
    )
    assert len({each.payload["session_id"] for each in events}) == transcripts.MOST_SESSIONS
    assert sum(each.event == "UserPromptSubmit" for each in events) == 300


def test_a_result_of_a_side_chain_whose_id_is_no_text_is_read_all_the_same(tmp_path: Path) -> None:
    damaged = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": ["a"], "content": "x"}]}
    path = write(
        tmp_path,
        [
            user(1, "go"),
            user(2, TASK, isSidechain=True, uuid="s-1"),
            line("user", 3, isSidechain=True, uuid="s-2", parentUuid="s-1", message=damaged),
            says(4, "Done."),
        ],
    )
    assert [event.event for event in transcripts.read(path)][-2:] == ["Stop", "SessionEnd"]
