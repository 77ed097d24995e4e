"""A real VS Code in a browser: code-server from npm, installed once in `build`, with our extension in it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness import hook_process, workers

ROOT = Path(__file__).resolve().parents[2]
VERSION = "4.100.3"  # VS Code 1.100
PATIENCE_S = 600  # for a download
_NPM = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")


def installed() -> Path:
    """Its program. Nothing is compiled: what is native in it is for passwords, logs and terminals, of which
    none is used here."""
    assert shutil.which("npm"), "npm is not installed; make prove installs it"
    at = ROOT / "build" / f"code-server-{VERSION}"
    program = at / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    ready = at / "ready"
    if not ready.exists():
        shutil.rmtree(at, ignore_errors=True)
        at.mkdir(parents=True)
        (at / "package.json").write_text("{}")
        _run([*_NPM, f"code-server@{VERSION}"], at)
        _run([*_NPM, "--omit=dev"], at / "node_modules" / "code-server" / "lib" / "vscode")
        (at / "node_modules" / "argon2" / "argon2.js").write_text("module.exports = {}\n")
        ready.touch()
    return program


def _run(words: list[str], at: Path) -> None:
    done = subprocess.run(words, cwd=at, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr


@contextmanager
def serving(home: Path, vsix: Path, data: Path) -> Iterator[str]:
    """The address of an editor with the extension, whose claude-mem has this data directory."""
    program, port = installed(), workers.free_port()
    env = hook_process.environment(data) | {"HOME": str(home)}
    words = ["node", str(program)]
    words += ["--user-data-dir", str(home / "user"), "--extensions-dir", str(home / "ext")]
    added = subprocess.run(
        [*words, "--install-extension", str(vsix)], env=env, capture_output=True, text=True, check=False
    )
    assert added.returncode == 0, added.stdout + added.stderr
    options = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry"]
    options += ["--disable-update-check", "--disable-workspace-trust"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [*words, *options], env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        address = f"http://127.0.0.1:{port}"
        workers.until(lambda: _answers(f"{address}/healthz"), "the editor is up")
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(workers.PATIENCE_S)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=workers.PATIENCE_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
