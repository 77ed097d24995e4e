"""Questions to the real reader of memory, as the worker has it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.serve.faulty_worker import built

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.recall import memory_reader as service
from claude_mem.serve.services import Services


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with built(tmp_path / "data") as services:
        yield services


def imported(services: Services, count: int) -> None:
    records = [{"title": f"The parser failed on line {number}", "project": "shop"} for number in range(count)]
    assert services.recall.writer.import_observations(records).imported == count


def test_past_the_last_result_that_is_listed_a_search_says_that_there_are_others(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "FIRST_FOUND", 3)
    monkeypatch.setattr(service, "MOST_FOUND", 5)
    imported(services, 8)
    search = services.recall.memory.search
    first, past = (search("parser", FilterRequest(), Page(1, offset)) for offset in (0, 50))
    assert (len(first.results), first.has_more) == (1, True)
    assert service.MORE_EXIST not in (first.note or "")
    assert (past.results, past.has_more) == ([], False)
    assert service.MORE_EXIST in (past.note or "")
    monkeypatch.setattr(service, "MOST_FOUND", 8)
    assert service.MORE_EXIST not in (search("parser", FilterRequest(), Page(1, 50)).note or "")


def test_a_directory_is_not_taken_for_a_project_that_has_its_key_as_a_name(
    services: Services, tmp_path: Path
) -> None:
    for name in ("shop", "till"):
        (tmp_path / name).mkdir()
    shop, till = str(tmp_path / "shop"), str(tmp_path / "till")
    services.intake.receive("UserPromptSubmit", {"session_id": "s", "cwd": shop, "prompt": "Fix the parser"})
    origin = services.intake.project_origin_of
    services.recall.projects.rename(origin(shop).key, origin(till).key)
    found = services.recall.memory.search
    assert found("", FilterRequest(cwd=shop), Page()).results
    assert not found("", FilterRequest(cwd=till), Page()).results
