"""Every agent's folder: its payloads become events, our answers its own, and its files are as before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.agent_payloads import COPILOT_BY_CLAUDE_CODE, SESSION, SHAPES, Payload
from tests.harness import hook_process

from claude_mem.agents import CLAUDE_CODE, FOLDERS, base, launcher
from claude_mem.agents.base import Wanted
from claude_mem.agents.file_changes import Journal
from claude_mem.hook.translate import Translator
from claude_mem.model.events import Event, Kind

OTHERS = [name for name in FOLDERS if name != CLAUDE_CODE]
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
        parse = base.load(spooled["agent"]).parse
        event = parse(
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


def test_every_agent_has_its_shapes() -> None:
    assert set(SHAPES) == set(FOLDERS)


@pytest.mark.parametrize("agent", FOLDERS)
def test_each_payload_becomes_the_event_that_it_reports(data: Path, agent: str) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in SHAPES[agent]:
            ran = hook(data, agent, verb, payload)
            assert (ran.code, ran.err) == (0, b"")
    found = events(data)
    assert [event.kind for event in found] == [kind for _, _, kind in SHAPES[agent] if kind]
    assert {event.client for event in found} == {agent}
    named = SESSION if agent == CLAUDE_CODE else f"{agent}:{SESSION}"
    assert {event.session for event in found} == {named}
    by_kind = {event.kind: event for event in found}
    assert by_kind[Kind.PROMPT].text == "say one"
    tool = by_kind[Kind.TOOL_USE].tool
    assert tool is not None
    assert "echo one" in (tool.input or "")
    assert "one" in (tool.response or "")
    if agent not in ("droid", "copilot"):  # whose hooks do not say it
        assert by_kind[Kind.STOP].text == "all done"


@pytest.mark.parametrize("agent", OTHERS)
def test_an_agent_that_has_nothing_to_be_told_gets_no_output(data: Path, agent: str) -> None:
    with hook_process.listening(data):
        for verb, payload, kind in SHAPES[agent]:
            if kind not in ("session_start", "prompt"):  # those would ask, and nobody answers here
                assert hook(data, agent, verb, payload).out == b""


NESTED = ("codex", "gemini", "qwen", "droid", "opencode")


@pytest.mark.parametrize("agent", OTHERS)
def test_an_answer_has_the_agents_own_shape_and_its_name_for_the_event(agent: str) -> None:
    for verb, payload, kind in SHAPES[agent]:
        translator = Translator(agent, verb)
        if translator.payload(json.dumps(payload).encode(), b"", True) is None:
            assert kind is None
            continue
        own = payload.get("hook_event_name", verb)
        said: dict[str, Any] = json.loads(translator.answer(_answer("Näher: a 'b' \"c\"")))
        if agent in NESTED:
            context = {"hookEventName": own, "additionalContext": "Näher: a 'b' \"c\""}
            assert said == {"hookSpecificOutput": context}
        elif agent == "copilot":
            assert said == {"additionalContext": "Näher: a 'b' \"c\""}
        else:
            assert said == {"cancel": False, "contextModification": "Näher: a 'b' \"c\""}


def _answer(context: str) -> bytes:
    told = {"hookEventName": "X", "additionalContext": context}
    return json.dumps({"continue": True, "suppressOutput": True, "hookSpecificOutput": told}).encode()


@pytest.mark.parametrize("agent", FOLDERS)
def test_nothing_private_reaches_the_disk(data: Path, agent: str) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in SHAPES[agent]:
            text = json.dumps(payload).replace("say one", f"<private>{CANARY}</private>")
            hook(data, agent, verb, json.loads(text.replace("one", f"one <private>{CANARY}</private>")))
    for file in data.rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file
    assert not any(event.kind is Kind.TOOL_USE for event in events(data)), "of a wholly private turn"


@pytest.mark.parametrize("agent", OTHERS)
def test_a_hook_says_and_records_nothing_while_memory_is_off(data: Path, agent: str) -> None:
    for verb, payload, _ in SHAPES[agent]:
        ran = hook(data, agent, verb, payload, CLAUDE_MEM_OFF="1")
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert not data.exists()


@pytest.mark.parametrize("agent", OTHERS)
@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"\xff", b'{"session_id":5}'])
def test_whatever_comes_a_hook_leaves_with_0_and_prints_nothing_that_is_no_json(
    data: Path, agent: str, garbage: bytes
) -> None:
    line = launcher.hook_line(hook_process.MACHINE, SHAPES[agent][0][0], agent)
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
        verb, payload, _ = next(shape for shape in SHAPES[agent] if shape[2] == "tool_use")
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


# Copilot runs a project's hooks for Claude Code, too.


def test_what_copilot_sends_to_hooks_for_claude_code_is_copilots(data: Path) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in COPILOT_BY_CLAUDE_CODE:
            ran = hook(data, CLAUDE_CODE, verb, payload)
            assert (ran.code, ran.err) == (0, b"")
    found = events(data)
    assert [event.kind for event in found] == [kind for _, _, kind in COPILOT_BY_CLAUDE_CODE]
    assert {(event.client, event.session) for event in found} == {("copilot", f"copilot:{SESSION}")}


def test_both_of_copilots_hooks_report_the_same(data: Path) -> None:
    with hook_process.listening(data):
        for own, claudes in zip(SHAPES["copilot"], COPILOT_BY_CLAUDE_CODE, strict=False):
            hook(data, "copilot", own[0], own[1])
            hook(data, CLAUDE_CODE, claudes[0], claudes[1])
    found = events(data)
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert one.effect_key_in(1) == other.effect_key_in(1) != one.id
        assert one.kind is other.kind


# Installing and uninstalling.


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


@pytest.mark.parametrize("agent", OTHERS)
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


@pytest.mark.parametrize("agent", OTHERS)
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


@pytest.mark.parametrize("agent", OTHERS)
def test_hooks_are_found_and_removed_without_a_record(home: Path, agent: str) -> None:
    data = home / "elsewhere"
    install(agent, data)
    next(data.glob("install-*")).unlink()
    (connection,) = base.installer(agent).connections(home / ".claude-mem", None)
    assert connection.data_dir == data
    uninstall(agent, home / ".claude-mem")
    assert not [file for file in home.rglob("*") if file.is_file() and launcher.SERVER in file.read_text()]


@pytest.mark.parametrize("agent", OTHERS)
def test_a_file_that_cannot_be_read_is_left_and_named(home: Path, agent: str) -> None:
    for part in base.load(agent).parts(hook_process.MACHINE):  # type: ignore[misc]  # all but Claude Code have some
        if part.path.suffix in (".json", ".toml") and part.path.name != "claude-mem.json":
            part.path.parent.mkdir(parents=True, exist_ok=True)
            part.path.write_text("{ // mine\n")
            with pytest.raises(Exception, match=part.path.name):
                install(agent, home / ".claude-mem")
            assert part.path.read_text() == "{ // mine\n"
            return


@pytest.mark.parametrize("agent", FOLDERS)
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
