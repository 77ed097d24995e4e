"""Members of a team, their keys and what each may do: who is let in, and who lets others in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts.store_contract import NOON
from tests.harness import team as harness
from tests.harness.postgres import VERSIONS
from tests.harness.team import Team, named, shared

from claude_mem.api.team import AuditQuery, KeyInfo, NewGrant, NewKey, NewMember
from claude_mem.model.clock import DAY_MS
from claude_mem.model.errors import InvalidInput, NotFound, StoreForbidden
from claude_mem.model.records import name_of_session
from claude_mem.model.refs import Filters
from claude_mem.store.team import Identity, acting_as, acting_as_service

pytestmark = pytest.mark.prove
SHOP = "example.org/shop"


@pytest.fixture(params=VERSIONS)
def team(request: pytest.FixtureRequest) -> Iterator[Team]:
    with harness.running(request.param) as running:
        yield running


def forget(team: Team, who: Identity, *names: str) -> tuple[str, ...]:
    with acting_as(who):
        return team.store.sharing.forget(names)


def secret_of(team: Team, new: NewKey) -> str:
    with acting_as(team.admin):
        return team.store.directory.add_key(new)[0]


def keys_of(team: Team) -> tuple[KeyInfo, ...]:
    return team.store.directory.keys()


def is_let_in(team: Team, secret: str) -> bool:
    with acting_as_service():
        return team.store.directory.authenticate(secret) is not None


def test_a_project_that_the_server_grants_before_it_is_shared_belongs_to_nobody_else(team: Team) -> None:
    ben = team.member("ben")
    with acting_as(team.admin), pytest.raises(InvalidInput):
        team.store.directory.grant(NewGrant(project=SHOP, member="ada", level="admin"))
    with acting_as_service():
        team.store.directory.grant(NewGrant(project=SHOP, member="ada", level="admin"))
    refused = team.push(ben, shared("s1", "Prices are integers")).refused
    assert any("no access" in why for _, why in refused)
    team.grant(SHOP, "ben", "write")
    assert not team.push(ben, shared("s1", "Prices are integers")).refused
    with acting_as(team.admin):
        levels = {each.member: each.level for each in team.store.directory.grants()}
    assert levels == {"ada": "admin", "ben": "write"}


def test_a_key_ends_and_may_be_revoked_and_is_nowhere_stored(team: Team) -> None:
    with acting_as(team.admin):
        team.store.directory.add_member(NewMember(name="ben"))
    first, second = (secret_of(team, NewKey(member="ben", machine="x", days=7)) for _ in range(2))
    assert is_let_in(team, first)
    assert not is_let_in(team, first + "x")
    assert not is_let_in(team, first.removeprefix("cmk_"))
    with acting_as(team.admin):
        keys = [key for key in keys_of(team) if key.member == "ben"]
        team.store.directory.revoke_key(keys[0].id)
        with pytest.raises(NotFound):
            team.store.directory.revoke_key(keys[0].id)
    assert (is_let_in(team, first), is_let_in(team, second)) == (False, True)
    team.clock.now += 7 * DAY_MS
    assert not is_let_in(team, second)
    with acting_as_service(), team.store.readers.read() as db:
        rows = db.raw.execute(b"SELECT CAST(k AS text) FROM team_keys AS k")
        assert not any(secret[4:] in row[0] for row in rows for secret in (first, second))


def test_when_a_key_was_used_is_known_to_the_hour(team: Team) -> None:
    secret = secret_of(team, NewKey(member="ada", machine="desk"))
    for minutes in (5, 10, 70):
        team.clock.now = NOON - NOON % 3_600_000 + minutes * 60_000
        assert is_let_in(team, secret)
    with acting_as(team.admin):
        (used,) = [key.last_used_at for key in keys_of(team) if key.machine == "desk"]
    assert used == NOON - NOON % 3_600_000 + 3_600_000


@pytest.mark.parametrize("scopes", [("read",), ("read", "admin")])
def test_a_key_without_write_writes_nothing_whatever_its_member_may(team: Team, scopes: Any) -> None:
    team.push(team.admin, shared("s1", "Prices are integers"))
    reads = team.member("ada", "ci", scopes=scopes)
    assert team.push(reads, shared("s2", "Planted")).taken == {}
    assert team.push(reads, shared("s9", "Planted", "new")).taken == {}
    assert forget(team, reads, name_of_session("s1")) == ("",)
    with acting_as(reads):
        assert team.store.memories.count(Filters()) == 3


def test_a_key_that_writes_reads_as_well(team: Team) -> None:
    with pytest.raises(InvalidInput):
        secret_of(team, NewKey(member="ada", machine="ci", scopes=("write",)))


def test_a_key_without_admin_manages_nothing_whoever_its_member_is(team: Team) -> None:
    team.push(team.admin, shared("s1", "Prices are integers"))
    plain = team.member("ada", "ci", scopes=("read", "write"))
    directory = team.store.directory
    with acting_as(plain):
        with pytest.raises(StoreForbidden):
            directory.add_member(NewMember(name="eve"))
        with pytest.raises(StoreForbidden):
            directory.add_key(NewKey(member="ada", machine="x"))
        with pytest.raises(StoreForbidden):
            directory.grant(NewGrant(project=SHOP, member="ada", level="none"))
        with pytest.raises(NotFound):
            directory.revoke_key("k1")
        with pytest.raises(NotFound):
            directory.remove_member("ada")
        assert directory.audit(AuditQuery()) == ()


def test_who_administers_a_project_lets_others_in_and_nobody_else_does(team: Team) -> None:
    ben, cyd = team.member("ben"), team.member("cyd")
    team.push(ben, shared("s1", "Prices are integers"))
    new = NewGrant(project=SHOP, member="cyd", level="write")
    with acting_as(cyd), pytest.raises(InvalidInput):
        team.store.directory.grant(new)
    with acting_as(ben):
        team.store.directory.grant(new)
        assert {grant.member for grant in team.store.directory.grants()} == {"ben", "cyd"}
    with acting_as(cyd), pytest.raises((StoreForbidden, InvalidInput)):
        team.store.directory.grant(NewGrant(project=SHOP, member="ben", level="none"))
    with acting_as(team.admin):
        assert team.store.memories.count(Filters()) == 0, "an admin of the team reads no project unasked"


def test_a_removed_member_is_out_and_the_last_admin_stays(team: Team) -> None:
    ben = team.member("ben")
    team.push(ben, shared("s1", "Prices are integers"))
    secret = secret_of(team, NewKey(member="ben", machine="x"))
    with acting_as(team.admin):
        team.store.directory.remove_member("ben")
        with pytest.raises(InvalidInput):
            team.store.directory.remove_member("ada")
        assert [member.name for member in team.store.directory.members()] == ["ada"]
    assert not is_let_in(team, secret)
    with acting_as(ben):
        assert team.store.memories.count(Filters()) == 0


def test_a_team_begins_once(team: Team) -> None:
    with acting_as_service(), pytest.raises(InvalidInput):
        team.store.directory.begin("eve", "laptop")


def test_what_admins_do_is_noted_and_no_memorys_words(team: Team) -> None:
    ben = team.member("ben")
    records = shared("s1", "Prices are integers")
    team.push(ben, records)
    forget(team, ben, named(records[2]))
    with acting_as(team.admin):
        entries = team.store.directory.audit(AuditQuery())
    assert [entry.action for entry in entries][::-1] == [
        *("member.add", "key.add", "member.add", "key.add", "grant.admin", "forget")
    ]
    assert {entry.member for entry in entries} == {"", "ada", "ben"}
    assert "Prices" not in repr(entries)


def test_a_project_whose_memories_are_all_forgotten_stays_who_shared_its(team: Team) -> None:
    ben = team.member("ben")
    team.push(team.admin, shared("s1", "Prices are integers"))
    forget(team, team.admin, name_of_session("s1"))
    assert team.push(ben, shared("s2", "Planted")).taken == {}
