"""A team server is set up: the first key, members, TLS, and what is said when something is missing."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
from pathlib import Path

import psycopg
import pytest
from tests.e2e.test_team_server_lifecycle import SHOP, Team
from tests.harness import team_servers
from tests.harness.commands import Mem
from tests.harness.postgres import bare_database, new_database
from tests.harness.team_servers import Caller, session_records
from tests.harness.workers import PATIENCE_S, until


@pytest.fixture
def team() -> Team:
    return Team()


def test_from_an_empty_database_to_the_first_answer(tmp_path: Path) -> None:
    """As `server init` and `server run` are typed."""
    url = bare_database()
    mem = Mem(tmp_path / "none", CLAUDE_MEM_DATABASE_URL=url)
    for early in (("member", "list"), ("key", "list"), ("project", "list"), ("audit",)):
        assert "server init" in mem("server", *early, code=1).stderr
    made = mem.json("server", "init", "--admin", "ada", "--machine", "laptop")
    assert made["pgvector"][0].isdigit()
    assert mem("server", "init", code=1).stdout == ""
    with team_servers.running(url, "--drain", "0") as server:
        who = Caller(server.port, made["key"]).get("/api/team")
        assert (who["member"], who["machine"], who["admin"]) == ("ada", "laptop", True)
        assert server.stop() == 0
    assert not (tmp_path / "none").exists()


def test_members_keys_and_grants_are_managed_by_commands(team: Team, tmp_path: Path) -> None:
    mem = Mem(tmp_path / "none", CLAUDE_MEM_DATABASE_URL=team.url)
    with team_servers.running(team.url) as server:
        team.caller(server).post("/api/team/push", session_records("s", SHOP, "a title"))
        mem("server", "member", "add", "ben")
        made = mem.json("server", "key", "add", "ben", "laptop", "--scopes", "read", "--days", "7")
        ben = Caller(server.port, made["key"])
        assert ben.get("/api/projects")["items"] == []
        mem("server", "project", "grant", SHOP, "ben", "read")
        assert [each["project"] for each in ben.get("/api/team")["projects"]] == [SHOP]
        listed = mem.json("server", "project", "list")["items"]
        assert [(each["member"], each["level"]) for each in listed] == [("ada", "admin"), ("ben", "read")]
        mem("server", "project", "revoke", SHOP, "ben")
        assert ben.get("/api/team")["projects"] == []
        mem("server", "project", "grant", f"https://me@{SHOP}.git", "ben", "read")
        assert [each["project"] for each in ben.get("/api/team")["projects"]] == [SHOP], "its address will do"
        mistyped = mem("server", "project", "grant", f"{SHOP}p", "ben", "read")
        assert f"{SHOP}p" in mistyped.stderr, "nobody has shared that"
        mem("server", "key", "revoke", made["info"]["id"])
        until(lambda: ben.ask("GET", "/api/team").status == 401, "the key has ended")
        mem("server", "member", "remove", "ben")
    assert [each["name"] for each in mem.json("server", "member", "list")["items"]] == ["ada"]
    actions = [each["action"] for each in mem.json("server", "audit")["items"]]
    assert {"member.add", "key.add", "key.revoke", "member.remove"} <= set(actions)
    for line in (("member", "list"), ("key", "list"), ("project", "list"), ("audit",)):
        assert "ada" in mem("server", *line).stdout
    assert made["key"] not in mem("server", "key", "list").stdout


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("", "CLAUDE_MEM_DATABASE_URL"),
        ("postgresql://me:hunter2@127.0.0.1:1/memory", "127.0.0.1"),
        ("not an address", "CLAUDE_MEM_DATABASE_URL"),
    ],
    ids=["no database", "a server that is not there", "no address"],
)
def test_without_its_database_no_command_begins_and_says_what_is_missing(
    tmp_path: Path, url: str, named: str
) -> None:
    mem = Mem(tmp_path / "none", CLAUDE_MEM_DATABASE_URL=url)
    for line in (("init",), ("run", "--listen", "127.0.0.1:0"), ("member", "list")):
        done = mem("server", *line, code=1, process=line[0] == "run")
        assert named in done.stderr
        assert "hunter2" not in done.stderr


def test_a_database_without_a_team_or_of_a_newer_version_is_not_served(tmp_path: Path) -> None:
    url = new_database()
    mem = Mem(tmp_path / "none", CLAUDE_MEM_DATABASE_URL=url)
    run = ("server", "run", "--listen", "127.0.0.1:0")
    assert "server init" in mem(*run, code=1, process=True).stderr
    with psycopg.connect(url) as db:
        db.execute("UPDATE claude_mem.schema_version SET version = 1000")
    for line in (run, ("server", "init")):
        assert "1000" in mem(*line, code=1, process=True).stderr


def test_a_user_who_may_not_make_the_role_is_told_what_an_administrator_must_run(tmp_path: Path) -> None:
    url = bare_database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DROP ROLE IF EXISTS plain_owner")
        db.execute("CREATE ROLE plain_owner LOGIN PASSWORD 'x'")
        database = db.execute("SELECT current_database()").fetchone()
        assert database is not None
        db.execute(f"ALTER DATABASE {database[0]} OWNER TO plain_owner")
    plain = url.replace("postgres:@", "plain_owner:x@").replace("postgres@", "plain_owner:x@")
    assert plain != url
    done = Mem(tmp_path / "none", CLAUDE_MEM_DATABASE_URL=plain)("server", "init", code=1)
    assert "GRANT claude_mem_member TO" in done.stderr


@pytest.fixture
def certificates(tmp_path: Path) -> tuple[Path, Path]:
    make_certificate(tmp_path, "one")
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def make_certificate(folder: Path, name: str) -> None:
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-days", "2", "-subj", f"/O={name}/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-out", folder / "cert.pem", "-keyout", folder / "key.pem"),
        ],
        check=True,
        capture_output=True,
    )


def shown_certificate(port: int) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as raw, context.wrap_socket(raw) as tls:
        return tls.getpeercert(binary_form=True) or b""


def test_it_answers_over_tls_and_reads_a_renewed_certificate(
    team: Team, certificates: tuple[Path, Path]
) -> None:
    cert, key = certificates
    with team_servers.running(team.url, "--cert", cert, "--key", key, "--drain", "0") as server:
        trusting = ssl.create_default_context(cafile=str(cert))
        reply = Caller(server.port, team.key, trusting).ask("GET", "/api/team")
        assert reply.status == 200
        assert "strict-transport-security" in reply.headers
        with pytest.raises(OSError):  # noqa: PT011 - which one depends on OpenSSL
            Caller(server.port).ask("GET", "/health")
        first = shown_certificate(server.port)
        key.write_text("no key")
        server.process.send_signal(signal.SIGHUP)
        server.waited_for("the certificate cannot be read, so the old one stays in use: SSLError")
        assert shown_certificate(server.port) == first
        make_certificate(cert.parent, "two")
        server.process.send_signal(signal.SIGHUP)
        server.waited_for("the certificate was reloaded")
        assert shown_certificate(server.port) != first
        assert server.stop() == 0


def test_a_certificate_without_its_key_is_a_usage_error(
    team: Team, certificates: tuple[Path, Path], data: Path
) -> None:
    mem = Mem(data, CLAUDE_MEM_DATABASE_URL=team.url)
    assert "--cert" in mem("server", "run", "--cert", certificates[0], code=2).stderr


def test_the_log_is_json_lines(team: Team) -> None:
    with team_servers.running(team.url, "--drain", "0") as server:
        team.caller(server).get("/api/projects")
        assert server.stop() == 0
        server.waited_for("stopped")
        requests = [line for line in server.log if line["message"] == "request"]
        assert requests[0]["route"] == "/api/projects"
        assert requests[0]["member"] == "ada"
        assert all({"time", "level", "logger", "message"} <= line.keys() for line in server.log)
