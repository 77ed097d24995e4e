"""A tool's use on a screen: all it was given, all it answered, each once, within the columns."""

import json
from typing import Any

from claude_mem.cli.columns import width
from claude_mem.cli.evidence import sections


def shown(given: Any, answered: Any, columns: int = 80) -> list[str]:
    result = {"tool_input": given, "tool_response": answered}
    return [line for section in sections(result, columns) for line in section]


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
