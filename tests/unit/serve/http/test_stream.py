"""A listener is told of all there is, at a cost that does not grow with it."""

import asyncio
import json
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from claude_mem.api.memories import ForgetRequest
from claude_mem.model.structs import replace
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.serve.http import stream
from claude_mem.serve.http.router import Call
from claude_mem.serve.http.stream import StreamPosition, format_event
from claude_mem.serve.services import Announcement, Running, Services
from claude_mem.settings import Settings
from claude_mem.wiring import worker_services

PATIENCE_S = 20.0
RECENT = 25
LONG_AGO = 1_700_000_000_000


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spool").mkdir()
    parts = worker_services.build(Settings(data_dir=tmp_path))
    with closing(parts):
        yield parts


class Counting:
    """Passes every question on to a reader, and counts them by name."""

    def __init__(self, memory: MemoryReader) -> None:
        self.questions: Counter[str] = Counter()
        self._memory = memory

    def __getattr__(self, name: str) -> Callable[..., Any]:
        self.questions[name] += 1
        asked: Callable[..., Any] = getattr(self._memory, name)
        return asked


def imported(parts: Services, what: str, count: int, **more: object) -> None:
    records = [
        {"title": sha256(f"{what} {number}".encode()).hexdigest(), "project": "shop"} | more
        for number in range(count)
    ]
    assert parts.recall.writer.import_observations(records).imported == count


async def listening(running: Running, since: str = "") -> AsyncIterator[bytes]:
    headers = [(b"last-event-id", since.encode())]
    request = Request({"type": "http", "method": "GET", "headers": headers, "query_string": b""})
    response = stream.listen(
        Call(running=running, memory=running.services.recall.memory, request=request), ""
    )
    assert isinstance(response, StreamingResponse)
    return cast(AsyncIterator[bytes], response.body_iterator)


async def until(name: str, events: AsyncIterator[bytes]) -> str:
    """The next event of this name."""
    async with asyncio.timeout(PATIENCE_S):
        async for sent in events:
            if f"event: {name}\n".encode() in sent:
                return sent.decode()
    raise AssertionError("the stream ended")


def first_event(parts: Services) -> tuple[str, Counter[str]]:
    """The id of the first event, and what the reader was asked for it."""
    counting = Counting(parts.recall.memory)
    recall = replace(parts.recall, memory=cast(MemoryReader, counting))

    async def listen() -> str:
        return await until("initial", await listening(Running(replace(parts, recall=recall))))

    return asyncio.run(listen()).splitlines()[0].removeprefix("id: "), counting.questions


def test_the_first_event_asks_no_more_after_a_backfill_and_is_past_all_of_it(parts: Services) -> None:
    imported(parts, "recent", RECENT)
    before = first_event(parts)
    imported(parts, "backfilled", 5 * stream.WINDOW, created_at_epoch=LONG_AGO)
    after = first_event(parts)
    assert before == (f"p0-o{RECENT}-s0", before[1])
    assert after == (f"p0-o{RECENT + 5 * stream.WINDOW}-s0", before[1])


def test_what_was_backfilled_beyond_a_gap_that_forgetting_left_is_sent(parts: Services) -> None:
    imported(parts, "recent", RECENT)
    since = first_event(parts)[0]
    imported(parts, "forgotten", 2 * stream.WINDOW, project="gap", created_at_epoch=LONG_AGO)
    parts.recall.deleter.forget(ForgetRequest(project="gap"), dry_run=False)
    imported(parts, "backfilled", 1, created_at_epoch=LONG_AGO)

    async def listen() -> str:
        return await until("new_observation", await listening(Running(parts), since))

    assert asyncio.run(listen()).startswith(f"id: p0-o{RECENT + 2 * stream.WINDOW + 1}-s0\n")


class OfOneThread(deque[Announcement]):
    """What one thread appends to, another may not iterate over: it would fail, if rarely."""

    def __init__(self) -> None:
        super().__init__()
        self._owner = threading.get_ident()

    def __iter__(self) -> Iterator[Announcement]:
        assert threading.get_ident() == self._owner, "iterated over in another thread"
        return super().__iter__()


def test_corrections_are_read_in_the_thread_that_adds_them_and_sent_once(parts: Services) -> None:
    async def listen() -> list[str]:
        running = Running(parts, announcements=OfOneThread())
        running.announce("edit", ["1"])  # before anybody listens
        events = await listening(running)
        await until("initial", events)
        sent = []
        for ref in ("2", "3"):
            running.announce("edit", [ref])
            sent.append(await until("changed", events))
        return sent

    sent = [json.loads(each.partition("data: ")[2]) for each in asyncio.run(listen())]
    assert [each["refs"] for each in sent] == [["2"], ["3"]]


# An event on the wire, and the mark by which a listener takes the stream up again.


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = StreamPosition(prompt=8, observation=12, summary=3)
    assert str(mark) == "p8-o12-s3"
    assert StreamPosition.parse(str(mark)) == mark
    assert mark.at("summary", 4) == StreamPosition(8, 12, 4)


@pytest.mark.parametrize(
    "text", ["", "12", "p1-o2", "p1-o2-s3-", "p1-o2-s٣", "p-1-o2-s3", f"p{'9' * 13}-o1-s1"]
)
def test_what_is_no_mark_is_none(text: str) -> None:
    assert StreamPosition.parse(text) is None


def test_an_event_is_one_line_of_data_whatever_it_holds() -> None:
    told = {"text": "one\ntwo\r\u2028three\ud800 — 日本語\n\nevent: forged\ndata: {}"}
    lines = format_event("new_prompt", StreamPosition(1, 2, 3), told).decode().split("\n")
    assert lines[0] == "id: p1-o2-s3"
    assert lines[1] == "event: new_prompt"
    assert lines[3:] == ["", ""]
    said = json.loads(lines[2].removeprefix("data: "))
    assert said["type"] == "new_prompt"
    assert said["text"].startswith("one\ntwo\r\u2028three")
