"""A wholly private prompt: the turn is recorded as private, and nothing else of it."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.harness import faults, hook_process, payloads

CANARY = "canary-3f9a7c"


def record(data: Path, *events: bytes) -> list[dict[str, object]]:
    for event in events:
        assert hook_process.run(data, event).code == 0
    return [
        envelope["payload"] | {"event": envelope["event"], "flags": envelope.get("flags", [])}
        for envelope in hook_process.spooled(data)
    ]


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
    assert [(p["event"], p["flags"]) for p in kept] == [
        ("UserPromptSubmit", ["private"]),
        ("Stop", ["private"]),
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


def test_what_a_task_of_a_private_turn_found_is_private_even_if_it_ends_in_a_later_turn(awake: Path) -> None:
    """Subagents work in the background: the client itself submits what they found, as a prompt."""
    kept = record(
        awake,
        payloads.prompt(f"<private>{CANARY}</private>", prompt_id="p-1"),
        payloads.task_ended(CANARY, prompt_id="p-2"),
        payloads.bash("toolu_1", stdout=CANARY, prompt_id="p-2"),
        payloads.stop(CANARY, prompt_id="p-2"),
        payloads.prompt("now in the open", prompt_id="p-3"),
        payloads.task_ended(CANARY, prompt_id="p-4"),
        payloads.stop(CANARY, prompt_id="p-4"),
        payloads.bash("toolu_open", prompt_id="p-3"),
    )
    assert CANARY not in everything_on_disk(awake)
    assert [p["event"] for p in kept if not p["flags"]] == [
        "UserPromptSubmit",
        "PostToolUse",
    ]


def test_a_task_that_ends_where_no_turn_was_private_is_recorded(awake: Path) -> None:
    record(
        awake,
        payloads.prompt("a <private>part</private> of it", prompt_id="p-1"),
        payloads.task_ended("It is about parcels.", prompt_id="p-2"),
    )
    assert "It is about parcels." in everything_on_disk(awake)


def test_without_prompt_ids_the_current_turn_decides(awake: Path) -> None:
    session = "test"
    private = {"session_id": session, "prompt": f"<private>{CANARY}</private>"}
    tool = {"session_id": session, "tool_name": "Read", "tool_response": CANARY}
    hook_process.run(awake, json.dumps(private).encode(), "new")
    hook_process.run(awake, json.dumps(tool).encode(), "save")
    assert [e["event"] for e in hook_process.spooled(awake)] == ["UserPromptSubmit"]
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


def test_after_a_private_prompt_without_an_id_everything_belongs_to_it_until_the_next_prompt(
    awake: Path,
) -> None:
    kept = record(
        awake,
        payloads.prompt(f"<private>{CANARY}</private>", prompt_id="p-1"),
        payloads.prompt(f"<private>{CANARY}</private>", prompt_id=None),
        payloads.bash("toolu_1", stdout=CANARY, prompt_id="p-2"),
        payloads.prompt("in the open", prompt_id="p-3"),
        payloads.bash("toolu_2", prompt_id="p-3"),
    )
    assert [p.get("tool_use_id") or p["event"] for p in kept][-2:] == ["UserPromptSubmit", "toolu_2"]
    assert CANARY not in everything_on_disk(awake)


def test_eight_private_prompts_at_once_are_all_remembered(awake: Path) -> None:
    ids = [f"p-{n}" for n in range(8)]
    with ThreadPoolExecutor(8) as at_once:
        list(
            at_once.map(
                lambda one: record(awake, payloads.prompt("<private>x</private>", prompt_id=one)), ids
            )
        )
    for id in ids:
        hook_process.run(awake, payloads.bash(f"toolu_{id}", stdout=CANARY, prompt_id=id))
    assert CANARY not in everything_on_disk(awake)


def test_a_marker_that_cannot_be_looked_at_hides_rather_than_shows(awake: Path) -> None:
    (awake / "private").write_text("not a folder")
    hook_process.run(awake, payloads.bash("toolu_1", stdout=CANARY))
    assert CANARY not in everything_on_disk(awake)


def test_a_private_prompt_on_a_full_disk_still_hides_what_its_tools_do_afterwards(tmp_path: Path) -> None:
    with faults.small_disk(tmp_path / "disk", "256k") as disk:
        data = disk / "data"
        with hook_process.listening(data):
            hook_process.run(data, payloads.start())
            hog = faults.fill(disk)
            hook_process.run(data, payloads.prompt(f"<private>{CANARY}</private>"))
            hog.unlink()
            hook_process.run(data, payloads.bash("toolu_1", stdout=CANARY))
            assert CANARY not in everything_on_disk(data)


def test_of_a_private_turn_no_field_is_kept_that_could_hold_its_text(awake: Path) -> None:
    prompt = payloads.prompt(f"<private>{CANARY}</private>", session_title=CANARY)
    stop = payloads.payload(
        "Stop", prompt_id="p-1", background_tasks=[{"command": CANARY}], session_crons=[CANARY]
    )
    record(awake, prompt, stop)
    assert CANARY not in everything_on_disk(awake)


def test_a_session_id_spelled_with_escapes_or_given_twice_is_read_before_it_is_believed(awake: Path) -> None:
    record(awake, payloads.prompt(f"<private>{CANARY}</private>", session="caf\u00e9"))
    spelled = payloads.bash("toolu_1", stdout=CANARY, session="caf\u00e9")
    hook_process.run(awake, spelled.replace("caf\u00e9".encode(), b"caf\\u00e9"))
    twice = payloads.bash("toolu_2", stdout=CANARY, session="other")
    hook_process.run(awake, twice[:-1] + ',"session_id":"caf\u00e9"}'.encode())
    assert CANARY not in everything_on_disk(awake)


def test_a_fork_of_a_session_may_carry_private_turns_so_its_compaction_is_kept_without_words(
    awake: Path,
) -> None:
    record(
        awake,
        payloads.start("forked", source="fork"),
        payloads.payload("PostCompact", "forked", trigger="auto", compact_summary=CANARY),
    )
    assert CANARY not in everything_on_disk(awake)


@pytest.mark.parametrize(
    "prompt",
    [
        f"<private>{CANARY}</private>.",
        f"\u200b<private>{CANARY}</private>\u200d\ufeff",
        f"[Image #1] <private>{CANARY}</private> [Image #22]",
        f"— <private>{CANARY}</private> … <private>{CANARY}</private> 🙏",
        f"/foo <private>{CANARY}</private>",
        f"/plugin:foo-bar  <private>{CANARY}</private>!",
    ],
)
def test_a_turn_is_private_when_no_letter_or_digit_is_left_of_what_the_user_wrote(
    awake: Path, prompt: str
) -> None:
    kept = record(
        awake,
        payloads.prompt(prompt),
        payloads.bash("toolu_1", command=f"echo {CANARY}", stdout=CANARY),
        payloads.stop(f"I used {CANARY}"),
    )
    assert [(p["event"], p["flags"]) for p in kept] == [
        ("UserPromptSubmit", ["private"]),
        ("Stop", ["private"]),
    ]
    assert CANARY not in everything_on_disk(awake)


@pytest.mark.parametrize(
    "prompt", ["/foo bar <private>x</private>", "/home/u/a.py <private>x</private>", "7 <private>x</private>"]
)
def test_a_turn_of_which_words_are_left_is_recorded(awake: Path, prompt: str) -> None:
    kept = record(awake, payloads.prompt(prompt), payloads.bash("toolu_1"))
    assert [p["event"] for p in kept] == ["UserPromptSubmit", "PostToolUse"]


def test_what_comes_late_without_a_prompt_id_may_be_of_the_private_turn(awake: Path) -> None:
    late = json.loads(payloads.bash("toolu_late", stdout=CANARY))
    del late["prompt_id"]
    kept = record(
        awake,
        payloads.prompt(f"<private>{CANARY}</private>", prompt_id="p-1"),
        payloads.prompt("now in the open", prompt_id="p-2"),
        json.dumps(late, separators=(",", ":")).encode(),
        payloads.payload("SubagentStop", agent_type="x", last_assistant_message=CANARY),
        payloads.bash("toolu_open", prompt_id="p-2"),
    )
    assert [p.get("tool_use_id") or p["event"] for p in kept] == [
        "UserPromptSubmit",
        "UserPromptSubmit",
        "toolu_open",
    ]
    assert CANARY not in everything_on_disk(awake)


def test_what_comes_without_a_prompt_id_during_the_private_turn_is_of_it(awake: Path) -> None:
    record(
        awake,
        payloads.prompt(f"<private>{CANARY}</private>", prompt_id="p-1"),
        payloads.bash("toolu_1", stdout=CANARY, prompt_id=None),
        payloads.payload("Stop", last_assistant_message=CANARY),
    )
    assert CANARY not in everything_on_disk(awake)


def test_a_session_resumed_under_another_id_may_carry_private_turns(awake: Path) -> None:
    record(
        awake,
        payloads.prompt(f"<private>{CANARY}</private>", "before"),
        payloads.start("after", source="resume"),
        payloads.payload("PostCompact", "after", trigger="auto", compact_summary=CANARY),
    )
    assert CANARY not in everything_on_disk(awake)


def test_where_nothing_was_ever_private_a_resumed_sessions_compaction_is_recorded(awake: Path) -> None:
    (awake / "private").mkdir()
    kept = record(
        awake,
        payloads.start("after", source="resume"),
        payloads.payload("PostCompact", "after", trigger="auto", compact_summary="It is about parcels."),
    )
    assert kept[-1]["compact_summary"] == "It is about parcels."


@pytest.mark.parametrize(
    "response",
    [
        {"a": "<private>", "b": CANARY, "c": "</private>", "d": "open again"},
        {"a": "<private>", "b": {"c": [CANARY, {"d": CANARY}]}, "e": "</private>", "d": "open again"},
        {"a <private>": CANARY, "b": CANARY, "c </private>": "", "d": "open again"},
    ],
)
def test_a_tag_that_is_opened_in_one_member_of_an_object_hides_the_next(
    awake: Path, response: dict[str, object]
) -> None:
    event = payloads.payload(
        "PostToolUse", tool_name="X", tool_input={}, tool_response=response, tool_use_id="u"
    )
    (kept,) = record(awake, event)
    assert CANARY not in everything_on_disk(awake)
    assert "open again" in str(kept["tool_response"])
    assert kept["tool_use_id"] == "u"
