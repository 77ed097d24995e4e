"""Names what lies where in the data directory, and finds that directory.

Plain strings relative to the data directory: the hook changes into it first, so that a long home path never
meets the 108-byte limit of a socket's address, and a swapped parent directory is never followed twice.
"""

from __future__ import annotations

DATABASE = "claude-mem.db"
SPOOL = "spool"
LEDGER = "spool/.ledger"
ASIDE = "spool/aside"
PRIVATE = "private"
WORKER_LOCK = "worker.lock"
WORKER_SOCK = "worker.sock"
WORKER_JSON = "worker.json"
HOOK_SOCK = "hook.sock"
TOKEN = "token"  # noqa: S105 - the name of the file, not a password
SETTINGS = "settings.json"
BACKUPS = "backups"
LOGS = "logs"
START_LOG = "logs/start.log"
START_STAMP = "start.stamp"
DROPS = "drops"
NOTICE = "notice"
ACTIVITY = "activity.flag"


def data_directory(environ: dict[bytes, bytes]) -> bytes:
    """The data directory's path, from the environment as the kernel gave it."""
    return environ.get(b"CLAUDE_MEM_DATA_DIR") or environ.get(b"HOME", b"/") + b"/.claude-mem"


def is_off(environ: dict[bytes, bytes]) -> bool:
    """Recording is switched off, or the agent being watched is our own observer (no recursion)."""
    off = environ.get(b"CLAUDE_MEM_OFF", b"")
    return off not in (b"", b"0", b"false") or b"CLAUDE_MEM_OBSERVER" in environ
