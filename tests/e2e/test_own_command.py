"""A turn that is a command of ours is no memory, and leaves the session as it was."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.e2e.scripted_worker import saying, telling, worker
from tests.harness import hook_process, payloads

from claude_mem.agents.claude_code.registration import PORTABLE
from claude_mem.hook import slash_command
from claude_mem.privacy import scrub_payload

CANARY = "canary-c07a11"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def awake(data: Path) -> Iterator[Path]:
    """A worker that carries out whatever it is asked to."""
    with worker(data, telling("As you wish.")):
        yield data


def record(data: Path, *events: bytes) -> list[str]:
    """What has been spooled: a tool use's id, or the event's name."""
    for event in events:
        assert hook_process.run(data, event).code == 0
    return [one["payload"].get("tool_use_id") or one["event"] for one in hook_process.spooled(data)]


def everything_on_disk(data: Path) -> str:
    return " ".join(p.read_text(errors="replace") for p in data.rglob("*") if p.is_file())


def turn(prompt: str, prompt_id: str) -> tuple[bytes, bytes, bytes]:
    return (
        payloads.prompt(prompt, prompt_id=prompt_id),
        payloads.bash(f"toolu_{prompt_id}", prompt_id=prompt_id),
        payloads.stop(f"I said {CANARY}", prompt_id=prompt_id),
    )


@pytest.mark.parametrize("prompt", [f"/mem search {CANARY}", f"/claude-mem:mem remember {CANARY}", "/mem"])
def test_nothing_of_the_turn_is_kept_and_the_next_one_is(awake: Path, prompt: str) -> None:
    assert record(awake, *turn(prompt, "p-1")) == []
    assert CANARY not in everything_on_disk(awake)
    assert record(awake, *turn("in the open", "p-2")) == ["UserPromptSubmit", "toolu_p-2", "Stop"]


@pytest.mark.parametrize("prompt", ["/memory", "/mems x", "say /mem off", "mem off", "/compact the mem"])
def test_what_only_looks_like_it_is_kept(awake: Path, prompt: str) -> None:
    assert record(awake, *turn(prompt, "p-1")) == ["UserPromptSubmit", "toolu_p-1", "Stop"]


@pytest.mark.parametrize("shape", ["as the client writes it", "by hand"])
def test_the_worker_carries_it_out_and_the_prompt_is_blocked_with_what_it_says(
    data: Path, shape: str
) -> None:
    prompt = payloads.prompt('/mem:mem  search "login" é\nfails')
    if shape == "by hand":
        prompt = json.dumps(dict(reversed(json.loads(prompt).items()))).encode()
    with worker(data, telling('1. "It" é\n2.')) as up:
        answered = hook_process.run(data, prompt, "new")
    assert answered.json == {"continue": True, "decision": "block", "reason": '1. "It" é\n2.'}
    (said,) = up.heard
    assert (said["type"], said["typed"]) == ("command", 'search "login" é\nfails')
    assert (said["session"], said["cwd"]) == (payloads.SESSION, "/home/u/proj")
    assert hook_process.spooled(data) == []


@pytest.mark.parametrize("switch", ["all", payloads.SESSION])
def test_it_is_answered_in_a_pause_too(data: Path, switch: str) -> None:
    with worker(data, telling("Recording again.")):
        (data / "off").mkdir()
        (data / "off" / switch).touch()
        answered = hook_process.run(data, payloads.prompt("/mem on"))
    assert answered.json["reason"] == "Recording again."
    assert hook_process.spooled(data) == []


def test_without_a_worker_it_says_so_in_one_line(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "start.stamp").write_text("started by a hook\n")  # just now: none is started
    answered = hook_process.run(data, payloads.prompt("/mem"))
    assert answered.json["decision"] == "block"
    assert answered.json["reason"] == slash_command.DOWN
    assert len(slash_command.DOWN.splitlines()) == 1


def test_a_worker_that_talks_nonsense_is_no_answer(data: Path) -> None:
    with worker(data, saying(b'{"type": "answer", "context": oops}\n')):
        answered = hook_process.run(data, payloads.prompt("/mem"))
    assert answered.json["decision"] == "block"
    assert "doctor" in answered.json["reason"]


def test_when_it_has_been_answered_nothing_is_left_of_it_to_slow_the_session(awake: Path) -> None:
    prompt, tool, stop = turn("/mem", "p-1")
    record(awake, prompt, tool)
    assert len(list((awake / "private").iterdir())) == 1
    record(awake, stop)
    assert list((awake / "private").iterdir()) == []


def test_interrupted_before_its_end_the_next_prompt_clears_it_away(awake: Path) -> None:
    record(awake, payloads.prompt("/mem", prompt_id="p-1"))
    record(awake, payloads.prompt("in the open", prompt_id="p-2"))
    assert list((awake / "private").iterdir()) == []


def test_it_makes_no_session_private_and_opens_no_private_one(awake: Path) -> None:
    compacted = payloads.payload("PostCompact", trigger="auto", compact_summary=f"We said {CANARY}")
    record(awake, payloads.prompt("/mem", prompt_id="p-1"), compacted)
    assert CANARY in everything_on_disk(awake)
    other = {"session": "other"}
    record(
        awake,
        payloads.prompt("<private>x</private>", prompt_id="p-1", **other),
        payloads.prompt("/mem", prompt_id="p-2", **other),
        payloads.stop("Here it is.", prompt_id="p-2", **other),
        payloads.bash("toolu_late", prompt_id="p-1", **other),
        payloads.payload("PostCompact", "other", trigger="auto", compact_summary="private words"),
    )
    spooled = [one for one in hook_process.spooled(awake) if one["payload"]["session_id"] == "other"]
    assert "toolu_late" not in str(spooled)
    assert "private words" not in str(spooled)


def test_private_text_in_its_turn_still_keeps_a_later_compaction_from_being_kept(awake: Path) -> None:
    record(
        awake,
        payloads.prompt("/mem", prompt_id="p-1"),
        payloads.bash("toolu_1", stdout="<private>x</private>", prompt_id="p-1"),
        payloads.stop("Done.", prompt_id="p-1"),
        payloads.payload("PostCompact", trigger="auto", compact_summary=CANARY),
    )
    assert CANARY not in everything_on_disk(awake)


def test_ending_at_the_same_moment_it_takes_no_private_mark_with_it(awake: Path) -> None:
    ids = [f"p-{n}" for n in range(4)]
    ours = [
        (payloads.prompt("/mem", prompt_id=f"m{id}"), payloads.stop("x", prompt_id=f"m{id}")) for id in ids
    ]
    private = [(payloads.prompt("<private>x</private>", prompt_id=id),) for id in ids]
    with ThreadPoolExecutor(8) as at_once:
        list(at_once.map(lambda events: record(awake, *events), [*ours, *private]))
    for id in ids:
        hook_process.run(awake, payloads.bash(f"toolu_{id}", stdout=CANARY, prompt_id=id))
    assert CANARY not in everything_on_disk(awake)


def test_the_plugins_command_is_one_of_them() -> None:
    name = json.loads((ROOT / "plugin/.claude-plugin/plugin.json").read_text())["name"]
    (command,) = (ROOT / "plugin" / "commands").iterdir()
    assert f"/{name}:{command.stem}" in scrub_payload.OWN_COMMANDS
    assert f"/{command.stem}" in scrub_payload.OWN_COMMANDS


def test_the_command_hands_what_was_typed_to_the_program_where_no_shell_reads_it() -> None:
    text = (ROOT / "plugin" / "commands" / "mem.md").read_text()
    _, head, body = text.split("---\n", 2)
    assert f'allowed-tools: Bash(sh "{PORTABLE}" slash:*)' in head
    assert "disable-model-invocation: true" in head
    assert body.count("$ARGUMENTS") == 1
    program = re.escape(f'sh "{PORTABLE}"')
    assert re.search(rf"```!\n{program} slash <<'(\w+)'\n\$ARGUMENTS\n\1\n```\n", body)


@pytest.mark.parametrize("skill", ["mem-search", "remember"])
def test_a_skill_says_its_name_and_when_it_is_of_use(skill: str) -> None:
    text = (ROOT / "plugin" / "skills" / skill / "SKILL.md").read_text()
    _, head, body = text.split("---\n", 2)
    assert f"name: {skill}\n" in head
    assert re.search(r"^description: .{80,1024}$", head, re.MULTILINE)
    assert body.strip().startswith("# ")
