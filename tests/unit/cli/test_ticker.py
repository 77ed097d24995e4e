"""Who waits is told how far it is: not at once, and where nobody watches only that it goes on."""

import io
import sys

import pytest

from claude_mem.cli import ticker
from claude_mem.cli.ticker import Ticker


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_done_in_a_moment_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Ticker("Exporting ...", after_s=3600) as it:
        it.show("1 record")
    assert capsys.readouterr().err == ""


def test_elsewhere_than_on_a_terminal_it_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with Ticker("Exporting ...", after_s=0) as it:
        it.show("1 record")
        it.show("2 records")
    assert capsys.readouterr().err == "Exporting ... 1 record\n"


def test_on_a_terminal_a_line_is_written_over_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(ticker, "EVERY_S", 0)
    with Ticker("Exporting ...", after_s=0) as it:
        it.show("1 record")
        it.show("2 records")
    assert screen.getvalue() == "\r\x1b[KExporting ... 1 record\r\x1b[KExporting ... 2 records\r\x1b[K"
