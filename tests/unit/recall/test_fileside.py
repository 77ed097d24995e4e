"""What is told of a file before it is touched."""

from __future__ import annotations

from typing import Any

from tests.unit.recall.cards import DAY, NOW, hit

from claude_mem.model.refs import Ref
from claude_mem.recall.fileside import MOST_LINES, render_file, worth_saying

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
    assert [one.card.ref.id for one in worth_saying(hits, PATH, NOW)] == [4, 2, 5, 1, 3]
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
    assert len(told.refs) == MOST_LINES
    assert sum(line.startswith("- ") for line in told.text.splitlines()) == MOST_LINES


def test_silence_when_there_is_nothing_worth_saying() -> None:
    noise = [
        hit(1, ref=Ref("evidence", 1), type=None, files=(PATH,)),
        hit(2, ref=Ref("prompt", 2), type=None, files=(PATH,)),
        hit(3, "Looked around", type="discovery", files=(PATH, "a", "b", "c", "d")),
        hit(4, "Only read it for a change elsewhere", type="change", files=(PATH,), files_modified=("x.py",)),
        hit(5, "Long ago", type="change", created_at=NOW - 200 * DAY, **HERE),
        hit(6, "No longer true", superseded_by=9, **HERE),
    ]
    assert worth_saying(noise, PATH, NOW) == ()
    assert render_file(PATH, noise, NOW).text == ""
    assert render_file(PATH, [], NOW).text == ""


def test_a_discovery_among_many_files_counts_if_it_names_this_one() -> None:
    named = hit(3, "pump.py leases twice", type="discovery", files=(PATH, "a", "b", "c", "d"))
    assert worth_saying([named], PATH, NOW) == (named,)


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
    assert worth_saying([hit(2, **HERE), kept], PATH, NOW)[0] is kept
