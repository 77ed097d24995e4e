"""Looks at the data directory: is it there, ours, ours alone, and on a disk that keeps its word?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from claude_mem.cli.doctor.facts import Directory
from claude_mem.cli.doctor.finding import Finding

NETWORK = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "drvfs",
    "afs",
    "ceph",
    "gluster",
    "lustre",
    "fuse.sshfs",
    "fuse.rclone",
)
LOOK_AT_MOST = 20_000  # entries of it; a full spool holds ten times as many
NAME_AT_MOST = 3


def look(path: Path) -> Directory:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Directory(str(path), exists=False, obstacle=_obstacle(path))
    if not stat.S_ISDIR(found.st_mode):
        return Directory(str(path), exists=True, is_directory=False)
    me = os.geteuid()
    open_to_others, foreign = [], []
    for name, entry in _entries(path, found):
        if entry.st_uid != me:
            foreign.append(name)
        # Nobody can reach a link's mode, and what it leads to is not ours to judge.
        elif stat.S_IMODE(entry.st_mode) & 0o077 and not stat.S_ISLNK(entry.st_mode):
            open_to_others.append(name)
    return Directory(
        path=str(path),
        exists=True,
        owner=found.st_uid,
        me=me,
        writable=os.access(path, os.R_OK | os.W_OK | os.X_OK) and not _is_read_only(path),
        open_to_others=tuple(open_to_others[:NAME_AT_MOST]),
        open_count=len(open_to_others),
        foreign=tuple(foreign[:NAME_AT_MOST]),
        filesystem=_filesystem(path),
    )


def judge(fact: Directory) -> list[Finding]:
    def bad(says: str, step: str, stops: str | None = None) -> Finding:
        return Finding(
            "directory", "bad", f"{fact.path} {says}", next=step, stops=stops and f"{fact.path} {stops}"
        )

    if fact.obstacle:
        step = "see that the folder above it is there and yours to write, or set CLAUDE_MEM_DATA_DIR"
        return [bad(fact.obstacle, step, fact.obstacle)]
    if not fact.exists:
        return [Finding("directory", "ok", f"{fact.path} is not there yet; the first hook makes it")]
    if not fact.is_directory:
        step = f"move it away: mv {fact.path} {fact.path}.old"
        return [bad("is not a directory", step, "is not a directory")]
    if fact.owner != fact.me:
        step = f"sudo chown -R {fact.me} {fact.path}, or set CLAUDE_MEM_DATA_DIR"
        return [bad(f"belongs to user {fact.owner}, not to you ({fact.me})", step, "belongs to another user")]
    found = []
    if not fact.writable:
        step = f"chmod u+rwx {fact.path}; see that its file system is not read-only"
        found.append(bad("cannot be written", step, "cannot be written"))
    if fact.foreign:
        step = f"sudo chown -R {fact.me} {fact.path}"
        found.append(bad(f"holds what belongs to others: {', '.join(fact.foreign)}", step))
    if fact.open_count:
        names = ", ".join(fact.open_to_others) + (", …" if fact.open_count > len(fact.open_to_others) else "")
        found.append(bad(f"can be read by others: {names}", f"chmod -R go= {fact.path}"))
    if fact.filesystem and fact.filesystem.startswith(NETWORK):
        found.append(
            Finding(
                "directory",
                "warn",
                f"{fact.path} is on a network file system ({fact.filesystem}): locks and fsync may not hold",
                next="set CLAUDE_MEM_DATA_DIR to a local disk",
            )
        )
    on = f" on {fact.filesystem}" if fact.filesystem else ""
    return found or [Finding("directory", "ok", f"{fact.path}{on}, yours alone")]


def _obstacle(path: Path) -> str | None:
    """Why a hook cannot make the directory. It makes that one alone, and none above it."""
    folder = path.absolute().parent
    if path.is_symlink():
        return "is a link that leads nowhere"
    if not folder.is_dir():
        return f"cannot be made: {folder} is {'not a directory' if folder.exists() else 'not there'}"
    if not os.access(folder, os.W_OK | os.X_OK) or _is_read_only(folder):
        return f"cannot be made: {folder} cannot be written"
    return None


def _entries(path: Path, found: os.stat_result) -> Iterator[tuple[str, os.stat_result]]:
    """The directory and what is in it, up to a limit."""
    yield ".", found
    left = LOOK_AT_MOST
    folders = [path]
    while folders:
        for entry in _listed(folders.pop()):
            left -= 1
            if not left:
                return
            try:
                yield str(Path(entry.path).relative_to(path)), entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # drained while we looked
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # what is wrong with the folder itself has been noted already


def _is_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _filesystem(path: Path) -> str | None:
    """Its type, as the kernel names it; None where there is no /proc to ask."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    real, best, kind = path.resolve(), Path("/"), None
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split()[4].replace("\\040", " "))
        if real.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, rest.split()[0]
    return kind
