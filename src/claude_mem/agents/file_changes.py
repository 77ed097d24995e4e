"""Changes files, and has an agent's program change its own, so that everything is undone if a part fails; and
records what an install changed, so that an uninstall can restore every byte."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, field, to_builtins

from claude_mem.files import atomic_file
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace

WITHIN_S = 120  # the program may be read from a cold disk
LARGEST = 64 << 20  # ~/.claude.json grows; no settings file grows past this

ReadText = Callable[[Path], str | None]
WithoutUs = Callable[[str], str | None]
"""A file's text without our part; None: nothing else is in it."""
RunProgram = Callable[[Sequence[str]], str | None]
"""Runs a command line of the agent's program. None: it succeeded; otherwise its output."""


def has_events(data_dir: Path) -> bool:
    """Whether anything was recorded there: if so, the settings, which say who observes it, stay."""
    spool = data_dir / paths.SPOOL
    return (data_dir / paths.DATABASE).exists() or (spool.is_dir() and any(spool.iterdir()))


class Change(Struct, frozen=True):
    """A file's text before (None: there is no file) and after (None: it is removed)."""

    path: Path
    before: str | None
    after: str | None
    executable: bool = False


class Step(Struct, frozen=True):
    """A command line of the agent's program, and the one that undoes it (None: nothing to undo)."""

    words: tuple[str, ...]
    undo: tuple[str, ...] | None = None


class Plan(Struct, frozen=True):
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    is_exact: bool = True  # of one that undoes: every file is as it was before the install

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.steps


def read_text(path: Path) -> str | None:
    """None: there is no file. Raises ClaudeMemError."""
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise ClaudeMemError(f"{path} is too large for a settings file ({size >> 20} MiB).")
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise ClaudeMemError(f"{path} is not UTF-8 (byte {error.start}). Nothing was changed.") from error


def write_text(path: Path, text: str, *, is_new: bool = False, executable: bool = False) -> None:
    """Writes a file atomically, through a link (settings are often stored elsewhere), with the file's mode.
    It is not synced, because another install can create the file again."""
    target, mode = path.resolve(), 0o700 if executable else 0o600
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


def remove_file(path: Path, folders: Sequence[str] = ()) -> None:
    """And those of these folders that are empty without it. A user's link to it stays."""
    try:
        path.resolve().unlink(missing_ok=True)
    except OSError as error:
        raise ClaudeMemError(f"{path} cannot be removed: {error.strerror}. Nothing was changed.") from error
    for folder in path.parents:
        if str(folder) not in folders:
            return
        try:
            folder.rmdir()
        except OSError:
            return  # it is not empty


def run_program(
    argv: Sequence[str], cwd: Path | None, environ: Mapping[str, str], within_s: float = WITHIN_S
) -> str | None:
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's program, with our own arguments
                argv,
                stdin=subprocess.DEVNULL,
                stdout=printed,  # a file: a pipe would wait for all that inherited it
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that all of it can be ended
                cwd=cwd,
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
        printed.seek(0)
        return None if code == 0 else printed.read().strip() or f"exit {code}"


@contextmanager
def install_lock(waiting: AbstractContextManager[None]) -> Iterator[None]:
    """One install or uninstall of this user at a time. Locks the home directory, not one of our files: a
    dry run must not leave one behind."""
    try:
        home = os.open(Path.home(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        with waiting, suppress(OSError):
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
        if kind:
            self._undo_to(0)

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part whose changes are undone if it fails; the error is raised."""
        start = len(self._undo)
        try:
            yield
        except (ClaudeMemError, OSError):
            self._undo_to(start)
            raise

    def _undo_to(self, start: int) -> None:
        while len(self._undo) > start:
            with suppress(OSError, ClaudeMemError):  # what could not be written has not been changed either
                self._undo.pop()()

    def write(self, path: Path, text: str, *, is_new: bool = False, executable: bool = False) -> None:
        self._note(path)
        write_text(path, text, is_new=is_new, executable=executable)

    def remove(self, path: Path, folders: Sequence[str]) -> None:
        self._note(path)
        remove_file(path, folders)

    def apply(self, change: Change, folders: Sequence[str]) -> None:
        if change.after is None:
            self.remove(change.path, folders)
        else:
            is_new = change.before is None
            self.write(change.path, change.after, is_new=is_new, executable=change.executable)

    def run(self, run: RunProgram, step: Step, settings: Path) -> str | None:
        """The program may write its settings."""
        self._note(settings)
        printed, undo = run(step.words), step.undo
        if printed is None and undo:
            self._undo.append(lambda: run(undo))
        return printed

    def _note(self, path: Path) -> None:
        """The file before it is changed, and which of its folders do not exist yet."""
        before = read_text(path)
        missing = [str(folder) for folder in path.parents if not folder.exists()]

        def put_back() -> None:
            if before is None:
                remove_file(path, missing)
            elif read_text(path) != before:
                write_text(path, before)

        self._undo.append(put_back)


class SavedText(Struct, frozen=True):
    before: str | None  # None: there was no such file
    after: str | None


class InstallRecord(Struct, frozen=True):
    plugin: bool
    scope: str
    folder: str
    config: str | None = None
    files: dict[str, SavedText] = field(default_factory=dict)
    folders: tuple[str, ...] = ()  # that had to be created
    server: Any = None  # the MCP server by our name that was there before, if the client owns the file
    version: int = 1

    def with_change(self, change: Change, without_us: WithoutUs | None = None) -> InstallRecord:
        """Keeps the text from before an earlier install, if only that has changed the file since."""
        earlier, before = self.files.get(str(change.path)), change.before
        if before is not None and without_us:
            before = without_us(before)
        elif earlier and earlier.after == before:
            before = earlier.before
        return replace(self, files={**self.files, str(change.path): SavedText(before, change.after)})

    def with_folders(self, path: Path) -> InstallRecord:
        made = [str(folder) for folder in path.parents if not folder.exists()]
        return replace(self, folders=tuple(dict.fromkeys([*self.folders, *made])))

    def restores(self, changes: Iterable[Change]) -> bool:
        """Whether these changes restore every file to its state before the install."""
        saved = {Path(name): file.before for name, file in self.files.items()}
        return all(change.after == saved.get(change.path) for change in changes)

    def as_text(self) -> str:
        return json.dumps(to_builtins(self), indent=1)


def load_record(path: Path) -> InstallRecord | None:
    try:
        return convert(json.loads(path.read_text("utf-8")), InstallRecord)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise ClaudeMemError(
            f"{path}, the record of what an install changed, cannot be read ({error}). "
            "Move it away; `claude-mem uninstall` then removes what it recognizes as its own."
        ) from error
