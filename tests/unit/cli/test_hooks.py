"""The verbs of hooks, typed by a person."""

from claude_mem.cli import HOOK_VERBS, hooks


def test_every_hook_verb_can_be_explained() -> None:
    assert set(hooks.VERBS) == set(HOOK_VERBS)
