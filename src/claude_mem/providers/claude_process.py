"""The user's own claude command: finds it, checks that it is usable, and ensures that no child outlives the
worker.

Finding it is cheap, so that `auto` and `doctor` can do it: credentials are located, not read.

A Claude Code process that waits for its response does not notice that its stdin was closed and its parent is
gone; it can stay for many minutes, with 200 MB (measured; docs/adr/0005). So a small script starts it and
first leaves a watcher behind. The watcher reads a pipe that only the worker holds open. If the pipe closes
without a message, because the worker closed it or died, the watcher kills the client's process group
immediately. No process ids are needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

VERSION_WITHIN_S = 5.0
OLDEST = (2, 1, 248)
"""The first that takes a prompt as it is written. Older ones read local files that it mentions
(`@/etc/passwd`), and what we send quotes files and web pages, which are untrusted."""

LOGINS = (
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)
"""Variables that are set only for Claude Code."""
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables that any program may read. Claude Code prefers them to its login when it runs without a user."""

SESSION = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
)
"""Variables of the session in which a hook started the worker, which the child must not get."""

PLACES = (
    "~/.local/bin/claude",
    "~/.claude/local/claude",
    "~/.npm-global/bin/claude",
    "/opt/homebrew/bin/claude",
    "/usr/local/bin/claude",
)
NO_COMMAND = "The claude command was not found. Install Claude Code, or set CLAUDE_CODE_PATH to its path."
NO_LOGIN = "Claude Code is not logged in. Run claude and log in with /login."


def find(cli_path: str | None = None) -> str | None:
    """The command to run: the user's choice, the one on the PATH, or one where its installers put it."""
    if cli_path:
        return shutil.which(Path(cli_path).expanduser())
    usual = (str(Path(place).expanduser()) for place in PLACES)
    return shutil.which("claude") or next((place for place in usual if shutil.which(place)), None)


def problem(
    cli_path: str | None = None, environ: Mapping[str, str] | None = None, *, keys: bool = False
) -> str | None:
    """None if Claude can be called, else the reason as a sentence. `keys`: also with a key that is merely in
    the environment."""
    environ = os.environ if environ is None else environ
    command = find(cli_path)
    if command is None:
        return NO_COMMAND
    if not logged_in(environ) and not (keys and any(environ.get(name) for name in KEYS)):
        return NO_LOGIN
    return too_old(command, deadline_s=VERSION_WITHIN_S)


def logged_in(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether Claude Code has its own login. A key in the environment does not count: it may be for something
    else."""
    if any(environ.get(name) for name in LOGINS):
        return True
    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ["CLAUDE_CONFIG_DIR"]) if environ.get("CLAUDE_CONFIG_DIR") else None
    if ((config or home / ".claude") / ".credentials.json").exists():
        return True
    state = (config or home) / ".claude.json"
    # A Console account stores its key there. On a Mac the credentials are in the keychain, so a known account
    # is the best available evidence.
    return _mentions(state, b'"primaryApiKey"') or (
        platform == "darwin" and _mentions(state, b'"oauthAccount"')
    )


def environment(
    environ: Mapping[str, str], platform: str = sys.platform, *, keys: bool = True
) -> dict[str, str]:
    """The child's environment. If Claude Code has a login, a key that is merely set does not replace it; and
    without `keys` none does when that login is gone."""
    left_out = SESSION if keys and not logged_in(environ, platform) else (*SESSION, *KEYS)
    return {name: value for name, value in environ.items() if name not in left_out}


def _mentions(file: Path, name: bytes) -> bool:
    try:
        return name in file.read_bytes()
    except OSError:
        return False


def too_old(command: str, *, deadline_s: float) -> str | None:
    """Whether it is too old, as a sentence; None: it is recent enough."""
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
    required = ".".join(map(str, OLDEST))
    if version is None:
        return f"{command} does not report a Claude Code version; {required} or later is required."
    if tuple(map(int, version.groups())) < OLDEST:
        installed = ".".join(version.groups())
        return (
            f"Claude Code at {command} is too old ({installed}); {required} or later is required. Update it."
        )
    return None


SCRIPT = """\
exec 9<&2 2>/dev/null
place=$1
shift
{
    trap '' TERM
    read -r _ <&9 && exit
    kill -- -$$  # politely first: it takes its session file out of ~/.claude
    n=0
    while kill -0 $$ && [ $n -lt 20 ]; do sleep 0.1; n=$((n + 1)); done
    rm -rf -- "$place"
    kill -9 -- -$$
} </dev/null >/dev/null &
exec 9<&-
exec "$@"
"""
"""Its stderr is the watched pipe: every shell can name this descriptor, and it is already open."""


class ChildGuard:
    """A private directory (mode 0700): one that is empty for the child to stand in, one for what it writes
    to the side. Gone afterwards, and so is the child."""

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="claude-mem-"))
        self.empty = self._place / "empty"
        self.temporary = self._place / "tmp"
        self.empty.mkdir(mode=0o700)
        self.temporary.mkdir(mode=0o700)
        self._lock = threading.Lock()
        self._watched, held = os.pipe()
        self._held: int | None = held

    def __enter__(self) -> ChildGuard:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end(b"done\n")
        os.close(self._watched)
        shutil.rmtree(self._place, ignore_errors=True)

    def write(self, name: str, text: str) -> str:
        """Writes a file outside the child's working directory; returns its path."""
        file = self._place / name
        file.write_text(text, encoding="utf-8")
        return str(file)

    def start(self, words: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 the command the user chose
            ["/bin/sh", "-c", SCRIPT, "claude-mem", str(self._place), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._watched,  # what the client itself says there may quote the prompt, and goes nowhere
            cwd=self.empty,
            env={**environ, "TMPDIR": str(self.temporary)},
            start_new_session=True,  # its own process group, which is ended together
        )

    def kill(self) -> None:
        """Kills the client if it is still running. Any thread may call it, any number of times."""
        self._end(b"")

    def _end(self, word: bytes) -> None:
        with self._lock:
            if self._held is not None:
                if word:
                    os.write(self._held, word)
                os.close(self._held)
                self._held = None
