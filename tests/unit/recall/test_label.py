"""The sentence a result is shown by: the one that matches, and never JSON."""

from __future__ import annotations

import json

from claude_mem.recall.label import headline, matched, matched_line

TEXT = (
    "The cart was slow because of the tax table. Logins failed when the token expired early. "
    "It rained all day."
)


def test_the_sentence_with_most_of_the_words_is_shown() -> None:
    assert matched("A title", TEXT, 200, ["token", "login"]).startswith("Logins failed")


def test_a_word_is_found_in_its_other_forms() -> None:
    assert matched("A title", TEXT, 200, ["failing"]).startswith("Logins failed")


def test_of_what_semicolons_join_only_the_part_that_matches_is_shown() -> None:
    text = "Completed: The pool was closed too late; the token of a session is renewed at login; it holds"
    assert matched("A title", text, 200, ["token"]) == "the token of a session is renewed at login."


def test_where_no_sentence_matches_the_most_telling_is_shown() -> None:
    assert matched("A title", TEXT, 200, ["zebra"])


def test_what_the_title_says_already_is_not_said_again() -> None:
    title = "Logins failed when the token expired early"
    assert "Logins failed" not in matched(title, TEXT, 200, ["token"])


def test_of_a_tools_json_a_line_is_shown_and_no_syntax() -> None:
    given = json.dumps({"command": "pytest -q", "description": "run"})
    answer = json.dumps({"stdout": 'FAILED test_login.py\n"token" expired\n12 passed', "stderr": ""})
    line = matched_line(f"{given}\n{answer}", 200, ["token"])
    assert line == '"token" expired'
    cut = matched_line(f"{given}\n{answer[:40]}", 200, ["login"])
    assert cut.startswith("FAILED test_login")
    for shown in (line, cut):
        assert not set(shown) & set("{}[]\\")


def test_a_summary_is_shown_by_the_sentence_for_its_title_is_the_request() -> None:
    assert headline("summary", "fix it", "It is fixed.") == ("It is fixed.", "")
    assert headline("observation", "Fixed the login", "It was the token.") == (
        "Fixed the login",
        "It was the token.",
    )


def test_a_title_that_was_cut_gives_way_to_its_whole_sentence() -> None:
    assert headline("observation", "The flag is a breaking…", "The flag is a breaking change.") == (
        "The flag is a breaking change.",
        "",
    )
    assert headline("observation", "The flag", "The flag") == ("The flag", "")
