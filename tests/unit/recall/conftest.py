from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.recall.recall_store import House, house


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as found:
        yield found
