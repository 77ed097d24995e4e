"""Every agent's folder: its payloads become events, our answers its own, and its files are as before."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.agent_payloads import (
    CWD,
    DONE,
    FIXTURES,
    OTHERS,
    PROMPT,
    SENT,
    Payload,
    copilot_by_claude_code,
)
from tests.harness import hook_process

from claude_mem import __version__
from claude_mem.agents import CLAUDE_CODE, FOLDERS, NOT_RUN, TITLES, base, hook_payload, launcher
from claude_mem.agents.base import Wanted
from claude_mem.agents.file_changes import Journal
from claude_mem.agents.launcher import Machine
from claude_mem.cli.install import chosen_agents
from claude_mem.hook import paths, worker_link
from claude_mem.hook.translate import Translator
from claude_mem.model.events import Event, Kind
from claude_mem.observe import tool_calls
from claude_mem.observe.tool_calls import ToolKind

CANARY = "canary-4711"


def hook(data: Path, agent: str, verb: str, payload: Payload, **env: str) -> hook_process.Answered:
    """As an agent runs it: one command for a shell."""
    line = launcher.hook_line(hook_process.MACHINE, verb, agent)
    environ = hook_process.environment(data, **env)
    compact = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
    done = subprocess.run(
        ["sh", "-c", line], input=compact, capture_output=True, env=environ, timeout=60, check=False
    )
    return hook_process.Answered(done.returncode, done.stdout, done.stderr)


def events(data: Path) -> list[Event]:
    """What the worker makes of what is spooled."""
    found = []
    for spooled in hook_process.spooled(data):
        event = hook_payload.parse(
            spooled["event"],
            spooled["payload"],
            id=spooled["id"],
            at=spooled["at"],
            client=spooled["agent"],
            private="private" in spooled.get("flags", ()),
        )
        assert event is not None
        found.append(event)
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


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


def session_of(payload: Payload) -> str:
    keys = ("session_id", "sessionId", "conversation_id", "trajectory_id")
    own = next((payload[key] for key in keys if key in payload), None)
    return str(own or payload["sessionContext"]["rootSessionId"])


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
    calls = [call for call in map(tool_calls.read, events(data)) if call is not None]
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
        if translator.payload(json.dumps(payload).encode(), b"", True) is None:
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
        with_spaces = Translator(agent, verb).payload(spaced, b"", True)
        assert with_spaces is not None
        with monkeypatch.context() as patched:
            patched.setattr("claude_mem.hook.json_text.parse", None)
            renamed = Translator(agent, verb).payload(compact, b"", True)
        assert renamed is not None
        assert renamed[0].startswith(b'{"session_id":"%s:' % agent.encode())
        assert json.loads(renamed[0]) == json.loads(with_spaces[0])


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


# Traps, each seen in a real agent.


def test_qwens_empty_prompt_after_a_tool_ends_no_private_turn(data: Path) -> None:
    prompts = [sent.payload for sent in SENT["qwen"] if sent.payload["hook_event_name"] == "UserPromptSubmit"]
    tool = next(sent.payload for sent in SENT["qwen"] if sent.kind == "tool_use")
    with hook_process.listening(data):
        for payload in (prompts[0] | {"prompt": f"<private>{CANARY}</private>"}, tool, prompts[1], tool):
            hook(data, "qwen", "hook", payload)
    assert [event.kind for event in events(data)] == [Kind.PROMPT]


def test_geminis_prompt_is_recorded_without_what_was_injected_into_it(data: Path) -> None:
    prompt = next(sent.payload for sent in SENT["gemini"] if sent.kind == "prompt")
    ours = "<hook_context>&lt;claude-mem-context&gt;\nMemory.\n&lt;/claude-mem-context&gt;</hook_context>"
    with hook_process.listening(data):
        hook(data, "gemini", "hook", prompt | {"prompt": f"{ours}\n\n{PROMPT}"})
    (event,) = events(data)
    assert (event.text or "").strip() == PROMPT


def test_geminis_compression_before_every_call_has_no_hook() -> None:
    assert "PreCompress" not in base.load("gemini").hooks(hook_process.MACHINE)["hooks"]


def test_codex_ends_a_sessions_last_hook_after_three_seconds(data: Path) -> None:
    translator = Translator("codex", "hook")
    end = next(sent.payload for sent in SENT["codex"] if sent.kind == "session_end")
    assert translator.payload(json.dumps(end).encode(), b"", True)
    assert translator.within_s(8.0) < 3.0


def test_codexs_hook_stays_the_same_in_every_version_so_that_it_stays_trusted() -> None:
    assert __version__ not in launcher.hook_line(Machine("/py", "/package", None), "hook", "codex")


def test_a_tools_name_that_is_no_text_is_no_obstacle_for_copilots_hook() -> None:
    payload = b'{"sessionId":"s","toolName":{"a":1},"toolArgs":{}}'
    found = Translator("copilot", "preToolUse").payload(payload, b"", True)
    assert found is not None
    assert json.loads(found[0])["tool_name"] == {"a": 1}


def test_clines_subagents_are_left_out(data: Path) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in SENT["cline"]:
            hook(data, "cline", verb, payload | {"parent_agent_id": "agent_1"})
    assert not events(data)


def test_without_a_worker_cline_is_told_at_its_first_tool_what_was_rendered_and_once(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "start.stamp").write_text("by this test: no worker is started")
    file = data / paths.directory_context(CWD.encode())
    file.parent.mkdir(mode=0o700)
    answer = worker_link.answer_with(b"SessionStart", b'"Last session: postage."')
    assert answer is not None
    file.write_bytes(b"%016x\n" % 0 + answer)
    before = [sent.payload for sent in SENT["cline"] if sent.verb == "PreToolUse"]
    told = hook(data, "cline", "PreToolUse", before[0]).json
    assert told == {"cancel": False, "contextModification": "Last session: postage."}
    assert hook(data, "cline", "PreToolUse", before[1]).out == b""


# Copilot runs a project's hooks for Claude Code, too.

BY_CLAUDE_CODE = copilot_by_claude_code()


def test_what_copilot_sends_to_hooks_for_claude_code_is_copilots(data: Path) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in BY_CLAUDE_CODE:
            ran = hook(data, CLAUDE_CODE, verb, payload, COPILOT_CLI="1")
            assert (ran.code, ran.err) == (0, b"")
    found = events(data)
    assert [event.kind for event in found] == [kind for _, _, kind in BY_CLAUDE_CODE]
    session = session_of(SENT["copilot"][0].payload)
    assert {(event.client, event.session) for event in found} == {("copilot", f"copilot:{session}")}


def test_both_of_copilots_hooks_report_the_same(data: Path) -> None:
    own = [sent for sent in SENT["copilot"] if sent.kind]
    with hook_process.listening(data):
        for one, other in zip(own, BY_CLAUDE_CODE, strict=True):
            hook(data, "copilot", one.verb, one.payload)
            hook(data, CLAUDE_CODE, other.verb, other.payload, COPILOT_CLI="1")
    found = events(data)
    for mine, claudes in zip(found[::2], found[1::2], strict=True):
        assert mine.effect_key_in(1) == claudes.effect_key_in(1) != mine.id
        assert mine.kind is claudes.kind


def test_claude_code_inside_copilot_is_claude_code(data: Path) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in SENT[CLAUDE_CODE]:
            hook(data, CLAUDE_CODE, verb, payload, COPILOT_CLI="1")
    assert {event.client for event in events(data)} == {CLAUDE_CODE}


def test_copilots_last_message_is_the_one_that_asks_for_no_tool_and_is_waited_for(
    data: Path, tmp_path: Path
) -> None:
    stop = next(sent.payload for sent in SENT["copilot"] if sent.kind == "stop")
    lines = (FIXTURES / "copilot/transcript.jsonl").read_text().splitlines(keepends=True)
    said = [at for at, line in enumerate(lines) if json.loads(line)["type"] == "assistant.message"]
    transcript = tmp_path / "events.jsonl"
    transcript.write_text("".join(lines[: said[-1]]))
    with hook_process.listening(data):
        hook(data, "copilot", "agentStop", stop | {"transcriptPath": str(transcript)})
        transcript.write_text("".join(lines))
        hook(data, "copilot", "agentStop", stop | {"transcriptPath": str(transcript)})
    early, late = events(data)
    assert (early.text, late.text) == (None, DONE)
    assert early.effect_key_in(1) == late.effect_key_in(1)


# Installing and uninstalling.

INSTALLED = [name for name in TITLES if name != CLAUDE_CODE]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "CLINE_DIR", "CLINE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


THEIRS = {
    ".codex/hooks.json": '{ "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n',
    ".codex/config.toml": 'model = "o9"  # mine\n\n[mcp_servers.other]\ncommand = "x"',
    ".gemini/settings.json": '{\n\t"theme": "Ä",\n\t"hooks": {"disabled": ["x"]}\n}',
    ".qwen/settings.json": '{"mcpServers": {"other": {"command": "x"}}}',
    ".factory/settings.json": '{"model": "x", "hooks": {"Stop": []}}\r\n',
    ".factory/mcp.json": "{}",
    ".copilot/mcp-config.json": '{"mcpServers": {}}\n',
    ".copilot/hooks/mine.json": '{"version": 1, "hooks": {}}',
    ".cline/hooks/PreToolUse.sh": "#!/bin/sh\nexit 0\n",
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "true"}]}}',
    ".codeium/windsurf/mcp_config.json": '{"mcpServers": {"other": {"command": "x"}}}',
    ".config/amp/settings.json": '{"amp.notifications.enabled": false}',
    ".config/opencode/opencode.json": '{"$schema": "x", "mcp": {"other": {"type": "local"}}}',
}


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def install(agent: str, data: Path) -> None:
    prepared = base.installer(agent).prepare(data, None, Wanted("user"))
    with Journal() as journal:
        prepared.connect(journal)


def uninstall(agent: str, data: Path) -> None:
    for connection in base.installer(agent).connections(data, None):
        with Journal() as journal:
            connection.disconnect(journal, connection.undo_plan())


@pytest.mark.parametrize("agent", INSTALLED)
@pytest.mark.parametrize("has_files", [False, True])
@pytest.mark.parametrize("where", [".claude-mem", 'Jörg\'s "own"'])
def test_an_uninstall_leaves_every_file_as_it_was(
    home: Path, agent: str, has_files: bool, where: str
) -> None:
    if has_files:
        for name, text in THEIRS.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(text.encode())
    before, data = snapshot(home), home / where
    install(agent, data)
    (connection,) = base.installer(agent).connections(data, None)
    assert connection.is_current
    assert connection.data_dir == data
    once = snapshot(home)
    assert base.installer(agent).prepare(data, None, Wanted("user")).plan.is_empty
    install(agent, data)
    assert snapshot(home) == once
    uninstall(agent, data)
    assert snapshot(home) == before
    assert not base.installer(agent).connections(data, None)


@pytest.mark.parametrize("agent", INSTALLED)
def test_an_install_from_another_path_in_between_changes_nothing_about_that(
    home: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in THEIRS.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    before, data = snapshot(home), home / ".claude-mem"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", "/another/venv/bin/python")
        install(agent, data)
    once = snapshot(home)
    install(agent, data)
    assert snapshot(home) != once
    (connection,) = base.installer(agent).connections(data, None)
    undo = connection.undo_plan()
    uninstall(agent, data)
    assert snapshot(home) == before
    assert undo.is_exact


@pytest.mark.parametrize("agent", INSTALLED)
def test_what_was_changed_since_the_install_stays_and_what_is_ours_goes(home: Path, agent: str) -> None:
    data = home / ".claude-mem"
    install(agent, data)
    for file in [file for file in home.rglob("*.json") if launcher.SERVER in file.read_text()]:
        if file.parent == data or file.name == "claude-mem.json":
            continue
        kept = json.loads(file.read_text()) | {"mine": 1}
        file.write_text(json.dumps(kept))
    for toml in home.rglob("*.toml"):
        toml.write_text(f'mine = 1\n{toml.read_text()}\n[other]\nx = "[y]"\n')
    uninstall(agent, data)
    left = [file for file in home.rglob("*") if file.is_file()]
    for file in left:
        assert launcher.SERVER not in file.read_text()
        assert "mine" in file.read_text()
    assert not base.installer(agent).connections(data, None)


@pytest.mark.parametrize("agent", INSTALLED)
def test_hooks_are_found_and_removed_without_a_record(home: Path, agent: str) -> None:
    data = home / "elsewhere"
    install(agent, data)
    next(data.glob("install-*")).unlink()
    (connection,) = base.installer(agent).connections(home / ".claude-mem", None)
    assert connection.data_dir == data
    uninstall(agent, home / ".claude-mem")
    assert not [file for file in home.rglob("*") if file.is_file() and launcher.SERVER in file.read_text()]


@pytest.mark.parametrize("agent", INSTALLED)
def test_a_file_that_cannot_be_read_is_left_and_named(home: Path, agent: str) -> None:
    for part in base.load(agent).parts(hook_process.MACHINE):  # type: ignore[misc]  # all but Claude Code have some
        if part.path.suffix in (".json", ".toml") and part.path.name != "claude-mem.json":
            part.path.parent.mkdir(parents=True, exist_ok=True)
            part.path.write_text("{ // mine\n")
            with pytest.raises(Exception, match=part.path.name):
                install(agent, home / ".claude-mem")
            assert part.path.read_text() == "{ // mine\n"
            return


@pytest.mark.parametrize("agent", SENT)
def test_an_agent_is_found_by_its_command_or_its_folder(
    home: Path, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    described = base.load(agent)
    assert not described.is_there()
    package = tmp_path / "lib/package"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.2.3"}')
    (package / "main").write_text("")
    (package / "main").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / described.program).symlink_to(package / "main")
    assert described.is_there()
    assert described.version() == "1.2.3"
    (tmp_path / "bin" / described.program).unlink()
    described.home().mkdir(parents=True)
    assert described.is_there()
    assert described.version() is None


def test_codexs_own_tables_are_as_before_even_without_a_record(home: Path) -> None:
    theirs = 'model = "o9"  # mine\n\n[mcp_servers.other]\ncommand = "x"\n'
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(theirs)
    data = home / ".claude-mem"
    install("codex", data)
    next(data.glob("install-*")).unlink()
    uninstall("codex", data)
    assert (home / ".codex/config.toml").read_text() == theirs


def test_a_users_own_line_in_codexs_table_of_ours_survives_an_update(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = home / ".claude-mem", home / ".codex/config.toml"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", "/another/venv/bin/python")
        install("codex", data)
    other = '\n[mcp_servers.other]\ncommand = "x"\n'
    file.write_text(f"{file.read_text()}startup_timeout_sec = 30\n{other}")
    install("codex", data)
    servers = tomllib.loads(file.read_text())["mcp_servers"]
    assert servers["claude-mem"]["startup_timeout_sec"] == 30
    assert servers["claude-mem"]["command"] == sys.executable
    assert servers["other"] == {"command": "x"}
    uninstall("codex", data)
    assert tomllib.loads(file.read_text()) == {"mcp_servers": {"other": {"command": "x"}}}


def test_settings_with_comments_of_an_agent_that_is_not_connected_hinder_nobody(home: Path) -> None:
    file = home / ".config/zed/settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{ // mine\n  "theme": "One",\n}')
    known = base.connections(home / ".claude-mem", lambda _: None)
    assert (known.found, known.unreadable) == ([], [])


def test_connections_are_found_from_a_working_directory_that_is_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("codex", home / ".claude-mem")
    (home / "gone").mkdir()
    monkeypatch.chdir(home / "gone")
    (home / "gone").rmdir()
    known = base.connections(home / ".claude-mem", lambda _: None)
    assert ([agent.name for agent, _ in known.found], known.unreadable) == (["codex"], [])


def test_an_agent_that_was_never_run_is_connected_only_by_name(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".codex").mkdir()
    found = chosen_agents(Namespace(agent=None, scope="user"))
    assert [agent.name for agent in found if (home / f".{agent.name}").exists()] == ["codex"]
    assert not {agent.name for agent in found} & {*NOT_RUN}
    (named,) = chosen_agents(Namespace(agent=["cursor"], scope="user"))
    assert named.name == "cursor"


def test_cursors_hooks_of_others_stay_when_ours_go(home: Path) -> None:
    data, file = home / ".claude-mem", home / ".cursor/hooks.json"
    install("cursor", data)
    wants = json.loads(file.read_text())
    wants["hooks"]["stop"].append({"command": "true"})
    file.write_text(json.dumps(wants))
    uninstall("cursor", data)
    assert json.loads(file.read_text()) == {"version": 1, "hooks": {"stop": [{"command": "true"}]}}


def test_gooses_edit_tells_what_was_replaced_by_what(data: Path) -> None:
    edits = [sent for sent in SENT["goose"] if "before" in sent.payload.get("tool_input", {})]
    with hook_process.listening(data):
        for verb, payload, _ in edits:
            hook(data, "goose", verb, payload)
    (call,) = map(tool_calls.read, events(data))
    assert call is not None
    assert [line[0] for line in call.changed_lines().splitlines()] == ["-", "+"]


def test_a_query_of_memory_is_not_recorded_with_its_text_where_tools_have_other_names(data: Path) -> None:
    gooses = next(sent for sent in SENT["goose"] if sent.kind == "tool_use")
    windsurfs = next(sent for sent in SENT["windsurf"] if sent.verb == "post_mcp_tool_use")
    told = {"mcp_tool_arguments": {"query": CANARY}, "mcp_result": CANARY}
    with hook_process.listening(data):
        query = {"tool_name": f"{launcher.SERVER}__search", "tool_input": {"query": CANARY}}
        hook(data, "goose", gooses.verb, gooses.payload | query)
        info = {"tool_info": windsurfs.payload["tool_info"] | told | {"mcp_server_name": launcher.SERVER}}
        hook(data, "windsurf", windsurfs.verb, windsurfs.payload | info)
    found = [event.tool for event in events(data)]
    assert [(tool.input, tool.response) for tool in found if tool] == [(None, None)] * 2


def test_goose_shows_its_user_a_message_at_a_sessions_start_alone() -> None:
    line = json.dumps({"continue": True, "systemMessage": SAID}).encode()
    for verb, payload, _ in SENT["goose"]:
        translator = Translator("goose", verb)
        assert translator.payload(json.dumps(payload).encode(), b"", True)
        said = translator.answer(line)
        assert said == b"" if verb != "SessionStart" else json.loads(said) == {"banner": SAID}
