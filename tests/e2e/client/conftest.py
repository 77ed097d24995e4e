"""The real client in a throwaway home, without any network but the loopback where the system permits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.harness import loopback
from tests.harness.claude import Claude


@pytest.fixture(autouse=True, scope="module")
def only_the_loopback(request: pytest.FixtureRequest) -> Iterator[None]:
    """Moves the tests of this folder, and all that they start, into a network namespace of their own: what
    wanted to leave the machine would fail. Without permission for it they run all the same, and say so."""
    with loopback.only_the_loopback() as refused:
        if refused:
            loopback.report(request, refused)
        yield


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Claude]:
    @functools.cache
    def install() -> Claude:
        made = Claude(tmp_path_factory.mktemp("installed"))
        made.connect()
        return made

    return install


@pytest.fixture(scope="module")
def installed(only_the_loopback: None, once: Callable[[], Claude]) -> Claude:
    """A home with claude-mem installed in which nobody works: others are like it, and need no install."""
    return once()


@pytest.fixture(scope="module")
def house(installed: Claude, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Claude]:
    """A home in daily use, with claude-mem installed: the tests of a file work in it one after the other."""
    made = Claude(tmp_path_factory.mktemp("house"), like=installed)
    yield made
    made.end()


@pytest.fixture
def claude(installed: Claude, tmp_path: Path) -> Iterator[Claude]:
    """A home of this test's own, with claude-mem installed."""
    made = Claude(tmp_path, like=installed)
    yield made
    made.end()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Claude]:
    """A home of this test's own, with nothing installed."""
    made = Claude(tmp_path)
    yield made
    made.end()
