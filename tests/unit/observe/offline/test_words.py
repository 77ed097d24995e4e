"""What the agent and the user said: discoveries, decisions and the summary."""

from __future__ import annotations

from tests.unit.observe.offline.acting import Acting

REPORT = """Confirmed.

## Root cause

`src/path.go:285` re-renders the composed path as a template, so a folder's name runs as code.

- `splitPath` stores each `Folder.Name` raw, with no brace removed.
- `cmd` is in the shared function map (`src/template/func_map.go:28`).
- It is probably older than v12.

## Next steps

1. Gate `cmd` behind a trusted type.
"""


def test_a_turn_that_only_explored_keeps_what_the_agent_found() -> None:
    seen = Acting("why does it run?").read("src/path.go", "func A() {}").stop(REPORT).only()
    assert seen.type == "discovery"
    assert (seen.title or "").startswith("src/path.go:285 re-renders the composed path as a template")
    assert "splitPath stores each Folder.Name raw, with no brace removed." in seen.facts
    assert "proposed: Gate cmd behind a trusted type." in seen.facts
    assert {"src/path.go", "src/template/func_map.go"} <= set(seen.files_read)


def test_a_guess_is_not_a_fact() -> None:
    (seen,) = Acting("why?").stop(REPORT).observations()
    assert not any("older than v12" in fact for fact in seen.facts)


def test_a_word_of_progress_is_no_discovery() -> None:
    assert (
        Acting("go").read("a.py", "x").stop("T1 launched. Waiting for its result before T2.").observations()
        == ()
    )


def test_where_a_thing_is_defined_is_known_from_the_search() -> None:
    seen = (
        Acting("where is it?")
        .grep("setActive", content="src/engine.go:369:func (e *Engine) setActive(s int) {")
        .only()
    )
    assert seen.title == "Engine.setActive() is defined in src/engine.go:369"


def test_a_page_that_was_read_is_a_discovery_with_its_title() -> None:
    page = {
        "bytes": 9,
        "code": 200,
        "result": "# Repaint events\n\nThe editor polls a channel.",
        "url": "https://a.org/b",
    }
    seen = Acting("x").tool("WebFetch", {"url": "https://a.org/b", "prompt": "?"}, page).only()
    assert seen.title == "Repaint events (a.org/b)"
    missing = {"code": 404, "result": "The server returned HTTP 404 Not Found."}
    assert (
        Acting("x").tool("WebFetch", {"url": "https://a.org/c", "prompt": "?"}, missing).observations() == ()
    )


def test_an_answer_of_the_users_is_a_decision() -> None:
    question = {"question": "Which store?", "options": [{"label": "SQLite"}]}
    seen = (
        Acting("x")
        .tool("AskUserQuestion", {"questions": [question]}, {"answers": {"Which store?": "SQLite"}})
        .only()
    )
    assert (seen.type, seen.title) == ("decision", "SQLite — Which store?")


def test_a_stated_choice_with_its_reason_is_a_decision() -> None:
    message = "Done.\n\nDesign decisions worth knowing:\n\n"
    message += "- **`cmdline_url=` everywhere**, not `%q`, because raw `;` bytes are ambiguous.\n"
    decided = [
        s
        for s in Acting("x").edit("a.py", " def f():", "+    y").stop(message).observations()
        if s.type == "decision"
    ]
    assert [s.title for s in decided] == [
        "cmdline_url= everywhere, not %q, because raw ; bytes are ambiguous."
    ]


def test_the_summary_follows_the_messages_own_structure() -> None:
    message = """Done.

## What changed

- `src/auth.py`: expired tokens are refused
- [guide.md](docs/guide.md:3): the section on tokens is new

## Next steps

- Tell the mobile team
"""
    acted = Acting("<system-reminder>noise</system-reminder>Refuse **expired** tokens")
    acted.read("src/auth.py", "x").edit("src/auth.py", " def f():", "+    y").run(
        "pytest", "== 4 passed in 0.1s =="
    )
    acted.tool(
        "TodoWrite",
        {
            "todos": [
                {"content": "Write the changelog", "status": "pending"},
                {"content": "x", "status": "completed"},
            ]
        },
        {},
    )
    (told,) = acted.stop(message).memory().summaries
    assert told.request == "Refuse expired tokens"
    assert (
        told.completed
        == "src/auth.py: expired tokens are refused; docs/guide.md:3: the section on tokens is new"
    )
    assert told.next_steps == "Tell the mobile team; Write the changelog"
    assert told.files_edited == ("src/auth.py",)
    assert told.files_read == ("src/auth.py",)
    assert told.notes == "pytest: 4 passed"


def test_headings_are_understood_in_other_languages() -> None:
    for done, later in (
        ("Änderungen", "Nächste Schritte"),
        ("变更", "下一步"),
        ("Изменения", "Следующие шаги"),
        ("Cambios", "Próximos pasos"),
    ):
        message = (
            f"## {done}\n\n- src/a.py: alpha beta gamma delta\n\n## {later}\n\n- epsilon zeta eta theta\n"
        )
        (told,) = Acting("x").edit("src/a.py", "+y = 1").stop(message).memory().summaries
        assert (told.completed, told.next_steps) == (
            "src/a.py: alpha beta gamma delta",
            "epsilon zeta eta theta",
        )


def test_without_a_stop_there_is_no_summary() -> None:
    assert Acting("x").edit("a.py", "+y = 1").memory().summaries == ()


def test_a_rule_the_agent_wrote_into_its_memory_is_a_decision() -> None:
    text = "---\nname: x\ndescription: Internal changes are never breaking changes here\n---\n\n"
    text += "Why: the user said so.\n"
    seen = Acting("never!").write("/home/u/.claude/projects/p/memory/x.md", text).only()
    assert (seen.type, seen.title) == ("decision", "Internal changes are never breaking changes here")
