"""Machines of a team's members: each a data directory with a real worker, and repositories to work in."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.harness import hook_process, payloads, workers
from tests.harness.commands import Mem

_turns = count(1)


class Machine:
    def __init__(self, folder: Path, member: str) -> None:
        self.folder, self.member = folder, member
        self.data = folder / "data"
        self.mem = Mem(self.data, COLUMNS="120")

    def join(self, url: str, key: str) -> None:
        self.mem("join", url, given=key.encode())

    def clone(self, name: str, remote: str) -> Path:
        """A repository with one commit, and an origin that is never called."""
        root = self.folder / name
        root.mkdir(parents=True)
        self.git(root, "init", "-q", "-b", "main")
        self.git(root, "remote", "add", "origin", f"https://{remote}.git")
        self.commit(root, "begin")
        return root

    def git(self, root: Path, *words: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        done = subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True)
        return done.stdout

    def commit(self, root: Path, name: str) -> None:
        (root / f"{name}.txt").write_text(name)
        self.git(root, "add", ".")
        self.git(root, "commit", "-qm", name)

    def work(self, root: Path, session: str, prompt: str, message: str) -> None:
        """A turn of an agent's session, observed."""
        turn, base = f"turn-{next(_turns)}", {"cwd": str(root)}
        for payload in (
            payloads.prompt(prompt, session, turn),
            payloads.bash(f"toolu-{turn}", "make check", "ok", session=session, prompt_id=turn),
            payloads.stop(message, session, turn),
        ):
            given = json.dumps(json.loads(payload) | base).encode()
            assert hook_process.run(self.data, given).code == 0
        workers.settled(self.data)

    def sync(self) -> Any:
        """The status, also of an exchange that failed."""
        return self.mem.json("team", "--sync", code=None)

    def found(self, query: str, root: Path) -> list[dict[str, Any]]:
        """The results that have one of these words; something is always near in meaning."""
        results = self.mem.json("search", query, cwd=root)["items"]
        words = query.casefold().split()
        return [each for each in results if any(word in json.dumps(each).casefold() for word in words)]

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
            return db.execute(sql, values).fetchall()

    def holds(self, words: str) -> list[Path]:
        """The files of the data directory that contain these words, as bytes."""
        wanted = words.encode()
        return [
            path for path in sorted(self.data.rglob("*")) if path.is_file() and wanted in path.read_bytes()
        ]


@contextmanager
def machine(folder: Path, member: str, **env: str) -> Iterator[Machine]:
    """With its worker running."""
    with workers.running(folder / "data", **env):
        yield Machine(folder, member)


@contextmanager
def machines(folder: Path, *members: str) -> Iterator[list[Machine]]:
    with ExitStack() as stack:
        yield [stack.enter_context(machine(folder / member, member)) for member in members]
