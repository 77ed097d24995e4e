"""A team on a real PostgreSQL, for tests: its members by name, each with a key, and records to share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.contracts.store_contract import NOON, SettableClock
from tests.harness.postgres import Version, new_database

from claude_mem.api.team import Level, NewGrant, NewKey, NewMember, Scope
from claude_mem.model.records import content_key_of, name_of, name_of_prompt, name_of_summary
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.team import Identity, acting_as, acting_as_service
from claude_mem.store.values import ImportResult

ADMIN = "ada"
ALL: tuple[Scope, ...] = ("read", "write", "admin")


class Team:
    """`admin` is the first member. Each method acts as whom it says."""

    def __init__(self, url: str) -> None:
        self.url, self.clock = url, SettableClock()
        self.store = PostgresStore.open(url, clock=self.clock, server=True)
        self.begin()

    def begin(self) -> None:
        with acting_as_service():
            secret, _ = self.store.directory.begin(ADMIN, "laptop")
        self.admin = self.identity(secret)

    def identity(self, secret: str) -> Identity:
        with acting_as_service():
            found = self.store.directory.authenticate(secret)
        assert found is not None
        return found

    def member(self, name: str, machine: str = "laptop", *, scopes: Sequence[Scope] = ALL) -> Identity:
        """Added if it is new; with a new key."""
        with acting_as(self.admin):
            if name not in {each.name for each in self.store.directory.members()}:
                self.store.directory.add_member(NewMember(name=name))
            secret, _ = self.store.directory.add_key(
                NewKey(member=name, machine=machine, scopes=tuple(scopes))
            )
        return self.identity(secret)

    def grant(self, project: str, member: str, level: Level) -> None:
        with acting_as(self.admin):
            self.store.directory.grant(NewGrant(project=project, member=member, level=level))

    def push(self, who: Identity, records: Sequence[dict[str, Any]]) -> ImportResult:
        with acting_as(who):
            return self.store.sharing.push(records)

    def index(self) -> None:
        with acting_as_service():
            while self.store.text_index.step():
                pass

    def close(self) -> None:
        self.store.close()


@contextmanager
def running(version: Version = "newest") -> Iterator[Team]:
    team = Team(new_database(version))
    try:
        yield team
    finally:
        team.close()


def project(key: str = "example.org/shop") -> dict[str, Any]:
    return {"kind": "project", "key": key, "name": key.rpartition("/")[2], "root": f"/home/x/{key}"}


def session(name: str, key: str = "example.org/shop") -> dict[str, Any]:
    return {
        "kind": "session",
        "session_id": name,
        "project": key,
        "client": "codex",
        "cwd": f"/home/x/{key}",
        "title": f"About {key}",
        "created_at": NOON,
    }


def observation(name: str, title: str, **more: object) -> dict[str, Any]:
    plain = {"kind": "observation", "session_id": name, "type": "decision", "title": title, "at": NOON}
    return plain | more


def summary(name: str, words: str, at: int = NOON) -> dict[str, Any]:
    return {"kind": "summary", "session_id": name, "request": words, "completed": words, "at": at}


def prompt(name: str, words: str, number: int = 1) -> dict[str, Any]:
    return {"kind": "prompt", "session_id": name, "number": number, "text": words, "at": NOON}


def shared(name: str, title: str, key: str = "example.org/shop") -> list[dict[str, Any]]:
    """A project, a session and one of each kind."""
    made = [project(key), session(name, key), observation(name, title)]
    return [*made, summary(name, f"{title} done"), prompt(name, f"{title} asked")]


def named(record: dict[str, Any]) -> str:
    """What a record goes by."""
    if record["kind"] == "summary":
        return name_of_summary(record["session_id"], record["at"])
    if record["kind"] == "prompt":
        return name_of_prompt(record["session_id"], record["number"])
    return name_of(record["session_id"], record["at"], content_key_of(record))
