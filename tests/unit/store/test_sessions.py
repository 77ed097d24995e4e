"""Sessions and projects, as SQLite reads them, where the contract leaves it room."""

from __future__ import annotations

from collections.abc import Callable

from tests.contracts.store_contract import NOON, Events, new_events

from claude_mem.store.relational.sessions import LAST_SESSIONS
from claude_mem.store.sqlite import SqliteStore


def test_directories_are_each_told_once_the_last_worked_in_first(
    open_store: Callable[[], SqliteStore], events: Events
) -> None:
    with open_store() as store:
        for number in range(LAST_SESSIONS + 5):
            cwd = f"/home/a/shop/{number % 3}"
            store.events.accept(new_events(events.prompt("x", f"s{number}", cwd=cwd, at=NOON + number)))
        assert store.sessions.directories(1, 10) == [f"/home/a/shop/{n}" for n in (0, 2, 1)]


def test_a_name_with_a_wildcard_in_it_is_only_a_name(
    open_store: Callable[[], SqliteStore], events: Events
) -> None:
    with open_store() as store:
        store.events.accept(new_events(events.prompt("x", "abcdef")))
        shelves = store.sessions
        assert [shelves.session(given) for given in ("abc%", "____", "ABCD", "01", "' OR 1 --", "")] == [
            None
        ] * 6
