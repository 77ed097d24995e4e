"""Nothing is told that the session does not bear out: rather one claim fewer."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.scripted_session import HOME, Acting

from claude_mem.observe.offline import request
from claude_mem.observe.offline.sentences import TITLE, shortened


@pytest.mark.parametrize(
    "asked",
    ["Check if the fixes are merged", "See whether the cache is warm", "Do a check whether the lock is held"],
)
def test_a_question_is_not_turned_into_a_claim(asked: str) -> None:
    assert request.condensed(asked, TITLE) == asked
    assert request.asks(asked)


def test_a_file_is_new_only_if_the_tool_says_so() -> None:
    given = {"file_path": f"{HOME}/a.py", "content": "x = 1\n"}
    seen = Acting("add a cap").tool("Write", given, "ok").stop("Added a cap to the retries.").only()
    assert "changed: a.py" in seen.facts
    seen = Acting("add a cap").write("a.py", "x = 1\n").stop("Added a cap to the retries.").only()
    assert "changed: a.py (new)" in seen.facts


@pytest.mark.parametrize(
    "taken_back", ["rm probe_test.py", "git checkout -- probe_test.py", "git restore probe_test.py"]
)
def test_a_file_that_was_removed_or_restored_was_not_changed(taken_back: str) -> None:
    acted = Acting("cap the retries").write("probe_test.py", "x = 1\n").edit("pump.py", "+y = 1")
    seen = acted.run(taken_back).stop("Capped the retries of the pump at five.").only()
    assert seen.files_modified == ("pump.py",)


def test_after_a_hard_reset_nothing_was_changed() -> None:
    acted = Acting("cap the retries").edit("pump.py", "+y = 1").run("git reset --hard")
    assert acted.stop("Undid it all, the pump is as before.").memory().summaries[0].files_edited == ()


@pytest.mark.parametrize(
    "listed",
    [
        "I'd move to Elastic later, only if SQLite fails us for:\n\n- many users of one index\n"
        "- 40 GB of traces a day",
        "These are not supported by `find()`:\n\n- many users of one index\n- 40 GB of traces a day",
        "## Option 2: Elastic\n\n**How it works:**\n- many users of one index\n- 40 GB of traces a day",
        "**If it fails:**\n- many users of one index\n- 40 GB of traces a day",
    ],
)
def test_what_would_be_or_is_not_is_no_fact(listed: str) -> None:
    message = f"Moved the index to SQLite: `find()` in index.py reads one file.\n\n{listed}"
    seen = Acting("move the index").edit("index.py", "+y = 1").stop(message).only()
    assert not any("many users" in each or "40 GB" in each for each in (*seen.facts, seen.narrative or ""))


def test_a_title_is_not_cut_before_the_new_value_or_a_condition() -> None:
    said = "SaveSession in auth/session.go: SameSiteStrictMode of the cookie → SameSiteLaxMode for redirects"
    assert not shortened(said, TITLE).endswith(("cookie", "SameSiteStrictMode"))
    said = "The hooks of both settings files run twice in every session if the local file has them"
    assert not shortened(said, TITLE).endswith("session")


def test_a_pronoun_is_answered_by_the_name_in_the_question() -> None:
    message = (
        "It's a variant of the editor's enum in `enums.rs`. "
        "The engine calls the painter to redraw the prompt for it, and `Prompt` returns the stored string. "
        "Nothing inside the crate fires it: a key must be bound to it in `config.nu`. "
        "`keybindings list` shows it among the 41 events of this version."
    )
    acted = Acting("where does the EditorEvent::Repaint come from?").run("nu -c keys", "Repaint")
    assert (acted.stop(message).only().title or "").startswith("EditorEvent::Repaint: ")


def test_a_prohibition_with_its_reason_is_a_rule() -> None:
    asked = "yes and do not wrap long lines in the markdown as that ruins the rendering on the forge"
    seen = Acting(asked).write("/tmp/x/scratchpad/a.md", "text").stop("Both changes are in.").only()
    assert seen.type == "decision"
    assert (seen.title or "").startswith("Do not wrap long lines")


def test_a_word_on_what_still_runs_is_no_title() -> None:
    acted = Acting("yes").edit(".lint.yaml", "+MD024: false")
    assert acted.stop("`.md` clean, 49 files. Waiting on agents.").observations() == ()


def test_what_the_agent_takes_back_in_its_own_message_is_not_told() -> None:
    message = (
        "Only untracked files are captured by `snapshot()` in state.py, so a diff tells what was dirty.\n\n"
        "A file that equals `BaseCommit` must be the agent's work, for `diff()` shows nothing else.\n\n"
        "Actually, `BaseCommit` is the parent of the commit in `post_commit()`, so its diff has all changes. "
        "The files of `snapshot()` are read in state.py:40 after the commit was made, never before it. "
        "The task file in tasks/ is a cleaner sign: `hooks.py` writes it before a subagent starts."
    )
    seen = Acting("who made the change?").read("state.py", "x").stop(message).only()
    assert "must be the agent's work" not in f"{seen.title} {seen.narrative} {seen.facts}"


def test_a_sentence_that_leans_on_another_is_not_told_without_it() -> None:
    message = (
        "The runner of `agent-eval` does not count assertions: one attempt of eval.ts passes or fails.\n\n"
        "```text\npass_rate\n```\n\n"
        "Per assertion. Aligns with the skills of `grading.json` because it has `summary.pass_rate`.\n\n"
        "The rate of `agent-eval` is computed from passedRuns / totalRuns in results.ts:340."
    )
    seen = Acting("how is the rate computed?").read("results.ts", "x").stop(message).only()
    assert "Aligns" not in (seen.narrative or "")
