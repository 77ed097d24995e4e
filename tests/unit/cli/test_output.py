"""Memory quotes what others wrote: on a screen it takes the room it was given, and does nothing."""

import io
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claude_mem.cli import output
from claude_mem.cli.output import ProgressLine, clean, fit, pad, width, wrap
from claude_mem.hook import notices


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s"), (40, "40 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 days")],
)
def test_an_age_is_said_in_the_unit_a_person_would_use(seconds: float, said: str) -> None:
    assert notices.age(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 B"), (1536, "1.5 KiB"), (1 << 30, "1.0 GiB"), (1 << 50, "1024.0 TiB")]
)
def test_a_size_is_said_in_the_unit_a_person_would_use(count: int, said: str) -> None:
    assert output.size(count) == said


def test_a_text_is_made_to_fit_one_line() -> None:
    assert output.fit("one\n two   three", 20) == "one two three"
    assert output.fit("one two three", 8) == "one two…"
    assert len(output.fit("word " * 50, 30)) <= 30


def test_one_thing_is_singular() -> None:
    assert (output.plural(1, "event"), output.plural(1200, "event")) == ("1 event", "1,200 events")


def test_colour_needs_a_terminal_and_nobody_who_objects() -> None:
    assert output.Paint(Terminal(), {})("red", "x") == "\x1b[31mx\x1b[0m"
    assert output.Paint(Terminal(), {"NO_COLOR": "1"})("red", "x") == "x"
    assert output.Paint(Terminal(), {"TERM": "dumb"})("red", "x") == "x"
    assert output.Paint(io.StringIO(), {})("red", "x") == "x"


def test_a_short_wait_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with output.waiting("Waiting ...", after_s=60):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本語", 6), ("e\u0301", 1), ("naïve", 5), ("\N{ROCKET}", 2)]
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\x", "x"),
        ("\x9b2Jclear", "clear"),
        ("a\x00b\x07c\x7f", "abc"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("one\r\ntwo", "one\ntwo"),
        ("tab\tbed", "tab bed"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_what_a_terminal_would_obey_is_left_out(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


@given(st.text())
def test_nothing_that_is_left_can_steer_a_terminal(text: str) -> None:
    kept = clean(text)
    assert not [char for char in kept if char != "\n" and unicodedata.category(char) == "Cc"]
    assert "\u202e" not in kept


def test_what_does_not_fit_ends_in_an_ellipsis() -> None:
    assert fit("one two three", 8) == "one two…"
    assert fit("日本語日本語", 7) == "日本語…"
    assert fit("one\n two", 20) == "one two"


@given(st.text(), st.integers(2, 40))
@example("\u2e800", 2)
def test_a_line_never_takes_more_columns_than_it_was_given(text: str, columns: int) -> None:
    assert width(fit(text, columns)) <= columns
    assert width(pad(fit(text, columns), columns)) == columns


@given(st.text(), st.integers(20, 60))
def test_wrapped_lines_stay_within_their_columns_and_lose_no_word(text: str, columns: int) -> None:
    lines = wrap(text, columns, "  ")
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean(text).split())


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_done_in_a_moment_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("Exporting ...", after_s=3600) as it:
        it.show("1 record")
    assert capsys.readouterr().err == ""


def test_elsewhere_than_on_a_terminal_it_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("Exporting ...", after_s=0) as it:
        it.show("1 record")
        it.show("2 records")
    assert capsys.readouterr().err == "Exporting ... 1 record\n"


def test_on_a_terminal_a_line_is_written_over_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "EVERY_S", 0)
    with ProgressLine("Exporting ...", after_s=0) as it:
        it.show("1 record")
        it.show("2 records")
    assert screen.getvalue() == "\r\x1b[KExporting ... 1 record\r\x1b[KExporting ... 2 records\r\x1b[K"
