"""PgBouncer in front of a test's PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.harness.postgres_server import PostgresServer
from tests.harness.workers import free_port, until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
NEEDS_POOLER = pytest.mark.skipif(
    PROGRAM is None, reason="no pgbouncer; `make prove` installs it with apt, as root"
)


@contextmanager
def pooler(server: PostgresServer, mode: str) -> Iterator[int]:
    """Its port. `mode`: session or transaction."""
    assert PROGRAM is not None, "the test needs the mark NEEDS_POOLER"
    port = free_port()
    folder = server.folder / f"pooler-{mode}"
    folder.mkdir()
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {folder / 'users'}\npool_mode = {mode}\n"
        f"logfile = {folder / 'log'}\nignore_startup_parameters = extra_float_digits\n"
    )
    if server.user:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, server.user)
    process = subprocess.Popen(
        [PROGRAM, "-q", folder / "pgbouncer.ini"],
        user=server.user,
        group=server.user,
        extra_groups=[] if server.user else None,
        cwd="/",
    )
    try:
        until(lambda: _listens(port), "the pooler listens")
        yield port
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
