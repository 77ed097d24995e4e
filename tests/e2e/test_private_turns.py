"""A wholly private prompt: the turn is recorded as private, and nothing else of it."""

import json
from pathlib import Path

from claude_mem.testing import hooks, payloads

CANARY = "canary-3f9a7c"


def record(data: Path, *events: bytes) -> list[dict[str, object]]:
    for event in events:
        assert hooks.run(data, event).code == 0
    return [envelope["payload"] | {"event": envelope["event"]} for envelope in hooks.spooled(data)]


def everything_on_disk(data: Path) -> str:
    return " ".join(p.read_text(errors="replace") for p in data.rglob("*") if p.is_file())


def test_a_wholly_private_turn_leaves_only_that_it_was(awake: Path) -> None:
    kept = record(
        awake,
        payloads.prompt(f"<private>{CANARY}</private>  "),
        payloads.bash("toolu_1", command=f"echo {CANARY}", stdout=CANARY),
        payloads.failure("toolu_2", CANARY),
        payloads.payload("SubagentStop", prompt_id="p-1", agent_type="x", last_assistant_message=CANARY),
        payloads.stop(f"I used {CANARY}"),
    )
    assert [(p["event"], p.get("claude_mem_private")) for p in kept] == [
        ("UserPromptSubmit", True),
        ("Stop", True),
    ]
    assert CANARY not in everything_on_disk(awake)


def test_the_next_open_prompt_is_recorded_again_and_late_tools_of_the_private_one_are_not(
    awake: Path,
) -> None:
    kept = record(
        awake,
        payloads.prompt(f"<private>{CANARY}</private>", prompt_id="p-1"),
        payloads.prompt("now in the open", prompt_id="p-2"),
        payloads.bash("toolu_late", stdout=CANARY, prompt_id="p-1"),
        payloads.bash("toolu_open", prompt_id="p-2"),
    )
    assert [p.get("tool_use_id") or p["event"] for p in kept] == [
        "UserPromptSubmit",
        "UserPromptSubmit",
        "toolu_open",
    ]
    assert CANARY not in everything_on_disk(awake)


def test_without_prompt_ids_the_current_turn_decides(awake: Path) -> None:
    session = "test"
    private = {"session_id": session, "prompt": f"<private>{CANARY}</private>"}
    tool = {"session_id": session, "tool_name": "Read", "tool_response": CANARY}
    hooks.run(awake, json.dumps(private).encode(), "new")
    hooks.run(awake, json.dumps(tool).encode(), "save")
    assert [e["event"] for e in hooks.spooled(awake)] == ["UserPromptSubmit"]
    assert CANARY not in everything_on_disk(awake)


def test_a_partly_private_prompt_keeps_the_open_part_and_its_tools(awake: Path) -> None:
    kept = record(
        awake,
        payloads.prompt(f"fix the login <private>{CANARY}</private> please"),
        payloads.bash("toolu_1"),
    )
    assert [p["event"] for p in kept] == ["UserPromptSubmit", "PostToolUse"]
    assert "fix the login" in str(kept[0]["prompt"])
    assert CANARY not in everything_on_disk(awake)


def test_a_compaction_after_anything_private_is_recorded_without_its_summary(awake: Path) -> None:
    kept = record(
        awake,
        payloads.prompt(f"do it <private>{CANARY}</private>"),
        payloads.payload("PostCompact", trigger="auto", compact_summary=f"The user said {CANARY}"),
    )
    assert kept[-1]["event"] == "PostCompact"
    assert CANARY not in everything_on_disk(awake)


def test_a_session_id_with_slashes_marks_nothing_outside_the_data_directory(awake: Path) -> None:
    before = {p for p in awake.parent.rglob("*") if awake not in p.parents}
    record(awake, payloads.prompt(f"<private>{CANARY}</private>", session="../../escape"))
    assert {p for p in awake.parent.rglob("*") if awake not in p.parents} == before
    assert len(list((awake / "private").iterdir())) == 1
