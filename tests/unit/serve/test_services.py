import asyncio
from pathlib import Path

from tests.unit.serve.faulty_worker import built

from claude_mem.serve.services import Running


def test_news_between_the_look_and_the_wait_is_missed_by_nobody_however_many_look(tmp_path: Path) -> None:
    async def look() -> bool:
        running = Running(services)
        taken_by_two = running.queued, running.queued
        running.notify_queued()
        for news in taken_by_two:
            async with asyncio.timeout(5):
                await news.wait()
        return running.queued.is_set()

    with built(tmp_path) as services:
        assert asyncio.run(look()) is False
