"""What a caller may owe the server, and for how long: over a real socket, with a shorter patience."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send

from claude_mem.serve import sockets
from claude_mem.serve.http import server as http_server

DEADLINE_S = 10.0
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
LARGE = 32 << 20
"""More than the kernel keeps for a reader who does not read."""

Caller = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "PATIENCE_S", 0.2)
    monkeypatch.setattr(http_server, "HEAD_S", 0.2)


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers at once, as the guard does to whom it refuses; /large at length, /whole to the whole body."""
    if scope["path"] != "/refused":
        scope[http_server.ADMIT]()
    while scope["path"] == "/whole" and (await receive()).get("more_body"):
        pass
    size = LARGE if scope["path"] == "/large" else 2
    headers = [(b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"x" * size})


@asynccontextmanager
async def served() -> AsyncIterator[Callable[[], Awaitable[Caller]]]:
    listener = sockets.listen_tcp(0)
    port = listener.getsockname()[1]
    server = http_server.HttpServer(answer, listener)
    await server.start()
    writers = []

    async def call() -> Caller:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        return reader, writer

    try:
        async with asyncio.timeout(DEADLINE_S):
            yield call
    finally:
        for writer in writers:
            writer.transport.abort()
        await server.stop()


async def answered(caller: Caller, request: bytes = REQUEST) -> None:
    reader, writer = caller
    writer.write(request)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    assert await reader.readexactly(2) == b"xx"


async def hung_up(caller: Caller, drip: bytes = b"") -> None:
    """Wait until the server has hung up, sending a byte now and then if there are any to send."""
    reader, writer = caller
    while True:
        try:
            async with asyncio.timeout(0.05):
                assert await reader.read(1 << 20) == b""
                return
        except TimeoutError:
            writer.write(drip)
        except ConnectionError:
            return


@pytest.mark.parametrize("earlier", [0, 1, 3])
@pytest.mark.parametrize(
    ("begun", "drip"),
    [
        (b"G", b""),
        (b"GET / HTTP/1.1\r\nHost: here\r\n", b""),
        (b"GET / HTTP/1.1\r\nX: ", b"x"),
        (b"GET /", b"x"),
        (b"\r\n", b""),
        (b"\r\n", b"\r\n"),  # empty lines may come before a request
    ],
)
def test_headers_that_do_not_end_are_not_waited_for(earlier: int, begun: bytes, drip: bytes) -> None:
    async def run() -> None:
        async with served() as call:
            caller = await call()
            for _ in range(earlier):
                await answered(caller)
            caller[1].write(begun)
            await hung_up(caller, drip)

    asyncio.run(run())


def test_a_silent_caller_is_hung_up_on() -> None:
    async def run() -> None:
        async with served() as call:
            await hung_up(await call())

    asyncio.run(run())


@pytest.mark.parametrize(
    "begun",
    [
        b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n",
    ],
)
def test_the_body_of_a_request_that_was_answered_is_not_waited_for(begun: bytes) -> None:
    async def run() -> None:
        async with served() as call:
            caller = await call()
            await answered(caller, begun)
            await hung_up(caller, b"x")

    asyncio.run(run())


def test_a_connection_is_kept_for_as_long_as_its_requests_are_whole() -> None:
    async def run() -> None:
        async with served() as call:
            caller, other = await call(), await call()
            halves = [
                b"POST /whole HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n\r\nha",
                b"lf" + REQUEST[:9],
                REQUEST[9:],
            ]
            await answered(caller)
            caller[1].write(halves[0])
            await hung_up(other)  # patience is over, but the body is for the guard to wait for
            await answered(caller, halves[1])
            await answered(caller, halves[2])
            await hung_up(await call())
            await answered(caller)

    asyncio.run(run())


@pytest.mark.parametrize(
    "endless",
    [
        b"GET / HTTP/1.1\r\nX: ",
        b"GET /",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000,
        b"POST /whole HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
    ],
    ids=["value", "path", "many", "trailer"],
)
def test_headers_without_an_end_are_not_taken_in(endless: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "PATIENCE_S", DEADLINE_S * 2)

    async def run() -> None:
        async with served() as call:
            reader, writer = await call()
            await answered((reader, writer))
            writer.write(endless + b"x" * (http_server.MOST_HEADER_BYTES + http_server.PIECE_BYTES))
            await hung_up((reader, writer))

    asyncio.run(run())


def test_headers_up_to_the_bound_are_taken_in_however_often() -> None:
    async def run() -> None:
        async with served() as call:
            caller = await call()
            for _ in range(3):
                padding = b"x" * (http_server.MOST_HEADER_BYTES - len(REQUEST) - 10)
                await answered(caller, REQUEST[:-2] + b"X: " + padding + b"\r\n\r\n")
            head = b"POST /whole HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % (1 << 20)
            await answered(caller, head + b"x" * (1 << 20))

    asyncio.run(run())


@pytest.mark.parametrize("request_", [b"GET /large HTTP/1.1\r\n\r\n", b"GET /large HTTP/1.0\r\n\r\n"])
def test_who_does_not_read_the_answer_is_not_waited_for(request_: bytes) -> None:
    async def run() -> None:
        async with served() as call:
            reader, writer = await call()
            transport: asyncio.Transport = writer.transport  # type: ignore[assignment]  # it reads, too
            transport.pause_reading()
            writer.write(request_)
            await hung_up(await call())
            await hung_up(await call())  # twice the patience
            transport.resume_reading()
            read = 0
            with suppress(ConnectionError):
                while some := await reader.read(1 << 20):
                    read += len(some)
            assert read < LARGE

    asyncio.run(run())


async def answered_in_turn(callers: list[Caller]) -> int:
    """How many of these are answered once their head is whole."""
    found = 0
    for reader, writer in callers:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            writer.write(b"/ HTTP/1.1\r\nHost: here\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            found += 1
    return found


@pytest.mark.parametrize("begun", [b"GET ", b"GET /refused HTTP/1.1\r\nHost: here\r\n\r\n"])
def test_connections_without_a_key_give_way_to_newer_ones_and_never_take_the_place_of_others(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """Half-open ones, or such as were refused and stay."""
    monkeypatch.setattr(http_server, "PATIENCE_S", DEADLINE_S)
    monkeypatch.setattr(http_server, "HEAD_S", DEADLINE_S)

    async def run() -> None:
        async with served() as call:
            friends = [await call() for _ in range(3)]
            for each in friends:
                await answered(each)
            flood = []
            for _ in range(http_server.MOST_CONNECTIONS + 50):
                flood.append(await call())
                flood[-1][1].write(begun)
            await answered(await call())
            for each in friends:
                await answered(each)
            if begun == b"GET ":
                assert await answered_in_turn(flood[:50]) == 0
                assert await answered_in_turn(flood[-50:]) == 50

    asyncio.run(run())


def test_a_place_is_left_for_those_with_a_key_however_many_have_none() -> None:
    assert http_server.MOST_UNAUTHENTICATED < http_server.MOST_CONNECTIONS
