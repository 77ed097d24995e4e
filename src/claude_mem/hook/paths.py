"""The names of files and folders in the data directory, and how that directory is found.

Plain strings relative to the data directory: the hook changes into it first, so that a long home path never
meets the 108-byte limit of a socket's address, and a swapped parent directory is never followed twice.
"""

from __future__ import annotations

import posix

CLAUDE_CODE = "claude-code"
DATABASE = "claude-mem.db"
DATABASE_IF_TAKEN = "claude-mem-py.db"  # if another program has that name: settings/foreign_database.py
SPOOL = "spool"
LEDGER = "spool/.ledger"
ASIDE = "spool/aside"
PRIVATE = "private"
OFF = "off"
SKIPPED_SESSIONS = "unseen"
TURN_MARKERS = "asked"
CONTEXT = "context"
WORKER_LOCK = "worker.lock"
WORKER_SOCK = "worker.sock"
WORKER_JSON = "worker.json"
HOOK_SOCK = "hook.sock"
TOKEN = "token"  # noqa: S105 - the name of the file, not a password
SIGNED_IN = "signed-in.json"
SETTINGS = "settings.json"
ENVIRONMENT = "environment.json"  # settings/worker_environment.py
APPROVED = "place"  # the inode of a data directory inside a project, which a command of the user approved
MOST_SETTINGS = 1 << 20  # bytes; no more are read
MODES = "modes"
BACKUPS = "backups"
LOGS = "logs"
INSTALLED = "install.json"
EXPORTS = "exports.jsonl"
START_LOG = "logs/start.log"
START_STAMP = "start.stamp"
SILENT = "silent.stamp"
REPLACED = "replaced.stamp"
DROPS = "drops"
NOTICE = "notice"
SETTINGS_SHOWN = "settings.told"
VERSION_SHOWN = "version.told"
PROGRAM = "program"
ACTIVITY = "activity.flag"
QUEUE_HISTORY = "queue.history"

NO_LINKS = posix.O_NOFOLLOW  # for files of our own, which are never links


def data_directory(environ: dict[bytes, bytes]) -> bytes:
    """The data directory's path, from the environment as the kernel gave it."""
    return environ.get(b"CLAUDE_MEM_DATA_DIR") or environ.get(b"HOME", b"/") + b"/.claude-mem"


def enter(directory: bytes, project: bytes = b"") -> None:
    """Makes the data directory the working directory; refuses one that belongs to another user, or that
    others may write: they could lead what we write elsewhere. And one inside the project that the agent works
    in (the repository of its working directory, or `project`), if no command of the user has approved it: a
    repository could bring one, with settings of its own."""
    try:
        before = posix.getcwdb()
    except OSError:
        before = b""
    try:
        posix.chdir(directory)
    except FileNotFoundError:
        posix.mkdir(directory, 0o700)
        posix.chdir(directory)
    found = posix.stat(".")
    if found.st_uid != posix.geteuid():
        raise PermissionError(1, "it belongs to another user")
    if found.st_mode & 0o002:
        raise PermissionError(1, OPEN_TO_ALL)
    if _is_in_project(posix.getcwdb(), before, project) and not _is_approved(found.st_ino):
        raise PermissionError(1, IN_PROJECT)


OPEN_TO_ALL = "other users can write to it; check its contents, then run `chmod 700` on it"
IN_PROJECT = (
    "it is inside the project, where a repository could bring its own; if it is yours, run in a terminal: "
    "claude-mem worker restart"
)


def _is_approved(inode: int) -> bool:
    """Whether the user approved the directory, by its inode, which a repository cannot know in advance."""
    try:
        return content(APPROVED, 40) == approval(inode)
    except OSError:
        return False


def approval(inode: int) -> bytes:
    return b"%d\n" % inode


def _is_in_project(directory: bytes, working: bytes, project: bytes) -> bool:
    """Whether the data directory is, or is inside, the current project or repository. The user's home and the
    directories that contain it do not count."""
    at = directory
    while len(at) > 1:
        inside = at + b"/"
        is_worked_in = (working + b"/").startswith(inside) or (project + b"/").startswith(inside)
        if is_worked_in and (at == project or is_there(inside.decode(errors="surrogateescape") + ".git")):
            home = _home()
            return not (home + b"/").startswith(inside) and directory != home + b"/.claude-mem"
        at = at[: at.rfind(b"/")]
    return False


def _home() -> bytes:
    """The home directory; not from the environment, because a repository can set that."""
    from pwd import getpwuid

    try:
        return getpwuid(posix.geteuid()).pw_dir.encode(errors="surrogateescape")
    except KeyError:
        return b"/nonexistent"


def open_folder(name: str) -> int:
    """Returns a descriptor of one of our folders. Raises OSError, also for a link, whose target is
    unknown."""
    return posix.open(name, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC)


def leave_marker(folder: str, name: str) -> None:
    """Creates an empty file in one of our folders."""
    try:
        posix.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    inside = open_folder(folder)
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW
        posix.close(posix.open(name, flags, 0o600, dir_fd=inside))
    finally:
        posix.close(inside)


def working_directory() -> str:
    """The agent's working directory, before the data directory is entered; "" if it no longer exists."""
    try:
        return posix.getcwd()
    except OSError:
        return ""


def is_there(name: str) -> bool:
    """Whether a file exists. True if that cannot be checked, because a marker that protects the user must
    count."""
    try:
        posix.lstat(name)
    except FileNotFoundError:
        return False
    except OSError:
        pass
    return True


def content(file: str | bytes, most: int, flags: int = 0) -> bytes:
    """A file's content, at most its first bytes. Raises OSError, also for anything but a regular file: a pipe
    would keep its reader waiting. `flags`: NO_LINKS for a file of our own."""
    fd = posix.open(file, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK | flags)
    try:
        if posix.fstat(fd).st_mode & 0o170000 != 0o100000:
            raise OSError(22, "it is not a file")
        read = posix.read(fd, most)
        while len(read) < most and (more := posix.read(fd, most - len(read))):
            read += more
        return read
    finally:
        posix.close(fd)


def directory_context(directory: bytes, agent: str = CLAUDE_CODE) -> str:
    """The file with the rendered context for an agent's sessions that start in a working directory."""
    return f"{CONTEXT}/{_sha1(directory)}" + ("" if agent == CLAUDE_CODE else f"-{agent}")


def session_context(session: bytes) -> str:
    """The file with a session's own memory, for when it is compacted."""
    return f"{CONTEXT}/s-{_sha1(session)}"


def _sha1(name: bytes) -> str:
    """A file name for a path or an id of any length."""
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]  # a fraction of what `hashlib` costs
    except ImportError:  # a Python that was built without it
        from hashlib import sha1
    return str(sha1(name, usedforsecurity=False).hexdigest())


def is_off(environ: dict[bytes, bytes]) -> bool:
    """Recording is switched off, or the agent being watched is our own observer (no recursion)."""
    off = environ.get(b"CLAUDE_MEM_OFF", b"")
    return off not in (b"", b"0", b"false") or is_observer(environ)


def is_observer(environ: dict[bytes, bytes]) -> bool:
    return b"CLAUDE_MEM_OBSERVER" in environ
