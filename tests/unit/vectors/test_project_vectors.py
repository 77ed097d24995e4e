"""Whose vectors a team's server compares: run on the real table of a team."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from tests.harness import team_servers
from tests.harness.postgres import drop_pgvector, new_database
from tests.harness.team_servers import AT

from claude_mem.model.refs import Filters, wide_key
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.team import Identity, acting_as, acting_as_service
from claude_mem.vectors.builtin import ProjectVectors

ADA = Identity(member="ada", machine="laptop", key_id=1, scopes=("read", "write", "admin"), admin=True)
BEN = Identity(member="ben", machine="laptop", key_id=2, scopes=("read", "write"))
SIZE = 16


def vector(at: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    found = np.full(SIZE, 0.1, dtype=np.float32)
    found[at % SIZE] = 1.0
    return found


class Team:
    """ada shared the shop, which ben reads, and the den, which he does not."""

    def __init__(self, store: PostgresStore, url: str) -> None:
        self.store, self.url = store, url
        self.keys: dict[str, list[int]] = {}

    def share(self, project: str, session: str, count: int) -> None:
        titles = [f"{session} {number}" for number in range(count)]
        with acting_as(ADA):
            assert not self.store.sharing.push(
                team_servers.session_records(session, project, *titles)
            ).refused
            cards = self.store.memories.list_cards(
                Filters(session=session, kinds=("observation",)), limit=100, newest_first=False
            )
        keys = [wide_key(card.session_db_id, card.ref) for card in cards]
        self.keys.setdefault(project, []).extend(keys)

    def vectors(self, most_cached: int = 1_000) -> ProjectVectors:
        store = self.store
        return ProjectVectors(
            store.vectors,
            visible=lambda: [project.id for project in store.projects.newest(100)],
            most_cached=most_cached,
        )


@contextmanager
def made() -> Iterator[Team]:
    url = new_database()
    team_servers.new_team(url, "ben")
    with PostgresStore.open(url, clock=lambda: AT + 10_000, server=True) as store:
        team = Team(store, url)
        team.share("shop", "in the shop", 3)
        team.share("den", "in the den", 3)
        team_servers.grant(url, "shop", "ben", "read")
        yield team


@pytest.fixture(params=["with pgvector", "without"])
def team(request: pytest.FixtureRequest) -> Iterator[Team]:
    with made() as team:
        if request.param == "without":
            drop_pgvector(team.url)
        yield team


def put(team: Team, vectors: ProjectVectors, project: str, first: int = 0) -> None:
    with acting_as_service():
        vectors.put({key: vector(first + at) for at, key in enumerate(team.keys[project])})


def nearest(vectors: ProjectVectors, who: Identity, at: int) -> list[int]:
    with acting_as(who):
        return [key for key, _ in vectors.nearest(vector(at), None, 10)]


def test_a_member_gets_what_is_near_of_the_members_projects_whoever_asked_before(team: Team) -> None:
    vectors = team.vectors()
    put(team, vectors, "shop")
    put(team, vectors, "den", first=3)
    assert sorted(nearest(vectors, ADA, 0)) == sorted(team.keys["shop"] + team.keys["den"])
    assert sorted(nearest(vectors, BEN, 0)) == sorted(team.keys["shop"])
    assert nearest(vectors, BEN, 1)[0] == team.keys["shop"][1]
    other = team.vectors()
    assert sorted(nearest(other, BEN, 0)) == sorted(team.keys["shop"])
    assert sorted(nearest(other, ADA, 0)) == sorted(team.keys["shop"] + team.keys["den"])


def test_another_members_project_has_nothing_near_even_if_it_is_named(team: Team) -> None:
    vectors = team.vectors()
    put(team, vectors, "den")
    with acting_as(ADA):
        (den,) = set(team.store.vectors.projects(team.keys["den"]).values())
        assert vectors.nearest(vector(0), den, 10)
    with acting_as(BEN):
        assert vectors.nearest(vector(0), den, 10) == []


def test_what_another_process_stores_is_compared_too(team: Team) -> None:
    here, elsewhere = team.vectors(), team.vectors()
    put(team, here, "shop")
    assert len(nearest(here, BEN, 0)) == 3
    team.share("shop", "later", 2)
    put(team, elsewhere, "shop")
    assert sorted(nearest(here, BEN, 0)) == sorted(team.keys["shop"])


def test_a_server_that_runs_goes_on_when_another_process_brings_pgvector() -> None:
    with made() as team:
        drop_pgvector(team.url)
        vectors = team.vectors()
        put(team, vectors, "shop")
        put(team, vectors, "den", first=3)
        assert sorted(nearest(vectors, BEN, 0)) == sorted(team.keys["shop"])
        with PostgresStore.open(team.url, clock=lambda: AT) as other:  # not a server: it grants nothing
            while other.embeddings.copy():
                pass
        with acting_as(BEN):
            found = team.store.vectors.nearest([0.25] * SIZE, None, 10)
        assert {key for key, _ in found or ()} == set(team.keys["shop"])
        assert sorted(nearest(vectors, BEN, 0)) == sorted(team.keys["shop"])


def test_projects_make_room_for_each_other_and_all_are_still_compared(team: Team) -> None:
    vectors = team.vectors(most_cached=4)
    put(team, vectors, "shop")
    put(team, vectors, "den")
    for _ in range(2):
        assert sorted(nearest(vectors, ADA, 0)) == sorted(team.keys["shop"] + team.keys["den"])
