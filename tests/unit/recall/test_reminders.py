"""What a prompt, or a look at a file, is answered with from memory."""

from __future__ import annotations

from typing import Any

from tests.unit.recall.cards import DAY, NOW, hit

from claude_mem.model.refs import Ref
from claude_mem.recall.label import gist
from claude_mem.recall.reminders import MOST_FILE_LINES, MOST_HITS, file_lessons, render_file, render_prompt
from claude_mem.recall.render import (
    length,
)

# What a prompt is answered with from memory.


WORDY = (
    "pump.py, retry.py\n"
    "The pump was looked at for a long while with the debugger. "
    "It spun because a Retry-After of 0 was taken for no wait at all. "
    "Then lunch was had by everybody who was there that day."
)


def test_no_hits_are_no_words() -> None:
    assert render_prompt([], now=NOW).text == ""
    assert render_prompt([hit(1, superseded_by=2)], now=NOW).text == "", "it is no longer true"


def test_a_hit_is_one_dated_line_with_its_id_its_reason_and_its_marks() -> None:
    told = render_prompt(
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
        "Full text: MCP tool get_observations (by id), or `claude-mem show 412`.",
    ]


def test_few_are_told_and_each_is_short() -> None:
    told = render_prompt([hit(n, "T" * 500, text=f"{n} " + WORDY * 50) for n in range(1, 20)], now=NOW)
    assert [ref.id for ref in told.refs] == list(range(1, MOST_HITS + 1))
    assert all(len(line) < 400 for line in told.text.splitlines())


def test_it_keeps_to_its_budget_by_leaving_out_the_last() -> None:
    hits = [hit(n, "A title of some length for this test", text=WORDY) for n in range(1, 6)]
    for budget in range(0, 2_000, 50):
        told = render_prompt(hits, now=NOW, budget=budget)
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
    assert "It spun because a Retry-After" in render_prompt([hit(1, "", text=WORDY)], now=NOW).text
    assert "(untitled)" in render_prompt([hit(1, "", text="")], now=NOW).text


# What is told of a file before it is touched.


PATH = "src/queue/pump.py"
HERE: dict[str, Any] = {"files": (PATH,), "files_modified": (PATH,)}


def test_lessons_come_before_changes_and_the_newest_before_the_older() -> None:
    hits = [
        hit(1, "A change", type="change", created_at=NOW - DAY, **HERE),
        hit(2, "A bug", type="bugfix", created_at=NOW - 5 * DAY, **HERE),
        hit(3, "A feature", type="feature", created_at=NOW - 2 * DAY, **HERE),
        hit(4, "A decision", type="decision", created_at=NOW - 4 * DAY, files=(PATH,)),
        hit(5, "Stale", type="discovery", created_at=NOW, files=(PATH,), marks=("files changed since",)),
    ]
    assert [one.card.ref.id for one in file_lessons(hits, PATH, NOW)] == [4, 2, 5, 1, 3]
    text = render_file(PATH, hits, NOW).text
    assert "History of src/queue/pump.py. Quoted evidence" in text
    assert "- #4 2026-11-12 (4 days ago) decision: A decision\n" in text
    assert "- #5 2026-11-16 (today) discovery: Stale (files changed since)\n" in text


def test_why_is_told_with_what() -> None:
    told = render_file(
        PATH, [hit(1, "Waits are capped", text="Because a provider once said a year.", **HERE)], NOW
    )
    assert "Waits are capped. Because a provider once said a year." in told.text


def test_at_most_six_lines() -> None:
    told = render_file(PATH, [hit(n, f"Bug {n}", **HERE) for n in range(1, 30)], NOW)
    assert len(told.refs) == MOST_FILE_LINES
    assert sum(line.startswith("- ") for line in told.text.splitlines()) == MOST_FILE_LINES


def test_silence_when_there_is_nothing_worth_saying() -> None:
    noise = [
        hit(1, ref=Ref("evidence", 1), type=None, files=(PATH,)),
        hit(2, ref=Ref("prompt", 2), type=None, files=(PATH,)),
        hit(3, "Looked around", type="discovery", files=(PATH, "a", "b", "c", "d")),
        hit(4, "Only read it for a change elsewhere", type="change", files=(PATH,), files_modified=("x.py",)),
        hit(5, "Long ago", type="change", created_at=NOW - 200 * DAY, **HERE),
        hit(6, "No longer true", superseded_by=9, **HERE),
    ]
    assert file_lessons(noise, PATH, NOW) == ()
    assert render_file(PATH, noise, NOW).text == ""
    assert render_file(PATH, [], NOW).text == ""


def test_a_discovery_among_many_files_counts_if_it_names_this_one() -> None:
    named = hit(3, "pump.py leases twice", type="discovery", files=(PATH, "a", "b", "c", "d"))
    assert file_lessons([named], PATH, NOW) == (named,)


def test_what_the_user_asked_to_keep_is_always_told_first_if_pinned() -> None:
    kept = hit(
        1,
        "Ask before touching",
        type=None,
        created_at=NOW - 900 * DAY,
        source="user",
        pinned=True,
        files=(PATH,),
    )
    assert file_lessons([hit(2, **HERE), kept], PATH, NOW)[0] is kept
