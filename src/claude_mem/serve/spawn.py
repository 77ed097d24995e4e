"""Starts a process that outlives this one: in a session of its own, holding nothing of ours open."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from claude_mem.hook import paths, worker_link


def worker_command(*, from_hook: bool = False) -> list[str]:
    return worker_link.worker_command(sys.executable, from_hook=from_hook)


def detached(command: Sequence[str], data_dir: Path) -> int:
    """Start `command` for `data_dir`, its output in logs/start.log; returns its process id."""
    log = data_dir / paths.START_LOG
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    log.parent.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    return os.posix_spawn(
        command[0],
        list(command),
        os.environ | {"CLAUDE_MEM_DATA_DIR": str(data_dir)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigdef=[signal.SIGHUP, signal.SIGINT, signal.SIGTERM],
        setsigmask=[],
    )
