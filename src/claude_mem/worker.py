"""The worker's entry point: `python -m claude_mem.worker`, which hooks and commands start.

It is separate because it needs nothing from the command line. `--from-hook`: exit quietly if
another worker is running. `--replace`: replace one that no longer answers.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_mem.serve.services import Services
    from claude_mem.settings import Settings

LOOK_EVERY_S = 10.0
SWITCH_S = 0.0005
"""How long one thread computes before another may. A search runs dozens of statements, and waits that long
after each while others are indexed; Python's 5 ms would add up to a prompt's deadline."""


def run(*, from_hook: bool, replaces: bool = False) -> int:
    """Runs the worker until it is stopped; returns the exit code."""
    replaced: int | None = None
    if replaces:
        from claude_mem.serve import replacement
        from claude_mem.settings import data_directory

        found = replacement.take_place(data_directory())
        if not isinstance(found, int) and found != "free":
            return 0
        replaced = found if isinstance(found, int) else None
    sys.setswitchinterval(SWITCH_S)
    gc.disable()  # a tenth of the start would be spent on looking for garbage among new modules
    from functools import partial

    from claude_mem import __version__, settings
    from claude_mem.serve import lifecycle
    from claude_mem.settings import worker_environment

    ignored = worker_environment.leave_out_unapproved(os.environ, settings.data_directory())
    build = partial(_build, ignored=ignored, from_hook=from_hook)
    return lifecycle.run(settings.load(), build, from_hook=from_hook, version=__version__, replaced=replaced)


def _build(settings: Settings, *, ignored: list[str], from_hook: bool) -> Services:
    from claude_mem.model.structs import replace
    from claude_mem.wiring.worker_services import build

    services = replace(build(settings), is_connected=ConnectionCheck(settings))
    _note_program(settings)
    _note_ignored(ignored, services, notifies=from_hook)
    gc.freeze()
    gc.enable()
    return services


def _note_program(settings: Settings) -> None:
    """For the hooks of the repository's plugin, which need not search for it then."""
    from contextlib import suppress

    from claude_mem.agents import launcher
    from claude_mem.files import write_file
    from claude_mem.hook import paths

    program = launcher.this_machine()
    with suppress(OSError):
        write_file(settings.data_path(paths.PROGRAM), f"{program.interpreter}\n{program.package}\n".encode())


def _note_ignored(names: list[str], services: Services, *, notifies: bool) -> None:
    """`doctor` lists them. `notifies`: at the next session start the user is notified of each, once, if it
    matters with these settings."""
    from contextlib import suppress

    from claude_mem.serve.data_dir import leave_notice
    from claude_mem.settings import worker_environment

    settings, joined = services.settings, False
    if names:
        from claude_mem.team.membership import KEY_FILE, read_key

        joined = read_key(settings.data_path(KEY_FILE)) is not None
    new: list[str] = []
    with suppress(OSError):
        worker_environment.note_ignored(names, settings.data_dir)
        observer = services.observing.choice.provider
        matter = worker_environment.relevant(names, settings, observer, joined=joined)
        new = worker_environment.mark_notified(matter, settings.data_dir) if notifies else []
    if new:
        leave_notice(
            settings.data_dir,
            f"claude-mem: {', '.join(new)} in a session's environment: not used, because a repository can "
            "set it. If it is yours, run in a terminal where it is set: claude-mem worker restart",
        )


class ConnectionCheck:
    """Whether Claude Code runs our hooks. Its files are read every few seconds at most."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._found, self._looked = True, float("-inf")

    def __call__(self) -> bool:
        now = self._clock()
        if now - self._looked >= LOOK_EVERY_S:
            from claude_mem.cli.install import is_connected

            self._looked = now
            self._found = is_connected(self._settings)
        return self._found


if __name__ == "__main__":
    sys.exit(run(from_hook="--from-hook" in sys.argv[1:], replaces="--replace" in sys.argv[1:]))
