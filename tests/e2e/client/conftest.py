"""The real client in a throwaway home, without any network but the loopback where the system permits."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.harness.claude import Claude

CLONE_NEWNET = 0x40000000


@pytest.fixture(autouse=True, scope="module")
def only_the_loopback(request: pytest.FixtureRequest) -> Iterator[None]:
    """Moves the tests of this folder, and all that they start, into a network namespace of their own: what
    wanted to leave the machine would fail. Without permission for it they run all the same, and say so."""
    libc = ctypes.CDLL(None, use_errno=True)
    outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(CLONE_NEWNET):
            why = os.strerror(ctypes.get_errno())
            said = request.config.pluginmanager.get_plugin("terminalreporter")
            assert said
            said.write_line(
                f"{request.node.name}: not kept from the network, no namespace of its own ({why})"
            )
            yield
            return
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        yield
        libc.setns(outside, CLONE_NEWNET)
    finally:
        os.close(outside)


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
