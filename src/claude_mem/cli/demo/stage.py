"""The demo's stage: a throwaway data directory, and nothing left of it, whatever happens on it."""

from __future__ import annotations

import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from claude_mem.cli import logs
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import control

DEADLINE_S = 20.0
LOOK_EVERY_S = 0.02
ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stage(*, keep: bool) -> Iterator[Path]:
    """A data directory that does not exist yet. Afterwards its worker is stopped and it is removed."""
    home = Path(tempfile.mkdtemp(prefix="claude-mem-demo-"))
    with _ending_in_order():
        try:
            yield home / "data"
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                with _undisturbed():
                    _strike(home)


def until(condition: Callable[[], bool], what: str, data_dir: Path, deadline_s: float = DEADLINE_S) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            said = " ".join(logs.last(data_dir / paths.START_LOG, 1))
            raise ClaudeMemError(f"The demo waited {deadline_s:.0f} s in vain: {what}. {said}".rstrip())
        time.sleep(LOOK_EVERY_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _strike(home: Path) -> None:
    data_dir = home / "data"
    try:
        if (data_dir / paths.START_STAMP).exists() and control.status(data_dir).state == "stopped":
            # A hook has just started a worker that is not up yet; it would outlive its directory and us.
            until(lambda: control.status(data_dir).state != "stopped", "no worker came up", data_dir, 5.0)
    except ClaudeMemError:
        pass  # it failed to start: nothing to stop
    try:
        control.stop(data_dir)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """A polite kill unwinds like Ctrl-C does, so that the stage is struck."""
    before = {number: signal.signal(number, _leave) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not leave the worker behind."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
