"""Memories on a screen: the id first, what it is, where it was, and what to know before trusting it."""

import io
import json
import re
from typing import Any

from claude_mem.agents import agent_of
from claude_mem.cli import memory_text
from claude_mem.cli.commands import lookup
from claude_mem.cli.memory_text import evidence_sections
from claude_mem.cli.output import Paint, terminal, width

NOW = 1_760_000_000.0
PLAIN = Paint(io.StringIO(), {})


def result(**differences: Any) -> dict[str, Any]:
    return {
        "id": 41,
        "ref": "41",
        "kind": "observation",
        "session_id": "5694c0de-0000-4000-8000-000000000001",
        "project": "shop",
        "title": "Empty passwords made login fail",
        "subtitle": "An early return was missing",
        "type": "bugfix",
        "created_at_epoch": int((NOW - 7_300) * 1000),
        "files": ["src/login.py"],
        "branch": "main",
        "score": 0.5,
        "snippet": "… the empty password …",
        "pinned": False,
        "superseded_by": None,
        "source": "work",
        "marks": [],
    } | differences


def session(**differences: Any) -> dict[str, Any]:
    return {
        "session_id": result()["session_id"],
        "title": "Why does login fail?",
        "project": "shop",
        "created_at_epoch": int(NOW * 1000),
        "events": 0,
        "more": 0,
    } | differences


def test_results_are_under_their_session_with_the_sentence_that_matches() -> None:
    summary = result(ref="s2", kind="summary", type=None, title="Fix it", snippet="It is fixed now.")
    other = result(ref="7", session_id="other", title="Retries", snippet="")
    text = memory_text.found(
        [result(), summary, other], [session(events=2, more=1), session(session_id="other")], 80, PLAIN
    )
    day = memory_text.day(session())
    assert text.splitlines() == [
        "shop",
        "",
        f"{day}  Why does login fail?",
        "  41  bugfix: Empty passwords made login fail",
        "      … the empty password …",
        "  s2  summary: It is fixed now.",
        "      + 1 more (--session 5694c0de), 2 tool events (--raw)",
        "",
        f"{day}  Why does login fail?",
        "   7  bugfix: Retries",
    ]


def test_what_was_done_in_another_agent_says_so() -> None:
    theirs = result(client="codex", session_id="codex:0199aaaa-1111-7000-8000-000000000001")
    mine = result(client="claude-code")
    sessions = [session(session_id=theirs["session_id"], more=3), session()]
    lines = memory_text.found([theirs, mine], sessions, 80, PLAIN).splitlines()
    assert [line.split("  ")[1] for line in lines if "Why does login" in line] == [
        "in Codex · Why does login fail?",
        "Why does login fail?",
    ]
    assert any("(--session 0199aaaa-1111)" in line for line in lines)
    for text in (memory_text.table([theirs], 80, PLAIN), memory_text.in_full(theirs, NOW, 80, PLAIN)):
        assert "in Codex" in text
    assert "in Claude Code" not in memory_text.table([mine], 80, PLAIN)


def test_what_a_member_of_the_team_did_says_whose_it_is() -> None:
    theirs = result(client="codex", author="ada")
    found = memory_text.found([theirs], [session(author="ada")], 80, PLAIN)
    for text in (found, memory_text.table([theirs], 80, PLAIN), memory_text.in_full(theirs, NOW, 80, PLAIN)):
        assert text.count("by ada in Codex") == 1
    assert "by" not in lookup.sessions_table([session(status="active")]).splitlines()[0].split()
    table = lookup.sessions_table([session(status="active", author="ada"), session(status="active")])
    head, adas, mine = (line.split() for line in table.splitlines())
    assert (head[1], adas[1], mine[1]) == ("by", "ada", "me")


def test_sessions_are_listed_by_agent_with_ids_that_tell_them_apart() -> None:
    ids = [f"codex:0199aaaa-{n}-7000-8000-000000000001" for n in (1111, 2222)]
    ids += ["opencode:ses_5f3a00000001ffe", "opencode:ses_5f3a00000002ffe", result()["session_id"]]
    items = [session(session_id=id, status="summarizing", client=agent_of(id), project="shop") for id in ids]
    rows = [re.split(r"\s{2,}", row)[0] for row in lookup.sessions_table(items).splitlines()[1:]]
    assert rows == ["0199aaaa-1111", "0199aaaa-2222", "ses_5f3a00000001", "ses_5f3a00000002", "5694c0de"]
    text = lookup.sessions_table(items)
    for title in ("Codex", "OpenCode", "Claude Code", "between turns"):
        assert title in text
    assert max(map(width, text.splitlines())) <= terminal()


def test_each_session_names_its_project_where_there_are_several() -> None:
    sessions = [session(), session(session_id="other", project="bakery")]
    lines = memory_text.found([result(), result(session_id="other")], sessions, 80, PLAIN).splitlines()
    assert [line for line in lines if " · " in line] == [
        f"{memory_text.day(session())}  {name} · Why does login fail?" for name in ("shop", "bakery")
    ]


def test_a_row_says_which_memory_of_which_day_what_and_where() -> None:
    prompt = result(ref="p5", kind="prompt", type=None, title="Fix it", files=[], snippet="Fix it")
    day = memory_text.day(result())
    assert memory_text.table([result(), prompt], 80, PLAIN).splitlines() == [
        "shop",
        "id  date       type        what",
        f"41  {day} bugfix      Empty passwords made login fail",
        "                           src/login.py",
        "                           … the empty password …",
        f"p5  {day} prompt      Fix it",
    ]


def test_what_to_know_before_trusting_it_is_told() -> None:
    doubtful = result(pinned=True, superseded_by=50, source="external", marks=["files changed since"])
    last = memory_text.table([doubtful], 120, PLAIN).splitlines()[-1]
    assert last.split(" · ")[0].strip() == "pinned"
    for words in ("replaced by 50", "not verified", "files changed since"):
        assert words in last


def test_the_parts_of_a_score_are_told_when_they_were_asked_for() -> None:
    text = memory_text.found([result(parts={"text": 0.4, "recency": 0.1})], [session()], 80, PLAIN)
    assert "score 0.500: text 0.400, recency 0.100" in text


def test_no_row_is_wider_than_the_screen_whatever_it_holds() -> None:
    hostile = result(
        ref="e" + "9" * 11,
        title="日本語\x1b[31m\n" * 60,
        project="p" * 200,
        files=["f" * 300] * 9,
        snippet="\u202e" + "s" * 500,
        marks=["m" * 300],
    )
    for columns in (60, 80, 140):
        text = memory_text.table([hostile], columns, PLAIN)
        assert max(map(width, text.splitlines())) <= columns
        several = [session(title=hostile["title"], project=hostile["project"]), session(session_id="other")]
        grouped = memory_text.found([hostile, result(session_id="other")], several, columns, PLAIN)
        assert max(map(width, grouped.splitlines())) <= columns
        assert "\x1b" not in text + grouped
        assert "\u202e" not in text
        whole = memory_text.in_full(
            hostile | {"facts": ["x" * 500], "narrative": "y " * 900}, NOW, columns, PLAIN
        )
        assert max(map(width, whole.splitlines())) <= columns


def test_a_memory_without_anything_is_still_a_row() -> None:
    baseline = {"ref": "3", "kind": "evidence", "id": 3}
    assert "(no title)" in memory_text.table([baseline], 80, PLAIN)
    assert "(no title)" in memory_text.in_full(baseline, NOW, 80, PLAIN)


def test_a_whole_memory_has_everything_once() -> None:
    text = memory_text.in_full(
        result(narrative="Because.", facts=["One.", "Two."], concepts=["gotcha"]), NOW, 80, PLAIN
    )
    for words in (
        "41  Empty",
        "(2 h ago)",
        "branch main",
        "Because.",
        "- Two.",
        "- src/login.py",
        "- gotcha",
    ):
        assert text.count(words) == 1, words


def test_a_prompt_of_one_long_line_is_shown_to_its_last_word() -> None:
    words = [f"word{n}" for n in range(60)]
    for cut in (
        " ".join(words),
        "word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11…",
    ):
        prompt = result(ref="p1", kind="prompt", title=cut, subtitle=None, prompt=" ".join(words), files=[])
        text = memory_text.in_full(prompt, NOW, 60, PLAIN)
        assert text.split()[-60:] == words
        assert max(map(width, text.splitlines())) <= 60
        assert text.splitlines()[0].endswith("…")


def test_a_prompt_that_fits_on_the_first_line_is_not_said_again() -> None:
    prompt = result(ref="p1", kind="prompt", title="Fix it", subtitle=None, prompt="Fix it", files=[])
    assert memory_text.in_full(prompt, NOW, 80, PLAIN).count("Fix it") == 1


def test_a_title_that_nothing_repeats_is_wrapped_and_not_cut() -> None:
    text = memory_text.in_full(result(title="An observation " * 12 + "ends here"), NOW, 60, PLAIN)
    assert "ends here" in text
    assert "…" not in text


def test_what_somebody_typed_keeps_its_lines_and_their_indents() -> None:
    typed = "Why?\n\n    def f():\n        return 1"
    prompt = result(ref="p1", kind="prompt", title="Why? def f(): return 1", prompt=typed, files=[])
    assert "\n  Why?\n\n      def f():\n          return 1" in memory_text.in_full(prompt, NOW, 80, PLAIN)


def test_a_session_has_its_prompts_and_summaries_to_their_last_word() -> None:
    long = " ".join(f"word{n}" for n in range(60))
    prompt = result(ref="p1", kind="prompt", title=long, subtitle=None, prompt=long)
    summary = result(ref="s1", kind="summary", title=long, subtitle=None, request=long)
    found = {"session": {"session_id": "abc"}, "prompts": [prompt], "observations": []}
    text = lookup.session_text(found | {"summaries": [summary]}, PLAIN)
    assert text.count("word59") == 2


def test_a_session_is_told_by_time_with_its_prompt_first() -> None:
    at = int(NOW * 1000)
    found = {
        "session": {"session_id": "abc", "project": "shop", "status": "completed"},
        "prompts": [result(ref="p1", kind="prompt", title="Please", created_at_epoch=at)],
        "observations": [result(created_at_epoch=at)],
        "summaries": [result(ref="s1", kind="summary", title="Fixed", created_at_epoch=at + 1)],
        "previous": {"session_id": "before"},
        "next": None,
    }
    text = lookup.session_text(found, PLAIN)
    assert text.index("p1  Please") < text.index("41  Empty") < text.index("s1  Fixed")
    assert "claude-mem show --session before" in text


def test_sessions_are_a_row_each_within_the_screen() -> None:
    items = [
        {
            "id": 1,
            "session_id": result()["session_id"],
            "project": "shop",
            "status": "active",
            "title": "Fix it",
        },
        {
            "id": 2,
            "session_id": "日本語日本語日本語",
            "project": "語" * 99,
            "status": "x" * 99,
            "title": "y" * 300,
        },
    ]
    lines = lookup.sessions_table(items).splitlines()
    assert lines[1].split()[0] == "5694c0de"
    assert max(map(width, lines)) <= 80


def shown(given: Any, answered: Any, columns: int = 80) -> list[str]:
    result = {"tool_input": given, "tool_response": answered}
    return [line for section in evidence_sections(result, columns) for line in section]


def test_a_command_is_shown_with_all_its_output() -> None:
    output = {"stdout": "one\n  two\n\nfour", "stderr": "", "interrupted": False}
    assert shown(json.dumps({"command": "make test"}), json.dumps(output)) == [
        "  Input:",
        "    command: make test",
        "  Output:",
        "    stdout:",
        "      one",
        "        two",
        "",
        "      four",
        "    interrupted: false",
    ]


def test_an_edit_is_shown_as_a_diff_and_says_nothing_twice() -> None:
    given = {"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 2"}
    hunk = {"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-x = 1", "+x = 2"]}
    answered = {"filePath": "/a.py", "oldString": "x = 1", "newString": "x = 2", "structuredPatch": [hunk]}
    lines = shown(json.dumps(given), json.dumps(answered))
    assert lines[1:4] == ["    file_path: /a.py", "    old_string: x = 1", "    new_string: x = 2"]
    assert lines[4:] == [
        "  Output:",
        "    structuredPatch:",
        "      @@ -3,1 +3,1 @@",
        "      -x = 1",
        "      +x = 2",
    ]


def test_what_is_no_json_is_shown_as_it_is_and_what_is_not_there_is_not() -> None:
    assert shown(None, '{"stdout": "cut of') == ["  Output:", '    {"stdout": "cut of']
    assert shown(None, None) == []
    assert shown("{}", "[]") == []


def test_no_line_is_wider_than_the_screen_and_no_word_is_lost() -> None:
    words = [f"w{n}" for n in range(200)]
    deep: Any = " ".join(words)
    for _ in range(50):
        deep = {"k": deep}
    hostile = {"file": "/f" * 300, "n": "日本語" * 60, "deep": deep, "esc": "\x1b[31mred"}
    lines = shown(json.dumps(hostile), None, 60)
    assert max(map(width, lines)) <= 60
    assert set(words) <= set(" ".join(lines).split())
    assert "\x1b" not in "".join(lines)
