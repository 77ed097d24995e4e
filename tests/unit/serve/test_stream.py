"""A listener's first event costs the same, however much is remembered."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from claude_mem.ports.desk import Desk
from claude_mem.serve import stream
from claude_mem.serve.endpoint import Call
from claude_mem.serve.parts import Parts
from claude_mem.serve.running import Running
from claude_mem.settings import Settings
from claude_mem.wiring import worker

PATIENCE_S = 20.0
RECENT = 25
LONG_AGO = 1_700_000_000_000


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spool").mkdir()
    parts = worker.build(Settings(data_dir=tmp_path))
    with closing(parts):
        yield parts


class Counting:
    """Passes every question on to a desk, and counts them by name."""

    def __init__(self, desk: Desk) -> None:
        self.questions: Counter[str] = Counter()
        self._desk = desk

    def __getattr__(self, name: str) -> Callable[..., Any]:
        self.questions[name] += 1
        asked: Callable[..., Any] = getattr(self._desk, name)
        return asked


def imported(parts: Parts, what: str, count: int, **more: object) -> None:
    assert parts.desk is not None
    records = [
        {"title": sha256(f"{what} {number}".encode()).hexdigest(), "project": "shop"} | more
        for number in range(count)
    ]
    assert parts.desk.take_in(records)["imported"] == count


def first_event(parts: Parts) -> tuple[str, Counter[str]]:
    """The id of the first event, and what the desk was asked for it."""
    assert parts.desk is not None
    counting = Counting(parts.desk)

    said = asyncio.run(_until(replace(parts, desk=counting), b"event: initial"))
    return said.splitlines()[0].removeprefix("id: "), counting.questions


async def _until(parts: Parts, wanted: bytes, since: str = "") -> str:
    """The first event that has this in it."""
    headers = [(b"last-event-id", since.encode())]
    request = Request({"type": "http", "method": "GET", "headers": headers, "query_string": b""})
    response = await stream.listen(Call(Running(parts), request, {}, {}))
    assert isinstance(response, StreamingResponse)
    async with asyncio.timeout(PATIENCE_S):
        async for said in response.body_iterator:
            assert isinstance(said, bytes)
            if wanted in said:
                return said.decode()
    raise AssertionError("the stream ended")


def test_the_first_event_asks_no_more_after_a_backfill_and_is_past_all_of_it(parts: Parts) -> None:
    imported(parts, "recent", RECENT)
    before = first_event(parts)
    imported(parts, "backfilled", 5 * stream.WINDOW, created_at_epoch=LONG_AGO)
    after = first_event(parts)
    assert before == (f"p0-o{RECENT}-s0", before[1])
    assert after == (f"p0-o{RECENT + 5 * stream.WINDOW}-s0", before[1])


def test_what_was_backfilled_beyond_a_gap_that_forgetting_left_is_sent(parts: Parts) -> None:
    assert parts.desk is not None
    imported(parts, "recent", RECENT)
    since = first_event(parts)[0]
    imported(parts, "forgotten", 2 * stream.WINDOW, project="gap", created_at_epoch=LONG_AGO)
    parts.desk.forget({"project": "gap"}, dry_run=False)
    imported(parts, "backfilled", 1, created_at_epoch=LONG_AGO)
    sent = asyncio.run(_until(parts, b"event: new_observation", since))
    assert sent.startswith(f"id: p0-o{RECENT + 2 * stream.WINDOW + 1}-s0\n")
