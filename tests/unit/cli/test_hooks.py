"""The verbs of hooks, typed by a person."""

from claude_mem.cli import HOOK_VERBS, hooks


def test_every_hook_verb_can_be_explained() -> None:
    assert {*hooks.PAYLOADS, "context"} == set(HOOK_VERBS)
