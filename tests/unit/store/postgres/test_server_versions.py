import pytest

from claude_mem.model.errors import StoreUnavailable
from claude_mem.store.postgres import schema


@pytest.mark.parametrize("version", [90_624, 140_005, 149_999])
def test_an_older_postgresql_is_refused_and_named(version: int) -> None:
    with pytest.raises(StoreUnavailable, match=f"PostgreSQL {version // 10_000}\\b"):
        schema.require_supported(version)


@pytest.mark.parametrize("version", [150_000, 180_006])
def test_the_oldest_supported_postgresql_and_newer_ones_are_not(version: int) -> None:
    schema.require_supported(version)
