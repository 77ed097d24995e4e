"""What cannot be read is counted and shown, and costs nothing but itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.unit.agents.transcript_shapes import (
    SESSION,
    answers,
    line,
    names,
    one,
    says,
    told,
    user,
    uses,
    write,
)

from claude_mem.agents.claude_code import transcript_lines, transcripts
from claude_mem.agents.claude_code.transcript_lines import TranscriptReading


def read(path: Path) -> tuple[list[str], TranscriptReading]:
    reading = transcripts.read(path)
    return [each.event for each in reading], reading


def test_unreadable_lines_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    bad = ["{oops", "[1, 2]", '"text"', '{"a":' * 100_000, '{"type": "user"', "\0\0\0\0", "{]"]
    events, reading = read(write(tmp_path, [*bad, user(1, "go")]))
    assert events == ["SessionStart", "UserPromptSubmit", "SessionEnd"]
    tally = reading.tally
    assert (tally.lines, tally.unreadable, len(tally.shown)) == (8, 7, transcript_lines.MOST_SHOWN)
    assert [number for number, _ in tally.shown] == [1, 2, 3, 4, 5]
    assert tally.shown[1] == (2, "not a JSON object")


def test_a_last_line_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, [user(1, "go")])
    path.write_text(path.read_text() + json.dumps(user(2, "on"))[:-9])
    events, reading = read(path)
    assert events == ["SessionStart", "UserPromptSubmit", "SessionEnd"]
    assert reading.tally.shown == [(2, "cut off in the middle")]


def test_a_line_that_is_too_long_is_passed_over_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, [user(1, "x" * 5000), user(2, "on")])
    monkeypatch.setattr(transcript_lines, "LONGEST_LINE", 2000)
    events, reading = read(path)
    assert events == ["SessionStart", "UserPromptSubmit", "SessionEnd"]
    assert (reading.tally.unreadable, reading.tally.lines) == (1, 2)


def test_types_nobody_knows_are_counted_by_their_names(tmp_path: Path) -> None:
    _, reading = read(
        write(
            tmp_path,
            [
                *({"type": "hologram", "x": n} for n in range(3)),
                line("telepathy", 1),
                {"type": "queue-operation"},
                {"no": "type"},
                user(1, "go"),
            ],
        )
    )
    assert reading.tally.unknown == {"hologram": 3, "telepathy": 1, "no type": 1}
    assert reading.tally.unreadable == 0


def test_ever_new_types_are_counted_together_in_the_end(tmp_path: Path) -> None:
    _, reading = read(write(tmp_path, [line(f"kind{n}", 1) for n in range(200)]))
    assert len(reading.tally.unknown) == transcript_lines.MOST_TYPES + 1
    assert reading.tally.unknown["others"] == 200 - transcript_lines.MOST_TYPES


def test_a_gzipped_transcript_reads_the_same_and_a_cut_one_as_far_as_it_goes(tmp_path: Path) -> None:
    plain = write(tmp_path, [user(n, f"prompt {n} {'x' * n}") for n in range(1, 50)])
    packed = tmp_path / f"{SESSION}.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert [each.id for each in transcripts.read(packed)] == [each.id for each in transcripts.read(plain)]
    packed.write_bytes(packed.read_bytes()[:-30])
    _, reading = read(packed)
    assert reading.tally.unreadable == 1
    assert "cannot be read further" in reading.tally.shown[0][1]


def test_bytes_that_are_no_text_and_a_byte_order_mark_do_not_cost_the_line(tmp_path: Path) -> None:
    path = write(tmp_path, [user(1, "go")])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b'"go"', b'"g\xff\xfe"'))
    (asked,) = (each for each in transcripts.read(path) if each.event == "UserPromptSubmit")
    assert asked.payload["prompt"] == "g��"


def test_a_session_that_is_still_being_written_has_no_end(tmp_path: Path) -> None:
    path = write(tmp_path, [user(1, "go"), says(2, "Done.")])
    assert [each.event for each in transcripts.read(path, over=False)][-1] == "Stop"
    assert [each.event for each in transcripts.read(path)][-1] == "SessionEnd"


def test_an_empty_file_tells_nothing(tmp_path: Path) -> None:
    assert told(tmp_path) == []
    assert told(tmp_path, {"type": "mode", "mode": "normal"}) == []


BYTES = "iVBORw0KGgo" * 3000
MARK = "[image: image/png, 24 kB]"
SOURCE = {"type": "base64", "media_type": "image/png", "data": BYTES}


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ([{"type": "image", "source": SOURCE}], [{"type": "text", "text": MARK}]),
        ([{"type": "image", "data": BYTES, "mimeType": "image/png"}], [{"type": "text", "text": MARK}]),
        (
            {"type": "image", "file": {"base64": BYTES, "type": "image/png"}},
            {"type": "image", "file": {"base64": MARK, "type": "image/png"}},
        ),
        (
            {"type": "pdf", "file": {"filePath": "/a.pdf", "base64": BYTES}},
            {"type": "pdf", "file": {"filePath": "/a.pdf", "base64": "[document: base64, 24 kB]"}},
        ),
        (
            {"stdout": f"data:image/png;base64,{BYTES}", "isImage": True},
            {"stdout": MARK, "isImage": True},
        ),
    ],
    ids=["messages", "mcp", "read", "pdf", "bash"],
)
def test_of_a_picture_only_its_kind_and_size_are_kept(tmp_path: Path, result: object, shown: object) -> None:
    use = uses(1, "t", "Read", {"file_path": "/a.png"})
    events = told(tmp_path, use, answers(2, "t", toolUseResult=result))
    assert one(events, "PostToolUse")["tool_response"] == shown


def test_a_prompt_is_its_words_and_one_that_is_only_a_picture_says_so(tmp_path: Path) -> None:
    picture = {"type": "image", "source": SOURCE}
    events = told(tmp_path, user(1, [{"type": "text", "text": "what is this"}, picture]), user(2, [picture]))
    assert names(events) == ["UserPromptSubmit", "UserPromptSubmit"]
    assert [each.payload["prompt"] for each in events[1:3]] == ["what is this", MARK]
