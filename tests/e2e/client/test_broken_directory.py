"""A data directory that cannot be written: the real client goes on as without us, and the user is told."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.e2e.client import client_outcome
from tests.e2e.client.client_outcome import (
    HEARD,
    Course,
    all_hooks_ran_happily,
    everything_is_there_once,
    kept_of,
    run,
    system_messages,
)
from tests.harness import faults, workers
from tests.harness.claude import Claude


@pytest.fixture(scope="module")
def without_us(tmp_path_factory: pytest.TempPathFactory, only_the_loopback: None) -> Course:
    return client_outcome.without_us(tmp_path_factory.mktemp("without"))


@contextmanager
def of_another_user(claude: Claude) -> Iterator[None]:
    claude.data.mkdir(exist_ok=True)
    os.chown(claude.data, 65534, 65534)
    yield
    os.chown(claude.data, os.geteuid(), os.getegid())


@contextmanager
def a_file(claude: Claude) -> Iterator[None]:
    shutil.rmtree(claude.data, ignore_errors=True)
    claude.data.write_text("not a directory")
    yield
    assert claude.data.read_text() == "not a directory"
    claude.data.unlink()


@contextmanager
def on_a_disk_of_its_own(claude: Claude, size: str) -> Iterator[Path]:
    """The data directory, with what the install has put there."""
    claude.data.mkdir(mode=0o700, exist_ok=True)
    aside = claude.home / "aside"
    shutil.copytree(claude.data, aside, symlinks=True)
    with faults.small_disk(claude.data, size) as disk:
        shutil.copytree(aside, disk, symlinks=True, dirs_exist_ok=True)
        yield disk


@contextmanager
def read_only(claude: Claude) -> Iterator[None]:
    with on_a_disk_of_its_own(claude, "8m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        yield


UNWRITABLE = {"another user's": of_another_user, "a file": a_file, "read-only": read_only}


@pytest.mark.parametrize("fault", UNWRITABLE.values(), ids=UNWRITABLE)
def test_without_a_usable_data_directory_the_user_is_told_once_and_can_work(
    claude: Claude, without_us: Course, fault: Callable[[Claude], AbstractContextManager[None]]
) -> None:
    workers.finish(claude.data)
    with fault(claude):
        ran, course = run(claude)
    assert course == without_us
    all_hooks_ran_happily(claude, ran)
    (told,) = system_messages(ran)
    assert told.startswith("claude-mem is not recording: the data directory is not writable")
    assert str(claude.data) in told
    assert "claude-mem doctor" in told

    again, _ = run(claude)
    everything_is_there_once(claude, again)
    assert system_messages(again) == []
    assert kept_of(claude, ran) == {}


def test_a_deleted_data_directory_is_made_again_and_recorded_in(claude: Claude) -> None:
    workers.finish(claude.data)
    shutil.rmtree(claude.data)
    ran, _ = run(claude)
    everything_is_there_once(claude, ran)


def test_on_a_full_disk_every_event_is_kept_or_counted_and_the_user_is_told(
    claude: Claude, without_us: Course
) -> None:
    workers.finish(claude.data)
    with on_a_disk_of_its_own(claude, "8m") as disk:
        claude.mem("worker", "start")
        claude.settle()
        hog = faults.fill(disk)
        ran, course = run(claude)
        hog.unlink()
        claude.mem("worker", "start")
        claude.settle()
        assert course == without_us
        all_hooks_ran_happily(claude, ran)
        assert any("the disk is full" in told for told in system_messages(ran))
        counted = dict(line.split()[:2] for line in (claude.data / "drops").read_text().splitlines())
        dropped = int(counted["disk_full"])
        assert dropped > 0
        assert kept_of(claude, ran).total() + dropped == sum(HEARD.values())
        workers.finish(claude.data)
