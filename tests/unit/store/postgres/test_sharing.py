"""What members send, pull and forget on a team's server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from msgspec import convert
from tests.contracts.store_contract import NOON
from tests.harness import team as harness
from tests.harness.postgres import VERSIONS
from tests.harness.team import Team, named, observation, project, prompt, session, shared, summary

from claude_mem.api.team import ForgetStatus, NewGrant
from claude_mem.model.errors import InvalidInput
from claude_mem.model.records import digest_of, name_of_session
from claude_mem.model.refs import Filters, Ref
from claude_mem.model.sharing import ForgetAnswer, Pull
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.relational.part import execute
from claude_mem.store.team import Identity, acting_as, acting_as_service
from claude_mem.store.values import TextQuery

pytestmark = pytest.mark.prove
WAIT_S = 60.0
SHOP = "example.org/shop"


@pytest.fixture(params=VERSIONS)
def team(request: pytest.FixtureRequest) -> Iterator[Team]:
    with harness.running(request.param) as running:
        yield running


def pulled_all(team: Team, who: Identity, cursor: str = "", limit: int = 100) -> tuple[list[Any], str]:
    """Page by page."""
    found: list[Any] = []
    with acting_as(who):
        while True:
            page = team.store.sharing.pull(cursor, limit)
            found += page.records
            if not page.more:
                return found, page.cursor
            assert page.cursor != cursor
            cursor = page.cursor


def pulled(team: Team, who: Identity, cursor: str = "") -> Pull:
    with acting_as(who):
        return team.store.sharing.pull(cursor, 100)


def titles(records: list[Any]) -> list[str]:
    return [record["title"] for record in records if record["kind"] == "observation"]


def forget(team: Team, who: Identity, *names: str) -> tuple[str, ...]:
    with acting_as(who):
        return team.store.sharing.forget(names)


def waiting(team: Team, who: Identity) -> list[tuple[str, ...]]:
    with acting_as(who):
        return [each.waiting_for for each in team.store.sharing.forgets()]


# Sending


def test_who_first_shares_a_project_administers_it_and_what_is_sent_twice_is_there_once(team: Team) -> None:
    records = shared("s1", "Prices are integers")
    done = team.push(team.admin, records)
    assert done.taken == {"session": 1, "observation": 1, "summary": 1, "prompt": 1}
    assert team.push(team.admin, records).taken == {}
    with acting_as(team.admin):
        (grant,) = team.store.directory.grants_of("ada")
        assert (grant.project, grant.level) == (SHOP, "admin")
        assert team.store.memories.count(Filters()) == 3


def test_nobody_takes_a_project_over_by_its_key(team: Team) -> None:
    team.push(team.admin, shared("s1", "Prices are integers"))
    ben = team.member("ben")
    done = team.push(ben, shared("s2", "Planted"))
    assert done.taken == {}
    assert [number for number, _ in done.refused] == [0, 1, 2, 3, 4]
    assert SHOP in done.refused[0][1]
    with acting_as(ben):
        assert team.store.directory.grants() == ()


def test_a_reader_adds_nothing_and_a_writer_adds_to_no_session_of_anybody_else(team: Team) -> None:
    team.push(team.admin, shared("s1", "Prices are integers"))
    ben = team.member("ben")
    team.grant(SHOP, "ben", "read")
    assert team.push(ben, shared("s2", "Planted")).taken == {}
    team.grant(SHOP, "ben", "write")
    done = team.push(ben, shared("s1", "Planted"))
    assert done.taken == {}
    assert [number for number, _ in done.refused] == [1, 2, 3, 4]
    assert team.push(ben, shared("s2", "Prices are rounded")).taken["observation"] == 1


def test_a_session_is_not_shared_into_another_project_than_its_record_names(team: Team) -> None:
    team.push(team.admin, shared("s1", "Prices are integers"))
    done = team.push(team.admin, shared("s1", "A secret of the bank", "example.org/bank"))
    assert "observation" not in done.taken
    with acting_as(team.admin):
        found = team.store.memories.list_cards(Filters(kinds=("observation",)), limit=9)
    assert [card.title for card in found] == ["Prices are integers"]


def test_what_one_record_is_refused_for_leaves_the_others(team: Team) -> None:
    """Ben wrote the session, and may only read its project by now: the database itself refuses it."""
    ben = team.member("ben")
    team.push(ben, shared("s1", "Prices are integers"))
    with acting_as_service():
        team.store.directory.grant(NewGrant(project=SHOP, member="ben", level="read"))
    records = [*shared("s2", "Other words", "example.org/other"), observation("s1", "Late words")]
    done = team.push(ben, records)
    assert done.taken == {"session": 1, "observation": 1, "summary": 1, "prompt": 1}
    assert [number for number, _ in done.refused] == [5]


def test_events_and_sightings_are_not_taken(team: Team) -> None:
    team.push(team.admin, shared("s1", "Prices are integers"))
    event = {"kind": "event", "session_id": "s1", "event_kind": "stop", "at": NOON, "event_id": "e"}
    done = team.push(team.admin, [event, {"kind": "nonsense"}, 7])  # type: ignore[list-item]
    assert (done.taken, len(done.refused)) == ({}, 3)


def test_two_who_share_a_project_at_once_make_it_once(team: Team) -> None:
    ben = team.member("ben")
    with ThreadPoolExecutor(2) as threads:
        both = [
            threads.submit(team.push, who, shared(who.member, f"By {who.member}"))
            for who in (team.admin, ben)
        ]
        done = [each.result(WAIT_S) for each in both]
    assert sorted(bool(each.taken) for each in done) == [False, True]


# Pulling


def test_others_machines_pull_what_was_sent_without_anybodys_paths(team: Team) -> None:
    ben, desk = team.member("ben"), team.member("ada", "desk")
    team.push(team.admin, shared("s1", "Prices are integers"))
    team.grant(SHOP, "ben", "read")
    for who in (ben, desk):
        records, _ = pulled_all(team, who)
        assert [record["kind"] for record in records] == [
            "project",
            "session",
            "prompt",
            "observation",
            "summary",
        ]
        assert {record["author"] for record in records if record["kind"] != "project"} == {"ada"}
        assert "/home" not in repr(records)
    assert pulled_all(team, team.admin)[0] == [], "not to the machine that sent it"


def test_nothing_comes_twice_and_what_is_changed_comes_again(team: Team) -> None:
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "Prices are integers"))
    team.grant(SHOP, "ben", "read")
    _, cursor = pulled_all(team, ben)
    assert pulled_all(team, ben, cursor)[0] == []
    team.push(team.admin, [session("s1"), observation("s1", "Prices are integers", pinned=True)])
    records, _ = pulled_all(team, ben, cursor)
    assert [record.get("pinned") for record in records if record["kind"] == "observation"] == [True]


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_page_by_page_all_of_it_comes_once(team: Team, limit: int) -> None:
    ben = team.member("ben")
    for key in ("a", "b"):
        team.push(team.admin, [project(key), session(key, key)])
        team.push(team.admin, [session(key, key), *(observation(key, f"{key} {n}") for n in range(5))])
    team.grant("a", "ben", "read")
    first, cursor = pulled_all(team, ben, limit=limit)
    assert sorted(titles(first)) == [f"a {n}" for n in range(5)]
    team.push(team.admin, [session("a", "a"), observation("a", "a late")])
    team.grant("b", "ben", "read")
    later, cursor = pulled_all(team, ben, cursor, limit)
    assert sorted(titles(later)) == ["a late", *(f"b {n}" for n in range(5))]
    assert pulled_all(team, ben, cursor, limit)[0] == []


def test_what_commits_after_a_later_memory_is_pulled_too(team: Team) -> None:
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "First"))
    team.grant(SHOP, "ben", "read")
    _, cursor = pulled_all(team, ben)
    written, leave = threading.Event(), threading.Event()

    def slow(db: PostgresConnection) -> None:
        push: Any = type(team.store.sharing)._push
        push.__wrapped__(team.store.sharing, db, [observation("s1", "Slow heron")])
        written.set()
        assert leave.wait(WAIT_S)

    def write() -> None:
        with acting_as(team.admin):
            team.store.writer.run(slow)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(write)
        try:
            assert written.wait(WAIT_S)
            team.push(team.admin, [session("s2"), observation("s2", "Quick egret")])
            early, cursor = pulled_all(team, ben, cursor)
        finally:
            leave.set()
            done.result(WAIT_S)
    late, cursor = pulled_all(team, ben, cursor)
    assert sorted([*titles(early), *titles(late)]) == ["Quick egret", "Slow heron"]
    assert pulled_all(team, ben, cursor)[0] == []


@pytest.mark.parametrize("cursor", ["x", "1", "1.2.3-4", "1.observation.-1-4", "1._.1-2-3", "9" * 40])
def test_a_cursor_of_nobody_is_refused(team: Team, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        pulled(team, team.admin, cursor)


# Forgetting


def test_a_forget_reaches_every_machine_that_has_it_and_each_acknowledges(team: Team) -> None:
    ben, desk = team.member("ben"), team.member("ada", "desk")
    records = shared("s1", "Prices are integers")
    team.push(team.admin, records)
    team.grant(SHOP, "ben", "read")
    pulled(team, ben)
    pulled(team, desk)
    team.index()
    (id,) = forget(team, team.admin, named(records[2]))
    for who in (ben, desk):
        (notice,) = pulled(team, who).forgets
        assert (notice.id, notice.of, notice.at) == (id, "observation", NOON)
        assert notice.digest == digest_of(named(records[2]))
    assert pulled(team, team.admin).forgets == (), "who asked for it has done it"
    assert waiting(team, ben) == [("ada/desk", "ben/laptop")]
    with acting_as(ben):
        team.store.sharing.acknowledge([id, "f0", "nonsense"])
        assert team.store.memories.cards([Ref("observation", 1)]) == []
    assert waiting(team, ben) == [("ada/desk",)]
    assert pulled(team, ben).forgets == ()
    assert forget(team, team.admin, named(records[2])) == (id,), "twice is once"


def test_nothing_of_it_is_left_in_the_database_but_what_machines_need(team: Team) -> None:
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "heron"))
    team.grant(SHOP, "ben", "read")
    pulled(team, ben)
    team.index()
    records = shared("s1", "heron")
    forget(team, team.admin, *(named(record) for record in records[2:]))
    with acting_as_service(), team.store.readers.read() as db:
        tables = [
            row[0]
            for row in db.raw.execute(b"SELECT tablename FROM pg_tables WHERE schemaname = 'claude_mem'")
        ]
        for table in tables:
            rows = db.raw.execute(f"SELECT CAST(t AS text) FROM {table} AS t".encode())
            assert [table for row in rows if "heron" in row[0]] == []


def test_what_was_forgotten_does_not_come_back(team: Team) -> None:
    records = shared("s1", "Prices are integers")
    team.push(team.admin, records)
    forget(team, team.admin, *(named(record) for record in records[2:]))
    done = team.push(team.admin, records)
    assert (done.taken, [number for number, _ in done.refused]) == ({}, [2, 3, 4])
    forget(team, team.admin, name_of_session("s1"))
    done = team.push(team.admin, [*records, observation("s1", "New words")])
    assert done.taken == {}
    assert len(done.refused) == 5


def test_a_machine_whose_user_must_consent_is_named_and_hears_no_more_of_it(team: Team) -> None:
    ben = team.member("ben")
    team.push(team.admin, shared("s0", "Prices are integers"))
    team.grant(SHOP, "ben", "write")
    records = shared("s1", "Prices are decimals")
    team.push(ben, records)
    (id,) = forget(team, team.admin, named(records[2]))

    def status() -> ForgetStatus:
        with acting_as(team.admin):
            (found,) = team.store.sharing.forgets()
        return found

    for answer, consent, refused in (("consent", ("ben/laptop",), ()), ("refused", (), ("ben/laptop",))):
        with acting_as(ben):
            team.store.sharing.acknowledge([id], convert(answer, ForgetAnswer))
        assert (status().consent, status().refused) == (consent, refused)
        assert status().waiting_for == ("ben/laptop",)
        assert pulled(team, ben).forgets == ()
    with acting_as(ben):
        team.store.sharing.acknowledge([id])
    assert (status().waiting_for, status().refused) == ((), ())


def test_what_was_restored_from_a_dump_is_pulled_whatever_its_transactions_were(team: Team) -> None:
    """The transactions of another server, in the future of this one."""
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "Prices are integers"))
    team.grant(SHOP, "ben", "read")
    assert titles(pulled_all(team, ben)[0]) == ["Prices are integers"]
    later = "SET transaction = '9000000000000'::xid8"
    with psycopg.connect(team.url, autocommit=True) as raw:
        for table in ("team_changes", "team_grants", "team_forgets"):
            raw.execute(f"UPDATE claude_mem.{table} {later}".encode())
    assert titles(list(pulled(team, ben).records)) == [], "nobody would see it for years"
    with acting_as_service():
        team.store.sharing.adopt_restored()
    assert titles(pulled_all(team, ben)[0]) == ["Prices are integers"]
    ahead = f"9000000000001._.0-{9_000_000_000_001}"
    assert titles(pulled_all(team, ben, ahead)[0]) == ["Prices are integers"], "a machine that is ahead"
    team.push(team.admin, shared("s2", "Prices are rounded"))
    assert "Prices are rounded" in titles(pulled_all(team, ben, ahead)[0])


def test_a_machine_that_comes_late_to_a_restored_database_misses_nothing(team: Team) -> None:
    """Its cursor is of another server, whose transactions this one has passed meanwhile."""
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "Prices are integers"))
    team.grant(SHOP, "ben", "read")
    _, now = pulled_all(team, ben)
    assert titles(pulled_all(team, ben, now)[0]) == []
    _, _, place = now.rpartition("~")
    for of_another in (place, f"5e1f~{place}"):
        assert titles(pulled_all(team, ben, of_another)[0]) == ["Prices are integers"]


def test_one_forgets_ones_own_and_an_admin_of_the_project_anybodys(team: Team) -> None:
    ben, cyd = team.member("ben"), team.member("cyd")
    mine, theirs = shared("s1", "Prices are integers"), shared("s2", "Prices are rounded")
    team.push(team.admin, mine)
    for name in ("ben", "cyd"):
        team.grant(SHOP, name, "write")
    team.push(ben, theirs)
    assert forget(team, cyd, named(mine[2]), named(theirs[2]), name_of_session("s2"), "nothing") == ("",) * 4
    assert forget(team, ben, named(mine[2])) == ("",)
    (first,) = forget(team, ben, named(theirs[2]))
    (second,) = forget(team, team.admin, name_of_session("s2"))
    assert first != second
    assert all((first, second))
    (notice,) = pulled(team, ben).forgets
    assert notice.of == "session", "the machine that sent it deletes it too"


def test_a_sessions_memories_of_another_project_are_not_its_admins_to_forget(team: Team) -> None:
    """They would go with the session."""
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "Prices are integers"))
    team.grant(SHOP, "ben", "write")
    team.push(ben, shared("s2", "Accounts", "example.org/bank"))
    records = [project(), project("example.org/bank"), session("s3")]
    team.push(ben, [*records, observation("s3", "Accounts are signed", project="example.org/bank")])
    assert forget(team, team.admin, name_of_session("s3")) == ("",)
    assert forget(team, ben, name_of_session("s3")) != ("",)


def test_a_machine_that_begins_to_pull_while_something_is_forgotten_has_it_or_learns_of_it(
    team: Team,
) -> None:
    ben = team.member("ben")
    records = shared("s1", "Prices are integers")
    team.push(team.admin, records)
    team.grant(SHOP, "ben", "read")
    begun, leave = threading.Event(), threading.Event()

    def slow(db: PostgresConnection) -> None:
        whole: Any = type(team.store.sharing).forget
        whole.__wrapped__(team.store.sharing, db, [named(records[2])])
        begun.set()
        assert leave.wait(WAIT_S)

    def forgets() -> None:
        with acting_as(team.admin):
            team.store.writer.run(slow)

    with ThreadPoolExecutor(2) as threads:
        done = threads.submit(forgets)
        assert begun.wait(WAIT_S)
        pulls = threads.submit(pulled, team, ben)
        leave.set()
        done.result(WAIT_S)
        found = pulls.result(WAIT_S)
    assert titles(list(found.records)) == [] or found.forgets or pulled(team, ben, found.cursor).forgets


def test_who_leaves_takes_everything_along_and_keeps_it_at_home(team: Team) -> None:
    ben, desk = team.member("ben"), team.member("ben", "desk")
    team.push(team.admin, shared("s1", "Prices are integers"))
    team.grant(SHOP, "ben", "write")
    team.push(ben, shared("s2", "Prices are rounded"))
    pulled(team, team.admin)
    pulled(team, desk)
    with acting_as(ben):
        assert team.store.sharing.leave() == 1
    with acting_as(team.admin):
        assert team.store.memories.count(Filters()) == 3
    (notice,) = pulled(team, team.admin).forgets
    assert notice.digest == digest_of(name_of_session("s2"))
    assert pulled(team, desk).forgets == ()
    with acting_as(team.admin):
        keys = team.store.directory.keys()
    assert {key.machine for key in keys if key.revoked_at} == {"laptop"}


# What was counted for one is not another's


def test_how_frequent_words_are_is_counted_for_who_asks(team: Team) -> None:
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "heron"))
    team.push(ben, shared("s2", "heron", "example.org/bank"))
    team.index()
    sizes = []
    for who in (team.admin, ben, team.admin):
        with acting_as(who):
            sizes.append(team.store.memories.match(TextQuery(("heron",)), None).sizes)
    assert [size.total for size in sizes] == [3, 3, 3]
    assert sizes[0].sessions.keys().isdisjoint(sizes[1].sessions)
    with acting_as_service():
        assert team.store.memories.match(TextQuery(("heron",)), None).sizes.total == 6


def test_what_a_trigger_lists_is_there_for_the_service(team: Team) -> None:
    team.push(team.admin, [*shared("s1", "heron")[:2], summary("s1", "x"), prompt("s1", "y")])
    with acting_as_service(), team.store.readers.read() as db:
        assert execute(db, "count_unindexed").fetchone()[0] == 2
