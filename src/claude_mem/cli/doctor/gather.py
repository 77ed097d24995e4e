"""Gathers doctor's facts from the machine. Changes nothing; every question has a deadline."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from claude_mem import __version__, settings
from claude_mem.cli.doctor import facts
from claude_mem.cli.doctor.facts import Connected, Directory, Question, Recall
from claude_mem.hook import drop_counters, paths, spool_writer
from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import control, pause_switches
from claude_mem.settings import Settings

HEALTH_WITHIN_S = 2.0
LOOK_AGAIN_S = 1.0
"""Whether an index that is behind catches up is seen by looking twice."""


def _recall(chosen: Settings) -> Recall:
    from claude_mem import wiring

    folder = chosen.place(paths.CONTEXT)
    before = None
    said = _health(chosen)
    if said and said["index"]["waiting"]:
        before = int(said["index"]["waiting"])
        time.sleep(LOOK_AGAIN_S)
        said = _health(chosen)
    if said:
        unindexed, unembedded = said["index"]["waiting"], said["vectors"]["waiting"]
    else:
        seen = wiring.survey(chosen, thorough=False)
        unindexed, unembedded = seen.unindexed, seen.unembedded
    vectors = said.get("vectors", {})
    return Recall(
        told_by_worker=bool(said),
        unindexed=unindexed,
        unindexed_before=before,
        wanted=chosen.vectors,
        vectors=vectors.get("state"),
        trouble=vectors.get("trouble"),
        unembedded=unembedded,
        model_there=find_spec("wordllama") is not None,
        chroma_there=find_spec("chromadb") is not None,
        chroma_url=chosen.chroma_url,
        context=str(folder),
        context_exists=folder.exists(),
        context_writable=folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK),
        told=sum(each["times"] for each in said["injected"].values()) if said else None,
    )


def _health(chosen: Settings) -> dict[str, Any]:
    health = control.status(chosen.data_dir, deadline_s=HEALTH_WITHIN_S).health or {}
    found = health.get("recall")
    return found if isinstance(found, dict) else {}


NETWORK = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "drvfs",
    "afs",
    "ceph",
    "gluster",
    "lustre",
    "fuse.sshfs",
    "fuse.rclone",
)
LOOK_AT_MOST = 20_000  # entries of it; a full spool holds ten times as many
NAME_AT_MOST = 3


def directory_facts(path: Path) -> Directory:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Directory(str(path), exists=False, obstacle=_obstacle(path))
    if not stat.S_ISDIR(found.st_mode):
        return Directory(str(path), exists=True, is_directory=False)
    me = os.geteuid()
    open_to_others, foreign = [], []
    for name, entry in _entries(path, found):
        if entry.st_uid != me:
            foreign.append(name)
        # Nobody can reach a link's mode, and what it leads to is not ours to judge.
        elif stat.S_IMODE(entry.st_mode) & 0o077 and not stat.S_ISLNK(entry.st_mode):
            open_to_others.append(name)
    return Directory(
        path=str(path),
        exists=True,
        owner=found.st_uid,
        me=me,
        writable=os.access(path, os.R_OK | os.W_OK | os.X_OK) and not _is_read_only(path),
        open_to_others=tuple(open_to_others[:NAME_AT_MOST]),
        open_count=len(open_to_others),
        foreign=tuple(foreign[:NAME_AT_MOST]),
        filesystem=_filesystem(path),
    )


def _obstacle(path: Path) -> str | None:
    """Why a hook cannot make the directory. It makes that one alone, and none above it."""
    folder = path.absolute().parent
    if path.is_symlink():
        return "is a broken link"
    if not folder.is_dir():
        return f"cannot be created: {folder} is {'not a directory' if folder.exists() else 'missing'}"
    if not os.access(folder, os.W_OK | os.X_OK) or _is_read_only(folder):
        return f"cannot be created: {folder} is not writable"
    return None


def _entries(path: Path, found: os.stat_result) -> Iterator[tuple[str, os.stat_result]]:
    """The directory and what is in it, up to a limit."""
    yield ".", found
    left = LOOK_AT_MOST
    folders = [path]
    while folders:
        for entry in _listed(folders.pop()):
            left -= 1
            if not left:
                return
            try:
                yield str(Path(entry.path).relative_to(path)), entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # drained while we looked
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # what is wrong with the folder itself has been noted already


def _is_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _filesystem(path: Path) -> str | None:
    """Its type, as the kernel names it; None where there is no /proc to ask."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    real, best, kind = path.resolve(), Path("/"), None
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split()[4].replace("\\040", " "))
        if real.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, rest.split()[0]
    return kind


def connection_facts(chosen: Settings) -> Connected:
    from claude_mem.cli.install import client_paths, file_changes, plan
    from claude_mem.cli.install import connections as install_connections
    from claude_mem.cli.install.plan import Wanted

    connections = install_connections.connections(chosen)
    wanted = [
        plan.plan(
            each.place,
            Wanted(each.made.plugin, False, False),
            client_paths.plugin_texts(),
            __version__,
            file_changes.read_text,
        ).is_empty
        for each in connections
    ]
    return Connected(tuple(each.made.mode for each in connections), all(wanted))


def is_connected(chosen: Settings) -> bool:
    """What cannot be read is `doctor`'s to tell."""
    from claude_mem.cli.install import connections as install_connections

    try:
        return bool(install_connections.connections(chosen))
    except (ClaudeMemError, OSError):
        return True


DEADLINE_S = 5.0
ANSWER_WITHIN_S = 2.0
STARTS = 5


def gather(environ: Mapping[str, str] = os.environ) -> facts.Facts:
    until = time.monotonic() + DEADLINE_S
    configuration, interpreter = Question(lambda: _configuration(environ)), Question(_interpreter)
    found = configuration.answer(until)
    data_dir = settings.data_directory(environ)
    said, chosen = found if isinstance(found, tuple) else (found, Settings(data_dir=data_dir))
    questions: dict[str, Question[Any]] = {
        "interpreter": interpreter,
        "directory": Question(lambda: directory_facts(data_dir)),
        "worker": Question(lambda: _worker(chosen)),
        "spool": Question(lambda: _spool(chosen, time.time())),
        "database": Question(lambda: _database(chosen, time.time())),
        "observing": Question(lambda: _observing(chosen)),
        "recall": Question(lambda: _recall(chosen)),
        "drops": Question(lambda: _drops(data_dir / paths.DROPS)),
        "disk": Question(lambda: _disk(data_dir)),
        "paused": Question(lambda: pause_switches.look(data_dir)),
        "connected": Question(lambda: connection_facts(chosen)),
    }
    answers = {name: question.answer(until) for name, question in questions.items()}
    return facts.Facts(configuration=said, **answers)


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
    now = control.status(chosen.data_dir, deadline_s=ANSWER_WITHIN_S)
    answers: bool | facts.Unknown = False
    if now.state == "running":
        try:
            answers = _hook_socket_answers(chosen.data_dir)
        except OSError as error:
            answers = facts.Unknown(error.strerror or str(error))
    health: dict[str, Any] = dict(now.health or {})
    observer = health.get("observer") or {}
    return facts.Worker(
        state=now.state,
        pid=now.pid,
        port=now.port,
        version=now.version,
        ours=__version__,
        wanted_port=chosen.worker_port,
        hook_socket_answers=answers,
        trouble=health.get("reason"),
        mishaps=sum((health.get("mishaps") or {}).values()),
        hung_asks=health.get("hungAsks") or 0,
        observer=observer.get("provider"),
        paused=observer.get("paused"),
        spent_up=observer.get("spentUp"),
    )


def _hook_socket_answers(data_dir: Path) -> bool:
    """Ask as a recall hook does, and wait for the one line that comes back."""
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
        ledger = chosen.place(paths.LEDGER).read_bytes()
        last, _, _, most_files, most_bytes = spool_writer.parse_ledger(ledger)
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


def _drops(path: Path) -> dict[str, int]:
    return drop_counters.parse(path.read_bytes() if path.exists() else b"")


def _database(chosen: Settings, now: float) -> facts.Database:
    from claude_mem import wiring

    def age(at_ms: int | None) -> float | None:
        return None if at_ms is None else now - at_ms / 1000

    seen = wiring.survey(chosen)
    same = ("exists", "bytes", "schema", "known_schema", "problem", "checked", "grows", "backups")
    queue = None
    if (counts := seen.figures) is not None:
        oldest = age(counts.oldest_ready_at)
        queue = facts.Queue(counts.ready, counts.leased, counts.parked, counts.done, oldest)
    return facts.Database(
        **{name: getattr(seen, name) for name in same},
        figures=queue,
        last_event_age_s=age(seen.last_event_at),
        last_observation_age_s=age(seen.last_observation_at),
        spent_tokens=seen.spent_today.tokens if seen.spent_today else None,
        spent_usd=seen.spent_today.usd if seen.spent_today else None,
        free=seen.room.free if seen.room else None,
        log=seen.room.log if seen.room else 0,
        newest_backup_age_s=age(seen.newest_backup_at),
    )


def _observing(chosen: Settings) -> facts.Observing:
    from claude_mem import wiring  # all of the application: only where it is needed

    who, (_, problem) = wiring.choice(chosen), wiring.mode_in_force(chosen)
    return facts.Observing(who.provider, who.why, problem, chosen.daily_tokens, chosen.daily_usd)


def _disk(data_dir: Path) -> facts.Disk:
    there = next(path for path in (data_dir, *data_dir.absolute().parents) if path.exists())
    usage = shutil.disk_usage(there)
    return facts.Disk(usage.free, usage.total)
