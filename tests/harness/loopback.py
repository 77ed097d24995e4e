"""A network namespace in which there is nothing but the loopback, for this process and all that it starts."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

CLONE_NEWNET = 0x40000000


@contextmanager
def only_the_loopback() -> Iterator[str]:
    """Yields why there is none, as not everybody may have one; empty: nothing can leave the machine."""
    libc = ctypes.CDLL(None, use_errno=True)
    outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(CLONE_NEWNET):
            yield os.strerror(ctypes.get_errno())
            return
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        yield ""
        libc.setns(outside, CLONE_NEWNET)
    finally:
        os.close(outside)


def report(request: pytest.FixtureRequest, refused: str) -> None:
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter
    reporter.write_line(
        f"{request.node.name}: not kept from the network, no namespace of its own ({refused})"
    )
