"""An export that breaks off is none: it is said, and nothing is left in its place."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claude_mem.cli.commands import run

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
    assert (said.out, f"did you mean: {meant}" in said.err) == ("", True)
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
        assert "ended before all was told" in said.err
