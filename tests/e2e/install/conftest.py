"""The home that these tests install into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.claude import Claude


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Claude]:
    """A home without Claude Code."""
    made = Claude(tmp_path)
    (made.commands() / "claude").unlink()
    yield made
    made.end()
