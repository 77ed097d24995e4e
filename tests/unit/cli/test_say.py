import io

import pytest

from claude_mem.cli import say
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
    assert say.size(count) == said


def test_a_text_is_made_to_fit_one_line() -> None:
    assert say.fit("one\n two   three", 20) == "one two three"
    assert say.fit("one two three", 8) == "one two…"
    assert len(say.fit("word " * 50, 30)) <= 30


def test_one_thing_is_singular() -> None:
    assert (say.many(1, "event"), say.many(1200, "event")) == ("1 event", "1,200 events")


def test_colour_needs_a_terminal_and_nobody_who_objects() -> None:
    assert say.Paint(Terminal(), {})("red", "x") == "\x1b[31mx\x1b[0m"
    assert say.Paint(Terminal(), {"NO_COLOR": "1"})("red", "x") == "x"
    assert say.Paint(Terminal(), {"TERM": "dumb"})("red", "x") == "x"
    assert say.Paint(io.StringIO(), {})("red", "x") == "x"


def test_a_short_wait_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with say.patiently("Waiting ...", after_s=60):
        pass
    assert capsys.readouterr().err == ""
