"""Changes files, and asks Claude Code to change its own, so that all of it can be undone if a part fails."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from claude_mem.agents.claude_code import settings_file
from claude_mem.atomic_write import atomic_file
from claude_mem.cli import output
from claude_mem.cli.install.client_paths import ClientPaths
from claude_mem.cli.install.plan import Step
from claude_mem.model.errors import ClaudeMemError

WITHIN_S = 120  # the client may be fetched from a cold disk
LARGEST = 64 << 20  # ~/.claude.json grows; nothing that is settings grows past this


def read_text(path: Path) -> str | None:
    """A file's text; None if there is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise ClaudeMemError(
                f"{path} is too large for a settings file ({output.size(path.stat().st_size)})."
            )
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise ClaudeMemError(f"{path} is not UTF-8 (byte {error.start}). Nothing was changed.") from error


def read_settings(path: Path) -> dict[str, Any]:
    """A settings file's contents, {} if there is none. Raises Malformed."""
    return settings_file.parsed(read_text(path) or "", str(path))


def write_text(path: Path, text: str, *, is_new: bool = False) -> None:
    """All of it or nothing; through a link, for settings are often kept elsewhere, and with its old mode.
    What is new another install can make again: it need not outlive a power cut."""
    target, mode = path.resolve(), 0o600
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if target.exists():
            mode = stat.S_IMODE(target.stat().st_mode)
            if not os.access(target, os.W_OK):  # replacing it would work, and be rude
                raise PermissionError(13, "it is read-only")
        with atomic_file(target, mode=mode, durable=not is_new) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        raise ClaudeMemError(f"{path} cannot be written: {error.strerror}. Nothing was changed.") from error


def remove_file(path: Path, folders: tuple[str, ...] = ()) -> None:
    """A file, and those of its folders that were made for it and are empty now. A user's link to it stays."""
    target = path.resolve()
    try:
        target.unlink(missing_ok=True)
    except OSError as error:
        raise ClaudeMemError(f"{path} cannot be removed: {error.strerror}. Nothing was changed.") from error
    for folder in path.parents:
        if str(folder) not in folders:
            return
        try:
            folder.rmdir()
        except OSError:
            return  # somebody keeps something in it


def files_in(folder: Path) -> list[Path]:
    """All files in a folder that is ours alone."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def ask_client(place: ClientPaths, words: tuple[str, ...], *, within_s: float = WITHIN_S) -> str | None:
    """Have Claude Code do something itself. None: done; else what it said."""
    if place.scope == "project" and not place.folder.parent.is_dir():
        return f"{place.folder.parent} is gone"
    environ = {name: value for name, value in os.environ.items() if name != "CLAUDE_CONFIG_DIR"}
    environ |= {"CLAUDE_MEM_OFF": "1"} | ({"CLAUDE_CONFIG_DIR": place.config} if place.config else {})
    waiting = output.waiting(f"Claude Code: {' '.join(words[:3])} ...")
    with waiting, tempfile.TemporaryFile("w+", errors="replace") as said:
        try:
            process = subprocess.Popen(  # noqa: S603 - the client that the user has, with our own words
                [place.client or "claude", *words],
                stdin=subprocess.DEVNULL,
                stdout=said,  # a file: a pipe would wait for all that inherited it
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that all of it can be ended
                cwd=place.folder.parent if place.scope == "project" else None,
                env=environ,
            )
        except OSError as error:
            return str(error)
        try:
            code = process.wait(within_s)
        except subprocess.TimeoutExpired:
            return f"no answer within {within_s:g} s"
        finally:
            with suppress(ProcessLookupError):
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return None if code == 0 else said.read().strip() or f"exit {code}"


@contextmanager
def install_lock() -> Iterator[None]:
    """One install or uninstall of this user at a time. The home is locked, not a file of ours: a look that
    changes nothing must not leave one behind."""
    try:
        home = os.open(Path.home(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        with output.waiting("Waiting for another claude-mem install to finish ..."), suppress(OSError):
            fcntl.flock(home, fcntl.LOCK_EX)
        yield
    finally:
        os.close(home)


class Journal:
    """As a context: whatever is raised in it, also by Ctrl-C, leaves everything as it was before."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        while kind and self._undo:
            with suppress(OSError, ClaudeMemError):  # what could not be written has not been changed either
                self._undo.pop()()

    def write(self, path: Path, text: str, *, is_new: bool = False) -> None:
        self._note(path)
        write_text(path, text, is_new=is_new)

    def remove(self, path: Path, folders: tuple[str, ...]) -> None:
        """A file, and those of these folders that are empty without it."""
        self._note(path)
        remove_file(path, folders)

    def ask(self, place: ClientPaths, step: Step) -> str | None:
        """Have the client do something. None: done; else what it said. It may write its settings."""
        self._note(place.settings)
        said = ask_client(place, step.words)
        undo = step.undo
        if said is None and undo:
            self._undo.append(lambda: ask_client(place, undo))
        return said

    def _note(self, path: Path) -> None:
        """What a file holds before it is changed, and which of its folders are not there yet."""
        before = read_text(path)
        missing = tuple(str(folder) for folder in path.parents if not folder.exists())

        def put_back() -> None:
            if before is None:
                remove_file(path, missing)
            elif read_text(path) != before:
                write_text(path, before)

        self._undo.append(put_back)
