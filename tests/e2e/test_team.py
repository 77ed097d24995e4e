"""Members of a team, each with a data directory and a worker, and a real server on a real PostgreSQL between
them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads, team_servers, workers
from tests.harness.fault_proxy import FaultProxy
from tests.harness.postgres import new_database
from tests.harness.team_machines import Machine, machine, machines

from claude_mem.api.team import NewMember
from claude_mem.serve import control
from claude_mem.team.membership import KEY_FILE
from claude_mem.team.policy import MOST_LOST

SECRET = "AKIAIOSFODNN7EXAMPLQ"  # the shape of a key
_projects = count(1)


@dataclass
class Team:
    """`proxy` stands between the machines and the server."""

    database: str
    proxy: FaultProxy
    ada: Machine
    ben: Machine

    def project(self) -> tuple[str, Path, Path]:
        """A new project: its key, and a clone on either machine."""
        name = f"shop{next(_projects)}"
        key = f"git.example/acme/{name}"
        return key, self.ada.clone(name, key), self.ben.clone(name, key)

    def shared(self, *options: str) -> tuple[str, Path, Path]:
        """A project that ada shares, and ben may read."""
        key, adas, bens = self.project()
        self.ada.mem("remember", f"The project {key} begins.", cwd=adas)
        self.ada.mem("share", "--here", *options, cwd=adas)
        self.ada.sync()
        team_servers.grant(self.database, key, "ben", "write")
        return key, adas, bens


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    database, folder = new_database(), tmp_path_factory.mktemp("team")
    keys = team_servers.new_team(database, "ben")
    with (
        FaultProxy() as proxy,
        team_servers.running(database, "--public-url", proxy.url) as server,
        machines(folder, "ada", "ben") as (ada, ben),
    ):
        proxy.target = server.port
        ada.join(proxy.url, keys["ada"])
        ben.join(proxy.url, keys["ben"])
        yield Team(database, proxy, ada, ben)


def test_what_one_member_shares_another_finds_with_its_author(team: Team) -> None:
    _, adas, bens = team.shared()
    team.ada.mem("remember", "Marmots sleep through deployments on Fridays.", cwd=adas)
    team.ada.sync()
    team.ben.sync()
    (found,) = team.ben.found("marmots", bens)
    assert found["author"] == "ada"
    assert "ada" in team.ben.mem("search", "marmots", cwd=bens).stdout


@pytest.mark.prove
def test_nothing_leaves_a_machine_before_a_project_is_shared_there(team: Team) -> None:
    _, adas, _ = team.project()
    team.ada.mem("remember", "Ocelots are not for everybody.", cwd=adas)
    team.ada.sync()
    assert b"Ocelots" not in team.proxy.seen()
    (adas / ".claude-mem").mkdir()
    (adas / ".claude-mem" / "settings.json").write_text('{"CLAUDE_MEM_SHARE_WHEN": "always", "share": true}')
    team.ada.mem("remember", "Ocelots stay at home.", cwd=adas, env={"CLAUDE_MEM_SHARE_WHEN": "always"})
    team.ada.sync()
    assert b"Ocelots" not in team.proxy.seen()


@pytest.mark.prove
def test_prompts_secrets_and_private_text_stay_at_home(team: Team) -> None:
    _, adas, bens = team.shared()
    team.ada.work(
        adas,
        "5694c0de-0000-4000-8000-00000000a001",
        "Why does the wombatPrompt fail so often at night? <private>hidden-quokka</private>",
        f"The wombat job failed because its lease was too short; fixed in src/lease.py. Key {SECRET}.",
    )
    team.ada.sync()
    seen = team.proxy.seen()
    assert b"lease" in seen
    for word in (b"wombatPrompt", b"hidden-quokka", SECRET.encode(), str(team.ada.folder).encode()):
        assert word not in seen
    team.ben.sync()
    assert team.ben.found("lease", bens)
    assert team.ben.rows("SELECT COUNT(*) FROM user_prompts") == [(0,)]


@pytest.mark.prove
def test_what_the_offline_observer_takes_from_a_prompt_stays_with_it(team: Team) -> None:
    """A silent agent: the title, the reason and the wish are the user's own words."""
    _, adas, bens = team.shared()
    session = "5694c0de-0000-4000-8000-00000000a007"
    asked = (
        "Rename the zanzibarCanary ledger to the quarterly ledger, because the dodoCanary auditors are "
        "confused. From now on always write emuCanary amounts in cents."
    )
    edit = {
        "tool_name": "Edit",
        "tool_input": {"file_path": str(adas / "ledger.py"), "old_string": "a = 1", "new_string": "a = 2"},
        "tool_response": {"filePath": str(adas / "ledger.py"), "structuredPatch": []},
        "tool_use_id": "toolu-canary",
    }
    for payload in (
        payloads.prompt(asked, session, "canary"),
        payloads.payload("PostToolUse", session, prompt_id="canary", **edit),
        payloads.stop("Done.", session, "canary"),
    ):
        given = json.dumps(json.loads(payload) | {"cwd": str(adas)}).encode()
        assert hook_process.run(team.ada.data, given).code == 0
    workers.settled(team.ada.data)
    titles = team.ada.rows("SELECT title || COALESCE(facts, '') FROM observations WHERE title IS NOT NULL")
    assert any("Canary" in title for (title,) in titles), "here it is the user's own"
    team.ada.mem("share", "--now", cwd=adas)
    team.ada.sync()
    seen = team.proxy.seen()
    assert b"ledger.py" in seen
    assert b"Canary" not in seen
    team.ben.sync()
    assert team.ben.holds("Canary") == []
    assert team.ben.found("ledger.py", bens)


@pytest.mark.prove
def test_prompts_go_where_they_are_shared(team: Team) -> None:
    _, adas, _ = team.shared("--prompts")
    session = "5694c0de-0000-4000-8000-00000000a002"
    team.ada.work(adas, session, "Why does the numbatPrompt fail?", "It fails because of the lease.")
    team.ada.sync()
    team.ben.sync()
    held = team.ben.rows(
        "SELECT u.prompt, s.author FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id "
        "WHERE s.claude_session_id = ?",
        session,
    )
    assert held == [("Why does the numbatPrompt fail?", "ada")]


@pytest.mark.prove
def test_what_one_forgets_is_gone_to_the_byte_on_the_other_and_that_is_acknowledged(team: Team) -> None:
    key, adas, bens = team.shared()
    words = "The capybaraCanary password is in the drawer"
    saved = team.ada.mem.json("remember", words, cwd=adas)
    team.ada.sync()
    team.ben.sync()
    assert team.ben.found("capybaraCanary", bens)
    team.ada.mem("forget", saved["ref"], "--yes", cwd=adas)
    team.ada.sync()
    waiting = [each for each in team.ada.mem.json("forget", "--status")["items"] if each["project"] == key]
    assert [each["waiting_for"] for each in waiting] == [["ben/laptop"]]
    team.ben.sync()
    assert team.ben.found("capybaraCanary", bens) == []
    assert team.ben.holds("capybaraCanary") == []
    waiting = [each for each in team.ada.mem.json("forget", "--status")["items"] if each["project"] == key]
    assert [each["waiting_for"] for each in waiting] == [[]]


@pytest.mark.prove
def test_what_is_forgotten_of_others_does_not_come_back(team: Team) -> None:
    _, adas, bens = team.shared()
    saved = team.ada.mem.json("remember", "Tapirs nap at noon in every release.", cwd=adas)
    team.ada.sync()
    team.ben.sync()
    (found,) = team.ben.found("tapirs", bens)
    team.ben.mem("forget", found["ref"], "--yes", cwd=bens)
    team.ada.mem("pin", "--team", saved["ref"], cwd=adas)  # so that it is sent again
    team.ada.sync()
    team.ben.sync()
    assert team.ben.found("tapirs", bens) == []
    assert team.ada.found("tapirs", adas)


@pytest.mark.prove
@pytest.mark.parametrize("consents", [False, True])
def test_others_delete_much_of_ones_own_on_ones_machine_only_with_consent(
    team: Team, consents: bool, tmp_path: Path
) -> None:
    key, _, bens = team.shared()
    animal = "quagga" if consents else "okapi"
    titles = [f"{animal} {number} sleeps in module {number}" for number in range(MOST_LOST + 1)]
    records = team_servers.session_records(f"about-{animal}", key, *titles, words=animal)
    file = tmp_path / "memories.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    team.ben.mem("import", "--own", str(file), cwd=bens)
    team.ben.mem("share", "--here", cwd=bens)
    team.ben.mem("share", "--now", cwd=bens)
    team.ada.sync()
    team.ada.mem("forget", "--text", animal, "--for-team", "--yes")
    team.ada.sync()
    (held,) = team.ben.sync()["held"]
    assert (held["by"], held["memories"] > MOST_LOST) == ("ada", True)
    assert team.ben.holds(animal)
    status = team.ada.mem.json("forget", "--status")["items"]
    assert any(each["consent"] == ["ben/laptop"] for each in status if each["project"] == key)
    answered = team.ben.mem("team", "--accept-deletions" if consents else "--refuse-deletions")
    assert f"{held['memories']} memories" in answered.stderr
    assert team.ben.sync()["held"] == []
    assert bool(team.ben.found(animal, bens)) is not consents
    status = team.ada.mem.json("forget", "--status")["items"]
    of_project = [each for each in status if each["project"] == key]
    assert not [each for each in of_project if each["consent"]]
    assert bool([each for each in of_project if each["refused"]]) is not consents


def on_a_branch(team: Team, root: Path, branch: str) -> Path:
    """A folder of the repository that no session has worked in: the worker does not yet know its branch."""
    team.ada.git(root, "checkout", "-qb", branch)
    (root / "src").mkdir()
    team.ada.commit(root / "src", "change")
    return root / "src"


@pytest.mark.prove
def test_a_memory_of_a_branch_is_shared_when_that_is_merged(team: Team) -> None:
    _, adas, bens = team.shared()
    team.ada.work(
        on_a_branch(team, adas, "fix/otter"),
        "5694c0de-0000-4000-8000-00000000a003",
        "Fix the otter.",
        "The otter failed because the river was closed; fixed in src/river.py.",
    )
    status = team.ada.sync()
    assert any("fix/otter" in each["reason"] for each in status["waiting"])
    team.ben.sync()
    assert team.ben.found("river", bens) == []
    team.ada.git(adas, "checkout", "-q", "main")
    team.ada.git(adas, "merge", "-q", "--no-ff", "-m", "merge", "fix/otter")
    assert team.ada.sync()["waiting"] == []
    team.ben.sync()
    assert team.ben.found("river", bens)


@pytest.mark.prove
def test_what_waits_for_its_branch_can_be_sent_at_once(team: Team) -> None:
    _, adas, bens = team.shared()
    session, said = "5694c0de-0000-4000-8000-00000000a004", "The heron failed because the pond froze."
    team.ada.work(on_a_branch(team, adas, "fix/heron"), session, "Fix the heron.", said)
    assert team.ada.sync()["waiting"]
    team.ada.mem("share", "--now", "--here", cwd=adas)
    team.ben.sync()
    assert team.ben.found("pond", bens)


@pytest.mark.prove
def test_a_pin_is_ones_own_unless_it_is_the_teams(team: Team) -> None:
    _, adas, bens = team.shared()
    team.ada.mem("remember", "Axolotls regenerate the cache.", cwd=adas)
    saved = team.ada.mem.json("remember", "Pangolins roll up the logs.", cwd=adas)
    own = team.ada.found("axolotls", adas)[0]["ref"]
    team.ada.mem("pin", own, cwd=adas)
    team.ada.mem("pin", "--team", saved["ref"], cwd=adas)
    team.ada.sync()
    team.ben.sync()
    pinned = "SELECT title FROM observations WHERE pinned = 1"
    assert [title for (title,) in team.ben.rows(pinned)] == ["Pangolins roll up the logs."]
    bens_own = team.ben.found("axolotls", bens)[0]["ref"]
    team.ben.mem("pin", bens_own, cwd=bens)
    team.ada.mem("pin", "--team", "--off", saved["ref"], cwd=adas)
    team.ada.sync()
    team.ben.sync()
    assert [title for (title,) in team.ben.rows(pinned)] == ["Axolotls regenerate the cache."]


@pytest.mark.prove
def test_an_edit_replaces_what_others_have(team: Team) -> None:
    _, adas, bens = team.shared()
    saved = team.ada.mem.json("remember", "Lemurs leap before the linter.", cwd=adas)
    team.ada.sync()
    team.ben.sync()
    edited = {"id": saved["ref"], "title": "Lemurs leap after the linter."}
    assert control.request(team.ada.data, "POST", "/api/memory/edit", edited, deadline_s=60)[0] == 200
    team.ada.sync()
    team.ben.sync()
    titles = [each["title"] for each in team.ben.found("lemurs", bens)]
    assert titles == ["Lemurs leap after the linter."]


@pytest.mark.prove
def test_a_server_that_is_cut_off_costs_hooks_and_recall_nothing(team: Team) -> None:
    _, adas, bens = team.shared()
    team.ada.mem("remember", "Geckos hold on to the wall.", cwd=adas)
    team.ada.sync()
    team.ben.sync()
    try:
        for fault in (team.proxy.cut, team.proxy.fall_silent):
            fault()
            before = team.proxy.connections
            team.ada.mem("remember", f"Geckos outlast a {fault.__name__}.", cwd=adas)
            team.proxy.wait_for_connections(before + 1)  # the worker is sending it, or tries to
            prompt = {"cwd": str(bens)}
            given = json.loads(payloads.prompt("Where do geckos hold on?", "s-gecko")) | prompt
            assert hook_process.run(team.ben.data, json.dumps(given).encode()).code == 0
            assert team.ben.found("geckos", bens)
            assert team.ada.found("outlast", adas)
            team.proxy.heal()
    finally:
        team.proxy.heal()
    team.ada.sync()
    team.ben.sync()
    assert len(team.ben.found("outlast", bens)) == 2


@pytest.mark.prove
def test_a_worker_stops_at_once_though_the_server_does_not_answer(team: Team, tmp_path: Path) -> None:
    key, _ = team_servers.new_key(team.database, "ben", "phone")
    with machine(tmp_path / "ben", "ben") as phone:
        phone.join(team.proxy.url, key)
        try:
            team.proxy.fall_silent()
            before = team.proxy.connections
            root = phone.clone("pier", "git.example/ben/pier")
            phone.mem("remember", "Puffins fly low.", cwd=root)
            phone.mem("share", "--here", cwd=root)
            team.proxy.wait_for_connections(before + 1)
            control.stop(phone.data)
        finally:
            team.proxy.heal()
        log = "".join(path.read_text() for path in (phone.data / "logs").iterdir())
        assert "stopping" in log
        assert "something is still running" not in log
        control.start(phone.data)
        assert phone.sync()["error"] is None


@pytest.mark.prove
def test_a_key_that_was_revoked_is_reported_once_and_a_new_one_goes_on(team: Team, tmp_path: Path) -> None:
    key, key_id = team_servers.new_key(team.database, "ben", "desktop")
    with machine(tmp_path / "ben", "ben") as desktop:
        desktop.join(team.proxy.url, key)
        assert desktop.sync()["error"] is None
        with team_servers.opened(team.database) as store:
            store.directory.revoke_key(key_id)
        workers.until(lambda: desktop.sync()["stopped"] is not None, "the key is not accepted")
        notice = (desktop.data / "notice").read_text()
        assert notice.count("claude-mem join") == 1
        new, _ = team_servers.new_key(team.database, "ben", "desktop")
        desktop.join(team.proxy.url, new)
        status = desktop.sync()
        assert (status["stopped"], status["error"]) == (None, None)


@pytest.mark.prove
def test_a_server_that_moves_is_followed_and_nothing_is_sent_twice(team: Team, tmp_path: Path) -> None:
    with team_servers.opened(team.database) as store:
        store.directory.add_member(NewMember(name="dan"))
    key, _ = team_servers.new_key(team.database, "dan", "desk")
    other = new_database()
    team_servers.new_team(other, "dan")
    with (
        FaultProxy() as before,
        FaultProxy() as after,
        team_servers.running(team.database, "--public-url", before.url) as here,
        team_servers.running(team.database, "--public-url", after.url) as there,
        team_servers.running(other, "--public-url", after.url) as foreign,
        machine(tmp_path / "dan", "dan") as desk,
    ):
        before.target, after.target = here.port, foreign.port
        desk.join(before.url, key)
        root = desk.clone("moved", "git.example/acme/moved")
        desk.mem("remember", "Newts cross the road in March.", cwd=root)
        desk.mem("share", "--here", cwd=root)
        desk.sync()
        cursor = desk.rows("SELECT value FROM team_state WHERE name = 'progress'")
        refused = desk.mem("join", after.url, "--moved", code=None)
        assert refused.returncode != 0, "it is another team's"
        assert desk.mem.json("team")["url"] == before.url
        before.cut()
        after.target = there.port
        asks_to_leave = desk.mem("join", after.url, given=key.encode(), code=None).stderr
        assert "--moved" in asks_to_leave
        desk.mem("join", after.url, "--moved")
        assert (
            json.loads(desk.rows("SELECT value FROM team_state WHERE name = 'progress'")[0][0])["cursor"]
            == (json.loads(cursor[0][0])["cursor"])
        )
        desk.mem("remember", "Newts come back in June.", cwd=root)
        status = desk.sync()
        assert (status["url"], status["error"]) == (after.url, None)
        assert [each["sent"] for each in status["projects"]] == [2]
        assert b"June" in after.seen()
        assert b"March" not in after.seen()


@pytest.mark.prove
def test_two_machines_of_one_member_share_everything(team: Team, tmp_path: Path) -> None:
    key, _ = team_servers.new_key(team.database, "ben", "desktop2")
    with machine(tmp_path / "ben", "ben") as desktop:
        desktop.join(team.proxy.url, key)
        desktop.mem("share", "--all", "--prompts")
        root = desktop.clone("orchard", "git.example/ben/orchard")
        session = "5694c0de-0000-4000-8000-00000000a005"
        desktop.work(root, session, "Prune the quincePrompt.", "The quince was pruned in src/quince.py.")
        desktop.mem("remember", "Quinces ripen in October.", cwd=root)
        desktop.sync()
        team.ben.sync()
        there = team.ben.clone("orchard", "git.example/ben/orchard")
        (found,) = team.ben.found("ripen", there)
        assert found["author"] == "ben"
        assert team.ben.rows("SELECT prompt FROM user_prompts WHERE prompt LIKE '%quincePrompt%'")
        team.ben.mem("forget", found["ref"], "--yes", cwd=there)
        team.ben.sync()
        desktop.sync()
        assert desktop.found("ripen", root) == []
        assert desktop.holds("Quinces ripen") == []


@pytest.mark.prove
def test_leaving_takes_back_what_was_shared_and_deletes_what_others_did(team: Team, tmp_path: Path) -> None:
    with team_servers.opened(team.database) as store:
        store.directory.add_member(NewMember(name="cat"))
    key, _ = team_servers.new_key(team.database, "cat", "tablet")
    project, adas, bens = team.shared()
    team_servers.grant(team.database, project, "cat", "write")
    team.ada.mem("remember", "Bitterns boom at night.", cwd=adas)
    team.ada.sync()
    with machine(tmp_path / "cat", "cat") as tablet:
        tablet.join(team.proxy.url, key)
        root = tablet.clone("shop", project)
        tablet.mem("remember", "Curlews call at dawn.", cwd=root)
        tablet.mem("share", "--here", cwd=root)
        tablet.sync()
        team.ben.sync()
        assert team.ben.found("curlews", bens)
        assert tablet.found("bitterns", root)
        left = tablet.mem.json("leave", "--yes")
        assert left["told_server"] is True
        assert not (tablet.data / KEY_FILE).exists()
        assert tablet.found("bitterns", root) == []
        assert tablet.holds("Bitterns boom") == []
        assert tablet.found("curlews", root)
    team.ben.sync()
    assert team.ben.found("curlews", bens) == []
    assert team.ben.holds("Curlews call") == []


@pytest.mark.prove
def test_the_key_is_readable_by_its_owner_alone_and_in_no_other_file(team: Team) -> None:
    file = team.ada.data / KEY_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert team.ada.holds(file.read_text().strip()) == [file]
