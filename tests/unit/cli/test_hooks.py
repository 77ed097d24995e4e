"""The hooks a client is told about are the ones that are recorded, and run without a shell."""

from pathlib import Path
from typing import Any

from claude_mem.capture import entry
from claude_mem.cli import HOOK_VERBS, hooks


def test_every_recorded_event_has_a_hook_and_no_other_has() -> None:
    assert {event.encode() for event in hooks.EVENTS} == entry.RECORDED


def test_before_a_tool_only_those_that_touch_a_file_run_a_hook() -> None:
    printed: Any = hooks.snippet("/opt/python/bin/python3")["hooks"]
    assert set(printed) == {*hooks.EVENTS, "PreToolUse"}
    (group,) = printed["PreToolUse"]
    assert group["matcher"] == "Read|Edit|MultiEdit|Write|NotebookEdit"
    assert not any("matcher" in group for event in hooks.EVENTS for group in printed[event])


def test_a_hook_is_run_by_the_absolute_interpreter_in_exec_form() -> None:
    printed: Any = hooks.snippet("/opt/python/bin/python3")
    for groups in printed["hooks"].values():
        ((hook,),) = (group["hooks"] for group in groups)
        assert hook["type"] == "command"
        assert hook["command"] == "/opt/python/bin/python3"
        isolated, without_site, script, verb = hook["args"]
        assert (isolated, without_site, verb) == ("-I", "-S", "hook")
        assert Path(script).is_absolute()
        assert Path(script).is_file()


def test_every_hook_verb_can_be_explained() -> None:
    assert set(hooks.VERBS) == set(HOOK_VERBS)
