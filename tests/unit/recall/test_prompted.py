"""What a prompt is answered with from memory."""

from __future__ import annotations

from tests.unit.recall.cards import NOW, hit

from claude_mem.recall.packing import length
from claude_mem.recall.prompted import MOST_HITS, render_prompted
from claude_mem.recall.telling import gist

WORDY = (
    "pump.py, retry.py\n"
    "The pump was looked at for a long while with the debugger. "
    "It spun because a Retry-After of 0 was taken for no wait at all. "
    "Then lunch was had by everybody who was there that day."
)


def test_no_hits_are_no_words() -> None:
    assert render_prompted([], now=NOW).text == ""
    assert render_prompted([hit(1, superseded_by=2)], now=NOW).text == "", "it is no longer true"


def test_a_hit_is_one_dated_line_with_its_id_its_reason_and_its_marks() -> None:
    told = render_prompted(
        [
            hit(
                412,
                "The pump spun",
                text=WORDY,
                files=("q/pump.py",),
                source="external",
                marks=("files changed since",),
            )
        ],
        now=NOW,
    )
    assert told.text.splitlines()[3:-1] == [
        "- #412 2026-11-15 (yesterday) bugfix: The pump spun. The pump was looked at for a long while with "
        "the debugger. It spun because a Retry-After of 0 was taken for no wait at all. [pump.py] "
        "(files changed since; read, not verified)",
        "In full: MCP tool get_observations (by id), or `claude-mem show 412`.",
    ]


def test_few_are_told_and_each_is_short() -> None:
    told = render_prompted([hit(n, "T" * 500, text=f"{n} " + WORDY * 50) for n in range(1, 20)], now=NOW)
    assert [ref.id for ref in told.refs] == list(range(1, MOST_HITS + 1))
    assert all(len(line) < 400 for line in told.text.splitlines())


def test_it_keeps_to_its_budget_by_leaving_out_the_last() -> None:
    hits = [hit(n, "A title of some length for this test", text=WORDY) for n in range(1, 6)]
    for budget in range(0, 2_000, 50):
        told = render_prompted(hits, now=NOW, budget=budget)
        assert length(told.text) <= budget
        assert [ref.id for ref in told.refs] == list(range(1, len(told.refs) + 1))


def test_sentences_that_speak_of_what_was_asked_are_preferred() -> None:
    asked = gist("The pump spun", WORDY, 90, ["lunch", "everybody"])
    assert asked == "The pump spun. Then lunch was had by everybody who was there that day."


def test_a_title_that_was_cut_is_told_whole_where_there_is_room() -> None:
    text = "Rule: a stop must resolve to a hex colour before it is used. More of it."
    assert gist("Rule: a stop must resolve…", text, 300).startswith(
        "Rule: a stop must resolve to a hex colour before"
    )
    assert gist("Rule: a stop must…", text, 300).count("Rule") == 1


def test_what_repeats_the_title_or_only_counts_is_left_out() -> None:
    assert gist("The pump waits as told", "+18 −1, docs\na.py, b.py\nThe pump waits, as told.", 300) == (
        "The pump waits as told"
    )


def test_a_memory_without_a_title_is_told_by_its_text() -> None:
    assert "It spun because a Retry-After" in render_prompted([hit(1, "", text=WORDY)], now=NOW).text
    assert "(untitled)" in render_prompted([hit(1, "", text="")], now=NOW).text
