"""The worker's life: start, the loops that run until it stops, winding down, making way for a new version."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError, StoreDamaged, StoreError
from claude_mem.model.structs import replace
from claude_mem.serve import control, data_dir, handover, lock, worker_log
from claude_mem.serve.handover import Handover
from claude_mem.serve.http import app
from claude_mem.serve.http.signin import Visitors
from claude_mem.serve.lock import Held, LockHeld
from claude_mem.serve.services import Running, Services, log
from claude_mem.serve.sockets import Listeners
from claude_mem.settings import Settings

DRAIN_EVERY_S = 3.0
"""A wake that was never sent (a hook killed just before) delays an event no longer than this."""
AFTER_FAILURE_S = 1.0
"""A full disk is not asked again for every hook that calls."""
MAINTAIN_EVERY_S = 3600.0
OBSERVE_EVERY_S = 60.0
"""However long the wait that was asked for: a clock may be set meanwhile."""
GATHER_S = 0.2
WATCH_EVERY_S = 2.0
FOLLOW_EVERY_S = 3.0


async def keep_drained(running: Running) -> None:
    while not running.stopping.is_set():
        running.wake.clear()
        if await _drain(running):
            await _until(running.wake, DRAIN_EVERY_S)
        else:
            await _until(running.stopping, AFTER_FAILURE_S)


async def _drain(running: Running) -> bool:
    try:
        while not running.stopping.is_set():
            if await asyncio.to_thread(running.services.drain) == 0:
                break
            running.events_seen = True
            running.notify_queued()
    except StoreDamaged as error:
        _leave_it_to_the_next(running, error)
    except StoreError as error:
        if running.trouble != str(error):
            log.warning("the spool is not drained: %s", type(error).__name__)
        running.trouble = str(error)
    except Exception as error:  # the pump's top: it may not end while the worker lives
        running.trouble = f"The spool cannot be drained ({type(error).__name__}); see the worker's log."
        running.record_mishap("drain", error)
    else:
        running.trouble = None
        return True
    return False


async def keep_observing(running: Running) -> None:
    """One of a few side by side: each step holds a session of its own."""
    while not running.stopping.is_set():
        news = running.news
        with _survived(running, "pump"):  # a batch that failed went back to the queue
            look_again = await asyncio.to_thread(running.services.pump)
            running.notify_change()  # a batch may have become memory
            now = running.services.clock()
            wait_s = OBSERVE_EVERY_S if look_again is None else (look_again - now) / 1000
            if wait_s > 0:
                await _until(news, min(wait_s, OBSERVE_EVERY_S))
                await _until(running.stopping, GATHER_S)  # a burst of events is one reason to look
            continue
        await _until(running.stopping, AFTER_FAILURE_S)


async def keep_following(running: Running) -> None:
    """Transcripts that grow, where the user has such watched."""
    follow = running.services.follow
    while follow is not None and not running.stopping.is_set():
        with _survived(running, "follow"):  # a folder may be away for a while
            if await asyncio.to_thread(follow):
                running.notify_queued()
        await _until(running.stopping, FOLLOW_EVERY_S)


async def keep_ready(running: Running) -> None:
    """What was remembered is indexed and rendered soon after, not when somebody asks."""
    while not running.stopping.is_set():
        changed = running.changed
        with _survived(running, "recall"):  # searching goes on with what is indexed
            if not await asyncio.to_thread(running.services.recall.background.step):
                await _until(changed, OBSERVE_EVERY_S)
                await _until(running.stopping, GATHER_S)
            continue
        await _until(running.stopping, AFTER_FAILURE_S)


async def keep_house(running: Running, root: Path) -> None:
    try:
        for left in await asyncio.to_thread(data_dir.tighten_permissions, root):
            log.warning("left as it is: %s", left)
    except OSError as error:
        running.record_mishap("tighten", error)
    while not running.stopping.is_set():
        for name, step in running.services.maintain.items():
            if running.stopping.is_set():
                break
            with _survived(running, f"maintain.{name}"):  # it is tried again in an hour
                await asyncio.to_thread(step)
        await _until(running.stopping, MAINTAIN_EVERY_S)


async def keep_watch(running: Running, faces: Listeners, held: Held, lock: Path) -> None:
    failing = False
    while not running.stopping.is_set():
        if not held.is_at(lock):
            # Deleted, or the directory moved: another worker may hold the directory now, so this one must go.
            log.warning("worker.lock is no longer the file this worker holds; stopping")
            running.stop()
            return
        try:
            await faces.heal()
            failing = False
        except OSError as error:
            if not failing:
                running.record_mishap("heal", error)
            failing = True
        await _until(running.stopping, WATCH_EVERY_S)


@contextmanager
def _survived(running: Running, where: str) -> Iterator[None]:
    """What fails in it is counted, and the loop goes on; a damaged store ends the worker."""
    try:
        yield
    except StoreDamaged as error:
        _leave_it_to_the_next(running, error)
    except Exception as error:
        running.record_mishap(where, error)


def _leave_it_to_the_next(running: Running, error: StoreDamaged) -> None:
    """A damaged database is mended when it is opened: stop, and the next hook starts a worker that does."""
    running.trouble = str(error)
    running.record_mishap("store", error)
    running.stop()


async def _until(event: asyncio.Event, within_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await event.wait()


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
        control.spawn_detached(successor or control.worker_command(from_hook=True), settings.data_dir)

    try:
        left = data_dir.prepare_data_dir(settings.data_dir)
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
    with worker_log.open_log(Path(paths.LOGS), settings.log_level):
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
            control.clear_starting(Path())
            log.exception("the worker ends")
            raise


def _say_it_starts() -> None:
    """Nobody can be answered before the database is open."""
    try:
        control.mark_starting(Path(), "opening the database")
    except OSError as error:  # a full disk: it only looks as if it hung
        log.warning("%s cannot be written: %s", control.STARTING_FILE, error.strerror)


async def _live(parts: Services, version: str, held: Held, follow: Callable[[], object]) -> bool:
    loop = asyncio.get_running_loop()
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="worker")
    loop.set_default_executor(threads)
    loop.set_exception_handler(worker_log.log_loop_error)
    running = Running(parts, visitors=Visitors(Path(paths.SIGNED_IN), parts.clock))
    for wanted in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(wanted, running.stop)

    def on_wake(hook_version: str) -> None:
        if handover.is_newer(hook_version, than=version):
            _make_way(running, version, hook_version)

    faces = Listeners(running, app.build(running), data_dir.ensure_token(Path(paths.TOKEN)), on_wake)
    await faces.open()
    control.clear_starting(Path())
    log.info("worker %s, process %d, port %s", version, running.pid, running.port)
    root = parts.settings.data_dir
    loops = [
        asyncio.create_task(keep_drained(running)),
        *(asyncio.create_task(keep_observing(running)) for _ in range(OBSERVERS)),
        asyncio.create_task(keep_ready(running)),
        asyncio.create_task(keep_following(running)),
        asyncio.create_task(keep_house(running, root)),
        asyncio.create_task(keep_watch(running, faces, held, root / paths.WORKER_LOCK)),
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
        running.record_mishap("handover", error)
        return
    log.info("a hook of version %s called; handing over", hook_version)
    running.handing_over_to = hook_version
    running.stop()


async def _wind_down(
    parts: Services, faces: Listeners, loops: list[asyncio.Task[None]], threads: ThreadPoolExecutor
) -> bool:
    """Finish what is running, within bounds; False when something will not end."""
    deadline = time.monotonic() + GRACE_S
    let_go = _aside(parts.interrupt_work)
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
