"""The claude command: finds it, checks that it is usable, and makes sure that no child process outlives us.

Finding it is cheap, so that `auto` and `doctor` can ask: the SDK is looked for, not imported; credentials are
seen, not read.

A Claude Code that waits for its answer does not mind that its standard input is closed and its parent gone;
left alone it stays for many minutes, with 200 MB (measured; docs/adr/0005). So it is started by a small
script that first leaves a watcher behind, and the watcher reads a pipe that only the worker holds open. The
pipe's end without a word, by the worker's hand or by its death, kills the client at once, without anybody
having to know process ids.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

OLDEST = (2, 1, 248)
"""The first that takes a prompt as it is written. Older ones read local files that it mentions
(`@/etc/passwd`), and what we send quotes files and web pages that a stranger may have written."""

LOGINS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)
NO_SDK = (
    "The Claude Agent SDK is not installed. Install it where claude-mem is: "
    f"{shlex.quote(sys.executable)} -m pip install claude-agent-sdk"
)
NO_COMMAND = "The claude command was not found. Install Claude Code, or set CLAUDE_CODE_PATH to where it is."
NO_LOGIN = "Claude Code is not logged in. Run claude and log in with /login."


def find(cli_path: str | None = None) -> str | None:
    """The command to run: the user's choice, the copy inside the SDK, or the one on the PATH."""
    if cli_path:
        return shutil.which(cli_path)
    bundled = bundled_cli()
    if bundled and os.access(bundled, os.X_OK):
        return str(bundled)
    return shutil.which("claude")


def bundled_cli() -> Path | None:
    spec = importlib.util.find_spec("claude_agent_sdk")  # finds a package of that name without running it
    return Path(spec.origin).with_name("_bundled") / "claude" if spec and spec.origin else None


def available(cli_path: str | None = None, environ: Mapping[str, str] | None = None) -> str | None:
    """None if Claude can be asked, else the reason as a sentence."""
    environ = os.environ if environ is None else environ
    if bundled_cli() is None:
        return NO_SDK
    if find(cli_path) is None:
        return NO_COMMAND
    return None if logged_in(environ) else NO_LOGIN


def logged_in(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    if any(environ.get(name) for name in LOGINS):
        return True
    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ["CLAUDE_CONFIG_DIR"]) if environ.get("CLAUDE_CONFIG_DIR") else None
    if ((config or home / ".claude") / ".credentials.json").exists():
        return True
    # On a Mac the credentials are in the keychain; that an account is known is the best one can see.
    return platform == "darwin" and _mentions_account((config or home) / ".claude.json")


def _mentions_account(file: Path) -> bool:
    try:
        return b'"oauthAccount"' in file.read_bytes()
    except OSError:
        return False


def too_old(command: str, *, deadline_s: float) -> str | None:
    """None if it is recent enough, else the reason as a sentence. The SDK's own copy always is."""
    if command == str(bundled_cli()):
        return None
    try:
        printed = subprocess.run(  # noqa: S603 the command the user chose
            [command, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=deadline_s,
            check=False,
            text=True,
            errors="replace",
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        printed = ""
    version = re.match(r"\s*(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b", printed)
    wanted = ".".join(map(str, OLDEST))
    if version is None:
        return f"{command} does not report a Claude Code version; {wanted} or later is required."
    if tuple(map(int, version.groups())) < OLDEST:
        found = ".".join(version.groups())
        return f"Claude Code at {command} is too old ({found}); {wanted} or later is required. Update it."
    return None


SCRIPT = """\
#!/bin/sh
exec 9<{pipe}
{{
    read -r _ <&9 && exit
    kill $$  # politely first: it takes its session file out of ~/.claude
    n=0
    while kill -0 $$ && [ $n -lt 20 ]; do sleep 0.1; n=$((n + 1)); done
    kill -9 $$
    rm -rf -- {place}
}} </dev/null >/dev/null 2>&1 &
exec 9<&-
exec {command} "$@"
"""


class ChildGuard:
    """A private directory (mode 0700) with the script to start, an empty directory to start it in, and one
    for what it writes to the side; gone afterwards."""

    def __init__(self, command: str) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="claude-mem-"))
        self.empty = self._place / "empty"
        self.temporary = self._place / "tmp"
        self.command = self._place / "claude"
        pipe = self._place / "pipe"
        self.empty.mkdir(mode=0o700)
        self.temporary.mkdir(mode=0o700)
        os.mkfifo(pipe, 0o600)
        script = SCRIPT.format(
            pipe=shlex.quote(str(pipe)), place=shlex.quote(str(self._place)), command=shlex.quote(command)
        )
        self.command.write_text(script, encoding="utf-8")
        self.command.chmod(0o700)
        self._lock = threading.Lock()
        # Read and write: opening a pipe for writing alone would wait for the watcher. No child inherits it.
        self._held: int | None = os.open(pipe, os.O_RDWR)

    def __enter__(self) -> ChildGuard:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end(b"done\n")
        shutil.rmtree(self._place, ignore_errors=True)

    def kill(self) -> None:
        """Kill the client, if it still runs. Any thread may; once is enough."""
        self._end(b"")

    def _end(self, word: bytes) -> None:
        with self._lock:
            if self._held is not None:
                if word:
                    os.write(self._held, word)
                os.close(self._held)
                self._held = None
