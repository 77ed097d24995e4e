"""A worker run as a program of its own: the real one, whose parts fail as files in its data directory say.

`disk-is-full` makes writes of events fail, `drain-is-slow` makes a drain last as long as it is there, `bug`
makes receiving fail as a bug would, `build-is-slow` makes the start last as long as it is there,
`session-is-busy` keeps a session from being let go of, `model-hangs` makes observing last until it is ended,
and `store-is-damaged` makes it find the damage. A question of a hook about the prompt "hang" is not answered.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from claude_mem.model.errors import StoreDamaged, StoreUnavailable
from claude_mem.model.memory import Failure, Paused
from claude_mem.model.structs import replace
from claude_mem.providers.registry import Prompt, Reply
from claude_mem.recall.inject import Injector
from claude_mem.serve import hook_socket
from claude_mem.serve.data_dir import prepare_data_dir
from claude_mem.serve.lifecycle import run
from claude_mem.serve.services import Services
from claude_mem.settings import Settings
from claude_mem.wiring import worker_services


class HangingModel:
    def __init__(self) -> None:
        self.closed = threading.Event()

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        return Paused("It only hangs.")

    def close(self) -> None:
        self.closed.set()


def before(part: object, name: str, happens: Callable[..., None]) -> None:
    """Something happens before each call of a method."""
    method = getattr(part, name)

    def called(*given: Any, **named: Any) -> Any:
        happens(*given)
        return method(*given, **named)

    setattr(part, name, called)


class AskedInjector(Injector, frozen=True, kw_only=True):
    ask: Callable[[dict[str, object]], str]

    def answer(self, question: dict[str, object]) -> str:
        return self.ask(question)


def asking(services: Services, ask: Callable[[dict[str, object]], str]) -> Services:
    """With recall hooks answered by `ask`."""
    given = {name: getattr(services.recall.injector, name) for name in Injector.__struct_fields__}
    injector = AskedInjector(ask=ask, **given)
    return replace(services, recall=replace(services.recall, injector=injector))


def build(settings: Settings, version: str = "0.1.0") -> Services:
    """The real services, which fail as the files say."""
    folder = settings.data_dir
    with (folder / "starts").open("a") as starts:
        starts.write(version + "\n")
    while (folder / "build-is-slow").exists():
        (folder / "building").touch()
        time.sleep(0.01)
    services = worker_services.build(replace(settings, provider="offline"))
    model = HangingModel()
    pump, intake, store = services.observing.pump, services.intake, services.store

    def full(*_: object) -> None:
        if (folder / "disk-is-full").exists():
            raise StoreUnavailable("disk full")

    def bug(_: str, payload: object) -> None:
        if (folder / "bug").exists():
            raise RuntimeError("a bug that quotes its payload: " + str(payload))

    def slow(*_: object) -> None:
        while (folder / "drain-is-slow").exists():
            (folder / "draining").touch()
            time.sleep(0.01)

    def observing(*_: object) -> None:
        if (folder / "store-is-damaged").exists():
            raise StoreDamaged("claude-mem.db", "malformed")
        if (folder / "model-hangs").exists():
            (folder / "asking").touch()
            model.closed.wait()

    def ask(question: dict[str, object]) -> str:
        if question.get("payload") == {"prompt": "hang"}:
            model.closed.wait()
        return services.recall.injector.answer(question)

    let_go = pump.abort

    def abort(session_id: int, within_s: float) -> bool:
        (folder / f"aborting-{session_id}").touch()
        return let_go(session_id, within_s) and not (folder / "session-is-busy").exists()

    def close() -> None:
        services.close()
        if folder.exists():
            (folder / "closed").touch()

    before(store.events, "accept", full)
    before(store.sessions, "fail", full)
    before(intake, "receive", bug)
    before(intake, "drain", slow)
    before(pump, "step", observing)
    pump.abort = abort  # type: ignore[method-assign]
    hanging = replace(services.observing, model=model)

    def interrupt() -> None:
        hanging.interrupt()
        services.interrupt()

    return replace(
        asking(services, ask),
        version=version,
        observing=hanging,
        interrupt=interrupt,
        maintenance={**services.maintenance, "upkeep": (folder / "maintained").touch},
        close=close,
    )


@contextmanager
def built(folder: Path) -> Iterator[Services]:
    """In this process, for as long as the block runs."""
    prepare_data_dir(folder)
    with chdir(folder):
        services = build(Settings(folder))
        try:
            yield services
        finally:
            services.close()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--port", type=int, default=37777)
    parser.add_argument("--version", default="0.1.0")
    parser.add_argument("--vectors", default="builtin")
    parser.add_argument("--from-hook", action="store_true")
    parser.add_argument("--successor", type=json.loads)
    parser.add_argument("--delete-timeout-ms", type=int, default=15_000)
    parser.add_argument("--ask-within-s", type=float, default=hook_socket.QUERY_WITHIN_S)
    given = parser.parse_args()
    hook_socket.QUERY_WITHIN_S = given.ask_within_s
    return run(
        Settings(
            given.data_dir,
            worker_port=given.port,
            delete_timeout_ms=given.delete_timeout_ms,
            vectors=given.vectors,
        ),
        lambda settings: build(settings, given.version),
        from_hook=given.from_hook,
        version=given.version,
        successor=given.successor,
    )


if __name__ == "__main__":
    raise SystemExit(main())
