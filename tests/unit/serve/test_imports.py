"""A worker starts light: what is heavy is imported late, or never."""

import signal
from pathlib import Path

from tests.unit.serve import worker_driver

HEAVY = {
    "anthropic",
    "chromadb",
    "claude_agent_sdk",
    "httpx",
    "mcp",
    "numpy",
    "onnxruntime",
    "openai",
    "pydantic",
}


def test_a_worker_imports_nothing_heavy(data: Path) -> None:
    options = ("--port", str(worker_driver.free_port()), "--vectors", "off")
    process = worker_driver.launched(data, *options, wrap=["env", "PYTHONPROFILEIMPORTTIME=1"])
    worker_driver.until(
        "the worker answers", lambda: process.poll() is not None or worker_driver.answers(data)
    )
    process.send_signal(signal.SIGTERM)
    _, profile = process.communicate(timeout=worker_driver.DEADLINE_S)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in profile.decode().splitlines()}
    assert {"starlette", "uvicorn", "httptools", "claude_mem"} <= imported, (
        "the profile tells what is imported"
    )
    assert not HEAVY & imported


def test_asking_after_a_worker_imports_no_server(data: Path) -> None:
    import subprocess
    import sys

    script = "import sys, claude_mem.serve.control; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=worker_driver.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"starlette", "uvicorn", "asyncio", "anyio", "sqlite3"} & set(done.stdout.split())
