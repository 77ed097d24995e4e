import asyncio
from pathlib import Path

from tests.unit.serve.standin import build

from claude_mem.serve.services import Running
from claude_mem.settings import Settings


def test_news_between_the_look_and_the_wait_is_missed_by_nobody_however_many_look(tmp_path: Path) -> None:
    async def look() -> bool:
        running = Running(build(Settings(data_dir=tmp_path)))
        taken_by_two = running.news, running.news
        running.notify_queued()
        for news in taken_by_two:
            async with asyncio.timeout(5):
                await news.wait()
        return running.news.is_set()

    assert asyncio.run(look()) is False
