"""Records go out in batches of a bounded size, and what became of them is added up."""

from __future__ import annotations

import json

from claude_mem.cli import import_sender
from claude_mem.cli.import_sender import SendReport


def test_a_batch_is_bounded_in_number_and_in_bytes() -> None:
    records = ({"kind": "project", "key": str(number)} for number in range(1_201))
    many = list(import_sender.batches(import_sender.encoded(records)))
    assert [count for _, count in many] == [300, 300, 300, 300, 1]
    assert all(body.count(b"\n") == count for body, count in many)
    large = list(import_sender.batches(import_sender.encoded({"text": "x" * 400_000} for _ in range(5))))
    assert [count for _, count in large] == [2, 2, 1]
    assert all(len(body) <= import_sender.BATCH_BYTES for body, _ in large)


def test_a_record_larger_than_a_batch_goes_alone() -> None:
    texts = ["small", "x" * (import_sender.BATCH_BYTES + 1), "small"]
    found = list(import_sender.batches(import_sender.encoded({"text": text} for text in texts)))
    assert [count for _, count in found] == [1, 1, 1]


def test_nothing_is_no_batch_and_any_text_is_one_line() -> None:
    assert list(import_sender.batches([])) == []
    ((body, _),) = import_sender.batches(import_sender.encoded([{"text": "one\ntwo\u2028 \ud800 ä"}]))
    assert body.count(b"\n") == 1
    assert json.loads(body)["text"] == "one\ntwo\u2028 ? ä"


def test_reasons_are_bounded_and_what_was_refused_is_counted_all_the_same() -> None:
    sent = SendReport()
    for number in range(import_sender.MOST_REASONS + 5):
        sent.refuse(number, "No type.")
    assert len(sent.reasons) == import_sender.MOST_REASONS
    assert sent.refused == import_sender.MOST_REASONS + 5


def test_progress_is_told_with_its_pace_and_what_is_left() -> None:
    assert (
        import_sender.pace(SendReport(records=1_500), 4_500, 3.0) == "1,500 of 4,500 records, 500/s, 6 s left"
    )
    assert import_sender.pace(SendReport(records=10), None, 0.0) == "10 records, 0/s"
    assert import_sender.pace(SendReport(records=10), 5, 1.0) == "10 of 5 records, 10/s"


def test_counts_are_said_in_the_order_of_what_matters() -> None:
    assert (
        import_sender.kind_counts({"prompt": 1, "summary": 2, "session": 1, "odd": 3})
        == "1 session, 2 summaries, 1 prompt, 3 odds"
    )
    assert import_sender.kind_counts({"session": 0}) == ""
