"""The worker of the HTTP API's contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import Driven


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """A file that needs another has a fixture of the same name."""
    with worker_driver.started(tmp_path_factory.mktemp("worker") / "data") as driven:
        yield driven
