"""Measures how fast the worker starts, its memory, and its throughput, each with a baseline from the same
run.

    python benchmarks/worker.py

Baselines: a bare Starlette application on uvicorn for the start, the memory and the requests; the same rows
written to a bare SQLite file (same pragmas, same batches) for the ingest.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness import hook_process, payloads

from claude_mem import __version__
from claude_mem.hook import spool_writer
from claude_mem.serve import control
from measure import machine, table

OUTPUT = (
    "src/parcel/weight.py:12: in parse_weight\n"
    "    value = float(text.removesuffix('kg'))\n"
    "2 passed in 0.11s\n"
) * 15

BARE_APP = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
async def take(request: Request) -> JSONResponse:
    await request.json()
    return JSONResponse({"status": "queued"}, status_code=202)
uvicorn.run(Starlette(routes=[Route("/{path:path}", take, methods=["GET", "POST"])]),
            host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], bool], deadline_s: float = 120) -> float:
    """Seconds until the condition holds."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > deadline_s:
            raise TimeoutError
        time.sleep(0.002)
    return time.perf_counter() - began


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("POST", "/", b"{}", {"Content-Type": "application/json"})
        return connection.getresponse().status == 202
    except OSError:
        return False
    finally:
        connection.close()


def rss_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def bare_start() -> tuple[subprocess.Popen[bytes], int, float]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", BARE_APP, str(port)])
    return process, port, until(lambda: answers(port))


def worker_start(data: Path) -> float:
    began = time.perf_counter()
    subprocess.Popen(
        [sys.executable, "-E", "-P", "-m", "claude_mem.worker"],
        env=hook_process.environment(data, CLAUDE_MEM_WORKER_PORT=str(free_port())),
        start_new_session=True,
    )
    until(lambda: control.status(data).state == "running")
    return time.perf_counter() - began


def starts(folder: Path, rounds: int) -> tuple[float, float, float, float]:
    """Seconds to the first answer and idle MiB: bare, ours."""
    bare, ours, bare_mib, our_mib = [], [], 0.0, 0.0
    for n in range(rounds):
        process, _, seconds = bare_start()
        bare.append(seconds)
        bare_mib = rss_mib(process.pid)
        process.terminate()
        process.wait()
        data = folder / f"start{n}"
        data.mkdir(mode=0o700)
        ours.append(worker_start(data))
        pid = control.status(data).pid
        assert pid
        our_mib = rss_mib(pid)
        control.stop(data)
    return statistics.median(bare), statistics.median(ours), bare_mib, our_mib


def fill_spool(data: Path, events: int) -> None:
    (data / "spool").mkdir(parents=True, mode=0o700)
    for n in range(events):
        id = f"{n:020d}-1-0000"
        body = payloads.bash(f"toolu_{n}", stdout=OUTPUT, session=f"session-{n % 50}")
        envelope = b'{"v":1,"by":"%s","id":"%s","at":%d,"event":"PostToolUse","payload":%s}\n'
        (data / "spool" / f"{id}.json").write_bytes(
            envelope % (__version__.encode(), id.encode(), 1_700_000_000_000 + n, body)
        )
    here = Path.cwd()
    os.chdir(data)
    spool_writer.reset_ledger(events, events * 2000, spool_writer.MOST_FILES, spool_writer.MOST_BYTES)
    os.chdir(here)


def ingest(folder: Path, events: int) -> tuple[float, float]:
    """Events per second: the bare file, the worker."""
    data = folder / "ingest"
    data.mkdir(mode=0o700)
    fill_spool(data, events)
    rows = [(f.name, f.read_text()) for f in (data / "spool").glob("*.json")]
    with sqlite3.connect(folder / "bare.db", isolation_level=None) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE t (id TEXT UNIQUE, body TEXT)")
        began = time.perf_counter()
        for start in range(0, len(rows), 256):
            db.execute("BEGIN")
            db.executemany("INSERT INTO t VALUES (?, ?)", rows[start : start + 256])
            db.execute("COMMIT")
        bare = events / (time.perf_counter() - began)
    db.close()
    began = time.perf_counter()
    worker_start(data)
    until(lambda: not any((data / "spool").glob("[0-9]*.json")))
    ours = events / (time.perf_counter() - began)
    control.stop(data)
    return bare, ours


def requests(port: int, token: str, connections: int, each: int) -> float:
    """Acknowledged POSTs per second."""

    def send(who: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for n in range(each):
            body = {
                "claudeSessionId": f"s{who}",
                "tool_name": "Bash",
                "tool_input": {"command": "ls"},
                "tool_response": OUTPUT,
                "tool_use_id": f"t-{who}-{n}",
            }
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            connection.request("POST", "/api/sessions/observations", json.dumps(body), headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 202, answer.status
        connection.close()

    threads = [threading.Thread(target=send, args=(who,)) for who in range(connections)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return connections * each / (time.perf_counter() - began)


def posts(folder: Path, connections: int, each: int) -> tuple[float, float]:
    process, port, _ = bare_start()
    bare = requests(port, "none", connections, each)
    process.terminate()
    process.wait()
    data = folder / "posts"
    data.mkdir(mode=0o700)
    worker_start(data)
    chosen = control.status(data).port
    assert chosen
    ours = requests(chosen, (data / "token").read_text().strip(), connections, each)
    control.stop(data)
    return bare, ours


def row(name: str, bare: float, ours: float, target: str) -> tuple[str, ...]:
    return name, f"{bare:,.0f}", f"{ours:,.0f}", f"{ours / bare:.2f}", target


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--events", type=int, default=20_000)
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare_s, our_s, bare_mib, our_mib = starts(folder, args.rounds)
        bare_rows, our_rows = ingest(folder, args.events)
        bare_posts, our_posts = posts(folder, 16, 250)
    rows = [
        row("start to healthy, ms", bare_s * 1000, our_s * 1000, "<= 2.5 x"),
        row("idle RSS, MiB", bare_mib, our_mib, "<= 60 MiB"),
        row("spool to database, events/s", bare_rows, our_rows, ">= 2,000"),
        row("acknowledged POST/s, 16 connections", bare_posts, our_posts, ">= 1,000"),
    ]
    print(f"The worker beside a bare Starlette application and a bare SQLite file. {machine()}\n")
    print(table(("", "bare", "ours", "ours/bare", "target"), rows))


if __name__ == "__main__":
    main()
