"""The memory agent is the real client too: with our hooks and plugin in its home it must not watch itself.

Both sides run Claude Code against a scripted server of their own: the user's session, and the observer as
claude-mem starts it. What the model's side does to the observer reaches neither the user nor an event.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.harness import checker, workers
from tests.harness.claude import Claude, Playing, Ran, real_client
from tests.harness.model_script import Hang, Raw, Request, Say, Status, Step, Use
from tests.harness.model_server import ModelServer

from claude_mem.serve import control

PROSE = "I looked at the session and found nothing out of the ordinary. Shall I go on?"
LONG_MS, SHORT_MS = 600_000, 2_000  # how long the memory agent waits for its model


class Moody:
    """A model that does `step` until it is told better; then it says something new each time."""

    def __init__(self, step: Step) -> None:
        self.step: Step | None = step
        self._numbers = count(1)

    def __call__(self, request: Request) -> Step:
        n = next(self._numbers)
        said = f"<observation><title>Finding {n}</title><facts><fact>It is {n}.</fact></facts></observation>"
        return self.step or Say(said)


@dataclass(frozen=True, slots=True)
class Watched:
    """A client whose sessions are observed through the Agent SDK."""

    claude: Claude
    observer: ModelServer
    mood: Moody

    def start(self, patience_ms: int) -> None:
        self.claude.mem(
            *("worker", "start"),
            CLAUDE_MEM_PROVIDER="claude",
            ANTHROPIC_BASE_URL=self.observer.url,
            API_TIMEOUT_MS=str(patience_ms),
        )

    def work(self) -> Ran:
        """A session with one use of a tool; it goes as if nobody looked on."""
        use = Use("Bash", {"command": "echo made"})
        with ModelServer(Playing([Say("", uses=(use,)), Say("Done.")])) as server:
            ran = self.claude.run(server, "Make it.")
        assert (ran.code, ran.result, ran.err) == (0, "Done.", "")
        return ran

    def given_back(self, asked: int = 1) -> None:
        """Wait until the observer was asked, and the batch has gone back to the queue, or aside."""
        self.observer.wait_for_request(asked)
        workers.until(lambda: "leased" not in workers.states(self.claude.data), "nobody works on it")

    def later(self) -> None:
        """As if the time were over for which batches are held back."""
        workers.finish(self.claude.data)
        with closing(sqlite3.connect(self.claude.data / "claude-mem.db")) as db, db:
            db.execute("UPDATE pending_messages SET not_before_epoch = 0 WHERE state = 'ready'")
        self.start(LONG_MS)

    def paused(self) -> object:
        health: dict[str, Any] = control.status(self.claude.data).health or {}
        return health["observer"]["paused"]

    def agents(self) -> list[int]:
        """Every Claude Code that runs in this home, the user's or ours."""
        mark = b"HOME=" + os.fsencode(self.claude.home) + b"\0"
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_claude = (process / "exe").readlink() == real_client()
                if is_claude and mark in (process / "environ").read_bytes() + b"\0":
                    found.append(int(process.name))
        return found

    def transcripts(self) -> set[str]:
        return {path.stem for path in self.claude.config.glob("projects/**/*.jsonl")}

    def sessions(self) -> set[str]:
        return {id for (id,) in self.claude.rows("SELECT claude_session_id FROM sdk_sessions")}


@contextmanager
def observed(claude: Claude, mood: Moody, patience_ms: int) -> Iterator[Watched]:
    with ModelServer(mood) as observer:
        watched = Watched(claude, observer, mood)
        watched.start(patience_ms)
        yield watched
        workers.finish(claude.data)


def test_the_observer_is_not_observed_and_leaves_no_transcript_and_no_process(claude: Claude) -> None:
    with observed(claude, Moody(Hang()), LONG_MS) as watched:
        ran = watched.work()
        watched.observer.wait_for_request()
        assert watched.agents(), "it is at work"
        watched.mood.step = None
        watched.observer.release()
        claude.settle()
        workers.until(lambda: watched.agents() == [], "none is left when it is idle")
        assert claude.rows("SELECT count(*) FROM observations") == [(1,)]
        # The user's own client has left both, in the same home.
        assert watched.sessions() == {ran.session}
        assert watched.transcripts() == {ran.session}
    assert {asked.path for asked in watched.observer.requests} == {"/v1/messages?beta=true"}
    assert all(asked.body["tools"] == [] for asked in watched.observer.requests)


def pauses_with_one_message_until_the_user_has_mended_it(watched: Watched) -> None:
    workers.until((watched.claude.data / "notice").exists, "there is something to tell")
    asked, told = len(watched.observer.requests), []
    for ran in (watched.work(), watched.work()):
        (start,) = ran.hooks("SessionStart")
        told.append(json.loads(start["stdout"]).get("systemMessage", ""))
    workers.drained(watched.claude.data)
    assert told == [f"claude-mem: {watched.paused()}", ""]
    assert "(401)" in told[0]
    assert "/login" in told[0]
    assert len(watched.observer.requests) == asked
    watched.mood.step = None
    watched.claude.mem("queue", "retry")


def waits_as_told_and_asks_nobody_in_between(watched: Watched) -> None:
    watched.work()
    workers.drained(watched.claude.data)
    assert len(watched.observer.requests) == 1
    held = "SELECT min(not_before_epoch - created_at_epoch) FROM pending_messages WHERE reason NOT NULL"
    assert watched.claude.rows(held)[0][0] >= 50_000
    watched.mood.step = None
    watched.later()


def is_asked_again_and_no_attempt_is_counted(watched: Watched) -> None:
    failed = "SELECT max(attempts), count(reason) > 0 FROM pending_messages WHERE state = 'ready'"
    assert watched.claude.rows(failed) == [(0, 1)]
    watched.mood.step = None
    watched.later()


def parks_with_a_preview_what_it_cannot_read_three_times(watched: Watched) -> None:
    for asked in (2, 3):
        assert "parked" not in workers.states(watched.claude.data)
        watched.later()
        watched.given_back(asked)
    assert workers.states(watched.claude.data).keys() == {"done", "parked"}
    reasons = watched.claude.rows("SELECT DISTINCT reason FROM pending_messages WHERE state = 'parked'")
    assert [PROSE[:40] in reason for (reason,) in reasons] == [True]
    watched.mood.step = None
    watched.claude.mem("queue", "retry")


MOODS: dict[str, tuple[Step, Callable[[Watched], None]]] = {
    "401": (
        Status(401, type="authentication_error"),
        pauses_with_one_message_until_the_user_has_mended_it,
    ),
    "429": (
        Status(429, {"Retry-After": "50"}, type="rate_limit_error"),
        waits_as_told_and_asks_nobody_in_between,
    ),
    "500": (Status(500, type="api_error"), is_asked_again_and_no_attempt_is_counted),
    "529": (Status(529, type="overloaded_error"), is_asked_again_and_no_attempt_is_counted),
    "hang": (Hang(), is_asked_again_and_no_attempt_is_counted),
    "a proxy's page": (Raw(b"<html>Sorry.</html>", "text/html"), is_asked_again_and_no_attempt_is_counted),
    "garbage": (Say(PROSE), parks_with_a_preview_what_it_cannot_read_three_times),
}


@pytest.mark.parametrize(("step", "suffers"), MOODS.values(), ids=MOODS)
def test_whatever_the_models_side_does_nothing_of_a_session_is_lost(
    claude: Claude, step: Step, suffers: Callable[[Watched], None]
) -> None:
    with observed(claude, Moody(step), SHORT_MS if isinstance(step, Hang) else LONG_MS) as watched:
        watched.work()
        watched.given_back()
        assert claude.rows("SELECT count(*) FROM observations") == [(0,)]
        suffers(watched)

        claude.settle()
        assert watched.paused() is None
        used = [
            id for (id,) in claude.rows("SELECT tool_use_id FROM pending_messages WHERE tool_name = 'Bash'")
        ]
        assert len(used) == len(watched.transcripts()), "one in each session"
        assert checker.check(claude.data, used) == {"done": len(used), "spooled": 0}
        remembered = claude.rows("SELECT tool_use_ids FROM observations")
        assert {id for (ids,) in remembered for id in json.loads(ids)} == set(used)
        assert watched.sessions() == watched.transcripts(), "of the user's sessions, and of nothing else"
        workers.until(lambda: watched.agents() == [], "no agent is left")
