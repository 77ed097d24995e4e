"""A file of memory is written whole, for its owner alone, and over no other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from claude_mem.cli.commands import UsageError
from claude_mem.cli.outfile import written


def write(path: Path, data: Path, content: bytes = b"new", *, force: bool = False) -> None:
    with written(path, data, force=force) as file:
        file.write(content)


def noted(data: Path) -> list[str]:
    return [json.loads(line)["path"] for line in (data / "exports.jsonl").read_text().splitlines()]


def test_it_is_its_owners_alone_whatever_the_umask_and_is_noted(tmp_path: Path, data: Path) -> None:
    before = os.umask(0)
    try:
        write(tmp_path / "x", data)
    finally:
        os.umask(before)
    assert (tmp_path / "x").read_bytes() == b"new"
    for path in (tmp_path / "x", data / "exports.jsonl"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700
    assert noted(data) == [str(tmp_path / "x")]
    assert json.loads((data / "exports.jsonl").read_text())["at"] > 1_700_000_000_000


def test_a_file_is_replaced_only_when_that_is_said(tmp_path: Path, data: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(UsageError, match="--force"):
        write(tmp_path / "x", data)
    assert (tmp_path / "x").read_bytes() == b"old"
    write(tmp_path / "x", data, force=True)
    assert (tmp_path / "x").read_bytes() == b"new"
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600


def test_one_that_was_made_meanwhile_is_not_replaced(tmp_path: Path, data: Path) -> None:
    def race() -> None:
        with written(tmp_path / "x", data, force=False) as file:
            file.write(b"new")
            (tmp_path / "x").write_bytes(b"somebody's")

    with pytest.raises(UsageError, match="--force"):
        race()
    assert (tmp_path / "x").read_bytes() == b"somebody's"
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_was_interrupted_leaves_nothing_and_the_old_one_alone(
    tmp_path: Path, data: Path, error: type[BaseException]
) -> None:
    (tmp_path / "x").write_bytes(b"old")

    def interrupted() -> None:
        with written(tmp_path / "x", data, force=True) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert (tmp_path / "x").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert not (data / "exports.jsonl").exists(), "what is not there need not be forgotten"


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_file_is_left_alone(tmp_path: Path, data: Path, force: bool) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "link", "pipe"):
        with pytest.raises(UsageError, match="no file"):
            write(tmp_path / name, data, force=force)
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(UsageError, match="no folder"):
        write(tmp_path / "nowhere" / "x", data, force=force)


def test_a_planted_link_in_the_place_of_the_note_is_not_followed(tmp_path: Path, data: Path) -> None:
    data.mkdir()
    (data / "exports.jsonl").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):  # noqa: PT011 - any of them
        write(tmp_path / "x", data)
    assert not (tmp_path / "victim").exists()
    assert not (tmp_path / "x").exists(), "nothing is written that forgetting could not name"
