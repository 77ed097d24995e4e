"""Another agent's hook protocol, in and out."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from claude_mem import agents
from claude_mem.hook import json_text
from claude_mem.hook.drop_counters import NotAPayload
from claude_mem.hook.stdin import Payload
from claude_mem.hook.translate import Translator


def _read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    if payload.get("kind") == "heartbeat":
        return None
    return payload | {"tool_input": {"file_path": payload["file"]}, "tool_name": "Edit"}


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = ModuleType("claude_mem.agents.toy")
    made = {
        "EVENTS": {"beforeTool": "PreToolUse", "ends": "SessionEnd"},
        "KEYS": {"chat": "session_id", "dir": "cwd"},
        "INJECTION_EVENTS": frozenset(("PreToolUse",)),
        "WITHIN_S": {"SessionEnd": 1.0},
        "read": _read,
    }
    for name, value in made.items():
        setattr(dialect, name, value)
    monkeypatch.setitem(sys.modules, "claude_mem.agents.toy", dialect)
    monkeypatch.setitem(agents.FOLDERS, "toy", "toy")


def test_a_payload_comes_in_the_words_and_the_order_that_the_hook_reads_without_parsing() -> None:
    raw = json.dumps({"file": "/w/a.py", "dir": "/w", "chat": "c-1"}).encode()
    translated = Translator("toy", "beforeTool").payload(Payload(raw))
    assert translated is not None
    assert (translated.tail, translated.is_complete) == (b"", True)
    assert translated.head.startswith(b'{"session_id":"toy:c-1","cwd":"/w","hook_event_name":"PreToolUse"')
    question = json_text.tool_question(translated.head)
    assert question is not None
    assert json.loads(question)["file_path"] == "/w/a.py"


def test_the_event_is_named_by_the_payload_where_the_verb_names_none() -> None:
    raw = b'{"hook_event_name":"beforeTool","file":"a","dir":"/w","chat":"c"}'
    translated = Translator("toy", "hook").payload(Payload(raw))
    assert translated is not None
    assert json.loads(translated.head)["hook_event_name"] == "PreToolUse"


def test_letters_stay_as_they_are_spelled_so_that_what_must_be_hidden_is_found() -> None:
    raw = json.dumps({"file": "<pri\u200bvate>", "dir": "/w", "chat": "c"}).encode()
    translated = Translator("toy", "beforeTool").payload(Payload(raw))
    assert translated is not None
    assert "<pri\u200bvate>".encode() in translated.head


def test_a_payload_that_was_cut_stays_so() -> None:
    raw = json.dumps({"chat": "c-1", "dir": "/w", "file": "/w/a.py", "more": "x" * 99}).encode()
    translated = Translator("toy", "beforeTool").payload(Payload(raw[:-20], is_complete=False))
    assert translated is not None
    assert translated.is_complete is False


def test_what_says_nothing_is_none_and_what_is_no_json_is_refused() -> None:
    assert Translator("toy", "beforeTool").payload(Payload(b'{"kind":"heartbeat"}')) is None
    assert Translator("toy", "unheard of").payload(Payload(b"{}")) is None
    with pytest.raises(NotAPayload):
        Translator("toy", "beforeTool").payload(Payload(b"garbage"))
    with pytest.raises(KeyError):
        Translator("nobody", "hook")


def test_an_answer_goes_out_under_the_agents_own_name_of_the_event_and_nothing_stays_nothing() -> None:
    translator = Translator("toy", "beforeTool")
    translator.payload(Payload(b'{"file":"a","dir":"/w","chat":"c"}'))
    said = {"hookEventName": "PreToolUse", "additionalContext": "Näheres"}
    line = json.dumps({"continue": True, "suppressOutput": True, "hookSpecificOutput": said}).encode()
    assert json.loads(translator.answer(line)) == {
        "hookSpecificOutput": said | {"hookEventName": "beforeTool"}
    }
    assert translator.answer(b'{"continue": true, "suppressOutput": true}\n') == b""
    assert translator.answer(b"") == b""


def test_a_hook_takes_no_longer_than_its_agent_leaves_it() -> None:
    translator = Translator("toy", "ends")
    translator.payload(Payload(b'{"file":"a","dir":"/w","chat":"c"}'))
    assert translator.within_s(8.0) == 1.0
    assert Translator("toy", "beforeTool").within_s(8.0) == 8.0
