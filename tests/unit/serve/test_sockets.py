import os
import socket
import stat
from pathlib import Path

import pytest

from claude_mem.serve import sockets


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_socket_file_is_its_owners_alone_under_any_umask(inside: Path) -> None:
    before = os.umask(0)
    try:
        with sockets.listen_unix(Path("hook.sock")):
            assert stat.S_IMODE(Path("hook.sock").stat().st_mode) == 0o600
            assert [path.name for path in inside.iterdir()] == ["hook.sock"]
    finally:
        os.umask(before)


@pytest.mark.parametrize("stale", ["socket", "file", "symlink"])
def test_what_is_in_the_way_is_replaced(inside: Path, stale: str) -> None:
    path = Path("hook.sock")
    match stale:
        case "socket":
            sockets.listen_unix(path).close()
        case "file":
            path.write_text("in the way")
        case "symlink":
            path.symlink_to("/etc/hosts")
    with sockets.listen_unix(path), socket.socket(socket.AF_UNIX) as client:
        client.connect("hook.sock")


def test_two_sockets_at_one_path_are_told_apart_while_both_are_open(inside: Path) -> None:
    path = Path("hook.sock")
    with sockets.listen_unix(path):
        first = sockets.file_identity(path)
        path.unlink()
        assert sockets.file_identity(path) is None
        with sockets.listen_unix(path):
            assert sockets.file_identity(path) not in (None, first)


def test_a_taken_port_is_left_to_its_owner() -> None:
    with sockets.listen_tcp(0) as owner:
        wanted = owner.getsockname()[1]
        with sockets.listen_tcp(wanted) as ours:
            assert ours.getsockname()[0] == "127.0.0.1"
            assert ours.getsockname()[1] != wanted


def test_the_wanted_port_is_had_when_it_is_free() -> None:
    with sockets.listen_tcp(0) as probe:
        wanted = probe.getsockname()[1]
    with sockets.listen_tcp(wanted) as ours:
        assert ours.getsockname()[1] == wanted


def test_an_answer_in_two_writes_does_not_wait_for_an_acknowledgement_in_between() -> None:
    with sockets.listen_tcp(0) as listener, socket.create_connection(listener.getsockname()):
        listener.setblocking(True)
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
