"""Row 27 for replies and the events that are told: time grows with the text, whatever is in it."""

import json
import time
from collections.abc import Callable, Sequence

import pytest

from claude_mem.model.event import Event, Kind, ToolCall
from claude_mem.observe import evidence, grammar, render

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
CHARACTERS = 25_000


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
}


def tell(text: str) -> None:
    """As every sort of call, and as every part of one."""
    for tool in ("Bash", "Edit", "Read", "Grep", "Other"):
        fields = json.dumps(
            {"command": text, "file_path": text, "old_string": text, "new_string": text + "x"}
        )
        for given in (fields, text):
            call = ToolCall(tool, given, text)
            event = Event(id="1", at=0, kind=Kind.TOOL_USE, session="s", cwd="/repo", tool=call)
            render.piece(event, "/repo")
            evidence.files([event])


def seconds(work: Callable[[str], object], text: str) -> float:
    """The quickest of several: what else the machine does only ever adds."""
    times = []
    for _ in range(4):
        start = time.process_time()
        work(text)
        times.append(time.process_time() - start)
    return min(times)


def assert_linear(work: Callable[[str], object], texts: Sequence[str]) -> None:
    # Measured again before it counts: one slow run is the machine's, three are ours.
    for _ in range(3):
        once, twice, four_times = (max(seconds(work, text), 0.001) for text in texts)
        if twice / once < 3 and four_times / twice < 3:
            return
    pytest.fail(f"{once:.4f} s, {twice:.4f} s, {four_times:.4f} s")


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_reply_twice_as_long_is_read_in_less_than_three_times_the_time(kind: str, frame: str) -> None:
    unit = HOSTILE[kind]
    assert_linear(grammar.read, [frame.format(unit * (size * CHARACTERS // len(unit))) for size in (1, 2, 4)])


@pytest.mark.parametrize("kind", SESSIONS)
def test_an_event_twice_as_long_is_told_in_less_than_three_times_the_time(kind: str) -> None:
    unit = SESSIONS[kind]
    assert_linear(tell, [unit * (size * CHARACTERS // len(unit)) for size in (1, 2, 4)])
