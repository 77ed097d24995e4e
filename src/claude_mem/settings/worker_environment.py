"""Which variables of its environment the worker uses, if they could send memory elsewhere.

A hook starts the worker with the environment of an agent's session, and a repository's settings can add to
that: a proxy, certificates, a model's address, a database. Such variables are used with the value that a
command of the user approved (`install`, `join`, `worker start`, `worker restart`, `worker run`), or that the
user's own settings of Claude Code give them. Values are stored as hashes: no key is copied.
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
from claude_mem.settings.declarations import SETTINGS

IN_SESSION = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID")
"""Claude Code sets them for what it starts: there, a command's environment is the session's."""

_OURS = frozenset(each.key for each in SETTINGS if each.takes.socket_only) | {"CLAUDE_MEM_PROVIDER"}
_OTHERS = re.compile(
    r"(?i:\w*_proxy)|SSL_CERT_(?:FILE|DIR)|SSLKEYLOGFILE|OPENSSL_CONF|(?:REQUESTS|CURL)_CA_BUNDLE"
    r"|NODE_(?:OPTIONS|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED)|PG[A-Z]+|HF_(?:ENDPOINT|HOME|HUB_CACHE)"
    r"|(?:ANTHROPIC|OPENAI|AWS|AZURE|GOOGLE|CLOUD_ML|VERTEX)_\w+|CLAUDE_CONFIG_DIR"
    r"|CLAUDE_CODE_(?:USE_\w+|SKIP_\w+|OAUTH_TOKEN|API_KEY_HELPER\w*|CLIENT_\w+)",
    re.ASCII,
)
_MOST = 1 << 20


def redirects(name: str, value: str) -> bool:
    """Whether it says where memory is sent or stored, or with whose key. Nothing leaves with `offline`."""
    if not value or (name, value) == ("CLAUDE_MEM_PROVIDER", "offline"):
        return False
    return name in _OURS or name in registry.VARIABLES or _OTHERS.fullmatch(name) is not None


def unapproved(environ: Mapping[str, str], data_dir: Path) -> list[str]:
    """The names of those that the worker would not use."""
    given = {name: value for name, value in environ.items() if redirects(name, value)}
    if not given:
        return []
    found = read_object(data_dir / paths.ENVIRONMENT)
    salt, approved = str(found.get("salt")), _texts(found.get("approved"))
    left = [name for name, value in given.items() if approved.get(name) != _digest(salt, name, value)]
    if not left:
        return []
    config = found.get("claude_config")
    own = _texts(_of_client(Path(config))) if isinstance(config, str) else {}
    return sorted(name for name in left if own.get(name) != given[name])


def leave_out_unapproved(environ: MutableMapping[str, str], data_dir: Path) -> list[str]:
    """Removes them; returns their names."""
    names = unapproved(environ, data_dir)
    for name in names:
        del environ[name]
    return names


def approve(environ: Mapping[str, str], data_dir: Path) -> list[str]:
    """The user's command was started with these. Returns the names of those that are newly approved; none in
    an agent's session."""
    new = unapproved(environ, data_dir)
    if any(environ.get(name) for name in IN_SESSION):
        return []
    file = data_dir / paths.ENVIRONMENT
    found = read_object(file)
    config = environ.get("CLAUDE_CONFIG_DIR") or str(Path(environ.get("HOME", "~")).expanduser() / ".claude")
    if not new and found.get("claude_config") == config:
        return []
    salt = str(found.get("salt") or secrets.token_hex(16))
    approved = _texts(found.get("approved")) | {name: _digest(salt, name, environ[name]) for name in new}
    _write(file, found | {"salt": salt, "approved": approved, "claude_config": config})
    return new


def ignored(data_dir: Path) -> list[str]:
    """What the worker that was started last found and did not use."""
    found = read_object(data_dir / paths.ENVIRONMENT).get("ignored")
    return [str(name) for name in found] if isinstance(found, list) else []


def note_ignored(names: Iterable[str], data_dir: Path) -> list[str]:
    """Returns those that were not noted before."""
    before, now = ignored(data_dir), sorted(names)
    if now != before:
        file = data_dir / paths.ENVIRONMENT
        _write(file, read_object(file) | {"ignored": now})
    return [name for name in now if name not in before]


def _digest(salt: str, name: str, value: str) -> str:
    return hashlib.sha256("\0".join((salt, name, value)).encode(errors="surrogateescape")).hexdigest()


def _texts(found: object) -> dict[str, str]:
    table = found if isinstance(found, dict) else {}
    return {str(name): value for name, value in table.items() if isinstance(value, str)}


def _of_client(config: Path) -> object:
    """What the user's settings of Claude Code put into each session's environment."""
    try:
        content = paths.content(os.fsencode(config / "settings.json"), _MOST)
        return json.loads(content).get("env")
    except (OSError, ValueError, RecursionError, AttributeError):
        return None


def _write(file: Path, found: Mapping[str, object]) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(file, json.dumps(found, indent=1).encode() + b"\n")
