"""The exchange is ended before or after each thing that it does, one after the other, and begins anew: both
sides come to the same, whichever it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from tests.harness.scripted_team import Answer, ScriptedTeam, lines

from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.records import Record, digest_of
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import TeamLink
from claude_mem.store.outbox import Outbox
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import ForgetPlan, ImportResult
from claude_mem.team.exchange import Exchange, Sides
from claude_mem.team.merged import MergedBranches
from claude_mem.team.outgoing import record_name

NOON = 1_760_000_000_000
PROJECT = {"kind": "project", "key": "git.example/shop", "name": "shop"}


class Killed(BaseException):
    """As if the process had ended here."""


class Fuse:
    """Ends the exchange at the nth of the things that it does, once."""

    def __init__(self, at: int) -> None:
        self.left = at

    def burn(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    def on(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            self.burn()
            done = call(*given, **named)
            self.burn()
            return done

        return called


class FusedOutbox:
    def __init__(self, outbox: Outbox, fuse: Fuse) -> None:
        self._outbox, self._fuse = outbox, fuse

    def __getattr__(self, name: str) -> Any:
        return self._fuse.on(getattr(self._outbox, name))


class Server:
    """What a team's server remembers of a machine, by the names of memories."""

    def __init__(self) -> None:
        self.has: set[str] = set()
        self.told: set[str] = set()
        self.acknowledged: set[str] = set()
        old = {"session_id": "b1", "author": "ben"}
        of_ben = {"kind": "observation", "type": "decision", **old}
        self.kept = {**of_ben, "title": "Tests are sentences", "at": NOON}
        self.gone = {**of_ben, "title": "Tests are numbers", "at": NOON + 1}
        self.session = {"kind": "session", "project": PROJECT["key"], "created_at": NOON, **old}

    def answer(self, _method: str, path: str, body: bytes) -> Answer:
        if path == "/api/team/push":
            sent = [json.loads(line) for line in body.splitlines()]
            self.has |= {record_name(each) for each in sent if each["kind"] == "observation"}
        elif path == "/api/team/forget":
            names = json.loads(body)["names"]
            self.told |= set(names)
            self.has -= set(names)
            return 200, json.dumps({"ids": ["f9"] * len(names)}).encode()
        elif path == "/api/team/acknowledge":
            self.acknowledged |= set(json.loads(body)["ids"])
        elif "cursor=&" in path:
            return lines(PROJECT, self.session, self.kept, self.gone, cursor="1", more=True)
        else:
            digest = digest_of(record_name(self.gone))
            forget = {"kind": "forget", "id": "f1", "of": "observation", "digest": digest, "at": NOON + 1}
            waiting = [] if "f1" in self.acknowledged else [forget]
            return lines(*waiting, cursor="2")
        return 200, b"{}"


class Life:
    """A machine whose exchange may be ended, and begins anew."""

    def __init__(self, store: SqliteStore, team: ScriptedTeam) -> None:
        self.store, self.team = store, team
        link = TeamLink(url=team.url, member="ada", machine="laptop", key_id="k1", joined_at=NOON)
        store.outbox.join(link)

    def add(self, title: str) -> int:
        origin = Origin(key="git.example/shop", name="shop", root="")
        observation = Observation("decision", title=title, narrative=f"{title}, for a reason.")
        ref, _ = self.store.memories.remember(
            observation, origin, session="s1", at=NOON, source="work", client="claude"
        )
        return ref.id

    def exchange(self, fuse: Fuse) -> None:
        def absorb(records: Sequence[Record], author: str) -> ImportResult:
            return self.store.transfer.absorb(records, own=False, author=author)

        def forget(refs: Sequence[Ref], sessions: Sequence[str]) -> None:
            self.store.deletion.forget(ForgetPlan(tuple(refs), tuple(sessions)))

        outbox = cast(Outbox, FusedOutbox(self.store.outbox, fuse))
        sides = Sides(
            absorb=fuse.on(absorb), forget=fuse.on(forget), fit=dict, key=lambda: "cmk_x", notify=pytest.fail
        )
        branches = MergedBranches(self.store.outbox, lambda: NOON)
        Exchange(outbox, sides, branches, lambda: NOON, lambda: 0.0).now()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[], Path]:
    numbers = count()
    return lambda: tmp_path / str(next(numbers))


@pytest.mark.prove
def test_wherever_it_is_ended_both_sides_come_to_the_same(folder: Callable[[], Path]) -> None:
    points = 0
    for at in count(1):
        here, server = folder(), Server()
        here.mkdir()
        with (
            ScriptedTeam(server.answer) as team,
            SqliteStore.open(here / "x.db", clock=lambda: NOON, backups=here / "b") as store,
        ):
            life, fuse = Life(store, team), Fuse(at)
            ids = [life.add(title) for title in ("Prices are integers", "Names are short", "Logs are JSON")]
            project = store.projects.by_key("git.example/shop")
            assert project is not None
            store.outbox.share(project.id, prompts=False)
            try:
                life.exchange(fuse)
            except Killed:
                points += 1
            store.deletion.forget(ForgetPlan(refs=(Ref("observation", ids[0]),)))
            try:
                life.exchange(fuse)
            except Killed:
                points += 1
            life.exchange(Fuse(0))
            own, of_ben = titles(store, None), titles(store, "ben")
            assert own == ["Logs are JSON", "Names are short"]
            assert of_ben == ["Tests are sentences"]
            assert len(server.has) == 2, at
            assert server.acknowledged == {"f1"}
            figures = store.outbox.figures()
            assert (figures.due, figures.waiting, figures.forgets, figures.acknowledgements) == (0, {}, 0, 0)
        if fuse.left > 0:
            break
    assert points > 50


def titles(store: SqliteStore, author: str | None) -> list[str]:
    with store.readers.read() as db:
        rows = db.tuples(
            "SELECT o.title FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id "
            "WHERE s.author IS :author ORDER BY o.title",
            {"author": author},
        )
    return [title for (title,) in rows]
