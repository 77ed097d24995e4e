"""Row 24: schemathesis asks a real worker, over TCP, whatever its OpenAPI document allows or forbids."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.contracts import worker_client

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("phases", "examples"),
    [
        pytest.param("fuzzing", 2, marks=pytest.mark.short),
        pytest.param("examples,coverage,fuzzing", 30, marks=pytest.mark.prove),
    ],
    ids=["a little", "everything"],
)
def test_nothing_that_can_be_asked_breaks_the_worker_or_is_answered_otherwise_than_described(
    tmp_path: Path, phases: str, examples: int
) -> None:
    data = tmp_path / "data"
    with worker_client.remembering(data) as worker:
        pid = worker.get("/health")["pid"]
        asked = _ask(f"http://127.0.0.1:{worker.port}/openapi.json", worker.token, tmp_path, phases, examples)
        assert asked.returncode == 0, asked.stdout[-20_000:]
        assert worker.get("/health")["pid"] == pid
        with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _ask(
    document: str, token: str, folder: Path, phases: str, examples: int
) -> subprocess.CompletedProcess[str]:
    """Left out are the stream, which answers for as long as one listens, and the restart.

    The seed makes each run the same."""
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", document]
    command += ["--header", f"Authorization: Bearer {token}", "--exclude-path", "/stream"]
    command += ["--exclude-path", "/api/restart"]
    command += ["--checks", ",".join(CHECKS), "--continue-on-failure", "--phases", phases]
    command += [
        "--max-examples",
        str(examples),
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
