"""The peculiarities of single agents' hooks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.contracts.agent_payloads import (
    CANARY,
    CWD,
    DONE,
    FIXTURES,
    PROMPT,
    SENT,
    copilot_by_claude_code,
    events,
    hook,
    session_of,
)
from tests.harness import hook_process

from claude_mem import __version__
from claude_mem.agents import CLAUDE_CODE, catalog, launcher
from claude_mem.agents.launcher import Machine
from claude_mem.hook import paths, worker_link
from claude_mem.hook.stdin import Payload
from claude_mem.hook.translate import Translator
from claude_mem.model.events import Kind
from claude_mem.observe import tool_calls

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
    assert "PreCompress" not in catalog.load("gemini").hooks(hook_process.MACHINE)["hooks"]


def test_codex_ends_a_sessions_last_hook_after_three_seconds(data: Path) -> None:
    translator = Translator("codex", "hook")
    end = next(sent.payload for sent in SENT["codex"] if sent.kind == "session_end")
    assert translator.payload(Payload(json.dumps(end).encode()))
    assert translator.within_s(8.0) < 3.0


def test_codexs_hook_stays_the_same_in_every_version_so_that_it_stays_trusted() -> None:
    assert __version__ not in launcher.hook_line(Machine("/py", "/package", None), "hook", "codex")


def test_a_tools_name_that_is_no_text_is_no_obstacle_for_copilots_hook() -> None:
    payload = b'{"sessionId":"s","toolName":{"a":1},"toolArgs":{}}'
    found = Translator("copilot", "preToolUse").payload(Payload(payload))
    assert found is not None
    assert json.loads(found.head)["tool_name"] == {"a": 1}


def test_clines_subagents_are_left_out(data: Path) -> None:
    with hook_process.listening(data):
        for verb, payload, _ in SENT["cline"]:
            hook(data, "cline", verb, payload | {"parent_agent_id": "agent_1"})
    assert not events(data)


def test_without_a_worker_cline_is_told_at_its_first_tool_what_was_rendered_and_once(data: Path) -> None:
    data.mkdir(mode=0o700)
    file = data / paths.directory_context(CWD.encode())
    file.parent.mkdir(mode=0o700)
    answer = worker_link.answer_with(b"SessionStart", b'"Last session: postage."')
    assert answer is not None
    file.write_bytes(b"%016x\n" % 0 + answer)
    before = [sent.payload for sent in SENT["cline"] if sent.verb == "PreToolUse"]
    with hook_process.starting_no_worker(data):
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


def test_gooses_edit_tells_what_was_replaced_by_what(data: Path) -> None:
    edits = [sent for sent in SENT["goose"] if "before" in sent.payload.get("tool_input", {})]
    with hook_process.listening(data):
        for verb, payload, _ in edits:
            hook(data, "goose", verb, payload)
    (call,) = map(tool_calls.parse, events(data))
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
    line = json.dumps({"continue": True, "systemMessage": "Not recorded."}).encode()
    for verb, payload, _ in SENT["goose"]:
        translator = Translator("goose", verb)
        assert translator.payload(Payload(json.dumps(payload).encode()))
        said = translator.answer(line)
        assert said == b"" if verb != "SessionStart" else json.loads(said) == {"banner": "Not recorded."}
