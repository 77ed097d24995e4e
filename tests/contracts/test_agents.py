"""Every agent's folder: its payloads become events, our answers its own, and its files are as before."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.agent_payloads import (
    CANARY,
    CWD,
    DONE,
    FIXTURES,
    OTHERS,
    PROMPT,
    SENT,
    Payload,
    events,
    hook,
    session_of,
)
from tests.harness import hook_process

from claude_mem.agents import CLAUDE_CODE, FOLDERS, launcher
from claude_mem.hook import stdin
from claude_mem.hook.translate import Translator
from claude_mem.model.events import Kind
from claude_mem.observe import tool_calls
from claude_mem.observe.tool_calls import ToolKind


@pytest.fixture
def transcripts(tmp_path: Path) -> Callable[[str, Payload], Payload]:
    """A payload with the transcript that was recorded with it, where the agent would have it."""

    def placed(agent: str, payload: Payload) -> Payload:
        recorded = FIXTURES / agent / "transcript.jsonl"
        if agent == "cline":
            root = payload["sessionContext"]["rootSessionId"]
            there = tmp_path / f".cline/data/sessions/{root}/{root}.messages.json"
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(recorded.read_bytes())
        for key in ("transcript_path", "transcriptPath"):
            if key in payload and recorded.exists():
                payload = payload | {key: str(recorded)}
        return payload

    return placed


def test_every_agent_was_recorded() -> None:
    assert set(SENT) == {*FOLDERS}


@pytest.mark.parametrize("agent", SENT)
def test_a_recorded_session_becomes_the_events_that_it_reports(
    data: Path, tmp_path: Path, transcripts: Callable[[str, Payload], Payload], agent: str
) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in SENT[agent]:
            ran = hook(data, agent, verb, transcripts(agent, payload), HOME=str(tmp_path))
            assert (ran.code, ran.err) == (0, b"")
    found = events(data)
    wanted = [kind for _, _, kind in SENT[agent] if kind]
    if agent in ("droid", "cline"):  # whose transcript tells it
        wanted.insert(1, "prompt")
    assert [event.kind for event in found] == wanted
    assert {event.client for event in found} == {agent}
    session = session_of(SENT[agent][0].payload)
    assert {event.session for event in found} == {session if agent == CLAUDE_CODE else f"{agent}:{session}"}
    # These two name it at some events only, and run their hooks in it.
    assert {event.cwd for event in found} == {CWD, *([str(Path.cwd())] if agent in NO_ANSWER else ())}
    by_kind = {event.kind: event for event in found}
    assert by_kind[Kind.PROMPT].text == PROMPT
    last = by_kind[Kind.STOP].text or ""
    assert last.endswith(DONE) or agent == "cursor"  # whose hooks do not say it


@pytest.mark.parametrize("agent", OTHERS)
def test_what_a_tool_did_and_whether_it_failed_is_understood(data: Path, agent: str) -> None:
    with hook_process.listening(data):
        for verb, payload, kind in SENT[agent]:
            if kind in ("tool_use", "tool_failure"):
                hook(data, agent, verb, payload)
    calls = [call for call in map(tool_calls.parse, events(data)) if call is not None]
    edits = [call for call in calls if call.kind in (ToolKind.EDIT, ToolKind.WRITE)]
    assert {path.rpartition("/")[2] for call in edits for path in call.written_paths()} == {"postage.py"}
    assert len(edits) == 2
    assert not any(call.failed for call in edits)
    runs = {call.command: call.failed for call in calls if call.kind is ToolKind.COMMAND}
    if agent == "droid":  # which reports no command that fails
        assert "echo heavy; ls missing.txt" not in runs
    else:
        # Codex says no more of a command than what it printed, Windsurf not even that.
        assert runs["echo heavy; ls missing.txt"] is (agent not in ("codex", "windsurf"))


@pytest.mark.parametrize("agent", OTHERS)
def test_an_agent_that_has_nothing_to_be_told_gets_no_output(data: Path, agent: str) -> None:
    with hook_process.listening(data):
        for verb, payload, kind in SENT[agent]:
            if kind not in ("session_start", "prompt", "tool_use"):  # those may ask, and nobody answers here
                assert hook(data, agent, verb, payload).out == b""


NO_ANSWER = ("goose", "windsurf")
"""They show their model nothing that a hook prints."""
NESTED = ("codex", "gemini", "qwen", "droid", "opencode")
SAID = "Näher: a 'b' \"c\""


@pytest.mark.parametrize("agent", OTHERS)
def test_an_answer_has_the_agents_own_shape_and_its_name_for_the_event(agent: str) -> None:
    told = {"hookEventName": "X", "additionalContext": SAID}
    line = json.dumps({"continue": True, "suppressOutput": True, "hookSpecificOutput": told}).encode()
    for verb, payload, kind in SENT[agent]:
        translator = Translator(agent, verb)
        if translator.payload(stdin.Payload(json.dumps(payload).encode())) is None:
            assert kind is None
            continue
        answer = translator.answer(line)
        if agent in NO_ANSWER:
            assert answer == b""
            continue
        said: dict[str, Any] = json.loads(answer)
        if agent in NESTED:
            own = payload["hook_event_name"]
            assert said == {"hookSpecificOutput": {"hookEventName": own, "additionalContext": SAID}}
        elif agent == "copilot":
            assert said == {"additionalContext": SAID}
        elif agent == "cursor":
            goes_on = {"continue": True} if kind == "prompt" else {}
            assert said == {"additional_context": SAID} | goes_on
        else:
            assert said == {"cancel": False, "contextModification": SAID}


@pytest.mark.parametrize("agent", ["codex", "gemini", "qwen", "droid", "opencode"])
def test_what_is_only_renamed_is_what_it_would_be_if_it_were_parsed(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [sent for sent in SENT[agent] if sent.kind in ("tool_use", "tool_failure")]
    assert tools
    for verb, payload, _ in tools:
        compact = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
        spaced = json.dumps(payload).encode()
        with_spaces = Translator(agent, verb).payload(stdin.Payload(spaced))
        assert with_spaces is not None
        with monkeypatch.context() as patched:
            patched.setattr("claude_mem.hook.json_text.parse", None)
            renamed = Translator(agent, verb).payload(stdin.Payload(compact))
        assert renamed is not None
        assert renamed.head.startswith(b'{"session_id":"%s:' % agent.encode())
        assert json.loads(renamed.head) == json.loads(with_spaces.head)


@pytest.mark.parametrize("agent", SENT)
def test_nothing_private_reaches_the_disk_and_nothing_of_a_private_turn(
    data: Path, tmp_path: Path, agent: str
) -> None:
    hidden = f"<private>{CANARY}</private>"
    folder = tmp_path / ".cline/data/sessions"
    with hook_process.listening(data):
        for verb, payload, _ in SENT[agent]:
            given = json.loads(
                json.dumps(payload).replace(PROMPT, hidden).replace("heavy", f"heavy {hidden}")
            )
            if agent in ("droid", "cline"):
                text = (FIXTURES / agent / "transcript.jsonl").read_text().replace(PROMPT, hidden)
                file = tmp_path / "transcript.jsonl"
                if agent == "cline":
                    root = payload["sessionContext"]["rootSessionId"]
                    file = folder / root / f"{root}.messages.json"
                    file.parent.mkdir(parents=True, exist_ok=True)
                else:
                    given["transcript_path"] = str(file)
                file.write_text(text)
            hook(data, agent, verb, given, HOME=str(tmp_path))
    for file in data.rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file
    kinds = {event.kind for event in events(data)}
    assert Kind.PROMPT in kinds
    assert not kinds & {Kind.TOOL_USE, Kind.TOOL_FAILURE}


@pytest.mark.parametrize("agent", OTHERS)
def test_what_an_excluded_file_holds_is_not_recorded(data: Path, agent: str) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in SENT[agent]:
            text = json.dumps(payload).replace("postage.py", ".env").replace("1000", CANARY)
            hook(data, agent, verb, json.loads(text))
    for file in data.rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("agent", OTHERS)
def test_a_hook_says_and_records_nothing_while_memory_is_off(data: Path, agent: str) -> None:
    for verb, payload, _ in SENT[agent]:
        ran = hook(data, agent, verb, payload, CLAUDE_MEM_OFF="1")
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert not data.exists()


@pytest.mark.parametrize("agent", OTHERS)
@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"\xff", b'{"session_id":5}'])
def test_whatever_comes_a_hook_leaves_with_0_and_prints_nothing_that_is_no_json(
    data: Path, agent: str, garbage: bytes
) -> None:
    line = launcher.hook_line(hook_process.MACHINE, SENT[agent][0].verb, agent)
    environ = hook_process.environment(data)
    with hook_process.listening(data):
        ran = subprocess.run(["sh", "-c", line], input=garbage, env=environ, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert not ran.stdout or json.loads(ran.stdout)


def test_the_hook_loads_nothing_heavy_for_any_agent(data: Path) -> None:
    probe = (
        f"import sys; sys.path.insert(0, {hook_process.MACHINE.package!r}); import posix\n"
        "leave = posix._exit\n"
        "def report(code):\n"
        "    posix.write(2, ' '.join(sys.modules).encode()); leave(code)\n"
        "posix._exit = report\n"
        "from claude_mem.hook.entry import main; main(*sys.argv[1:])"
    )
    data.mkdir()
    for agent in OTHERS:
        verb, payload, _ = next(sent for sent in SENT[agent] if sent.kind == "tool_use")
        with hook_process.listening(data / agent):
            ran = subprocess.run(
                [sys.executable, "-I", "-S", "-c", probe, verb, agent],
                input=json.dumps(payload, separators=(",", ":")).encode(),
                env=hook_process.environment(data / agent),
                capture_output=True,
                check=True,
            )
        loaded = set(ran.stderr.decode().split())
        assert not loaded & {"os", "re", "json", "importlib", "socket", "typing", "claude_mem.privacy.scrub"}
