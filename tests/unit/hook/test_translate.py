"""Another agent's hook protocol, in and out."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from claude_mem import agents
from claude_mem.hook import json_peek, translate
from claude_mem.hook.drop_counters import NotAPayload


def _to_hook(verb: str, payload: dict[str, object]) -> dict[str, object] | None:
    if payload.get("kind") == "heartbeat":
        return None
    return {
        "tool_input": {"file_path": payload["file"]},
        "tool_name": "Edit",
        "hook_event_name": "PreToolUse",
        "cwd": payload["dir"],
        "session_id": payload["chat"],
    }


def _from_hook(answer: dict[str, object]) -> bytes:
    return json.dumps({"go_on": answer["continue"]}).encode()


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = ModuleType("claude_mem.agents.toy.dialect")
    dialect.to_hook = _to_hook  # type: ignore[attr-defined]  # made here
    dialect.from_hook = _from_hook  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "claude_mem.agents.toy", ModuleType("claude_mem.agents.toy"))
    monkeypatch.setitem(sys.modules, "claude_mem.agents.toy.dialect", dialect)
    monkeypatch.setitem(agents.FOLDERS, "toy", "toy")


def test_a_payload_comes_in_the_words_and_the_order_that_the_hook_reads_without_parsing() -> None:
    raw = json.dumps({"chat": "c-1", "dir": "/w", "file": "/w/a.py"}).encode()
    translated = translate.payload("toy", "hook", raw, b"", True)
    assert translated is not None
    head, tail, whole = translated
    assert (tail, whole) == (b"", True)
    assert head.startswith(b'{"session_id":"c-1"')
    question = json_peek.tool_question(head)
    assert question is not None
    assert json.loads(question)["file_path"] == "/w/a.py"


def test_a_payload_that_was_cut_stays_so() -> None:
    raw = json.dumps({"chat": "c-1", "dir": "/w", "file": "/w/a.py", "more": "x" * 99}).encode()
    translated = translate.payload("toy", "hook", raw[:-20], b"", False)
    assert translated is not None
    assert translated[2] is False


def test_what_says_nothing_is_none_and_what_is_no_json_is_refused() -> None:
    assert translate.payload("toy", "hook", b'{"kind":"heartbeat"}', b"", True) is None
    with pytest.raises(NotAPayload):
        translate.payload("toy", "hook", b"garbage", b"", True)
    with pytest.raises(KeyError):
        translate.payload("nobody", "hook", b"{}", b"", True)


def test_an_answer_goes_out_as_the_agent_expects_it_and_nothing_stays_nothing() -> None:
    assert translate.answer("toy", b'{"continue": true}\n') == b'{"go_on": true}'
    assert translate.answer("toy", b"") == b""
