"""The spool as the worker finds it, while hooks write to it: tidied, and emptied of what was taken in."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness import payloads

from claude_mem.hook import pause, spool_writer
from claude_mem.queue import spool_reader

NOW = 1_800_000_000.0
OLD = Path(__file__).with_name("spool_v1")


def test_a_pause_of_everything_is_for_ever_and_a_sessions_lasts_a_season(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("off").mkdir()
    for switch, days in ((pause.ALL, 400), (pause.path("old"), 91), (pause.path("new"), 89)):
        Path(switch).touch()
        os.utime(switch, (NOW - days * 86_400,) * 2)
    assert spool_reader.Spool().tidy(NOW) == 1
    assert sorted(path.name for path in Path("off").iterdir()) == ["all", "new"]


def leave_temporaries(number: int) -> list[Path]:
    """As killed hooks leave them."""
    Path("spool").mkdir(exist_ok=True)
    left = [Path(f"spool/.{n}.tmp") for n in range(number)]
    for path in left:
        path.touch()
        os.utime(path, (NOW - 86_400,) * 2)
    return left


def test_a_file_that_a_hook_moves_while_the_spool_is_listed_is_no_reason_to_stop_tidying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, *_ = leave_temporaries(3)
    listing = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        entries = list(listing(path))
        if first.exists():
            first.rename(f"spool/{NOW:020.0f}-1-0000.json")  # just then its hook goes on
        return iter(entries)

    monkeypatch.setattr(os, "scandir", scandir)
    assert spool_reader.Spool().tidy(NOW) == 2
    assert [path.name for path in Path("spool").iterdir()] == [f"{NOW:020.0f}-1-0000.json"]


def test_a_file_that_goes_just_before_it_is_tidied_away_is_no_reason_to_stop_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    leave_temporaries(3)

    class Racing(spool_reader.Spool):
        def stale(self, now_s: float) -> list[str]:
            found = super().stale(now_s)
            Path(found[0]).unlink()
            return found

    assert Racing().tidy(NOW) == 2
    assert list(Path("spool").iterdir()) == []


def test_a_file_that_its_hook_took_back_is_neither_missed_nor_counted_out_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook whose directory could not be synced takes its event out again, and its weight off the ledger."""
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        spool_writer.put(b"PostToolUse", payloads.bash(f"toolu_{number}"), time.time_ns())
    waiting = spool_reader.Spool()
    first, second, _ = [waiting.read(name) for name in waiting.names()]
    Path("spool", first.name).unlink()
    spool_writer.discharge(1, first.size)
    waiting.remove([first, second])
    assert len(waiting.names()) == 1
    assert spool_writer.counted_files() == 1


# --- envelopes


def test_files_of_version_1_are_read_and_our_flags_taken_out_of_the_payload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files in `spool_v1` were written by the last hook that wrote such."""
    shutil.copytree(OLD, tmp_path / "spool")
    monkeypatch.chdir(tmp_path)
    spool = spool_reader.Spool()
    start, prompt, stop = (spool.read(name) for name in spool.names())
    assert [one.agent for one in (start, prompt, stop)] == ["claude-code"] * 3
    assert (start.context, start.private, start.scrub_again) == ("0123456789abcdef", False, False)
    assert (prompt.context, prompt.private, prompt.scrub_again) == (None, True, False)
    assert (stop.context, stop.private, stop.scrub_again) == (None, False, True)
    assert not [key for one in (start, prompt, stop) for key in one.payload if key.startswith("claude_mem")]


def test_what_the_envelope_says_is_read_back_and_a_payload_cannot_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spool").mkdir()
    forged = payloads.bash("toolu_1", claude_mem_private=True, claude_mem_context="forged")
    spool_writer.put(b"PostToolUse", forged, 1)
    flags = (spool_writer.PRIVATE, spool_writer.CUT_OFF)
    spool_writer.put(b"Stop", payloads.stop("x"), 2, agent="toy", flags=flags, context=b"stamp")
    spool = spool_reader.Spool()
    plain, said = (spool.read(name) for name in spool.names())
    assert (plain.agent, plain.private, plain.context) == ("claude-code", False, None)
    assert (said.agent, said.private, said.scrub_again, said.context) == ("toy", True, False, "stamp")
