"""Slow pages or slow hands, by chance: what holds only while both are quick shows itself."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Keyboard, Locator, Page

MOST_MS = 900
SLOWER = 4
"""A page's processor, by so much."""

# Answers, timers and what a browser tells only later. Its own word comes again, as one that was not trusted.
LATE = """
    const wait = window.setTimeout, ask = window.fetch;
    const some = () => Math.random() * Math.random() * MOST_MS;
    const nap = () => new Promise((done) => wait(done, some()));
    window.setTimeout = (act, ms, ...rest) => wait(act, (ms || 0) + some() / 2, ...rest);
    window.fetch = async (...asked) => {
        await nap();
        const answer = await ask(...asked);
        if (!String(asked[0]).includes("/stream")) await nap();
        return answer;
    };
    for (const name of ["close", "hashchange"])
        addEventListener(name, (event) => {
            if (!event.isTrusted) return;
            event.stopImmediatePropagation();
            wait(() => event.target.dispatchEvent(new event.constructor(name, event)), some());
        }, true);
""".replace("MOST_MS", str(MOST_MS))
HANDS: list[tuple[type, tuple[str, ...]]] = [
    (Keyboard, ("press", "type", "down")),
    (Locator, ("click", "fill", "press", "check", "focus", "select_option")),
    (Page, ("evaluate", "go_back", "reload")),
]


@contextmanager
def made(which: str | None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        if which == "page":
            patched.setattr(BrowserContext, "new_page", _slow_page(BrowserContext.new_page))
        if which == "hands":
            for owner, names in HANDS:
                for name in names:
                    patched.setattr(owner, name, _after_a_while(getattr(owner, name)))
        yield


def _slow_page(new_page: Callable[[BrowserContext], Page]) -> Callable[[BrowserContext], Page]:
    def slow(context: BrowserContext) -> Page:
        page = new_page(context)
        page.add_init_script(f"(() => {{ {LATE} }})()")
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        return page

    return slow


def _after_a_while(act: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*args: object, **named: object) -> Any:
        time.sleep(random.random() ** 2 * MOST_MS / 1000)
        return act(*args, **named)

    return slow
