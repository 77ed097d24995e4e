"""Decides which sensitive environment variables the worker uses: those that could send memory elsewhere or
delete it.

A hook starts the worker with the environment of an agent's session, and a repository's settings can add to
that: a proxy, certificates, a model's URL, a database, a trace receiver. Such a variable is used only with a
value that the user approved with a command (`install`, `join`, `worker start`, `worker restart`, `worker
run`), or that comes from the user's or the administrator's Claude Code settings. Values are stored as hashes,
so no key is copied.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path

from claude_mem.files import read_object, write_file
from claude_mem.hook import paths
from claude_mem.providers import registry
from claude_mem.settings.declarations import SETTINGS, Settings

IN_SESSION = (
    *("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX", "CODEX_THREAD_ID", "COPILOT_CLI"),
    *("CURSOR_AGENT", "CLINE_ACTIVE", "GEMINI_CLI", "GOOSE_TERMINAL", "OPENCODE"),
)
"""Agents set these for programs that they start, so the environment is that of a session."""

_GROUPS = ("The budget", "Retention")  # what is spent, and what is deleted
_NAMES = frozenset(each.key for each in SETTINGS if each.takes.socket_only or each.group in _GROUPS) | {
    "CLAUDE_MEM_PROVIDER"
}
_OTHERS = re.compile(
    r"(?i:\w*_proxy)|SSL_CERT_(?:FILE|DIR)|SSLKEYLOGFILE|OPENSSL_\w+|(?:REQUESTS|CURL)_CA_BUNDLE"
    r"|(?:NODE|BUN|GRPC|OTEL|CHROMA|HF)_\w+|\w*TRACING_ENDPOINT|PG[A-Z]+"
    r"|(?:ANTHROPIC|OPENAI|AWS|AZURE|GOOGLE|CLOUD_ML|VERTEX|CLOUDSDK|GCE_METADATA)_\w+|CLAUDE_CONFIG_DIR"
    r"|CLAUDE_CODE_(?:USE_\w+|SKIP_\w+|OAUTH_TOKEN|API_KEY_HELPER\w*|CLIENT_\w+|ENABLE_TELEMETRY|\w*_URL)",
    re.ASCII,
)
_OF_SESSION = re.compile(r"CLAUDECODE|CLAUDE_(?!MEM_)\w+|CCR_\w+|SESSION_INGRESS_\w+", re.ASCII)
"""Variables that Claude Code sets for a session, and its own switches: also removed, but not reported."""
_MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
"""Settings of Claude Code that only an administrator can write."""
_MOST = 1 << 20


def redirects(name: str, value: str) -> bool:
    """Whether it determines where memory is sent or stored, or with whose key. `offline` sends nothing."""
    if not value or (name, value) == ("CLAUDE_MEM_PROVIDER", "offline"):
        return False
    return name in _NAMES or name in registry.VARIABLES or _OTHERS.fullmatch(name) is not None


def unapproved(environ: Mapping[str, str], data_dir: Path) -> list[str]:
    """The names of the variables that the worker would not use."""
    return [name for name in _unapproved(environ, data_dir) if redirects(name, environ[name])]


def _unapproved(environ: Mapping[str, str], data_dir: Path) -> list[str]:
    """Also those of the session itself."""
    current = {
        name: value
        for name, value in environ.items()
        if value and (redirects(name, value) or _OF_SESSION.fullmatch(name))
    }
    if not current:
        return []
    saved = read_object(data_dir / paths.ENVIRONMENT)
    salt, approved = str(saved.get("salt")), _texts(saved.get("approved"))
    left = [name for name, value in current.items() if approved.get(name) != _digest(salt, name, value)]
    if not left:
        return []
    config = saved.get("claude_config")
    sources = [Path(each) for each in _MANAGED]
    sources += [Path(config) / "settings.json"] if isinstance(config, str) else []
    own = [_texts(_of_client(each)) for each in sources]
    return sorted(name for name in left if all(each.get(name) != current[name] for each in own))


def leave_out_unapproved(environ: MutableMapping[str, str], data_dir: Path) -> list[str]:
    """Removes them; returns the names of those that the user may miss."""
    names = _unapproved(environ, data_dir)
    missed = [name for name in names if redirects(name, environ[name])]
    for name in names:
        del environ[name]
    return missed


def approve(environ: Mapping[str, str], data_dir: Path) -> list[str]:
    """The user's command was started with these. Returns the names of those that are newly approved; none in
    an agent's session."""
    new = _unapproved(environ, data_dir)
    if any(environ.get(name) for name in IN_SESSION):
        return []
    _approve_place(data_dir)
    file = data_dir / paths.ENVIRONMENT
    saved = read_object(file)
    config = environ.get("CLAUDE_CONFIG_DIR") or str(Path(environ.get("HOME", "~")).expanduser() / ".claude")
    if not new and saved.get("claude_config") == config:
        return []
    salt = str(saved.get("salt") or secrets.token_hex(16))
    approved = _texts(saved.get("approved")) | {name: _digest(salt, name, environ[name]) for name in new}
    left = [name for name in ignored(data_dir) if name not in new]
    _write(file, saved | {"salt": salt, "approved": approved, "claude_config": config, "ignored": left})
    return new


def _approve_place(data_dir: Path) -> None:
    """Hooks use it also where it is inside a project."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    given = paths.approval(data_dir.stat().st_ino)
    file = data_dir / paths.APPROVED
    if not file.is_file() or file.read_bytes() != given:
        write_file(file, given)


def ignored(data_dir: Path) -> list[str]:
    """The variables that the last started worker found and did not use."""
    found = read_object(data_dir / paths.ENVIRONMENT).get("ignored")
    return [str(name) for name in found] if isinstance(found, list) else []


def note_ignored(names: Iterable[str], data_dir: Path) -> None:
    now = sorted(names)
    if now != ignored(data_dir):
        file = data_dir / paths.ENVIRONMENT
        _write(file, read_object(file) | {"ignored": now})


def mark_notified(names: Iterable[str], data_dir: Path) -> list[str]:
    """Those that the user was never notified of; from now on they are. Sessions with and without a variable
    may take turns."""
    file = data_dir / paths.ENVIRONMENT
    saved = read_object(file)
    listed = saved.get("notified")
    before = {str(name) for name in listed} if isinstance(listed, list) else set()
    new = sorted(set(names) - before)
    if new:
        _write(file, saved | {"notified": sorted(before | set(new))})
    return new


def relevant(names: Iterable[str], chosen: Settings, observer: str, *, joined: bool) -> list[str]:
    """Those without which the worker may store or send elsewhere than the user thinks, or nothing at all.
    `observer`: the provider in use. `joined`: it exchanges memories with a team's server."""
    provider = chosen.provider
    patterns = [r"CLAUDE_MEM_\w+|CLAUDE_CODE_PATH"]
    if observer != "offline" or joined or "://" in chosen.embedder:
        patterns.append(r"(?i:\w*_proxy)|(?:SSL_CERT|NODE_EXTRA_CA)\w+")
    if provider in ("auto", "claude", "anthropic"):
        patterns.append(r"CLAUDE_\w+|ANTHROPIC_(?!API_KEY|AUTH_TOKEN)\w+")
    if provider in ("claude", "anthropic"):
        patterns.append(r"ANTHROPIC_(?:API_KEY|AUTH_TOKEN)")
    if provider == "openai":
        patterns.append(r"OPENAI_\w+")
    if chosen.database_url:
        patterns.append("PG[A-Z]+")
    matches = re.compile("|".join(patterns), re.ASCII).fullmatch
    return [name for name in names if matches(name)]


def _digest(salt: str, name: str, value: str) -> str:
    return hashlib.sha256("\0".join((salt, name, value)).encode(errors="surrogateescape")).hexdigest()


def _texts(found: object) -> dict[str, str]:
    table = found if isinstance(found, dict) else {}
    return {str(name): value for name, value in table.items() if isinstance(value, str)}


def _of_client(file: Path) -> object:
    """The variables that a Claude Code settings file adds to each session's environment."""
    try:
        content = paths.content(os.fsencode(file), _MOST)
        return json.loads(content).get("env")
    except (OSError, ValueError, RecursionError, AttributeError):
        return None


def _write(file: Path, content: Mapping[str, object]) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(file, json.dumps(content, indent=1).encode() + b"\n")
