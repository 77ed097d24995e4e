"""An export that breaks off is none: it is said, and nothing is left in its place."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claude_mem.cli.commands import UsageError, run
from claude_mem.cli.commands.export_import import output_file

HEAD = b'{"kind":"claude-mem","version":1,"made_at":1}\n'
PROJECT = b'{"kind":"project","key":"k","name":"n"}\n'


@contextmanager
def worker(data: Path, *chunks: bytes, ends: bool) -> Iterator[None]:
    """Somebody on worker.sock who is well, and exports these."""
    data.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(data / "worker.sock"))
    listener.listen()
    told = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + (
        b"0\r\n\r\n" if ends else b""
    )
    answers = (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + told,
    )

    def serve() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        listener.close()


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("out.jsonl", "claude-mem export -o out.jsonl?"),
        ("login JOURNAL.md", "claude-mem export login -o JOURNAL.md?"),
        ("./somewhere", "claude-mem export -o ./somewhere?"),
    ],
)
def test_a_file_that_was_meant_is_not_looked_for(
    query: str,
    meant: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(data))
    monkeypatch.chdir(tmp_path)
    assert run(["export", *query.split()]) == 2
    said = capsys.readouterr()
    assert (said.out, meant in said.err) == ("", True)
    assert not data.exists()


@pytest.mark.parametrize("words", ["package.json -o -", "no-such-folder/x", "login"])
def test_words_that_are_meant_are_looked_for(
    words: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(data))
    with worker(data, HEAD + PROJECT, ends=True):
        assert run(["export", *words.split()]) == 0
    assert capsysbinary.readouterr().out == HEAD + PROJECT


@pytest.mark.parametrize(("ends", "code"), [(True, 0), (False, 1)])
def test_what_breaks_off_leaves_no_file(
    tmp_path: Path,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ends: bool,
    code: int,
) -> None:
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(data))
    with worker(data, HEAD + PROJECT[:9], PROJECT[9:], ends=ends):
        assert run(["export", "--json", "-o", str(tmp_path / "x")]) == code
    said = capsys.readouterr()
    assert (tmp_path / "x").exists() == ends
    assert (data / "exports.jsonl").exists() == ends
    assert {path.name for path in tmp_path.iterdir()} <= {"x", "data"}
    if ends:
        assert (tmp_path / "x").read_bytes() == HEAD + PROJECT
        assert json.loads(said.out)["records"] == {"project": 1}
    else:
        assert "The worker stopped" in said.err


def write(path: Path, data: Path, content: bytes = b"new", *, force: bool = False) -> None:
    with output_file(path, data, force=force) as file:
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
        with output_file(tmp_path / "x", data, force=False) as file:
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
        with output_file(tmp_path / "x", data, force=True) as file:
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
        with pytest.raises(UsageError, match="regular file"):
            write(tmp_path / name, data, force=force)
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(UsageError, match="does not exist"):
        write(tmp_path / "nowhere" / "x", data, force=force)


def test_a_planted_link_in_the_place_of_the_note_is_not_followed(tmp_path: Path, data: Path) -> None:
    data.mkdir()
    (data / "exports.jsonl").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):  # noqa: PT011 - any of them
        write(tmp_path / "x", data)
    assert not (tmp_path / "victim").exists()
    assert not (tmp_path / "x").exists(), "nothing is written that forgetting could not name"
