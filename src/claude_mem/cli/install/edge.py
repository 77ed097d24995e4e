"""Touches the machine for an install: reads and writes files whole, asks the client to do something."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from pathlib import Path

from claude_mem.cli import say
from claude_mem.model.errors import ClaudeMemError

WITHIN_S = 120  # the client may be fetched from a cold disk
LARGEST = 64 << 20  # ~/.claude.json grows; nothing that is settings grows past this


def read(path: Path) -> str | None:
    """A file's text; None if there is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise ClaudeMemError(f"{path} is too large to be settings ({say.size(path.stat().st_size)}).")
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise ClaudeMemError(f"{path} is not UTF-8 (byte {error.start}). Nothing was changed.") from error


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """All of it or nothing; through a link, for settings are often kept elsewhere, and with its old mode."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if target.exists():
        mode = stat.S_IMODE(target.stat().st_mode)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # noqa: PTH101 - of the name that mkstemp gave
        os.replace(name, target)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def remove(path: Path, folders: tuple[str, ...] = ()) -> None:
    """A file, and those of its folders that were made for it and are empty now."""
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if str(folder) not in folders:
            return
        try:
            folder.rmdir()
        except OSError:
            return  # somebody keeps something in it


def ask_client(client: str, command: tuple[str, ...]) -> str | None:
    """Have Claude Code do something itself. None: done; else what it said."""
    with say.patiently(f"Claude Code: {' '.join(command[:3])} ..."):
        try:
            done = subprocess.run(  # noqa: S603 - the client that the user has, with our own words
                [client, *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=WITHIN_S,
                check=False,
                env=os.environ | {"CLAUDE_MEM_OFF": "1"},
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {WITHIN_S} s"
        except OSError as error:
            return str(error)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip() or f"exit {done.returncode}"
