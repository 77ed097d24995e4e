"""The routes for work that was given up: what they take, and what they refuse by name."""

from collections.abc import Iterator

import pytest
from tests.unit.serve import worker_driver


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[worker_driver.Driven]:
    with worker_driver.started(tmp_path_factory.mktemp("queue") / "data") as driven:
        yield driven


def test_all_some_or_none_can_be_tried_again(worker: worker_driver.Driven) -> None:
    bodies: tuple[object, ...] = (None, {}, {"ids": None}, {"ids": []}, {"ids": [1, 2, 2]})
    for body in bodies:
        assert worker.ask("POST", "/api/queue/retry", body) == (200, {"status": "ok", "resumed": 0})


def test_to_give_up_one_must_be_named(worker: worker_driver.Driven) -> None:
    assert worker.ask("POST", "/api/queue/drop", {"ids": [1]}) == (200, {"status": "ok", "dropped": 0})
    for body in ({}, {"ids": None}):
        status, answer = worker.ask("POST", "/api/queue/drop", body)
        assert (status, answer["error"]["code"], answer["error"]["field"]) == (400, "missing_field", "ids")


def test_what_is_no_list_of_ids_is_refused(worker: worker_driver.Driven, subtests: pytest.Subtests) -> None:
    wrong: tuple[object, ...] = (7, "7", {}, ["7"], [True], [1.5], [0], [-1], [2**63], [None], [1] * 10_001)
    for path in ("/api/queue/retry", "/api/queue/drop"):
        for ids in wrong:
            with subtests.test(f"{path} {ids!r:.20}"):
                status, answer = worker.ask("POST", path, {"ids": ids})
                assert (status, answer["error"]["code"], answer["error"]["field"]) == (
                    400,
                    "bad_field",
                    "ids",
                )


def test_over_tcp_the_token_is_asked_for(worker: worker_driver.Driven) -> None:
    json = {"Content-Type": "application/json"}
    assert worker.tcp("POST", "/api/queue/retry", b"{}", json).status == 401
    assert worker.tcp("POST", "/api/queue/retry", b"{}", worker.with_token()).status == 200
