"""What a prompt shows of diffs, a forge's replies, patches and plans."""

from __future__ import annotations

import json

import pytest

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.memory import Batch
from claude_mem.observe import mode, prompt
from claude_mem.observe.tool_calls import parse_all

CODE = mode.load("code", [])


def use(tool: str, given: object, answer: object = "") -> Event:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in (given, answer)]
    return Event(id="1", at=0, kind=Kind.TOOL_USE, session="s", cwd="/repo", tool=ToolCall(tool, *texts))


def ran(command: str, output: object) -> Event:
    text = output if isinstance(output, str) else json.dumps(output)
    return use("Bash", {"command": command}, {"stdout": text, "stderr": ""})


def shown(*events: Event) -> dict[str, str]:
    """The events' heads and bodies."""
    batch = Batch("shop", "s", events)
    seen = parse_all(events)
    user = prompt.build(batch, seen, CODE, verbosity="normal", language=None, budget_chars=80_000).user
    mark = user.split("\n", 1)[0].removeprefix("The mark is ").removesuffix(".")
    sections = user.split(f"=== {mark} ")[3:-1]
    return {head: body.strip("\n") for head, _, body in (each.partition("\n") for each in sections)}


def changed(path: str, *lines: str) -> str:
    context = "\n".join(f" context {number}" for number in range(30))
    return (
        f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1,6 +7,7 @@ func Handle() {{\n{context}\n" + "\n".join(lines) + f"\n{context}\n"
    )


@pytest.mark.parametrize("command", ["git diff", "gh pr diff 7", "git show HEAD", "git log -p -1"])
def test_a_diff_is_shown_by_its_files_hunks_and_changed_lines(command: str) -> None:
    files = [changed(f"src/file{n}.go", f"-old {n}", f"+new {n}") for n in range(8)]
    (body,) = shown(ran(command, "commit 1\n\n    Why it was done\n\n" + "".join(files))).values()
    for n in range(8):
        assert f"src/file{n}.go (+1 −1)\n@7 func Handle() {{\n-old {n}\n+new {n}" in body
    assert "Why it was done" in body
    assert "context" not in body


def test_of_a_long_diff_every_file_keeps_its_share() -> None:
    long = changed("src/long.go", *(f"+added line {n}" for n in range(2_000)))
    short = changed("src/short.go", "-one", "+two")
    (body,) = shown(ran("git diff", long + short + changed("go.sum", "+sum"))).values()
    assert "src/short.go (+1 −1)\n@7 func Handle() {\n-one\n+two" in body
    assert "src/long.go (+2000 −0)" in body
    assert "+sum" not in body
    assert 3_000 < len(body) <= 4_100


REVIEWED = {
    "title": "Show interrupts",
    "state": "OPEN",
    "url": "https://forge.example/pull/7",
    "id": "PR_kw1",
    "additions": 34,
    "author": {"login": "jo", "id": "U_1", "avatar_url": "https://forge.example/a.png"},
    "labels": [{"name": "bug", "color": "ff0000", "id": "L_1"}],
    "body": "### Prerequisites\r\n\r\n- [x] I have read the guide.\r\n\r\n### Description\r\n\r\nIt blinks. "
    * 1
    + "More of it. " * 300,
    "comments": [
        {"author": {"login": "ann"}, "body": "Please add a test.", "url": "https://forge.example/c"}
    ],
    "reviews": [{"author": {"login": "bo"}, "state": "CHANGES_REQUESTED", "body": "The key is missing."}],
}


def test_a_forges_reply_is_shown_by_its_fields() -> None:
    (body,) = shown(ran("gh pr view 7 --json title,body,comments", REVIEWED)).values()
    assert "Show interrupts" in body.splitlines()[0]
    for part in ("OPEN", "jo", "bug", "It blinks.", "ann", "Please add a test.", "The key is missing."):
        assert part in body
    for part in ("forge.example", "PR_kw1", "U_1", "34", "ff0000", "I have read", "Prerequisites"):
        assert part not in body
    assert len(body) <= 1_500


def test_a_list_from_a_forge_has_a_line_for_each() -> None:
    listed = [{"number": n, "title": f"Fault {n}", "state": "OPEN", "url": "https://x/y"} for n in range(5)]
    (body,) = shown(ran("gh issue list --json number,title,state,url", listed)).values()
    assert [f"Fault {n}" in line for n, line in enumerate(body.splitlines())] == [True] * 5
    assert "https" not in body


def test_a_file_that_was_looked_at_is_no_forges_reply() -> None:
    (body,) = shown(ran("cat book.json", json.dumps({"title": "A", "chapters": ["b" * 99] * 99}))).values()
    assert len(body) < 200


def test_a_patch_of_one_file_is_shown_as_an_edit_of_it() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: /repo/src/{0}\n@@ class A\n same\n-old\n+new\n same\n*** End Patch"
    )
    found = shown(
        use("apply_patch", {"input": patch.format("a.ts")}, "Success"),
        use("apply_patch", {"input": patch.format("a.ts")}, "Success"),
        use("apply_patch", {"input": patch.format("b.ts")}, "Success"),
    )
    assert list(found) == ["1 apply_patch src/a.ts (2 edits)", "2 apply_patch src/b.ts"]
    assert found["2 apply_patch src/b.ts"] == "@class A\n-old\n+new"


def test_a_patch_of_several_files_names_each() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: src/a.ts\n+one\n*** Delete File: src/b.ts\n"
        "*** Update File: src/c.ts\n*** Move to: src/d.ts\n@@\n-x\n+y\n*** End Patch"
    )
    assert shown(use("apply_patch", {"input": patch}, "Success")) == {
        "1 apply_patch src/a.ts, src/b.ts, src/c.ts": (
            "src/a.ts\n+one\nsrc/b.ts\n(deleted)\nsrc/c.ts\n(moved to src/d.ts)\n-x\n+y"
        )
    }


LONG = "The finding is this. " * 40


def test_a_long_text_that_comes_again_is_named_by_its_number() -> None:
    message = Event(id="1", at=0, kind=Kind.SUBAGENT_STOP, session="s", text=LONG)
    found = shown(ran("make", "x"), message, use("Agent", {"description": "look"}, {"content": LONG}))
    assert found["3 Agent look"] == "[same as #2]"


def test_an_edit_and_a_short_answer_are_shown_each_time() -> None:
    def edit(path: str) -> Event:
        return use("Edit", {"file_path": path, "old_string": "x", "new_string": LONG}, {})

    found = shown(
        edit("/repo/a"), edit("/repo/b"), ran("make a", "all is well now, as before"), ran("b", "no")
    )
    assert found["1 Edit a"] == found["2 Edit b"]
    again = shown(ran("make a", "all is well now, as before"), ran("make b", "all is well now, as before"))
    assert list(again.values()) == ["all is well now, as before"] * 2


def test_of_a_plan_only_the_last_state_is_shown() -> None:
    def todos(*states: str) -> Event:
        steps = [{"content": f"step {n}", "status": state} for n, state in enumerate(states)]
        return use("TodoWrite", {"todos": steps}, "ok")

    found = shown(todos("in_progress", "pending"), ran("make", "x"), todos("completed", "in_progress"))
    assert list(found) == ["1 Bash make", "2 The agent's plan"]
    assert found["2 The agent's plan"] == "[x] step 0\n[>] step 1"


def test_a_plan_that_is_kept_step_by_step_is_put_together() -> None:
    found = shown(
        use("TaskCreate", {"subject": "Read it"}, {"task": {"id": "7", "subject": "Read it"}}),
        use("TaskCreate", {"subject": "Fix it"}, {"task": {"id": "8", "subject": "Fix it"}}),
        use("TaskCreate", {"subject": "Drop it"}, {"task": {"id": "9", "subject": "Drop it"}}),
        use("TaskUpdate", {"taskId": "7", "status": "completed"}, {"success": True}),
        use("TaskUpdate", {"taskId": "9", "status": "deleted"}, {"success": True}),
        use("TaskUpdate", {"taskId": "3", "status": "in_progress"}, {"success": True}),
    )
    assert found == {"1 The agent's plan": "[x] Read it\n- Fix it\n[>] task 3"}


def test_a_plan_of_codex_is_its_last() -> None:
    def plan(status: str) -> Event:
        return use("update_plan", {"plan": [{"step": "Look", "status": status}]}, "Plan updated")

    assert shown(plan("in_progress"), plan("completed")) == {"1 The agent's plan": "[x] Look"}
