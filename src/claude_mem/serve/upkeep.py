"""The worker's loops: the spool is drained, what waits is observed, the house kept, the doors watched.

Each outlives any one failure, counts it, and ends when the worker stops.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from claude_mem.model.errors import StoreDamaged, StoreError
from claude_mem.serve import home
from claude_mem.serve.faces import Faces
from claude_mem.serve.lock import Held
from claude_mem.serve.services import Running, log

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
            running.heard = True
            running.tell_news()
    except StoreDamaged as error:
        _leave_it_to_the_next(running, error)
    except StoreError as error:
        if running.trouble != str(error):
            log.warning("the spool is not drained: %s", type(error).__name__)
        running.trouble = str(error)
    except Exception as error:  # the pump's top: it may not end while the worker lives
        running.trouble = f"The spool cannot be drained ({type(error).__name__}); see the worker's log."
        running.swallow("drain", error)
    else:
        running.trouble = None
        return True
    return False


async def keep_observing(running: Running) -> None:
    """One of a few side by side: each step holds a session of its own."""
    while not running.stopping.is_set():
        news = running.news
        try:
            look_again = await asyncio.to_thread(running.services.pump)
        except StoreDamaged as error:
            _leave_it_to_the_next(running, error)
            continue
        except Exception as error:  # the pump's top: the batch went back to the queue
            running.swallow("pump", error)
            await _until(running.stopping, AFTER_FAILURE_S)
            continue
        running.tell_change()  # a batch may have become memory
        now = running.services.clock()
        wait_s = OBSERVE_EVERY_S if look_again is None else (look_again - now) / 1000
        if wait_s > 0:
            await _until(news, min(wait_s, OBSERVE_EVERY_S))
            await _until(running.stopping, GATHER_S)  # a burst of events is one reason to look, not hundreds


async def keep_following(running: Running) -> None:
    """Transcripts that grow, where the user has such watched."""
    follow = running.services.follow
    while follow is not None and not running.stopping.is_set():
        try:
            if await asyncio.to_thread(follow):
                running.tell_news()
        except StoreDamaged as error:
            _leave_it_to_the_next(running, error)
        except Exception as error:  # a folder may be away for a while
            running.swallow("follow", error)
        await _until(running.stopping, FOLLOW_EVERY_S)


async def keep_ready(running: Running) -> None:
    """What was remembered is indexed and rendered soon after, not when somebody asks."""
    while not running.stopping.is_set():
        changed = running.changed
        try:
            more = await asyncio.to_thread(running.services.keep_ready)
        except StoreDamaged as error:
            _leave_it_to_the_next(running, error)
            continue
        except Exception as error:  # searching goes on with what is indexed
            running.swallow("recall", error)
            await _until(running.stopping, AFTER_FAILURE_S)
            continue
        if not more:
            await _until(changed, OBSERVE_EVERY_S)
            await _until(running.stopping, GATHER_S)


async def keep_house(running: Running, root: Path) -> None:
    try:
        for left in await asyncio.to_thread(home.tighten, root):
            log.warning("left as it is: %s", left)
    except OSError as error:
        running.swallow("tighten", error)
    while not running.stopping.is_set():
        for name, step in running.services.maintain.items():
            if running.stopping.is_set():
                break
            try:
                await asyncio.to_thread(step)
            except StoreDamaged as error:
                _leave_it_to_the_next(running, error)
            except Exception as error:  # it is tried again in an hour; the other steps are done now
                running.swallow(f"maintain.{name}", error)
        await _until(running.stopping, MAINTAIN_EVERY_S)


async def keep_watch(running: Running, faces: Faces, held: Held, lock: Path) -> None:
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
                running.swallow("heal", error)
            failing = True
        await _until(running.stopping, WATCH_EVERY_S)


def _leave_it_to_the_next(running: Running, error: StoreDamaged) -> None:
    """A damaged database is mended when it is opened: stop, and the next hook starts a worker that does."""
    running.trouble = str(error)
    running.swallow("store", error)
    running.stop()


async def _until(event: asyncio.Event, within_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await event.wait()
