"""schemathesis asks a real team server whatever its OpenAPI document allows or forbids."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from tests.harness import team_servers
from tests.harness.postgres import new_database
from tests.harness.team_servers import Caller
from tests.security.test_api_fuzz import CHECKS

LEFT_OUT = ("/stream", "/api/team/leave", "/api/team/keys/revoke")
"""They answer for as long as one listens, or end the key that asks."""

pytestmark = pytest.mark.prove


@pytest.mark.timeout(1800)
def test_nothing_that_can_be_asked_breaks_the_server_or_is_answered_otherwise_than_described(
    tmp_path: Path,
) -> None:
    url = new_database()
    key = team_servers.new_team(url, "ben")["ada"]
    with team_servers.running(url, "--rate", "100000") as server:
        ada = Caller(server.port, key)
        ada.post(
            "/api/team/push", team_servers.session_records("claude-session-123", "git.example/acme/shop", "a")
        )
        asked = _ask(f"http://127.0.0.1:{server.port}/openapi.json", key, tmp_path)
        assert asked.returncode == 0, asked.stdout[-20_000:]
        assert ada.get("/api/team")["member"] == "ada"
        failed = [line for line in server.log if line["level"] == "ERROR"]
        assert failed == [], json.dumps(failed[:3], indent=1)
    with psycopg.connect(url) as db:
        assert db.execute("SELECT COUNT(*) > 0 FROM claude_mem.observations").fetchone() == (True,)


def _ask(document: str, key: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The seed makes each run the same."""
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", document]
    command += ["--header", f"Authorization: Bearer {key}"]
    for path in LEFT_OUT:
        command += ["--exclude-path", path]
    command += [
        "--checks",
        ",".join(CHECKS),
        "--continue-on-failure",
        "--phases",
        "examples,coverage,fuzzing",
    ]
    command += [
        "--max-examples",
        "30",
        "--seed",
        "24",
        "--request-timeout",
        "60",
        "--warnings",
        "off",
    ]
    plain = os.environ | {"NO_COLOR": "1"}
    return subprocess.run(
        command, cwd=folder, env=plain, capture_output=True, text=True, timeout=1700, check=False
    )
