"""The worker's life, from the lock to the last file removed."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import handover, home, journal, lock, spawn, starting, token, upkeep
from claude_mem.serve.faces import Faces
from claude_mem.serve.handover import Handover
from claude_mem.serve.http import app
from claude_mem.serve.lock import Held, LockHeld
from claude_mem.serve.services import Running, Services, log
from claude_mem.serve.visitors import Visitors
from claude_mem.settings import Settings

HANDOVER = Path("handover.json")
THREADS = 20
"""Sixteen callers' commits can be waited for side by side; the rest are the worker's own loops."""
GRACE_S = 5.0
OBSERVERS = 2
"""Sessions observed at the same time: a slow model holds up one other, not all."""
MOST_FILES = 4096


def run(
    settings: Settings,
    build: Callable[[Settings], Services],
    *,
    from_hook: bool,
    version: str,
    successor: Sequence[str] | None = None,
) -> int:
    """Be the worker until told to stop; returns the exit code. `successor` is what a handover starts."""
    os.umask(0o077)
    settings = replace(settings, data_dir=settings.data_dir.absolute())

    def follow() -> None:
        spawn.detached(successor or spawn.worker_command(from_hook=True), settings.data_dir)

    try:
        left = home.prepare(settings.data_dir)
        os.chdir(settings.data_dir)
        if from_hook and handover.should_stay_away(version, handover.read(HANDOVER), time.time_ns() // 10**6):
            return 0
        with lock.hold(Path(paths.WORKER_LOCK)) as held:
            made_way = _work(settings, build, version, held, left, follow)
    except LockHeld as error:
        return 0 if from_hook else _say(error)
    except (ClaudeMemError, OSError) as error:
        return _say(error)
    if made_way:
        follow()
    return 0


def _work(
    settings: Settings,
    build: Callable[[Settings], Services],
    version: str,
    held: Held,
    left: list[str],
    follow: Callable[[], object],
) -> bool:
    """Live with the lock held; True when a newer version is to follow (`follow` starts it)."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal it was started from may close
    _raise_file_limit()
    with journal.opened(Path(paths.LOGS), settings.log_level):
        for what in left:
            log.warning("left as it is: %s", what)
        try:
            _say_it_starts()
            parts = build(settings)
            try:
                return asyncio.run(_live(parts, version, held, follow))
            finally:
                parts.close()
        except Exception:
            starting.end(Path())
            log.exception("the worker ends")
            raise


def _say_it_starts() -> None:
    """Nobody can be answered before the database is open."""
    try:
        starting.begin(Path(), "opening the database")
    except OSError as error:  # a full disk: it only looks as if it hung
        log.warning("%s cannot be written: %s", starting.NAME, error.strerror)


async def _live(parts: Services, version: str, held: Held, follow: Callable[[], object]) -> bool:
    loop = asyncio.get_running_loop()
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="worker")
    loop.set_default_executor(threads)
    loop.set_exception_handler(journal.loop_trouble)
    running = Running(parts, visitors=Visitors(Path(paths.SIGNED_IN), parts.clock))
    for wanted in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(wanted, running.stop)

    def on_wake(hook_version: str) -> None:
        if handover.is_newer(hook_version, than=version):
            _make_way(running, version, hook_version)

    faces = Faces(running, app.build(running), token.ensure(Path(paths.TOKEN)), on_wake)
    await faces.open()
    starting.end(Path())
    log.info("worker %s, process %d, port %s", version, running.pid, running.port)
    root = parts.settings.data_dir
    loops = [
        asyncio.create_task(upkeep.keep_drained(running)),
        *(asyncio.create_task(upkeep.keep_observing(running)) for _ in range(OBSERVERS)),
        asyncio.create_task(upkeep.keep_ready(running)),
        asyncio.create_task(upkeep.keep_following(running)),
        asyncio.create_task(upkeep.keep_house(running, root)),
        asyncio.create_task(upkeep.keep_watch(running, faces, held, root / paths.WORKER_LOCK)),
    ]
    await running.stopping.wait()
    log.info("stopping")
    made_way = running.handing_over_to is not None
    if not await _wind_down(parts, faces, loops, threads):
        log.warning("something is still running after %s s; leaving it", GRACE_S)
        _leave(held, follow if made_way else None)
    return made_way


def _make_way(running: Running, version: str, hook_version: str) -> None:
    now = running.services.clock()
    if not handover.should_hand_over(version, hook_version, handover.read(HANDOVER), now):
        return
    try:
        handover.write(HANDOVER, Handover(hook_version, now))
    except OSError as error:
        # Without the record nothing would keep two installs from handing over for ever: stay.
        running.swallow("handover", error)
        return
    log.info("a hook of version %s called; handing over", hook_version)
    running.handing_over_to = hook_version
    running.stop()


async def _wind_down(
    parts: Services, faces: Faces, loops: list[asyncio.Task[None]], threads: ThreadPoolExecutor
) -> bool:
    """Finish what is running, within bounds; False when something will not end."""
    deadline = time.monotonic() + GRACE_S
    let_go = _aside(parts.let_go)
    await faces.close()
    await asyncio.wait(loops, timeout=max(0.0, deadline - time.monotonic()))
    # Not the loop's own way: in Python 3.11 that cannot be given up on.
    ended = _aside(threads.shutdown)
    try:
        async with asyncio.timeout(max(0.1, deadline - time.monotonic())):
            await let_go.wait()
            await ended.wait()
    except TimeoutError:
        return False
    return True


def _aside(call: Callable[[], object]) -> asyncio.Event:
    """Call it in a thread of its own, that no exit waits for; set when it has returned."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def run() -> None:
        try:
            call()
        except Exception:  # nobody waits for its answer, but somebody for its end
            log.exception("stopping")
        finally:
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, daemon=True).start()
    return done


def _leave(held: Held, follow: Callable[[], object] | None) -> NoReturn:
    """Cut off what will not end: it can all be done again."""
    try:
        if follow is not None:
            os.close(held.fd)  # a successor that finds the lock held would go away again
            follow()
    except OSError:
        log.exception("no successor; the next hook starts one")
    finally:
        logging.shutdown()
        os._exit(0)


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _say(error: Exception) -> int:
    print(error, file=sys.stderr)
    return 1
