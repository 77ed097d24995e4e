"""Recall hooks are answered within bounds, and one that hangs hangs alone."""

import asyncio
import json
import os
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.serve.faulty_worker import asking, built

from claude_mem.hook import worker_link
from claude_mem.serve import health, hook_socket, sockets
from claude_mem.serve.hook_socket import HookListener, QueryPool, Question
from claude_mem.serve.services import Running

PATIENCE_S = 20.0


def serving(
    folder: Path, ask: Callable[[Question], str], talk: Callable[[Running, HookListener], Awaitable[None]]
) -> Running:
    """Runs a hook line whose worker answers with `ask`, and talks to it."""

    async def serve() -> Running:
        running = Running(asking(services, ask), loop=asyncio.get_running_loop())
        line = HookListener(running, lambda version: None, sockets.listen_unix(folder / "hook.sock"))
        await line.start()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await talk(running, line)
        finally:
            await line.stop()
        return running

    with built(folder) as services:
        return asyncio.run(serve())


async def say(folder: Path, said: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(folder / "hook.sock"))
    try:
        writer.write(said)
        return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()


QUERY = worker_link.QUERY % (b"1.0", b"UserPromptSubmit", b'{"prompt":"x"}')


def test_an_answer_is_spelled_as_hooks_expect_it_and_wakes_the_worker(tmp_path: Path) -> None:
    heard: list[Question] = []
    told = 'We "fixed" it\n é 𝄞 \\'

    def ask(question: Question) -> str:
        heard.append(question)
        return told

    async def talk(running: Running, _: HookListener) -> None:
        answer = await say(tmp_path, QUERY)
        assert answer == worker_link.OPENING + json.dumps(told).encode() + worker_link.CLOSING
        assert running.wake.is_set()

    serving(tmp_path, ask, talk)
    assert heard == [
        {"type": "ask", "version": "1.0", "event": "UserPromptSubmit", "payload": {"prompt": "x"}}
    ]


@pytest.mark.parametrize("answer", ["x" * 10_001, "𝄞" * 5_001])
def test_an_answer_longer_than_the_client_takes_is_not_cut_but_withheld_and_counted(
    tmp_path: Path, answer: str
) -> None:
    async def talk(running: Running, _: HookListener) -> None:
        assert json.loads(await say(tmp_path, QUERY)) == {"type": "answer", "context": ""}

    assert serving(tmp_path, lambda _: answer, talk).mishaps == Counter(ask=1)


def test_an_answer_as_long_as_the_client_takes_is_told(tmp_path: Path) -> None:
    async def talk(running: Running, _: HookListener) -> None:
        assert json.loads(await say(tmp_path, QUERY))["context"] == "𝄞" * 5_000

    assert serving(tmp_path, lambda _: "𝄞" * 5_000, talk).mishaps == Counter()


def test_a_failure_is_an_empty_answer_and_counted(tmp_path: Path) -> None:
    def ask(question: Question) -> str:
        raise LookupError(question)

    async def talk(running: Running, _: HookListener) -> None:
        for _again in range(hook_socket.MOST_WAITING + 2):  # none of them takes a place for good
            assert json.loads(await say(tmp_path, QUERY)) == {"type": "answer", "context": ""}

    assert serving(tmp_path, ask, talk).mishaps == Counter(ask=hook_socket.MOST_WAITING + 2)


class Hanging:
    """Looks things up for ever, until it is let go."""

    def __init__(self) -> None:
        self.let_go, self.at_work = threading.Event(), threading.Semaphore(0)

    def ask(self, question: Question) -> str:
        self.at_work.release()
        self.let_go.wait(PATIENCE_S)
        return "late"

    async def is_full(self) -> None:
        for _ in range(hook_socket.QUERY_THREADS):
            assert await asyncio.to_thread(self.at_work.acquire, timeout=PATIENCE_S)


def test_when_all_hang_the_next_is_refused_at_once_and_those_behind_them_are_not_looked_up() -> None:
    hanging = Hanging()

    async def ask() -> None:
        answers = QueryPool(hanging.ask, lambda *_: None)
        held = [asyncio.create_task(answers({})) for _ in range(hook_socket.MOST_WAITING)]
        await hanging.is_full()
        with pytest.raises(StopIteration) as refused:  # it ends before it waits even once
            answers({}).send(None)
        assert refused.value.value == ""
        assert not any(task.done() for task in held)
        answers.stop()
        assert await asyncio.gather(*held) == [""] * hook_socket.MOST_WAITING
        hanging.let_go.set()

    asyncio.run(ask())
    assert not hanging.at_work.acquire(blocking=False)


def test_a_lookup_that_hangs_keeps_neither_the_line_nor_the_worker_from_ending(tmp_path: Path) -> None:
    hanging = Hanging()

    async def talk(_: Running, line: HookListener) -> None:
        held = [asyncio.create_task(say(tmp_path, QUERY)) for _ in range(hook_socket.QUERY_THREADS)]
        await hanging.is_full()
        await line.stop()
        assert {json.loads(await task)["context"] for task in held} == {""}

    try:
        serving(tmp_path, hanging.ask, talk)
        hung = [thread for thread in threading.enumerate() if thread.name.startswith("ask-")]
        assert len(hung) == hook_socket.QUERY_THREADS
        assert all(thread.daemon for thread in hung)  # else the interpreter would wait for them
    finally:
        hanging.let_go.set()


def test_whoever_asks_after_the_end_is_told_nothing() -> None:
    async def ask() -> str:
        answers = QueryPool(lambda _: "memory", lambda *_: None)
        assert await answers({}) == "memory"
        answers.stop()
        return await answers({})

    assert asyncio.run(ask()) == ""


class SomeHang(Hanging):
    """Only questions with this prompt hang; the others are answered."""

    def ask(self, question: Question) -> str:
        return super().ask(question) if question["payload"] == {"prompt": "hang"} else "memory"

    async def hangs(self, folder: Path, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        """Asks until so many more lookups hang, each left by its asker soon."""
        with monkeypatch.context() as hasty:
            hasty.setattr(hook_socket, "QUERY_WITHIN_S", 0.05)
            while times:
                assert json.loads(await say(folder, HANG))["context"] == ""
                times -= self.at_work.acquire(blocking=False)


HANG = worker_link.QUERY % (b"1.0", b"UserPromptSubmit", b'{"prompt":"hang"}')


async def told_hung(running: Running) -> int:
    """As /health has it."""
    return (await asyncio.to_thread(health.worker_health, running)).hung_asks


async def none_hangs(running: Running) -> None:
    while await told_hung(running):
        await asyncio.sleep(0.01)


def test_lookups_that_hang_give_their_places_and_threads_back_and_health_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = SomeHang()

    async def talk(running: Running, _: HookListener) -> None:
        for hung in (
            hook_socket.QUERY_THREADS,
            2 * hook_socket.QUERY_THREADS,
        ):  # as many as there are places, in all
            await hanging.hangs(tmp_path, monkeypatch, hook_socket.QUERY_THREADS)
            assert json.loads(await say(tmp_path, QUERY))["context"] == "memory"
            assert await told_hung(running) == hung
        hanging.let_go.set()
        await none_hangs(running)
        assert json.loads(await say(tmp_path, QUERY))["context"] == "memory"

    try:
        assert serving(tmp_path, hanging.ask, talk).mishaps == Counter()
    finally:
        hanging.let_go.set()


def test_no_more_threads_than_the_bound_are_given_to_lookups_that_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = SomeHang()

    async def talk(running: Running, _: HookListener) -> None:
        await hanging.hangs(tmp_path, monkeypatch, hook_socket.MOST_QUERY_THREADS)
        for _again in range(2):
            assert json.loads(await say(tmp_path, QUERY))["context"] == ""
        assert await told_hung(running) == hook_socket.MOST_QUERY_THREADS
        assert len(ours()) == hook_socket.MOST_QUERY_THREADS
        hanging.let_go.set()
        await none_hangs(running)
        assert json.loads(await say(tmp_path, QUERY))["context"] == "memory"

    def ours() -> set[threading.Thread]:
        return {each for each in threading.enumerate() if each.name.startswith("ask-")} - before

    before = set(threading.enumerate())
    try:
        serving(tmp_path, hanging.ask, talk)
    finally:
        hanging.let_go.set()


def test_a_machine_that_has_no_thread_to_spare_for_a_while_silences_recall_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talk(_: Running, line: HookListener) -> None:
        del line
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            for _again in range(hook_socket.MOST_WAITING):
                await say(tmp_path, QUERY)
        assert json.loads(await say(tmp_path, QUERY))["context"] == "memory"

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    serving(tmp_path, lambda question: "memory", talk)


@pytest.mark.parametrize("places", [1, 0])
def test_a_command_that_takes_too_long_is_ended_and_one_that_finds_no_place_in_time_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: int
) -> None:
    folder, program, begun = tmp_path / "data", tmp_path / "program", tmp_path / "begun"
    folder.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ >> {begun}\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr(hook_socket, "sys", SimpleNamespace(executable=str(program)))
    monkeypatch.setattr(hook_socket, "COMMAND_WITHIN_S", 4.0)
    monkeypatch.setattr(hook_socket, "MOST_COMMANDS", places)

    async def talk(running: Running, line: HookListener) -> None:
        said = await say(folder, b'{"type":"command","session":"s1","typed":"forget 1 yes"}\n')
        assert json.loads(said)["context"] == ""

    serving(folder, lambda question: "", talk)
    pids = begun.read_text().split() if begun.exists() else []
    assert len(pids) == places
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
