"""An event on the wire, and the mark by which a listener takes the stream up again."""

import json

import pytest

from claude_mem.serve.sse import Cursor, event


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = Cursor(prompt=8, observation=12, summary=3)
    assert str(mark) == "p8-o12-s3"
    assert Cursor.parse(str(mark)) == mark
    assert mark.at("summary", 4) == Cursor(8, 12, 4)


@pytest.mark.parametrize(
    "text", ["", "12", "p1-o2", "p1-o2-s3-", "p1-o2-s٣", "p-1-o2-s3", f"p{'9' * 13}-o1-s1"]
)
def test_what_is_no_mark_is_none(text: str) -> None:
    assert Cursor.parse(text) is None


def test_an_event_is_one_line_of_data_whatever_it_holds() -> None:
    told = {"text": "one\ntwo\r\u2028three\ud800 — 日本語\n\nevent: forged\ndata: {}"}
    lines = event("new_prompt", Cursor(1, 2, 3), told).decode().split("\n")
    assert lines[0] == "id: p1-o2-s3"
    assert lines[1] == "event: new_prompt"
    assert lines[3:] == ["", ""]
    said = json.loads(lines[2].removeprefix("data: "))
    assert said["type"] == "new_prompt"
    assert said["text"].startswith("one\ntwo\r\u2028three")
