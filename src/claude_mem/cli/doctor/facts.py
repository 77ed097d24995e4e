"""The facts that doctor evaluates. Collecting them changes nothing, and every query has a deadline."""

from __future__ import annotations

import os
import platform
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct, convert, field

from claude_mem import settings
from claude_mem.agents import TITLES, catalog
from claude_mem.agents.catalog import Agent
from claude_mem.api.sharing import SharingStatus
from claude_mem.cli.doctor.directory_facts import (
    DataDirectory,
    Disk,
    is_writable,
    look_at_directory,
    look_at_disk,
)
from claude_mem.hook import drop_counters, paths, spool_writer
from claude_mem.serve import control, replacement
from claude_mem.serve.data_dir import PauseState, pause_state
from claude_mem.settings import Settings, SettingWarning, worker_environment
from claude_mem.settings.resolution import without_password
from claude_mem.team.membership import KEY_FILE
from claude_mem.vectors.embedders import STATIC

if TYPE_CHECKING:
    from claude_mem.store.values import Survey

T = TypeVar("T")

DEADLINE_S = 5.0
ANSWER_WITHIN_S = 2.0
LOOK_AGAIN_S = 1.0  # an index that is behind is looked at twice, to see whether it catches up
STARTS = 5


class Unknown(Struct, frozen=True):
    why: str


class Connected(Struct, frozen=True):
    how: tuple[str, ...]  # each connection there is, in words
    outdated: tuple[str, ...] = ()  # those of them that an install would change
    limits: tuple[str, ...] = ()  # where an agent gives memory no place, and what its user has to do
    others: tuple[tuple[str, str], ...] = ()  # agents that are here and not connected: title and name
    problems: tuple[str, ...] = ()  # what of an agent's connection does not work, or cannot be read


class Interpreter(Struct, frozen=True):
    path: str
    version: str
    sqlite: str
    start_ms: float  # of `python -I -S -c pass`, the floor of every hook


class Configuration(Struct, frozen=True):
    off: str | None = None  # the variable that turns recording off
    alert_events: int = 0  # 0: no limit
    alert_minutes: int = 0
    warnings: tuple[SettingWarning, ...] = ()
    ignored: tuple[str, ...] = ()  # variables here, or where the worker was started, that it does not use
    missed: tuple[str, ...] = ()  # those of them that matter with these settings


class WorkerFacts(Struct, frozen=True):
    state: str  # running, starting, stopped, hung
    pid: int | None = None
    port: int | None = None
    version: str | None = None
    configured_port: int = field(default=37777, name="wanted_port")
    hook_socket_problem: str | None = None  # None: it answers
    trouble: str | None = None  # why it cannot accept events
    mishaps: int = 0  # failures that its loops recovered from
    hung_queries: int = field(default=0, name="hung_asks")  # of recall hooks, that do not return
    observer: str | None = None
    paused: str | None = None  # why nobody observes at the moment
    spent_up: str | None = None  # which budget kept the last batch from the model
    is_left: str | None = None  # why one that hangs is not restarted by itself
    start_problem: str | None = None  # why the last one that was started is not running
    queue_alert: str | None = None  # why the queue is too long or too old


class SpoolFacts(Struct, frozen=True):
    files: int = 0
    bytes: int = 0
    most_files: int = 0
    most_bytes: int = 0
    oldest_age_s: float | None = None
    newest_age_s: float | None = None  # of the last event that was ever admitted
    aside: int = 0


class ObserverFacts(Struct, frozen=True):
    """The observer according to this process's settings; the worker may have been started with others."""

    provider: str
    why: str
    mode_problem: str | None = None
    daily_tokens: int = 0  # 0: no limit
    daily_usd: float = 0.0
    lacks: str | None = None  # why the provider that was chosen cannot observe


class RecallFacts(Struct, frozen=True):
    """As the worker reports it; without one, as the disk shows it. None: not known."""

    from_worker: bool = False
    unindexed: int | None = None
    unindexed_before: int | None = None  # a moment earlier
    configured: str = field(default="builtin", name="wanted")  # builtin, chroma, off
    vectors: str | None = None  # as the worker reports: on, off, unavailable
    trouble: str | None = None
    unembedded: int | None = None
    pgvector: str | None = None  # its version, or that it is not installed; None: not PostgreSQL
    embedder: str = "static"  # the setting
    has_model: bool = True
    has_chroma: bool = True
    chroma_url: str | None = None
    context: str = ""  # the folder of pre-rendered contexts
    context_exists: bool = True
    context_writable: bool = True
    injected: int | None = None


class Facts(Struct, frozen=True):
    interpreter: Interpreter | Unknown
    directory: DataDirectory | Unknown
    configuration: Configuration | Unknown
    worker: WorkerFacts | Unknown
    spool: SpoolFacts | Unknown
    database: Survey | Unknown
    observing: ObserverFacts | Unknown
    recall: RecallFacts | Unknown
    drops: dict[str, int] | Unknown
    disk: Disk | Unknown
    paused: PauseState | Unknown = field(default_factory=PauseState)
    connected: Connected | Unknown = field(default_factory=lambda: Connected(("by hand",)))
    team: SharingStatus | Unknown | None = None
    now: float = 0.0


class Question(Generic[T]):
    """A query in a separate thread, which starts immediately. A dead network file system can block a `stat`
    for minutes; in that case, the thread is abandoned."""

    def __init__(self, find_out: Callable[[], T]) -> None:
        self._answer: T | Unknown = Unknown("no answer in time")
        self._thread = threading.Thread(target=self._run, args=(find_out,), daemon=True)
        self._thread.start()

    def answer(self, until: float) -> T | Unknown:
        """`until` is a moment of the monotonic clock."""
        self._thread.join(max(0.0, until - time.monotonic()))
        return self._answer

    def _run(self, find_out: Callable[[], T]) -> None:
        try:
            self._answer = find_out()
        except Exception as error:  # whatever is broken is what doctor reports
            self._answer = Unknown(str(error) or type(error).__name__)


def gather(environ: Mapping[str, str] = os.environ) -> Facts:
    until, now = time.monotonic() + DEADLINE_S, time.time()
    loading, interpreter = Question(lambda: settings.load(environ)), Question(_interpreter)
    data_dir = settings.data_directory(environ)
    loaded = loading.answer(until)
    user_settings = Settings(data_dir=data_dir) if isinstance(loaded, Unknown) else loaded
    questions: dict[str, Question[Any]] = {
        "interpreter": interpreter,
        "directory": Question(lambda: look_at_directory(data_dir)),
        "worker": Question(lambda: _worker(user_settings)),
        "spool": Question(lambda: _spool(user_settings, now)),
        "database": Question(lambda: _survey(user_settings)),
        "observing": Question(lambda: _observing(user_settings)),
        "recall": Question(lambda: _recall(user_settings)),
        "drops": Question(lambda: _drops(data_dir / paths.DROPS)),
        "disk": Question(lambda: look_at_disk(data_dir)),
        "paused": Question(lambda: pause_state(data_dir)),
        "connected": Question(lambda: _connected(user_settings)),
        "team": Question(lambda: _team(data_dir)),
    }
    answers = {name: question.answer(until) for name, question in questions.items()}
    if isinstance(loaded, Unknown):
        return Facts(configuration=loaded, now=now, **answers)
    observer = getattr(answers["observing"], "provider", user_settings.provider)
    return Facts(configuration=_configuration(environ, loaded, observer), now=now, **answers)


def _configuration(environ: Mapping[str, str], settings: Settings, observer: str) -> Configuration:
    off, data_dir = None, settings.data_dir
    if paths.is_off({os.fsencode(key): os.fsencode(value) for key, value in environ.items()}):
        off = "CLAUDE_MEM_OBSERVER" if "CLAUDE_MEM_OBSERVER" in environ else "CLAUDE_MEM_OFF"
    unapproved = worker_environment.unapproved(environ, data_dir)
    ignored = tuple(sorted({*unapproved, *worker_environment.ignored(data_dir)}))
    joined = (data_dir / KEY_FILE).exists()
    missed = worker_environment.relevant(ignored, settings, observer, joined=joined)
    limits = settings.queue_alert_events, settings.queue_alert_minutes
    return Configuration(off, *limits, settings.warnings, ignored, tuple(missed))


def _interpreter() -> Interpreter:
    def start_ms() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True, timeout=ANSWER_WITHIN_S)
        return (time.perf_counter() - began) * 1000

    fastest = min(start_ms() for _ in range(STARTS))
    return Interpreter(sys.executable, platform.python_version(), sqlite3.sqlite_version, fastest)


def _connected(settings: Settings) -> Connected:
    from claude_mem.cli.install import connections

    known = connections(settings)
    found, wrong = known.found, list(known.unreadable)
    wrong += [(agent, problem) for agent, connection in found for problem in catalog.problems(connection)]
    how = [f"{_with_version(agent)} {connection.how}" for agent, connection in found]
    named = {agent.name: agent for agent, _ in found}
    limits = [text for agent in named.values() for text in (catalog.limits(agent), agent.needs) if text]
    found_here = [agent for agent in map(catalog.load, TITLES) if agent.is_run and agent.is_there()]
    others = [agent for agent in found_here if agent.name not in {*named, *(each.name for each, _ in wrong)}]
    return Connected(
        tuple(how),
        tuple(problem for problem, (_, each) in zip(how, found, strict=True) if catalog.is_outdated(each)),
        tuple(limits),
        tuple((agent.title, agent.name) for agent in others),
        tuple(f"{agent.title}: {problem}" for agent, problem in wrong),
    )


def _with_version(agent: Agent) -> str:
    version = agent.version()
    return f"{agent.title} {version}" if version else agent.title


def _worker(settings: Settings) -> WorkerFacts:
    now = control.status(settings.data_dir, deadline_s=ANSWER_WITHIN_S)
    health: dict[str, Any] = dict(now.health or {})
    is_left = replacement.why_not(settings.data_dir, now.pid or 0) if now.state == "hung" else None
    observer = health.get("observer") or {}
    return WorkerFacts(
        state=now.state,
        pid=now.pid,
        port=now.port,
        version=now.version,
        configured_port=settings.worker_port,
        hook_socket_problem=hook_socket_problem(settings.data_dir) if now.state == "running" else None,
        trouble=health.get("reason"),
        mishaps=sum((health.get("mishaps") or {}).values()),
        hung_queries=health.get("hungAsks") or 0,
        observer=observer.get("provider"),
        paused=observer.get("paused"),
        spent_up=observer.get("spentUp"),
        is_left=is_left,
        start_problem=control.start_problem(settings.data_dir) if now.state == "stopped" else None,
        queue_alert=(health.get("queue") or {}).get("alert"),
    )


def hook_socket_problem(data_dir: Path) -> str | None:
    """Ask as a recall hook does, and wait for the one line that comes back."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(ANSWER_WITHIN_S)
            with control.socket_address(data_dir, paths.HOOK_SOCK) as path:
                client.connect(path)
            client.sendall(b'{"type":"ask","question":"doctor"}\n')
            return None if client.recv(4096) else "the connection was closed"
    except OSError as error:
        return error.strerror or str(error)


def _spool(settings: Settings, now: float) -> SpoolFacts:
    sizes, folder_aside = {}, settings.data_path(paths.ASIDE)
    if (folder := settings.data_path(paths.SPOOL)).is_dir():
        with os.scandir(folder) as entries:
            events = [entry for entry in entries if entry.name.endswith(".json")]
            sizes = {entry.name: entry.stat(follow_symlinks=False).st_size for entry in events}
    try:
        ledger = settings.data_path(paths.LEDGER).read_bytes()
        last, _, _, most_files, most_bytes = spool_writer.parse_ledger(ledger)
    except FileNotFoundError:
        last, most_files, most_bytes = 0, settings.spool_max_files, settings.spool_max_bytes
    oldest = min(sizes, default="").partition("-")[0]  # a file's name begins with its time in nanoseconds
    return SpoolFacts(
        files=len(sizes),
        bytes=sum(sizes.values()),
        most_files=most_files,
        most_bytes=most_bytes,
        oldest_age_s=now - int(oldest) / 1e9 if oldest.isdigit() else None,
        newest_age_s=now - last / 1e9 if last else None,
        aside=len(list(folder_aside.iterdir())) if folder_aside.is_dir() else 0,
    )


def _drops(path: Path) -> dict[str, int]:
    return drop_counters.parse(path.read_bytes() if path.exists() else b"")


def _survey(settings: Settings, *, thorough: bool = True) -> Survey:
    from claude_mem.wiring import database  # all of the application: only where it is needed

    return database.survey(settings, thorough=thorough)


def _observing(settings: Settings) -> ObserverFacts:
    from claude_mem.wiring import observer_setup

    choice, (_, problem) = observer_setup.choice(settings), observer_setup.mode_in_force(settings)
    return ObserverFacts(
        choice.provider, choice.why, problem, settings.daily_tokens, settings.daily_usd, lacks=choice.problem
    )


def _recall(settings: Settings) -> RecallFacts:
    folder = settings.data_path(paths.CONTEXT)
    before = None
    reported = _recall_health(settings)
    if reported and reported["index"]["waiting"]:
        before = int(reported["index"]["waiting"])
        time.sleep(LOOK_AGAIN_S)
        reported = _recall_health(settings)
    if reported:
        unindexed, unembedded = reported["index"]["waiting"], reported["vectors"]["waiting"]
    else:
        seen = _survey(settings, thorough=False)
        unindexed, unembedded = seen.unindexed, seen.unembedded
    vectors = reported.get("vectors", {})
    return RecallFacts(
        from_worker=bool(reported),
        unindexed=unindexed,
        unindexed_before=before,
        configured=settings.vectors,
        vectors=vectors.get("state"),
        trouble=vectors.get("trouble"),
        unembedded=unembedded,
        pgvector=vectors.get("pgvector"),
        embedder=without_password(settings.embedder),
        has_model=settings.embedder != STATIC or find_spec("wordllama") is not None,
        has_chroma=find_spec("chromadb") is not None,
        chroma_url=settings.chroma_url,
        context=str(folder),
        context_exists=folder.exists(),
        context_writable=folder.is_dir() and is_writable(folder),
        injected=sum(each["times"] for each in reported["injected"].values()) if reported else None,
    )


def _recall_health(settings: Settings) -> dict[str, Any]:
    health = control.status(settings.data_dir, deadline_s=ANSWER_WITHIN_S).health or {}
    found = health.get("recall")
    return found if isinstance(found, dict) else {}


def _team(data_dir: Path) -> SharingStatus | None:
    """None: this machine has joined no team, or no worker can say so."""
    if not (data_dir / KEY_FILE).exists() or control.status(data_dir).state != "running":
        return None
    status, answer = control.request(data_dir, "GET", "/api/sharing", deadline_s=ANSWER_WITHIN_S)
    return convert(answer, SharingStatus) if status == 200 else None
