"""Both vector backends, with the same contract; Chroma in a folder and on a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contracts.store_contract import ORIGIN, Events, SettableClock, new_events
from tests.contracts.vectors_contract import PROJECTS, Open, VectorsContract
from tests.harness.postgres import NEEDS_OLDEST, Version, drop_pgvector, new_database
from tests.unit.vectors.chroma_server import chroma, free_port, serving
from tests.unit.vectors.memories import Memories, in_two_projects, opened

from claude_mem.model.memory import Findings, Observation
from claude_mem.model.refs import Filters, Ref, memory_key, wide_key
from claude_mem.model.structs import replace
from claude_mem.store.postgres import PostgresStore
from claude_mem.vectors.backend import VectorBackend
from claude_mem.vectors.builtin import Builtin

if TYPE_CHECKING:
    from claude_mem.vectors.chroma import Chroma


EACH = 100


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    with opened(tmp_path) as memories:
        yield memories


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server"), free_port()) as url:
        yield url


class TestBuiltin(VectorsContract):
    @pytest.fixture
    def memory_keys(self, memories: Memories) -> list[int]:
        return in_two_projects(memories, EACH)

    @pytest.fixture
    def place(self, memories: Memories) -> Open:
        return lambda: Builtin(memories.table)

    @pytest.fixture
    def gone(self, tmp_path: Path) -> VectorBackend:
        with opened(tmp_path / "closed") as memories:
            return Builtin(memories.table)


class _InPostgres(VectorsContract):
    version: Version = "newest"
    compares = "PostgreSQL"

    @pytest.fixture
    def url(self) -> str:
        return new_database(self.version)

    @pytest.fixture
    def store(self, url: str) -> Iterator[PostgresStore]:
        with PostgresStore.open(url, clock=SettableClock()) as store:
            yield store
            assert (store.vectors.nearest([1.0], None, 1) is not None) == (self.compares == "PostgreSQL")

    @pytest.fixture
    def memory_keys(self, store: PostgresStore) -> list[int]:
        events, keys = Events(), []
        for project in PROJECTS:
            origin = replace(ORIGIN, key=f"project {project}")
            store.events.accept(new_events(events.tool(f"s{project}"), origin=origin))
            lease = store.queue.lease(1)
            assert lease is not None
            told = tuple(Observation("change", title=f"{project} {number}") for number in range(EACH))
            store.queue.settle(lease, Findings(told))
        for card in store.memories.list_cards(Filters(kinds=("observation",)), limit=1000):
            keys.append(wide_key(card.session_db_id, card.ref))
        return sorted(keys)

    @pytest.fixture
    def place(self, store: PostgresStore) -> Open:
        return lambda: Builtin(store.vectors)

    @pytest.fixture
    def gone(self) -> VectorBackend:
        with PostgresStore.open(new_database(), clock=SettableClock()) as closed:
            return Builtin(closed.vectors)


class TestPgvector(_InPostgres):
    """Where PostgreSQL has the extension, it compares."""


@pytest.mark.prove
class TestPostgresWithoutPgvector(_InPostgres):
    compares = "each process"

    @pytest.fixture
    def store(self, url: str) -> Iterator[PostgresStore]:
        with PostgresStore.open(url, clock=SettableClock()) as store:
            drop_pgvector(url)
            yield store
            assert store.vectors.nearest([1.0], None, 1) is None


@pytest.mark.prove
@NEEDS_OLDEST
class TestBuiltinInOldestPostgres(_InPostgres):
    version = "oldest"
    compares = "each process"


@pytest.mark.prove
class _Chroma(VectorsContract):
    @pytest.fixture
    def memory_keys(self) -> list[int]:
        return [
            memory_key(project, project, Ref("observation", id))
            for project in PROJECTS
            for id in range(1, EACH + 1)
        ]

    @pytest.fixture
    def address(self, tmp_path: Path) -> tuple[Path, str | None]:
        raise NotImplementedError

    @pytest.fixture
    def place(self, address: tuple[Path, str | None], request: pytest.FixtureRequest) -> Iterator[Open]:
        made: list[Chroma] = []
        stamp = f"{abs(hash(request.node.nodeid)):x}"

        def open_() -> VectorBackend:
            made.append(chroma(*address))
            if not made[-1].open(stamp):
                made[-1].begin(stamp, None)
            return made[-1]

        yield open_
        for one in made:
            with suppress(Exception):
                one.close()

    @pytest.fixture
    def gone(self, tmp_path: Path) -> Iterator[VectorBackend]:
        with closing(chroma(tmp_path / "none", f"http://127.0.0.1:{free_port()}")) as absent:
            yield absent


class TestChromaInAFolder(_Chroma):
    @pytest.fixture
    def address(self, tmp_path: Path) -> tuple[Path, str | None]:
        return tmp_path / "chroma", None


class TestChromaBesidePostgres(TestChromaInAFolder):
    """By keys that have no project."""

    @pytest.fixture
    def memory_keys(self) -> list[int]:
        return [
            wide_key(project, Ref("observation", id)) for project in PROJECTS for id in range(1, EACH + 1)
        ]


class TestChromaServer(_Chroma):
    @pytest.fixture
    def address(self, tmp_path: Path, server: str) -> tuple[Path, str | None]:
        return tmp_path / "unused", server
