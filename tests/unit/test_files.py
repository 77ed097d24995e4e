"""A file is written whole or not at all, and over nothing that was not meant."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from claude_mem.files import atomic_file, read_object, write_file


def test_it_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_file(tmp_path / "x", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "x").read_bytes() == b"new"
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600


def test_a_planted_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"old")
    (tmp_path / "x").symlink_to(tmp_path / "victim")
    write_file(tmp_path / "x", b"new")
    assert not (tmp_path / "x").is_symlink()
    assert (tmp_path / "victim").read_bytes() == b"old"


def test_what_a_killed_process_of_the_same_number_left_is_in_nobodys_way(tmp_path: Path) -> None:
    left = tmp_path / f".x.{os.getpid()}.tmp"
    left.symlink_to(tmp_path / "victim")
    write_file(tmp_path / "x", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_error_leaves_the_old_content_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    write_file(tmp_path / "x", b"old")

    def interrupted() -> None:
        with atomic_file(tmp_path / "x", durable=True) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x": b"old"}


@pytest.mark.parametrize("links", [True, False])
def test_without_overwrite_a_file_that_was_made_meanwhile_stays(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise PermissionError(1, "a file system without links")

    if not links:
        monkeypatch.setattr(os, "link", unsupported)
    with atomic_file(tmp_path / "x", mode=0o644, overwrite=False) as file:
        file.write(b"first")
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644
    with pytest.raises(FileExistsError), atomic_file(tmp_path / "x", overwrite=False) as file:
        file.write(b"second")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x": b"first"}


def test_a_write_removes_what_a_killed_process_left_of_the_same_file_and_nothing_of_a_living_one(
    tmp_path: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    killed, living = tmp_path / f".a.json.{ended.pid}.tmp", tmp_path / f".a.json.{os.getppid()}.tmp"
    others = tmp_path / f".ba.json.{ended.pid}.tmp"
    for left in (killed, living, others):
        left.write_text("half")
    write_file(tmp_path / "a.json", b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([living, others, tmp_path / "a.json"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"1", b"\xff", b"[" * 100_000, None])
def test_what_holds_no_object_is_an_empty_one(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "state.json"
    if content is not None:
        file.write_bytes(content)
    assert read_object(file) == {}
    file.write_bytes(b'{"a": 1}')
    assert read_object(file) == {"a": 1}
