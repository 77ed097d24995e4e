"""Runs commands as a person types them: in this process, which is quick, or in a process of their own.

    mem = Mem(data, COLUMNS="80")
    assert "login" in mem("search", "login").stdout
    mem("forget", "12", typed="n", code=1)
    mem("worker", "logs", process=True)

In this process a command has arguments, an environment, a working directory, standard streams and an exit
code of its own, as in one of its own. Signals, descriptors and what is loaded need the real thing.
"""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from tests.harness import hook_process

from claude_mem.cli import HOOK_VERBS, client
from claude_mem.cli.commands import run

DEADLINE_S = 120  # for the test, not the command: a hang fails instead of blocking the suite
OF_A_PROCESS = (*(verb for verb in HOOK_VERBS if verb != "context"), "mcp", "statusline")
"""They read and write descriptors, and some end the process that they are in. Their help does not."""

Done = subprocess.CompletedProcess[str]


class Mem:
    """`claude-mem` on one data directory. `env` is the whole of its environment, and may be changed."""

    def __init__(self, data_dir: Path, cwd: Path | None = None, **env: str) -> None:
        self.data_dir, self.cwd = data_dir, cwd
        self.env = hook_process.environment(data_dir, **env)

    def __call__(
        self,
        *words: object,
        given: bytes | None = b"",
        typed: str | None = None,
        code: int | None = 0,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        process: bool = False,
    ) -> Done:
        """Run it to its end. `given` is piped into it, None is /dev/null; with `typed`, its standard input is
        a terminal at which somebody typed this line. `code` None: it may end with any."""
        how = _as_process if process else _in_this_process
        done = how(list(map(str, words)), given, typed, cwd or self.cwd, self.env | dict(env or {}))
        assert code is None or done.returncode == code, done
        return done

    def json(self, *words: object, **more: Any) -> Any:
        return json.loads(self(*words, "--json", **more).stdout)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "claude_mem", *map(str, words)]


@contextmanager
def terminal(line: str | None = None) -> Iterator[int]:
    """A terminal for standard input, at which somebody has typed a line, or nobody anything."""
    master, terminal_end = pty.openpty()
    try:
        if line is not None:
            os.write(master, line.encode() + b"\n")
        yield terminal_end
    finally:
        os.close(master)
        os.close(terminal_end)


def _in_this_process(
    words: list[str], given: bytes | None, typed: str | None, cwd: Path | None, env: Mapping[str, str]
) -> Done:
    assert "--help" in words or words[:1] not in [[verb] for verb in OF_A_PROCESS], "it needs a process"
    raw_out, raw_err = io.BytesIO(), io.BytesIO()
    out, err = _text_of(raw_out), _text_of(raw_err)
    with (
        _standard_input(given, typed) as stdin,
        _environment(env),
        _standing_in(cwd),
        _streams(stdin, out, err),
    ):
        client._warned.clear()  # a process says it once, and this is another
        try:
            code = run(words)
        except SystemExit as left:  # argparse has said what it had to say
            code = left.code if isinstance(left.code, int) else 1
    return Done(words, code, raw_out.getvalue().decode(), raw_err.getvalue().decode())


def _as_process(
    words: list[str], given: bytes | None, typed: str | None, cwd: Path | None, env: Mapping[str, str]
) -> Done:
    with ExitStack() as stack:
        source: dict[str, Any] = {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
        if typed is not None:
            source = {"stdin": stack.enter_context(terminal(typed))}
        done = subprocess.run(
            command(*words), **source, capture_output=True, cwd=cwd, env=env, timeout=DEADLINE_S, check=False
        )
    return Done(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def _standard_input(given: bytes | None, typed: str | None) -> Iterator[TextIO]:
    if typed is None:
        yield _text_of(io.BytesIO(given or b""))
        return
    with terminal(typed) as fd, open(os.dup(fd), encoding="utf-8") as stdin:  # noqa: PTH123 - a descriptor
        yield stdin


@contextmanager
def _streams(stdin: TextIO, out: TextIO, err: TextIO) -> Iterator[None]:
    before = sys.stdin
    with redirect_stdout(out), redirect_stderr(err):
        sys.stdin = stdin
        try:
            yield
        finally:
            sys.stdin = before


@contextmanager
def _environment(whole: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(whole)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _standing_in(folder: Path | None) -> Iterator[None]:
    """Some commands move to the data directory, as a process may."""
    before = os.open(".", os.O_RDONLY)
    try:
        if folder is not None:
            os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def _text_of(raw: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
