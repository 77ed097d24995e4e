"""Gathers doctor's facts: the thin edge to the machine. Changes nothing; every question has a deadline."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from claude_mem import __version__, settings
from claude_mem.cli import pause
from claude_mem.cli.doctor import connecting, facts, recalling
from claude_mem.cli.doctor import directory as looking
from claude_mem.cli.doctor.within import Question
from claude_mem.hook import drop_counters, paths, spool_writer
from claude_mem.settings import Settings

DEADLINE_S = 5.0
ANSWER_WITHIN_S = 2.0
STARTS = 5


def gather(environ: Mapping[str, str] = os.environ) -> facts.Facts:
    until = time.monotonic() + DEADLINE_S
    configuration = Question(lambda: _configuration(environ))
    interpreter = Question(_interpreter)
    said = configuration.answer(until)
    data_dir = settings.data_directory(environ)
    chosen = said[1] if isinstance(said, tuple) else Settings(data_dir=data_dir)
    directory = Question(lambda: looking.look(data_dir))
    worker = Question(lambda: _worker(chosen))
    spool = Question(lambda: _spool(chosen, time.time()))
    database = Question(lambda: _database(chosen, time.time()))
    observing = Question(lambda: _observing(chosen))
    recall = Question(lambda: recalling.look(chosen))
    counted = Question(lambda: _drops(data_dir))
    disk = Question(lambda: _disk(data_dir))
    paused = Question(lambda: pause.look(data_dir))
    connected = Question(lambda: connecting.look(chosen))
    return facts.Facts(
        interpreter=interpreter.answer(until),
        directory=directory.answer(until),
        configuration=said[0] if isinstance(said, tuple) else said,
        worker=worker.answer(until),
        spool=spool.answer(until),
        database=database.answer(until),
        observing=observing.answer(until),
        recall=recall.answer(until),
        drops=counted.answer(until),
        disk=disk.answer(until),
        paused=paused.answer(until),
        connected=connected.answer(until),
    )


def _configuration(environ: Mapping[str, str]) -> tuple[facts.Configuration, Settings]:
    as_bytes = {os.fsencode(key): os.fsencode(value) for key, value in environ.items()}
    off = None
    if paths.is_off(as_bytes):
        off = "CLAUDE_MEM_OBSERVER" if "CLAUDE_MEM_OBSERVER" in environ else "CLAUDE_MEM_OFF"
    chosen = settings.load(environ)
    return facts.Configuration(off, chosen.warnings), chosen


def _interpreter() -> facts.Interpreter:
    took: float | facts.Unknown
    try:
        took = min(_start_ms() for _ in range(STARTS))
    except (OSError, subprocess.SubprocessError) as error:
        took = facts.Unknown(str(error))
    return facts.Interpreter(sys.executable, platform.python_version(), sqlite3.sqlite_version, took)


def _start_ms() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True, timeout=ANSWER_WITHIN_S)
    return (time.perf_counter() - began) * 1000


def _worker(chosen: Settings) -> facts.Worker:
    from claude_mem.serve import control

    now = control.status(chosen.data_dir, deadline_s=ANSWER_WITHIN_S)
    answers: bool | facts.Unknown = False
    if now.state == "running":
        try:
            answers = _hook_socket_answers(chosen.data_dir)
        except OSError as error:
            answers = facts.Unknown(error.strerror or str(error))
    health = now.health or {}
    trouble, mishaps, observer = health.get("reason"), health.get("mishaps"), health.get("observer")
    hung = health.get("hungAsks")
    watch = observer if isinstance(observer, dict) else {}
    return facts.Worker(
        state=now.state,
        pid=now.pid,
        port=now.port,
        version=now.version,
        ours=__version__,
        wanted_port=chosen.worker_port,
        hook_socket_answers=answers,
        trouble=trouble if isinstance(trouble, str) else None,
        mishaps=sum(mishaps.values()) if isinstance(mishaps, dict) else 0,
        hung_asks=hung if isinstance(hung, int) else 0,
        observer=watch.get("provider"),
        paused=watch.get("paused"),
        spent_up=watch.get("spentUp"),
    )


def _hook_socket_answers(data_dir: Path) -> bool:
    """Ask as a recall hook does, and wait for the one line that comes back."""
    from claude_mem.serve import control

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(ANSWER_WITHIN_S)
        with control.socket_address(data_dir, paths.HOOK_SOCK) as path:
            client.connect(path)
        client.sendall(b'{"type":"ask","question":"doctor"}\n')
        return client.recv(4096) != b""


def _spool(chosen: Settings, now: float) -> facts.Spool:
    folder = chosen.place(paths.SPOOL)
    names, size = [], 0
    if folder.is_dir():
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json"):
                    names.append(entry.name)
                    size += entry.stat(follow_symlinks=False).st_size
    try:
        last, _, _, most_files, most_bytes = spool_writer.parse_ledger(
            chosen.place(paths.LEDGER).read_bytes()
        )
    except FileNotFoundError:
        last, most_files, most_bytes = 0, chosen.spool_max_files, chosen.spool_max_bytes
    aside = chosen.place(paths.ASIDE)
    return facts.Spool(
        files=len(names),
        bytes=size,
        most_files=most_files,
        most_bytes=most_bytes,
        oldest_age_s=now - _named_at(min(names)) if names else None,
        newest_age_s=now - last / 1e9 if last else None,
        aside=len(list(aside.iterdir())) if aside.is_dir() else 0,
    )


def _named_at(name: str) -> float:
    """A spooled file's name begins with its time in nanoseconds."""
    digits = name.partition("-")[0]
    return int(digits) / 1e9 if digits.isdigit() else time.time()


def _drops(data_dir: Path) -> dict[str, int]:
    try:
        return drop_counters.parse((data_dir / paths.DROPS).read_bytes())
    except FileNotFoundError:
        return drop_counters.parse(b"")


def _database(chosen: Settings, now: float) -> facts.Database:
    from claude_mem import wiring

    def age(at_ms: int | None) -> float | None:
        return None if at_ms is None else now - at_ms / 1000

    seen = wiring.survey(chosen)
    figures = seen.figures
    return facts.Database(
        exists=seen.exists,
        bytes=seen.bytes,
        schema=seen.schema,
        known_schema=seen.known_schema,
        problem=seen.problem,
        checked=seen.checked,
        figures=None
        if figures is None
        else facts.Queue(
            figures.ready, figures.leased, figures.parked, figures.done, age(figures.oldest_ready_at)
        ),
        last_event_age_s=age(seen.last_event_at),
        last_observation_age_s=age(seen.last_observation_at),
        spent_tokens=seen.spent_today.tokens if seen.spent_today else None,
        spent_usd=seen.spent_today.usd if seen.spent_today else None,
        free=seen.room.free if seen.room else None,
        log=seen.room.log if seen.room else 0,
        grows=seen.grows,
        backups=seen.backups,
        newest_backup_age_s=age(seen.newest_backup_at),
    )


def _observing(chosen: Settings) -> facts.Observing:
    from claude_mem import wiring

    who, (_, problem) = wiring.choice(chosen), wiring.mode_in_force(chosen)
    return facts.Observing(who.provider, who.why, problem, chosen.daily_tokens, chosen.daily_usd)


def _disk(data_dir: Path) -> facts.Disk:
    there = next(path for path in (data_dir, *data_dir.absolute().parents) if path.exists())
    usage = shutil.disk_usage(there)
    return facts.Disk(usage.free, usage.total)
