"""What `/mem` runs: plain words out, whatever was typed, and never a failure."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.harness import workers
from tests.harness.commands import Mem

Typed = Callable[[str], str]


def typed(data: Path, text: bytes, *, cwd: Path | None = None, process: bool = False, **env: str) -> str:
    mem = Mem(data, cwd or data.parent, CLAUDE_CODE_SESSION_ID="s-1")
    said = mem("slash", given=text, env=env, process=process)
    assert said.stderr == ""
    return said.stdout


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all of them; each forgets what it had remembered."""
    with workers.running(tmp_path_factory.mktemp("slash") / "data") as data:
        yield data


@pytest.fixture
def mem(worker: Path) -> Typed:
    return lambda text: typed(worker, text.encode())


def remembered(said: str) -> str:
    """The id of what was remembered."""
    assert said.startswith("Saved as ")
    return said.rsplit(maxsplit=1)[-1].strip(".")


def test_what_is_remembered_is_found_and_forgotten_only_after_a_second_word(mem: Typed) -> None:
    id = remembered(
        mem('remember Deploys need the VPN: it\'s "so" in `sh` and $HOME\nand on a second line\n')
    )
    assert "Deploys need the VPN" in mem("search deploys vpn")
    shown = mem(f"forget {id}")
    assert "Deploys need the VPN" in shown
    assert shown.endswith(f"Nothing was deleted. To delete it permanently: /mem forget {id} yes\n")
    assert "Deploys need the VPN" in mem("search deploys vpn")
    assert "Deleted: 1 observation." in mem(f"forget {id} yes")
    assert mem("search deploys vpn") == "No results.\n"


def test_words_that_look_like_flags_are_words(mem: Typed) -> None:
    assert mem("search --yes -x") == "No results.\n"
    id = remembered(mem("remember --project nowhere -"))
    assert "Deleted: 1 observation." in mem(f"forget {id} yes")


def test_how_memory_stands_is_said_in_three_lines(worker: Path, tmp_path: Path) -> None:
    def said(text: bytes, *, process: bool = False) -> str:
        return typed(worker, text, cwd=tmp_path, process=process)

    assert said(b"").splitlines()[1] == "No memories of this project yet."
    id = remembered(said(b"remember Deploys need the VPN."))
    for asked in (b"", b"\n", b"status", b"STATUS\n"):
        assert said(asked, process=asked == b"").splitlines() == [
            "Recording. More: /mem help",
            f"This project, {tmp_path.name}: 1 memory from 1 session.",
            "Observer: offline · $0.00 and 0 tokens today · queue empty",
        ]
    said(f"forget {id} yes".encode())


def test_what_is_found_can_be_read_whole_without_a_terminal(mem: Typed) -> None:
    ids = [remembered(mem(f"remember Ferret number {n} sleeps.")) for n in range(7)]
    found = mem("search ferret sleeps")
    assert found.endswith(". Add words to narrow the search.\n")
    shown = found.splitlines()[-1].removeprefix("Read one in full: /mem ").partition(".")[0]
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
        "Observer: offline · queue empty",
    ]
    assert typed(data, b"on").startswith("Recording the session again.")
    assert typed(data, b"off all\n").endswith("Resume: /mem on all\n")
    assert "is recorded. Resume: /mem on all" in typed(data, b"")
    assert typed(data, b"on").endswith("nothing is recorded. Resume: /mem on all\n")
    assert [p.name for p in (data / "off").iterdir()] == ["all"]
    assert typed(data, b"on ALL").startswith("Recording again.")
    assert typed(data, b"off", CLAUDE_CODE_SESSION_ID="").startswith("Paused: nothing is recorded")
    assert typed(data, b"on", CLAUDE_CODE_SESSION_ID="").startswith("Recording again.")
    assert typed(data, b"off everything") == "Use /mem off for this session, or /mem off all.\n"
    assert not (data / "off").exists()


def test_what_makes_no_sense_is_answered_with_what_would(data: Path, subtests: pytest.Subtests) -> None:
    for text in (b"help", b"search", b"forget  ", b"remember\n", b"bogus $(id)", b"\xff\xfe"):
        with subtests.test(repr(text)):
            assert "/mem search WORDS" in typed(data, text)
            assert not data.exists()


def test_what_goes_wrong_is_said_in_words_and_is_no_failure(data: Path) -> None:
    data.mkdir()
    (data / "claude-mem.db").mkdir()
    assert "claude-mem.db" in typed(data, b"search login")
