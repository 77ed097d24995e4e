"""A user's home in a throwaway folder, with a project in it, a data directory of its own and the command
`claude-mem`. What belongs to one coding agent is in `claude` and `agent_clients`."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.harness import workers

PATIENCE_S = 300  # far more than a run takes, also on a busy machine


class Home:
    def __init__(self, at: Path) -> None:
        self.home = at / "home"
        self.data = self.home / ".claude-mem"
        self.project = self.home / "parcel"
        self.port = workers.free_port()
        self._linked: set[str] = set()

    def repository(self, at: Path) -> Path:
        """A git repository with one commit."""
        at.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", cwd=at)
        (at / "README.md").write_text("# parcel\n")
        self.git("add", ".", cwd=at)
        self.git("commit", "-qm", "Begin", cwd=at)
        return at

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        done = subprocess.run(
            ["git", *who, *arguments], cwd=cwd or self.project, capture_output=True, text=True, check=True
        )
        return done.stdout

    def environment(self, **more: str) -> dict[str, str]:
        """As a login shell of this user would have it; nothing of the tester's own memory or client."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))
        }
        variables = {
            "HOME": str(self.home),
            "CLAUDE_MEM_PROVIDER": "offline",
            "CLAUDE_MEM_WORKER_PORT": str(self.port),
            "PATH": f"{self.commands()}:{inherited['PATH']}",
        }
        return inherited | variables | more

    def commands(self) -> Path:
        """A directory with the commands of `programs` in it, for the user's PATH. One that a test removes
        stays removed."""
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        for name, program in self.programs().items():
            if name not in self._linked and not (folder / name).exists():
                (folder / name).symlink_to(program)
            self._linked.add(name)
        return folder

    def programs(self) -> dict[str, Path]:
        return {"claude-mem": Path(sys.executable).with_name("claude-mem")}

    def mem(self, *arguments: str, check: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        """`claude-mem …`, typed in the project."""
        return self._typed([str(self.commands() / "claude-mem"), *arguments], check=check, env=env)

    def _typed(
        self, command: list[str], *, check: bool, env: Mapping[str, str], cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            env=self.environment(**env),
            cwd=cwd or self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command[1:]}: {done.stdout}{done.stderr}"
        return done

    def connect(self, *how: str) -> None:
        """Install, without being asked."""
        self.mem("install", "--yes", *how)

    def settle(self) -> None:
        """Wait until all that hooks accepted has become memory."""
        workers.until((self.data / "claude-mem.db").exists, "a worker made the database")
        workers.settled(self.data)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """From the database itself, as a reader beside the worker."""
        with closing(sqlite3.connect(f"file:{self.data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
            return db.execute(sql, values).fetchall()

    def bytes_of_the_data_directory(self) -> Iterator[tuple[Path, bytes]]:
        for path in sorted(self.data.rglob("*")):
            if path.is_file():
                yield path, path.read_bytes()

    def end(self) -> None:
        """No process of this home is left."""
        workers.finish(self.data)
        for process in self.processes():
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)

    def processes(self) -> set[int]:
        """All that runs in this home: the client, what it started, and a worker."""
        mark = b"HOME=" + os.fsencode(self.home) + b"\0"
        found = set()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes() + b"\0":
                    found.add(int(process.name))
        return found
