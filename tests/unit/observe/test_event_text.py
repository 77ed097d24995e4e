import json

import pytest

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.observe import event_text, tool_calls
from claude_mem.observe import prompt as fit
from claude_mem.observe.condense import LONGEST_MARK, elide
from claude_mem.observe.event_text import Piece, Value


def piece(event: Event, base: str | None) -> Piece | None:
    (seen,) = tool_calls.parse_all([event])
    return event_text.piece(seen, base)


def told(tool: str, given: object, answer: object, *, failed: bool = False) -> Piece:
    def text(value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    kind = Kind.TOOL_FAILURE if failed else Kind.TOOL_USE
    call = ToolCall(tool, text(given), text(answer))
    made = piece(Event(id="1", at=0, kind=kind, session="s", cwd="/repo", tool=call), "/repo")
    assert made is not None
    return made


def test_a_tool_of_which_only_the_name_was_kept_is_not_told() -> None:
    assert piece(Event(id="1", at=0, kind=Kind.TOOL_USE, session="s", tool=ToolCall("Ours")), None) is None
    assert piece(Event(id="1", at=0, kind=Kind.TOOL_USE, session="s", tool=ToolCall("X", "{}")), None)


def test_the_end_of_a_task_in_the_background_is_not_told_as_the_users_words() -> None:
    made = piece(Event(id="1", at=0, kind=Kind.TASK_END, session="s", text="make test failed"), None)
    assert made == Piece("A task in the background", "make test failed", Value.MIDDLE)


LONG = "\n".join(f"line {n}" for n in range(2_000))


def test_a_read_is_its_path_and_size_and_a_few_lines() -> None:
    made = told("Read", {"file_path": "/repo/a.py"}, {"file": {"content": LONG, "numLines": 2000}})
    assert made.head == "Read a.py (2000 lines)"
    assert made.body.startswith("line 0\nline 1\nline 2\n[…")
    assert made.value is Value.LOW
    assert "from 40" in told("Read", {"file_path": "/repo/a.py", "offset": 40}, "x").head


@pytest.mark.parametrize(
    ("tool", "given_input", "answer", "head"),
    [
        ("Grep", {"pattern": "x", "path": "/repo/src"}, {"filenames": ["a", "b"]}, "Grep x in src: 2 hits"),
        ("Grep", {"pattern": "x"}, {"filenames": [], "content": "a:1:x\nb:2:x\nc:3:x"}, "Grep x: 3 hits"),
        ("Glob", {"pattern": "*.py"}, {"filenames": [], "numFiles": 0}, "Glob *.py: 0 hits"),
        ("Bash", {"command": "ls -la"}, {"stdout": "a\nb"}, "Bash ls -la: 2 lines"),
        (
            "Bash",
            {"command": "cd x && git status | head"},
            "clean",
            "Bash cd x && git status | head: 1 lines",
        ),
        ("Bash", {"command": "cat a.py"}, {"stdout": "", "stderr": ""}, "Bash cat a.py: 0 lines"),
        ("Bash", {"command": "grep 'a; rm b' f"}, {"stdout": "x"}, "Bash grep 'a; rm b' f: 1 lines"),
        ("Bash", {"command": "git -C sub status"}, {"stdout": "x"}, "Bash git -C sub status: 1 lines"),
    ],
)
def test_looking_around_is_told_in_a_line_with_its_hits(
    tool: str, given_input: object, answer: object, head: str
) -> None:
    made = told(tool, given_input, answer)
    assert (made.head, made.value) == (head, Value.LOW)


@pytest.mark.parametrize(
    "command",
    [
        "cat > a <<X",
        "find . -delete",
        "sed -i s/a/b/ f",
        "git stash",
        "python x.py",
        "ls | xargs rm",
        "time rm a",
    ],
)
def test_what_changes_something_is_not_mere_looking(command: str) -> None:
    assert told("Bash", {"command": command}, "").value is not Value.LOW


def test_an_edit_is_its_changed_lines_and_never_the_whole_file() -> None:
    patch = [{"newStart": 7, "lines": [" same", "-old", "+new", " same"]}]
    answer = {"structuredPatch": patch, "originalFile": "SECRET OF THE WHOLE FILE"}
    made = told("Edit", {"file_path": "/repo/a.py", "old_string": "o", "new_string": "n"}, answer)
    assert (made.head, made.body, made.value) == ("Edit a.py", "@7\n-old\n+new", Value.HIGH)


def test_an_edit_without_a_patch_is_told_by_what_replaced_what() -> None:
    strings = {"old_string": "a\nb\nc", "new_string": "a\nB\nB2\nc"}
    assert told("Edit", {"file_path": "/repo/a.py", **strings}, "ok").body == "-b\n+B\n+B2"
    assert (
        told("MultiEdit", {"file_path": "/repo/a.py", "edits": [strings, strings]}, "").body.count("+B2") == 2
    )
    grown = {"old_string": "a", "new_string": "a\na"}
    assert told("Edit", {"file_path": "/repo/a.py", **grown}, "").body == "+a"


def test_a_new_file_is_told_by_its_beginning() -> None:
    made = told("Write", {"file_path": "/repo/a.py", "content": LONG}, {"type": "create", "content": LONG})
    assert made.head == "Write a.py (2000 lines)"
    assert made.body.startswith("line 0\n")
    assert len(made.body) < 2_000


def test_of_a_test_run_the_end_is_told_and_of_other_commands_both_ends() -> None:
    tests = told("Bash", {"command": "go test ./..."}, {"stdout": LONG})
    assert "line 1999" in tests.body
    assert tests.value is Value.HIGH
    other = told("Bash", {"command": "python build_index.py"}, {"stdout": LONG, "stderr": "warned"})
    assert "line 0\n" in other.body
    assert "warned" in other.body
    assert other.value is Value.MIDDLE


def test_a_commits_message_is_told_whole() -> None:
    command = "git commit -m \"$(cat <<'EOF'\n" + "why it was done\n" * 60 + 'EOF\n)"'
    made = told("Bash", {"command": command}, {"stdout": "[main 1] ok"})
    assert made.body.count("why it was done") == 60
    assert made.value is Value.HIGH


def test_a_failure_is_told_with_what_was_tried() -> None:
    made = told("Bash", {"command": "make\nmake install"}, "Exit code 2\n" + "oh " * 900, failed=True)
    assert made.head == "FAILED Bash"
    assert "make install" in made.body
    assert made.body.count("oh ") >= 899
    assert told("Edit", {"file_path": "/repo/a.py", "old_string": "x"}, "not found", failed=True) == Piece(
        "FAILED Edit a.py", "not found", Value.HIGH
    )


def test_pictures_binary_data_and_colours_are_dropped() -> None:
    picture = [{"type": "text", "text": "a chart"}, {"type": "image", "source": {"data": "QUJD" * 500}}]
    assert told("mcp__browser__shot", {}, picture).body == "a chart\n[image]"
    assert told("Bash", {"command": "x"}, {"stdout": "QUJD" * 500 + " end"}).body == (
        "[…2000 chars of binary data…] end"
    )
    assert told("Bash", {"command": "x"}, {"stdout": "\x1b[1;31mred\x1b[0m"}).body == "red"


def test_an_agents_answer_is_told_without_its_order() -> None:
    answer = {"prompt": "the long order", "content": [{"type": "text", "text": "the finding"}]}
    made = told("Agent", {"description": "find it", "prompt": "the long order"}, answer)
    assert (made.head, made.body) == ("Agent find it", "the finding")
    assert told("Agent", {"description": "find it"}, {"isAsync": True, "prompt": "the long order"}).body == ""


def test_what_a_subagent_did_is_told_as_its_doing() -> None:
    call = ToolCall("Bash", '{"command": "make"}', "ok")
    made = piece(Event("1", 0, Kind.TOOL_USE, "s", agent_id="a", agent_type="reviewer", tool=call), None)
    assert made is not None
    assert made.head == "[subagent reviewer] Bash make"


def test_what_is_left_out_is_left_out_between_lines() -> None:
    whole = [f"line {number} of the plan" for number in range(200)]
    first, mark, last = elide("\n".join(whole), 1_000).partition("\n[…")
    assert mark
    assert set(first.splitlines()) | set(last.splitlines()[1:]) <= set(whole)


def test_a_cut_says_how_much_is_missing() -> None:
    cut = elide("a" * 500 + "b" * 500, 300)
    assert len(cut) <= 300
    head, mark, tail = cut.split("\n")
    assert mark == f"[…{1000 - len(head) - len(tail)} chars…]"
    assert (set(head), set(tail)) == ({"a"}, {"b"})


def reading(path: str) -> Piece:
    return Piece(f"Read {path} (1 lines)", "text", Value.LOW, read=f"{path} (1 lines)")


def test_reads_in_a_row_are_told_as_one() -> None:
    edit = Piece("Edit a", "+x", Value.HIGH)
    merged = fit.merged([reading("a"), reading("b"), reading("a"), edit, reading("c")])
    assert [each.head for each in merged] == ["Read 2 files", "Edit a", "Read c (1 lines)"]
    assert merged[0].body == "a (1 lines)\nb (1 lines)"


def test_what_is_worth_less_shrinks_first() -> None:
    pieces = [Piece("x", "y" * 1_000, value) for value in Value]
    sizes = [[len(each.body) for each in fit.fit(pieces, budget)] for budget in (5_000, 3_800, 2_500, 1_200)]
    assert sizes[0] == [1_000] * 4
    assert sizes[1][0] < 1_000
    assert sizes[1][1:] == [1_000] * 3
    assert sizes[2][1] < 1_000
    assert sizes[2][2:] == [1_000] * 2
    assert sizes[3][3] == 1_000


def test_within_one_value_all_shrink_in_proportion() -> None:
    small, large = fit.fit([Piece("a", "x" * 1_000, Value.LOW), Piece("b", "x" * 3_000, Value.LOW)], 2_050)
    assert len(small.body) == pytest.approx(500, abs=20)
    assert len(large.body) == pytest.approx(1_500, abs=20)
    assert "chars…]" in small.body


def test_only_when_even_the_heads_are_too_many_are_events_left_out_and_counted() -> None:
    pieces = [Piece(f"read {n}", "", Value.LOW) for n in range(99)] + [Piece("Edit", "+x", Value.HIGH)]
    kept = fit.fit(pieces, 600)
    assert kept[-1].head == "Edit"
    assert kept[0].head == f"[…{100 - len(kept) + 1} events…]"
    assert fit.size(kept) <= 600
    assert fit.fit(pieces, LONGEST_MARK) == []
