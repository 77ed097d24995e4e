"""A worker on a store in memory, run as a program of its own: the real life cycle, a stand-in for the store.

Files in its data directory steer it from outside: `disk-is-full` makes every write fail, `drain-is-slow`
makes a drain last as long as it is there, `bug` makes receiving fail as a bug would, `build-is-slow` makes
the start last as long as it is there, `session-is-busy` keeps a session from being let go of,
`model-hangs` makes observing last until it is ended, and `store-is-damaged` makes it find the damage.
A question of a hook about the prompt "hang" is never answered.
"""

from __future__ import annotations

import argparse
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from claude_mem.agents.claude_code import events as claude_code
from claude_mem.api.system import ContextState, IndexState, RecallProgress, VectorState
from claude_mem.model.errors import StoreDamaged, StoreUnavailable
from claude_mem.model.events import Event, Kind, Origin
from claude_mem.model.jobs import (
    OPEN_STATUSES,
    Job,
    JobState,
    QueueFigures,
    Session,
    SessionStatus,
    next_status,
)
from claude_mem.model.structs import replace
from claude_mem.serve.services import Recall, Services
from claude_mem.settings import Settings
from claude_mem.store import Store
from claude_mem.store.values import Accepted, Arrival


class Absent:
    """A part of the worker that these tests do without: whatever else than `known` is asked of it is
    unavailable."""

    def __init__(self, **known: object) -> None:
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        def unavailable(*_: object, **__: object) -> NoReturn:
            raise StoreUnavailable(f"{name} is not there")

        return unavailable


RECALL_PROGRESS = RecallProgress(IndexState(0), VectorState("off", 0, None), ContextState(True), {})


class MemoryStore:
    """The store's port, in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mutex = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._effects: set[tuple[str, str]] = set()
        self._jobs: list[Job] = []
        self._counters: Counter[str] = Counter()
        self.inbox = self.queue = self.sessions = self

    def accept(self, arrivals: Sequence[Arrival]) -> Accepted:
        self._writable()
        with self._mutex:
            fresh = [self._take(arrival) for arrival in arrivals]
            ids = tuple(self._sessions[arrival.event.session].id for arrival in arrivals)
            self._counters["accepted"] += sum(fresh)
            self._counters["duplicate"] += len(fresh) - sum(fresh)
            return Accepted(sum(fresh), len(fresh) - sum(fresh), ids)

    def _take(self, arrival: Arrival) -> bool:
        event, session = arrival.event, self._sessions.get(arrival.event.session)
        if (event.session, event.effect_key) in self._effects:
            return False
        self._effects.add((event.session, event.effect_key))
        if session is None:
            session = Session(
                id=len(self._sessions) + 1,
                claude_session_id=event.session,
                project=event.project or arrival.origin.name,
                status=SessionStatus.INITIALIZED,
                prompt_counter=0,
                first_user_prompt=event.text if event.kind is Kind.PROMPT else None,
                created_at_epoch=event.at,
                updated_at_epoch=event.at,
                cwd=event.cwd,
            )
        prompts = session.prompt_counter + (event.kind is Kind.PROMPT)
        self._sessions[event.session] = replace(
            session,
            status=next_status(session.status, event.kind),
            prompt_counter=event.prompt_number or prompts if event.kind is Kind.PROMPT else prompts,
            pending=session.pending + 1,
        )
        self._jobs.append(Job(len(self._jobs) + 1, event, prompts))
        return True

    def find(self, session: int | str) -> Session | None:
        if isinstance(session, str):
            session.encode()  # as SQLite would
            return self._sessions.get(session)
        return next((found for found in self._sessions.values() if found.id == session), None)

    def fail(self, session_id: int) -> None:
        self._writable()
        session = self.find(session_id)
        assert session is not None
        self._sessions[session.claude_session_id] = replace(session, status=SessionStatus.FAILED)

    def interrupt_silent(self, before: int) -> int:
        return 0

    def count_open(self) -> int:
        return sum(session.status in OPEN_STATUSES for session in self._sessions.values())

    def figures(self) -> QueueFigures:
        return QueueFigures(
            ready=len(self._jobs), oldest_ready_at=self._jobs[0].event.at if self._jobs else None
        )

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        found = [job for job in self._jobs if job.id > after] if state is JobState.READY else []
        reason: str | None = None
        return [(job, reason) for job in found[:limit]]

    def drop(self, job_ids: Sequence[int]) -> int:
        return 0

    def counters(self) -> dict[str, int]:
        return dict(self._counters)

    def count(self, name: str, by: int = 1) -> None:
        self._counters[name] += by

    def last_event_at(self) -> int | None:
        return self._jobs[-1].event.at if self._jobs else None

    def _writable(self) -> None:
        if (self._folder / "disk-is-full").exists():
            raise StoreUnavailable("disk full")


def build(settings: Settings, version: str = "0.1.0") -> Services:
    folder = settings.data_dir
    with (folder / "starts").open("a") as starts:
        starts.write(version + "\n")
    while (folder / "build-is-slow").exists():
        (folder / "building").touch()
        time.sleep(0.01)
    store = MemoryStore(folder)
    ids = itertools.count()
    let_go = threading.Event()

    def now() -> int:
        return time.time_ns() // 1_000_000

    def receive(name: str, payload: dict[str, object]) -> Accepted:
        if (folder / "bug").exists():
            raise RuntimeError("a bug that quotes its payload: " + str(payload))
        event = claude_code.parse(name, payload, id=f"api-{next(ids)}", at=now())
        if event is None or (event.tool is not None and event.tool.name in settings.skip_tools):
            return Accepted()
        return take(event)

    def take(event: Event) -> Accepted:
        origin = Origin("here", Path(event.cwd or "/somewhere").name, event.cwd or "/somewhere")
        return store.inbox.accept([Arrival(event, origin)])

    def spooled() -> list[Path]:
        return sorted((folder / "spool").glob("[0-9]*.json"))

    def drain() -> int:
        while (folder / "drain-is-slow").exists():
            (folder / "draining").touch()
            time.sleep(0.01)
        files = spooled()
        for file in files:
            take(Event(file.name, now(), Kind.TOOL_USE, "spooled"))
            file.unlink()
        return len(files)

    def pump() -> None:
        if (folder / "store-is-damaged").exists():
            raise StoreDamaged("claude-mem.db", "malformed")
        if (folder / "model-hangs").exists():
            (folder / "asking").touch()
            let_go.wait()

    def ask(question: dict[str, object]) -> str:
        if question.get("payload") == {"prompt": "hang"}:
            let_go.wait()
        return ""

    def abort(session_id: int) -> bool:
        (folder / f"aborting-{session_id}").touch()
        return not (folder / "session-is-busy").exists()

    absent: Any = Absent()
    background: Any = Absent(step=lambda: False, progress=lambda: RECALL_PROGRESS)
    injector: Any = Absent(answer=ask)
    parts = dict.fromkeys(Recall.__struct_fields__, absent)
    recall = Recall(**parts | {"background": background, "injector": injector})
    return Services(
        settings=settings,
        version=version,
        clock=now,
        store=cast(Store, store),
        receive=receive,
        drain=drain,
        spooled=lambda: (len(files := spooled()), sum(file.stat().st_size for file in files)),
        drops=lambda: {"spool_full": 2},
        maintain={"upkeep": (folder / "maintained").touch},
        close=lambda: (folder / "closed").touch() if folder.exists() else None,
        pump=pump,
        abort=abort,
        interrupt_work=let_go.set,
        observer_state=dict,
        resume=lambda job_ids: 0,
        check_settings=str,
        backfill=absent,
        recall=recall,
    )


def main() -> int:
    from claude_mem.serve import hook_socket
    from claude_mem.serve.lifecycle import run

    parser = argparse.ArgumentParser()
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--port", type=int, default=37777)
    parser.add_argument("--version", default="0.1.0")
    parser.add_argument("--from-hook", action="store_true")
    parser.add_argument("--successor", type=json.loads)
    parser.add_argument("--delete-timeout-ms", type=int, default=15_000)
    parser.add_argument("--ask-within-s", type=float, default=hook_socket.WITHIN_S)
    given = parser.parse_args()
    hook_socket.WITHIN_S = given.ask_within_s
    return run(
        Settings(given.data_dir, worker_port=given.port, delete_timeout_ms=given.delete_timeout_ms),
        lambda settings: build(settings, given.version),
        from_hook=given.from_hook,
        version=given.version,
        successor=given.successor,
    )


if __name__ == "__main__":
    raise SystemExit(main())
