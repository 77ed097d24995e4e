"""What `/mem` runs: plain words out, whatever was typed, and never a failure."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claude_mem.testing import hooks, workers

Mem = Callable[[str], str]


def typed(data: Path, text: bytes, **env: str) -> str:
    said = subprocess.run(
        [sys.executable, "-m", "claude_mem", "slash"],
        input=text,
        capture_output=True,
        env=hooks.environment(data, **({"CLAUDE_CODE_SESSION_ID": "s-1"} | env)),
        cwd=data.parent,
        timeout=60,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, b"")
    return said.stdout.decode()


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mem]:
    """On one worker for all of them."""
    with workers.running(tmp_path_factory.mktemp("slash") / "data") as data:
        yield lambda text: typed(data, text.encode())


def test_what_is_remembered_is_found_and_forgotten_only_after_a_second_word(mem: Mem) -> None:
    kept = mem('remember Deploys need the VPN: it\'s "so" in `sh` and $HOME\nand on a second line\n')
    assert kept.startswith("Remembered as ")
    id = kept.split()[-1].strip(".")
    assert "Deploys need the VPN" in mem("search deploys vpn")
    shown = mem(f"forget {id}")
    assert "Deploys need the VPN" in shown
    assert shown.endswith(f"Nothing was forgotten. To do it, for good: /mem forget {id} yes\n")
    assert "Deploys need the VPN" in mem("search deploys vpn")
    assert "Forgotten: 1 observation." in mem(f"forget {id} yes")
    assert mem("search deploys vpn") == "Nothing is remembered of that.\n"


def test_words_that_look_like_flags_are_words(mem: Mem) -> None:
    assert mem("search --yes -x") == "Nothing is remembered of that.\n"
    assert mem("remember --project nowhere -").startswith("Remembered as ")


def test_how_memory_stands_is_said_in_three_lines(data: Path) -> None:
    with workers.running(data):
        assert typed(data, b"").splitlines()[1] == "Nothing is remembered of this project yet."
        typed(data, b"remember Deploys need the VPN.")
        for asked in (b"", b"\n", b"status", b"STATUS\n"):
            assert typed(data, asked).splitlines() == [
                "Recording. More: /mem help",
                f"This project, {data.parent.name}: 1 memory of 1 session.",
                "Observer: offline · $0.00 and 0 tokens today · nothing waits",
            ]


def test_what_is_found_can_be_read_whole_without_a_terminal(mem: Mem) -> None:
    ids = [mem(f"remember Ferret number {n} sleeps.").split()[-1].strip(".") for n in range(7)]
    found = mem("search ferret sleeps")
    assert found.endswith(". Narrow it with more words.\n")
    shown = found.splitlines()[-1].removeprefix("Read one whole: /mem ").partition(".")[0]
    assert "sleeps." in mem(shown)
    assert "--offset" not in found
    mem(f"forget {' '.join(ids)} yes")


def test_the_session_is_paused_and_resumed_and_with_all_everything_is(data: Path) -> None:
    paused = typed(data, b"off")
    assert "for one session" in paused
    assert paused.endswith("Resume: /mem on\n")
    assert [p.name for p in (data / "off").iterdir()] == ["s-1"]
    standing = typed(data, b"").splitlines()
    assert re.fullmatch(
        r"Paused\. This session has been paused for \d+ s: nothing of it is recorded\. Resume: /mem on",
        standing[0],
    )
    assert standing[1:] == [
        "The worker is not running; the next hook starts it.",
        "Observer: offline · nothing waits",
    ]
    assert typed(data, b"on").startswith("Recording the session again.")
    assert typed(data, b"off all\n").endswith("Resume: /mem on all\n")
    assert "is recorded. Resume: /mem on all" in typed(data, b"")
    assert typed(data, b"on").endswith("nothing is recorded. Resume: /mem on all\n")
    assert [p.name for p in (data / "off").iterdir()] == ["all"]
    assert typed(data, b"on ALL").startswith("Recording again.")
    assert typed(data, b"off", CLAUDE_CODE_SESSION_ID="").startswith("Paused: nothing is recorded")
    assert typed(data, b"on", CLAUDE_CODE_SESSION_ID="").startswith("Recording again.")
    assert typed(data, b"off everything") == "Say /mem off for this session, or /mem off all.\n"
    assert not (data / "off").exists()


@pytest.mark.parametrize(
    "text", [b"help", b"search", b"forget  ", b"remember\n", b"bogus $(id)", b"\xff\xfe"]
)
def test_what_makes_no_sense_is_answered_with_what_would(data: Path, text: bytes) -> None:
    assert "/mem search WORDS" in typed(data, text)
    assert not data.exists()


def test_what_goes_wrong_is_said_in_words_and_is_no_failure(data: Path) -> None:
    data.mkdir()
    (data / "claude-mem.db").mkdir()
    assert "claude-mem.db" in typed(data, b"search login")
