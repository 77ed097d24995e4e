"""The worker of the HTTP API's contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.serve import driving
from tests.unit.serve.driving import Driven


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """A file that needs another has a fixture of the same name."""
    with driving.started(tmp_path_factory.mktemp("worker") / "data") as driven:
        yield driven
