"""Nobody of a team sees or changes what they may not, whatever they ask and in whichever order: what the
database shows and lets happen is exactly what the rules say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.contracts.store_contract import NOON
from tests.harness import team as harness
from tests.harness.postgres import VERSIONS, Version
from tests.harness.team import Team
from tests.security.team_reads import ReadingContext, readings
from tests.security.team_rules import Snapshot, TeamRules, snapshot, tables

from claude_mem.api.team import NewGrant, NewKey, Scope
from claude_mem.model.clock import DAY_MS
from claude_mem.model.errors import InvalidInput, NotFound, StoreError, StoreForbidden
from claude_mem.model.refs import Filters
from claude_mem.store.postgres import schema
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.relational.part import execute
from claude_mem.store.team import Identity, acting_as, acting_as_service

pytestmark = pytest.mark.prove

MEMBERS = ("ada", "ben", "cyd", "dee")
KEYS: dict[str, tuple[Scope, ...]] = {
    "ada": ("read", "write", "admin"),
    "ben": ("read", "write"),
    "cyd": ("read", "write", "admin"),
    "dee": ("read",),
}
PROJECTS = ("alfa", "bravo", "charlie", "delta")
SESSIONS = tuple(f"session-{number}" for number in range(6))

TEAM_TABLES = ("projects", "team_members", "team_keys", "team_grants", "team_forgets", "team_audit")
member, project_name = st.sampled_from(MEMBERS), st.sampled_from(PROJECTS)
session_name = st.sampled_from(SESSIONS)
level = st.sampled_from(("read", "write", "admin", "none"))
scopes = st.sampled_from((("read",), ("read", "write"), ("read", "admin"), ("read", "write", "admin")))
ATTACKS = (
    "DELETE FROM {table}",
    "INSERT INTO sdk_sessions (claude_session_id, author, project, project_id, status, client, created_at,"
    " created_at_epoch, updated_at, updated_at_epoch)"
    " VALUES ('new', '{member}', 'x', {project}, 'completed', 'x', '', 1, '', 1)",
    "UPDATE sdk_sessions SET author = '{member}'",
    "UPDATE sdk_sessions SET project_id = {project}",
    "UPDATE sdk_sessions SET title = 'mine'",
    "INSERT INTO observations (session_id, project, project_id, type, created_at, created_at_epoch)"
    " VALUES ({session}, 'x', {project}, 'change', '', 1)",
    "UPDATE observations SET project_id = {project}",
    "UPDATE observations SET session_id = {session}",
    "UPDATE observations SET title = 'mine'",
    "INSERT INTO session_summaries (session_id, project, created_at, created_at_epoch)"
    " VALUES ({session}, 'x', '', 1)",
    "INSERT INTO user_prompts (session_id, prompt_number, created_at, created_at_epoch)"
    " VALUES ({session}, 99, '', 1)",
    "INSERT INTO observation_sightings (observation_id, session_id, created_at, created_at_epoch)"
    " VALUES ({observation}, {session}, '', 1)",
    "UPDATE projects SET name = 'mine'",
    "INSERT INTO team_members (name, admin, created_at_epoch) VALUES ('eve', TRUE, 1)",
    "UPDATE team_members SET admin = TRUE",
    "INSERT INTO team_grants (member, project_id, level) VALUES ('{member}', {project}, 'admin')"
    " ON CONFLICT (member, project_id) DO UPDATE SET level = 'admin'",
    "UPDATE team_grants SET level = 'admin'",
    "UPDATE team_keys SET revoked_at_epoch = NULL",
    "INSERT INTO team_keys (digest, member, machine, scopes, created_at_epoch)"
    " VALUES (sha256('x'), '{member}', 'x', '{{admin}}', 1)",
    "INSERT INTO team_pulls (member, machine, project_id) VALUES ('{member}', 'x', {project})",
    "INSERT INTO team_pulls (member, machine, project_id) VALUES ('{member}', 'laptop', {project})",
    "UPDATE team_acknowledgements SET acknowledged_at_epoch = 1",
    "INSERT INTO team_audit (created_at_epoch, member, action, subject) VALUES (1, '{member}', 'x', 'x')",
    "SELECT note_deed('x', 'x')",
)
"""Straight to the database, past everything of ours."""
attack = st.builds(
    lambda form, table, member, project, session, observation: form.format(
        table=table, member=member, project=project, session=session, observation=observation
    ),
    st.sampled_from(ATTACKS),
    st.sampled_from(("sdk_sessions", "observations", "session_summaries", "user_prompts", *TEAM_TABLES)),
    member,
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(1, 6),
)


class Step(Struct, frozen=True):
    what: str
    who: str = "ada"
    given: tuple[Any, ...] = ()


def step(what: str, who: st.SearchStrategy[str] = member, *given: st.SearchStrategy[Any]) -> Any:
    return st.builds(Step, st.just(what), who, st.tuples(*given))


steps = st.lists(
    st.one_of(
        step("push", member, project_name, session_name, st.none()),
        step("push", member, project_name, session_name, st.one_of(st.none(), project_name)),
        step("grant", member, project_name, member, level),
        step("grant", st.just("ada"), project_name, member, level),
        step("key", member, member, scopes),
        step("revoke", member, st.integers(1, 8)),
        step("remove", st.sampled_from(("ada", "cyd")), member),
        step("forget", member, st.integers(0, 40)),
        step("forget_session", member, session_name),
        step("leave", st.sampled_from(("ben", "cyd"))),
        step("pull"),
        step("acknowledge"),
        step("index"),
        step("days", st.just("ada"), st.integers(1, 400)),
        step("attack", member, attack),
        step("attack", member, attack),
    ),
    max_size=25,
)
OPENING = (
    Step("push", "ada", ("alfa", "session-0", None)),
    Step("push", "ben", ("bravo", "session-1", None)),
    Step("push", "cyd", ("charlie", "session-2", "charlie")),
    Step("grant", "ada", ("alfa", "ben", "write")),
    Step("push", "ben", ("alfa", "session-3", "bravo")),
    Step("grant", "ada", ("bravo", "dee", "read")),
    Step("pull", "ben"),
)
"""So that there is something to see and to change."""


class Undone(Exception):
    pass


def _run(db: PostgresConnection, statement: str) -> None:
    db.raw.execute(statement.encode())


class Story:
    """What a team does, step by step; after each, nothing is otherwise that the member may not change."""

    def __init__(self, team: Team, names: list[str]) -> None:
        self.team, self.tables = team, names
        self.secrets: dict[str, str] = {}
        self.names: list[str] = []
        self.cursors: dict[str, str] = {}
        self._numbers = iter(range(10**6))
        for name in MEMBERS:
            who = team.admin if name == "ada" else team.member(name, scopes=KEYS[name])
            self.identities = getattr(self, "identities", {}) | {name: who}

    def do(self, step: Step) -> None:
        who = self.valid(self.identities[step.who])
        if who is None and step.what not in ("index", "days"):
            return  # the server knows no such key any more
        before = self.state()
        action: Callable[..., None] = getattr(self, step.what)
        with suppress(StoreForbidden, InvalidInput, NotFound):
            if step.what in ("index", "days"):
                action(*step.given)
                return
            assert who is not None
            with acting_as(who):
                action(who, *step.given)
        assert who is not None
        assert list(TeamRules(who, before).trespasses(self.state())) == []

    def valid(self, who: Identity) -> Identity | None:
        with acting_as_service(), self.team.store.readers.read() as db:
            row = db.raw.execute(
                b"SELECT k.scopes, m.admin FROM team_keys AS k JOIN team_members AS m ON m.name = k.member"
                b" WHERE k.id = %(id)s AND k.revoked_at_epoch IS NULL AND k.expires_at_epoch > %(now)s"
                b" AND m.removed_at_epoch IS NULL",
                {"id": who.key_id, "now": self.team.clock()},
            ).fetchone()
        return None if row is None else who

    def state(self) -> Any:
        with acting_as_service(), self.team.store.readers.read() as db:
            return snapshot(db, self.tables)

    def push(self, who: Identity, name: str, session: str, other: str | None) -> None:
        number = next(self._numbers)
        words = f"{other or name}content note{number}"
        about: dict[str, Any] = {"files_modified": [f"{other or name}content/file{number}.py"]}
        records = [
            *(harness.project(f"{each}key") for each in dict.fromkeys([name, other or name])),
            harness.session(session, f"{name}key") | {"title": None},
            harness.observation(
                session,
                words,
                concepts=[f"{other or name}content"],
                project=f"{other}key" if other else None,
                **about,
            ),
        ]
        if other is None:
            records += [
                harness.summary(session, words, NOON + number),
                harness.prompt(session, words, number + 1),
            ]
        self.names += [
            harness.named(record) for record in records if record["kind"] not in ("project", "session")
        ]
        done = self.team.store.sharing.push(records)
        again = self.team.store.sharing.push(records)
        assert again.taken == {}
        assert again.refused == done.refused

    def grant(self, who: Identity, name: str, to: str, wanted: Any) -> None:
        del who
        self.team.store.directory.grant(NewGrant(project=f"{name}key", member=to, level=wanted))

    def key(self, who: Identity, of: str, given: tuple[Scope, ...]) -> None:
        secret, _ = self.team.store.directory.add_key(
            NewKey(member=of, machine=f"{who.member}s", scopes=given)
        )
        self.identities[of] = self.team.identity(secret)

    def revoke(self, who: Identity, number: int) -> None:
        del who
        self.team.store.directory.revoke_key(f"k{number}")

    def remove(self, who: Identity, name: str) -> None:
        del who
        self.team.store.directory.remove_member(name)

    def forget(self, who: Identity, number: int) -> None:
        del who
        if self.names:
            self.team.store.sharing.forget([self.names[number % len(self.names)]])

    def forget_session(self, who: Identity, session: str) -> None:
        del who
        self.team.store.sharing.forget([f"{session}/session"])

    def leave(self, who: Identity) -> None:
        self.team.store.sharing.leave()
        state = self.state()["sdk_sessions"].values()
        assert who.member not in {row["author"] for row in state}

    def pull(self, who: Identity) -> None:
        pulled = self.team.store.sharing.pull(self.cursors.get(who.member, ""), 2)
        self.cursors[who.member] = pulled.cursor

    def acknowledge(self, who: Identity) -> None:
        del who
        self.team.store.sharing.acknowledge([f"f{number}" for number in range(1, 50)])

    def index(self) -> None:
        with acting_as_service():
            while self.team.store.text_index.step():
                pass
            while (some := self.team.store.embeddings.unembedded(100)) is not None:
                self.team.store.vectors.put({key: b"1234" for key, _ in some.texts})
                self.team.store.embeddings.embedded(some.marks, some.settled)
            while self.team.store.embeddings.copy():
                pass

    def days(self, number: int) -> None:
        self.team.clock.now += number * DAY_MS

    def attack(self, who: Identity, statement: str) -> None:
        del who
        with suppress(StoreError):
            self.team.store.writer.run(partial(_run, statement=statement))

    def trespasses_of(self, name: str, statement: str) -> list[str]:
        """What an attack would change that it must not. It is undone."""
        before, found = self.state(), list[str]()

        def work(db: PostgresConnection) -> None:
            _run(db, statement)
            execute(db, "become_owner")
            found.extend(TeamRules(self.identities[name], before).trespasses(snapshot(db, self.tables)))
            raise Undone

        with suppress(StoreError, Undone), acting_as(self.identities[name]):
            self.team.store.writer.run(work)
        return found

    def check_what_is_seen(self) -> None:
        self.index()
        whole = self.state()
        context = ReadingContext(whole, PROJECTS, SESSIONS)
        valid = [who for name in MEMBERS if (who := self.valid(self.identities[name])) is not None]
        for check in (partial(self.check_rows, whole), partial(self.check_readings, context)):
            for who in valid:
                with acting_as(who):
                    check(TeamRules(who, whole))
        with self.team.store.readers.read() as db:  # nobody is acting
            assert {table for table, rows in snapshot(db, self.tables).items() if rows} == {"schema_version"}

    def check_rows(self, whole: Snapshot, rules: TeamRules) -> None:
        """No more than they may see, and no less."""
        with self.team.store.readers.read() as db:
            seen = snapshot(db, self.tables)
        for table in self.tables:
            wanted = {key for key, row in whole[table].items() if rules.sees(table, row)}
            assert (table, set(seen[table])) == (table, wanted)

    def fill_the_rest(self) -> None:
        """A row of each kind that sharing makes none of."""
        statements = (
            "INSERT INTO pending_messages (event_id, session_id, kind, effect_key, prompt_number, state,"
            " created_at, created_at_epoch) SELECT id, id, 'stop', 'x', 1, 'done', '', 1 FROM sdk_sessions",
            "INSERT INTO spending (session_id, project, provider, model, input_tokens, cached_tokens,"
            " output_tokens, created_at, created_at_epoch) SELECT id, 'x', 'x', 'x', 1, 1, 1, '', 1"
            " FROM sdk_sessions",
            "INSERT INTO injections (claude_session_id, event, refs, tokens, created_at, created_at_epoch)"
            " SELECT claude_session_id, 'x', '[]', 1, '', 1 FROM sdk_sessions",
            "INSERT INTO observation_sightings (observation_id, session_id, created_at, created_at_epoch)"
            " SELECT id, session_id, '', 1 FROM observations",
            "INSERT INTO project_aliases (key, project_id) SELECT key || 'x', id FROM projects",
            "INSERT INTO derived (name, value) VALUES ('vectors_forgotten_1', '[1]')",
            "INSERT INTO forgotten_sessions (digest) VALUES ('x')",
            "INSERT INTO team_server DEFAULT VALUES",
        )
        with acting_as_service():
            for statement in statements:
                self.team.store.writer.run(partial(_run, statement=statement))

    def is_breached(self, table: str, command: str) -> bool:
        if command in ("SELECT", "ALL"):
            whole = self.state()
            nobody = Identity(member="", machine="", key_id=0, scopes=())
            for who in (*self.identities.values(), nobody):
                with suppress(AssertionError), acting_as(who):
                    self.check_rows(whole, TeamRules(who, whole))
                    continue
                return True
        places = [(project, session) for project in range(1, 5) for session in range(1, 7)]
        attacks = {
            form.format(table=table, member=member, project=project, session=session, observation=session)
            for form in ATTACKS
            for member in MEMBERS
            for project, session in places
            if table in form or "{table}" in form
        }
        return any(self.trespasses_of(name, statement) for statement in sorted(attacks) for name in MEMBERS)

    def check_readings(self, context: ReadingContext, rules: TeamRules) -> None:
        readable = {
            row["key"].removesuffix("key")
            for row in context.whole["projects"].values()
            if row["id"] in rules.readable
        }
        hidden = [f"{name}content" for name in PROJECTS if name not in readable]
        if not rules.is_admin:
            hidden += [f"{name}key" for name in PROJECTS if name not in readable]
        for reading, result in readings(self.team.store, context):
            told = repr(result)
            shown = [word for word in hidden if word in told and reading not in _TELL_OF_FORGETS]
            assert (reading, shown) == (reading, [])
        count = self.team.store.memories.count(Filters(kinds=("observation",)))
        assert count == sum(
            row["project_id"] in rules.readable for row in context.whole["observations"].values()
        )


_TELL_OF_FORGETS = ("sharing.forgets",)
"""Whoever is to carry a forget out, or asked for it, learns of which project it is."""


@pytest.fixture(scope="module", params=VERSIONS)
def team(request: pytest.FixtureRequest) -> Iterator[Team]:
    version: Version = request.param
    with ExitStack() as stack:
        yield stack.enter_context(harness.running(version))


def emptied(team: Team) -> list[str]:
    with psycopg.connect(team.url) as raw:
        found = tables(raw)
        raw.execute("SET session_replication_role = replica")  # no triggers
        for name in found:
            if name != "schema_version":
                raw.execute(f"DELETE FROM claude_mem.{name}".encode())
        raw.execute(
            "SELECT setval(oid, 1, false) FROM pg_class"
            " WHERE relkind = 'S' AND relnamespace = 'claude_mem'::regnamespace"
        )
    team.clock.now = NOON
    team.begin()
    return found


@pytest.mark.timeout(1_800)  # a story asks the database some thousand times
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@example(story=[Step("attack", "ben", ("UPDATE sdk_sessions SET project_id = 1",))])
@given(story=steps)
def test_nobody_sees_or_changes_what_they_may_not(team: Team, story: list[Step]) -> None:
    told = Story(team, emptied(team))
    for each in (*OPENING, *story):
        told.do(each)
    told.check_what_is_seen()


EVERYTHING = (
    *OPENING,
    Step("push", "cyd", ("delta", "session-4", None)),
    Step("grant", "cyd", ("delta", "ben", "read")),
    Step("grant", "cyd", ("delta", "ada", "write")),
    Step("push", "ada", ("delta", "session-5", None)),
    Step("pull", "ben"),
    Step("pull", "ada"),
    Step("pull", "cyd"),
    Step("forget", "ada", (0,)),
    Step("forget", "cyd", (12,)),
    Step("index"),
)


def test_without_any_one_of_the_rules_somebody_sees_or_changes_what_they_may_not(
    team: Team, subtests: pytest.Subtests
) -> None:
    told = Story(team, emptied(team))
    for each in EVERYTHING:
        told.do(each)
    told.check_what_is_seen()
    told.fill_the_rest()
    with psycopg.connect(team.url, autocommit=True) as raw:
        raw.execute("SET search_path = claude_mem")
        policies = raw.execute(
            "SELECT tablename, policyname, cmd, qual IS NOT NULL, with_check IS NOT NULL FROM pg_policies"
            " WHERE schemaname = 'claude_mem' ORDER BY 1, 2"
        ).fetchall()
        assert len(policies) > 40
        for table, name, command, is_using, is_checked in policies:
            if (table, command) == ("schema_version", "SELECT"):
                continue  # anybody sees it
            opened = f"{'USING (TRUE) ' if is_using else ''}{'WITH CHECK (TRUE)' if is_checked else ''}"
            with subtests.test(f"{name} on {table}"):
                raw.execute(f"ALTER POLICY {name} ON claude_mem.{table} {opened}".encode())
                try:
                    assert told.is_breached(table, command)
                finally:
                    raw.execute((Path(schema.__file__).parent / "access.sql").read_bytes())
    told.check_what_is_seen()
