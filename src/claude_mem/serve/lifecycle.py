"""The worker's lifecycle: start, the loops that run until it stops, shutdown, and handover to a new
version."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError, StoreDamaged, StoreError
from claude_mem.model.structs import replace
from claude_mem.serve import control, data_dir, lock, replacement, worker_log
from claude_mem.serve.health import sample_queue
from claude_mem.serve.http.app import worker_app
from claude_mem.serve.http.signin import Visitors
from claude_mem.serve.lock import LockHandle, LockHeld
from claude_mem.serve.process_state import until
from claude_mem.serve.replacement import Handover
from claude_mem.serve.services import QueueSampler, Running, Services, log
from claude_mem.serve.sockets import Listeners
from claude_mem.settings import Settings

if TYPE_CHECKING:
    from claude_mem.team.exchange import StepResult
    from claude_mem.team.membership import Membership

DRAIN_EVERY_S = 3.0
"""A wake that was never sent (a hook killed just before) delays an event no longer than this."""
AFTER_FAILURE_S = 1.0
"""The wait after a failure, so that a full disk is not retried for every hook that calls."""
MAINTAIN_EVERY_S = 3600.0
OBSERVE_EVERY_S = 60.0
"""At least this often, however long the wait that was requested: the clock may be set in the meantime."""
GATHER_S = 0.2
"""After a wake, wait for the rest of a burst of events."""
WATCH_EVERY_S = 2.0
FOLLOW_EVERY_S = 3.0
LISTEN_S = 1.0
SAMPLE_EVERY_S = 60.0
DELAYED_LOOPS, DELAY_S = ("vectors", "team"), 0.5
"""What these load would delay the worker's first answers, so they start a little later."""


async def repeat(running: Running, where: str, step: Callable[[], Awaitable[None]]) -> None:
    """A loop of the worker: `step` does some work, then waits for more. A failure is counted, and the loop
    goes on. Only a damaged store ends the worker; the next worker repairs it when it opens it."""
    if where in DELAYED_LOOPS:
        await until(running.stopping, DELAY_S)
    while not running.stopping.is_set():
        try:
            await step()
        except StoreDamaged as error:
            running.trouble = str(error)
            running.record_mishap("store", error)
            running.stop()
        except Exception as error:
            running.record_mishap(where, error)
            await until(running.stopping, AFTER_FAILURE_S)


async def drain(running: Running) -> None:
    running.wake.clear()
    try:
        while not running.stopping.is_set():
            if await asyncio.to_thread(running.services.intake.drain) == 0:
                break
            running.events_seen = True
            running.notify_queued()
    except StoreDamaged:
        raise
    except StoreError as error:
        if running.trouble != str(error):
            log.warning("the spool is not drained: %s", worker_log.name_of(error))
        running.trouble = str(error)
        await until(running.stopping, AFTER_FAILURE_S)
    except Exception as error:
        running.trouble = f"The spool cannot be drained ({type(error).__name__}); see the worker's log."
        raise
    else:
        running.trouble = None
        await until(running.wake, DRAIN_EVERY_S)


async def observe(running: Running) -> None:
    """Observes one batch. Several of these loops run at the same time, each on a different session."""
    queued = running.queued
    look_again = await asyncio.to_thread(running.services.observing.pump.step)
    running.notify_change()  # a batch may have become memory
    wait_s = OBSERVE_EVERY_S if look_again is None else (look_again - running.services.clock()) / 1000
    if wait_s > 0:
        await until(queued, min(wait_s, OBSERVE_EVERY_S))
        await until(running.stopping, GATHER_S)


async def sample(running: Running) -> None:
    """Samples the queue's length for the chart of the last day."""
    await asyncio.to_thread(sample_queue, running)
    await until(running.stopping, SAMPLE_EVERY_S)


async def follow(running: Running, step: Callable[[], bool]) -> None:
    """Follows transcripts in the folders that the user has set."""
    if await asyncio.to_thread(step):
        running.notify_queued()
    await until(running.stopping, FOLLOW_EVERY_S)


async def listen(running: Running, wait: Callable[[float], Collection[str]]) -> None:
    """Waits for what other processes add to the store."""
    if await asyncio.to_thread(wait, LISTEN_S):
        running.notify_queued()
        await until(running.stopping, GATHER_S)


async def exchange(running: Running, membership: Callable[[], Membership]) -> None:
    """Exchanges memories with the team's server. What others shared is indexed like local memories."""

    def step() -> StepResult:
        return membership().exchange.step()

    changed = running.changed
    done = await asyncio.to_thread(step)
    if done.received:
        running.notify_change()
    elif done.wait_s > 0:
        await until(changed, done.wait_s)
        await until(running.stopping, GATHER_S)


async def index(running: Running, step: Callable[[], bool]) -> None:
    """Indexes and renders new memories soon after they are stored, not when a query needs them."""
    changed = running.changed
    if not await asyncio.to_thread(step):
        await until(changed, OBSERVE_EVERY_S)
        await until(running.stopping, GATHER_S)


async def maintain(running: Running, lock_handle: LockHandle) -> None:
    """Runs the hourly steps. One that fails is retried in an hour; the others still run. They stop if the
    data directory was moved away, because none may create it again."""
    root = running.services.settings.data_dir
    steps: dict[str, Callable[[], object]] = {"permissions": partial(tighten, root)}
    for name, step in (steps | dict(running.services.maintenance)).items():
        if running.stopping.is_set() or not lock_handle.is_at(root / paths.WORKER_LOCK):
            break
        began = time.monotonic()
        try:
            await asyncio.to_thread(step)
            log.debug("maintenance step=%s ms=%d", name, (time.monotonic() - began) * 1000)
        except StoreDamaged:
            raise
        except Exception as error:
            running.record_mishap(f"maintain.{name}", error)
    await until(running.stopping, MAINTAIN_EVERY_S)


def tighten(root: Path) -> None:
    for problem in data_dir.tighten_permissions(root):
        log.warning("left as it is: %s", problem)


async def watch(running: Running, listeners: Listeners, lock_handle: LockHandle) -> None:
    if not lock_handle.is_at(running.services.settings.data_dir / paths.WORKER_LOCK):
        # Deleted, or the directory moved: another worker may hold the directory now, so this one must go.
        log.warning("worker.lock is no longer the file this worker holds; stopping")
        running.stop()
        return
    await listeners.heal()
    await until(running.stopping, WATCH_EVERY_S)


HANDOVER = Path("handover.json")
THREADS = 18
"""Sixteen callers can wait for their commits at the same time; the rest are the worker's own loops, except
the observers, which are added."""
GRACE_S = 5.0
MOST_FILES = 4096


def run(
    settings: Settings,
    build: Callable[[Settings], Services],
    *,
    from_hook: bool,
    version: str,
    successor: Sequence[str] | None = None,
    replaced: int | None = None,
) -> int:
    """Runs the worker until it is stopped; returns the exit code. `successor`: the command that a handover
    starts; `replaced`: the process that this worker has replaced."""
    os.umask(0o077)
    settings = replace(settings, data_dir=settings.data_dir.absolute())

    def start_successor() -> None:
        control.spawn_detached(successor or control.worker_command(from_hook=True), settings.data_dir)

    try:
        left = [f"left as it is: {each}" for each in data_dir.prepare_data_dir(settings.data_dir)]
        os.chdir(settings.data_dir)
        if from_hook and replacement.must_yield(
            version, replacement.read_handover(HANDOVER), time.time_ns() // 10**6
        ):
            return 0
        with lock.hold(Path(paths.WORKER_LOCK)) as lock_handle:
            if replaced is not None:
                left.append(f"process {replaced} stopped responding; this worker has replaced it")
            hands_over = _work(settings, build, version, lock_handle, left, start_successor)
    except LockHeld as error:
        return 0 if from_hook else _fail(error)
    except (ClaudeMemError, OSError) as error:
        return _fail(error)
    if hands_over:
        start_successor()
    return 0


def _work(
    settings: Settings,
    build: Callable[[Settings], Services],
    version: str,
    lock_handle: LockHandle,
    left: list[str],
    start_successor: Callable[[], object],
) -> bool:
    """Runs the worker while the lock is held; True: a newer version is to be started."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal it was started from may close
    raise_file_limit()
    with worker_log.open_log(Path(paths.LOGS), settings.log_level):
        for what in left:
            log.warning("%s", what)
        try:
            lock.mark_starting(Path(), "opening the database")
            services = build(settings)
            try:
                return asyncio.run(_live(services, version, lock_handle, start_successor))
            finally:
                services.close()
        except Exception:
            lock.clear_starting(Path())
            log.exception("the worker ends")
            raise


async def _live(
    services: Services, version: str, lock_handle: LockHandle, start_successor: Callable[[], object]
) -> bool:
    loop = asyncio.get_running_loop()
    observers = services.settings.observers
    threads = ThreadPoolExecutor(THREADS + observers, thread_name_prefix="worker")
    loop.set_default_executor(threads)
    loop.set_exception_handler(worker_log.log_loop_error)
    token = data_dir.ensure_token(Path(paths.TOKEN))
    running = Running(services, visitors=Visitors(Path(paths.SIGNED_IN), services.clock, token), loop=loop)
    running.queue_history = QueueSampler(Path(paths.QUEUE_HISTORY))
    running.queue_history.load()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.stop)

    def on_wake(hook_version: str) -> None:
        if replacement.is_newer(hook_version, than=version):
            _hand_over(running, version, hook_version)

    listeners = Listeners(running, worker_app(running), token, on_wake)
    await listeners.open()
    lock.clear_starting(Path())
    log.info("worker %s, process %d, port %s", version, running.pid, running.port)
    steps: list[tuple[str, Callable[[], Awaitable[None]]]] = [
        ("drain", partial(drain, running)),
        *[("pump", partial(observe, running))] * observers,
        ("recall", partial(index, running, services.recall.background.step)),
        ("vectors", partial(index, running, services.recall.background.embed)),
        ("maintain", partial(maintain, running, lock_handle)),
        ("queue", partial(sample, running)),
        ("heal", partial(watch, running, listeners, lock_handle)),
    ]
    if services.listen is not None:
        steps.append(("listen", partial(listen, running, services.listen)))
    if services.membership is not None:
        steps.append(("team", partial(exchange, running, services.membership)))
    if services.follow is not None:
        steps.append(("follow", partial(follow, running, services.follow)))
    loops = [asyncio.create_task(repeat(running, *step)) for step in steps]
    await running.stopping.wait()
    log.info("stopping")
    hands_over = running.handing_over_to is not None
    if not await _shut_down(services, listeners, loops, threads):
        log.warning("something is still running after %s s; leaving it", GRACE_S)
        _exit_now(lock_handle, start_successor if hands_over else None)
    return hands_over


def _hand_over(running: Running, version: str, hook_version: str) -> None:
    now = running.services.clock()
    if not replacement.should_hand_over(version, hook_version, replacement.read_handover(HANDOVER), now):
        return
    try:
        replacement.write_handover(HANDOVER, Handover(hook_version, now))
    except OSError as error:
        # Without the record, two installs could hand over to each other forever, so keep running.
        running.record_mishap("handover", error)
        return
    log.info("a hook of version %s called; handing over", hook_version)
    running.handing_over_to = hook_version
    running.stop()


async def _shut_down(
    services: Services, listeners: Listeners, loops: list[asyncio.Task[None]], threads: ThreadPoolExecutor
) -> bool:
    """Finishes running work within `GRACE_S`; False: something does not end."""
    deadline = time.monotonic() + GRACE_S
    interrupted = run_in_daemon(services.interrupt)
    await listeners.close()
    await asyncio.wait(loops, timeout=max(0.0, deadline - time.monotonic()))
    # Not with the event loop's own shutdown, which has no timeout in Python 3.11.
    ended = run_in_daemon(threads.shutdown)
    try:
        async with asyncio.timeout(max(0.1, deadline - time.monotonic())):
            await interrupted.wait()
            await ended.wait()
    except TimeoutError:
        return False
    return True


def run_in_daemon(call: Callable[[], object]) -> asyncio.Event:
    """Calls it in a daemon thread, which cannot delay the exit. The event is set once it has returned."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def run() -> None:
        try:
            call()
        except Exception:  # its caller only waits for its end
            log.exception("stopping")
        finally:
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, daemon=True).start()
    return done


def _exit_now(lock_handle: LockHandle, start_successor: Callable[[], object] | None) -> NoReturn:
    """Exits without waiting for what does not end: all of that can be repeated."""
    try:
        if start_successor is not None:
            os.close(lock_handle.fd)  # a successor that finds the lock held exits
            start_successor()
    except OSError:
        log.exception("no successor; the next hook starts one")
    finally:
        logging.shutdown()
        os._exit(0)


def raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _fail(error: Exception) -> int:
    print(error, file=sys.stderr)
    return 1
