"""Row 27 for replies and the events that are told: work grows with the text, whatever is in it."""

import json

import pytest
from tests.harness.growth import Finish, assert_steps_grow_with_length, many_long_runs

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.observe import event_text, evidence, reply, tool_calls

# Each has cost some parser its afternoon: open tags, stray signs, entities, sections that never end.
HOSTILE = {
    "open tags": "<observation>",
    "open fields": "<observation><title>",
    "open lists": "<observation><facts><fact>",
    "closing tags": "</title></fact></observation>",
    "angle brackets": "<<<<<<<<",
    "tags without an end": "<title ",
    "spaces after a bracket": "<" + " " * 50,
    "ampersands": "&&&&#&#x",
    "entities": "&amp;#38;&lt;",
    "cdata that never ends": "<![CDATA[",
    "cdata": "<title><![CDATA[]]>",
    "one list of many items": "<fact>x</fact>",
    "lines": "- \n",
    "wrappers": "<observations></observations>",
    "blocks": "<observation><title>x</title></observation>",
    "quotation marks": "<summary a=\"<summary b='",
}
FRAMES = ("{}", "<observation><narrative>{}", "<observation><facts>{}</facts></observation>")


# The same for what a session may hold: commands, colours, binary data, patches, deep JSON.
SESSIONS = {
    "git": "git -c ",
    "redirections": "> ",
    "separators": "&&;|",
    "quotation marks": "'\"",
    "spaces": "git" + " " * 60,
    "colours": "\x1b[0;",
    "binary data": "QUJD" * 99 + " ",
    "one run": "Q",
    "brackets": "[",
    "lines": "same\n",
    "slashes": "../",
    "comments": "<!--",
    "links": "[a\n",
    "diffs": "diff --git a/x b/x\n@@ -1 +1 @@\n+x\n",
}


def tell(text: str) -> None:
    """As every sort of call, and as every part of one."""
    reply_of_forge = json.dumps({"title": text, "body": text, "comments": [{"body": text}]})
    for tool in ("Bash", "Edit", "Read", "Grep", "Other"):
        fields = json.dumps(
            {"command": text, "file_path": text, "old_string": text, "new_string": text + "x"}
        )
        for given, answer in ((fields, text), (text, text), *([("{}", reply_of_forge)] * (tool == "Bash"))):
            call = ToolCall(tool, given, answer)
            event = Event(id="1", at=0, kind=Kind.TOOL_USE, session="s", cwd="/repo", tool=call)
            (seen,) = tool_calls.parse_all([event])
            event_text.piece(seen, "/repo")
            evidence.files([seen])


def test_reading_a_reply_takes_steps_in_proportion_to_it(subtests: pytest.Subtests) -> None:
    for kind, unit in HOSTILE.items():
        for frame in FRAMES:
            with subtests.test(kind, frame=frame):
                assert_steps_grow_with_length(reply.read, unit, *frame.split("{}"))


@many_long_runs
def test_a_reply_of_many_thousand_characters_is_read(finish: Finish) -> None:
    for unit in HOSTILE.values():
        finish(reply.read, unit)


@pytest.mark.prove
@many_long_runs
def test_a_field_and_a_list_of_many_thousand_characters_are_read(finish: Finish) -> None:
    for unit in HOSTILE.values():
        for frame in FRAMES[1:]:
            finish(reply.read, unit, *frame.split("{}"))


def test_telling_an_event_takes_steps_in_proportion_to_it(subtests: pytest.Subtests) -> None:
    for kind, unit in SESSIONS.items():
        with subtests.test(kind):
            assert_steps_grow_with_length(tell, unit)


@pytest.mark.prove
@many_long_runs
def test_an_event_of_many_thousand_characters_is_told(finish: Finish) -> None:
    for unit in SESSIONS.values():
        finish(tell, unit)
