"""What doctor knows before it judges: facts, each of which may also be unknown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from msgspec import Struct, field

from claude_mem.serve.pause_switches import Paused
from claude_mem.settings import SettingWarning

Level = Literal["ok", "warn", "bad"]


class Finding(Struct, frozen=True):
    check: str
    level: Level
    says: str
    next: str | None = None  # the next step, where one is needed
    stops: str | None = None  # why nothing is recorded, where that is so
    hinders: str | None = None  # why nothing recorded becomes memory, where that is so


def ok(check: str, says: str, next: str | None = None) -> Finding:
    return Finding(check, "ok", says, next)


def warn(check: str, says: str, next: str | None = None, *, hinders: str | None = None) -> Finding:
    return Finding(check, "warn", says, next, hinders=hinders)


def bad(check: str, says: str, next: str, *, stops: str | None = None, hinders: str | None = None) -> Finding:
    return Finding(check, "bad", says, next, stops, hinders)


class Connected(Struct, frozen=True):
    how: tuple[str, ...]  # each connection there is, in words
    current: bool = True  # an install would change nothing


class Unknown(Struct, frozen=True):
    """It could not be found out; `why` is a short clause."""

    why: str


class Interpreter(Struct, frozen=True):
    path: str
    version: str
    sqlite: str
    start_ms: float | Unknown  # of `python -I -S -c pass`, the floor of every hook


class Directory(Struct, frozen=True):
    path: str
    exists: bool
    obstacle: str | None = None  # why it cannot be made, where it is not there
    is_directory: bool = True
    owner: int = 0
    me: int = 0
    writable: bool = True
    open_to_others: tuple[str, ...] = ()  # what others can reach, the first few by name
    open_count: int = 0
    foreign: tuple[str, ...] = ()  # what belongs to another user
    filesystem: str | None = None


class Configuration(Struct, frozen=True):
    off: str | None = None  # the variable that switches recording off
    warnings: tuple[SettingWarning, ...] = ()


class Worker(Struct, frozen=True):
    state: str  # running, starting, stopped, hung
    pid: int | None = None
    port: int | None = None
    version: str | None = None
    ours: str = ""
    wanted_port: int = 37777
    hook_socket_answers: bool | Unknown = False
    trouble: str | None = None  # why it can take nothing in just now
    mishaps: int = 0  # failures its loops have swallowed so as to go on
    hung_asks: int = 0  # recall hooks' questions that do not return
    observer: str | None = None  # who observes, as it says itself
    paused: str | None = None  # why nobody does at the moment
    spent_up: str | None = None  # which budget kept the last batch from the model


class Spool(Struct, frozen=True):
    files: int = 0
    bytes: int = 0
    most_files: int = 0
    most_bytes: int = 0
    oldest_age_s: float | None = None
    newest_age_s: float | None = None  # of the last event that was ever admitted
    aside: int = 0


class Queue(Struct, frozen=True):
    ready: int = 0
    leased: int = 0
    parked: int = 0
    done: int = 0
    oldest_age_s: float | None = None


class Database(Struct, frozen=True):
    exists: bool = False
    bytes: int = 0
    schema: int | None = None
    known_schema: int = 0
    problem: str | None = None  # what a look at it found: damaged, foreign, too new
    checked: bool = False  # read through, not only looked at
    figures: Queue | None = None  # None: there is none, or it is of another schema
    last_event_age_s: float | None = None
    last_observation_age_s: float | None = None
    spent_tokens: int | None = None  # today; None, both: not known
    spent_usd: float | None = None
    free: int | None = None  # bytes in it, unused; None: not known
    log: int = 0
    grows: float | None = None  # bytes a day; None: not known
    backups: int = 0
    newest_backup_age_s: float | None = None


class Observing(Struct, frozen=True):
    """What the settings come to, seen from here; the worker may have been started from elsewhere."""

    provider: str
    why: str
    mode_problem: str | None = None
    daily_tokens: int = 0  # the limits; 0: none
    daily_usd: float = 0.0


class Recall(Struct, frozen=True):
    """What finds and tells. The worker says how it is; without one, what lies on the disk does."""

    told_by_worker: bool = False
    unindexed: int | None = None  # rows that full text does not find yet; None, also below: not known
    unindexed_before: int | None = None  # a moment earlier
    wanted: str = "builtin"  # who is to keep the vectors: builtin, chroma, off
    vectors: str | None = None  # as the worker says: on, off, unavailable
    trouble: str | None = None  # why they are unavailable
    unembedded: int | None = None
    model_there: bool = True
    chroma_there: bool = True
    chroma_url: str | None = None
    context: str = ""  # the folder of what sessions are told at their start
    context_exists: bool = True
    context_writable: bool = True
    told: int | None = None  # how often a session was told something


class Disk(Struct, frozen=True):
    free: int
    total: int


class Facts(Struct, frozen=True):
    interpreter: Interpreter | Unknown
    directory: Directory | Unknown
    configuration: Configuration | Unknown
    worker: Worker | Unknown
    spool: Spool | Unknown
    database: Database | Unknown
    observing: Observing | Unknown
    recall: Recall | Unknown
    drops: dict[str, int] | Unknown
    disk: Disk | Unknown
    paused: Paused | Unknown = field(default_factory=Paused)
    connected: Connected | Unknown = field(default_factory=lambda: Connected(("by hand",)))


T = TypeVar("T")


class Question(Generic[T]):
    """Asked in a thread of its own from the moment it is made. A dead network file system blocks a plain
    `stat` for minutes; the thread that waits for it is left behind."""

    def __init__(self, find_out: Callable[[], T]) -> None:
        self._answer: T | Unknown = Unknown("no answer in time")
        self._thread = threading.Thread(target=self._ask, args=(find_out,), daemon=True)
        self._thread.start()

    def answer(self, until: float) -> T | Unknown:
        """`until` is a moment of the monotonic clock."""
        self._thread.join(max(0.0, until - time.monotonic()))
        return self._answer

    def _ask(self, find_out: Callable[[], T]) -> None:
        try:
            self._answer = find_out()
        except Exception as error:  # whatever is broken is what doctor is here to tell
            self._answer = Unknown(str(error) or type(error).__name__)
