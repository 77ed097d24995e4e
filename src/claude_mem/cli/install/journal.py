"""Does things to the machine so that all of them can be taken back, in reverse, if one of them fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from claude_mem.cli.install import edge
from claude_mem.cli.install.place import Place
from claude_mem.cli.install.plan import Step
from claude_mem.model.errors import ClaudeMemError


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
        before = edge.read(path)
        missing = tuple(str(folder) for folder in path.parents if not folder.exists())
        self._undo.append(lambda: _put(path, before, missing))
        edge.write(path, text, is_new=is_new)

    def remove(self, path: Path, folders: tuple[str, ...]) -> None:
        """A file, and those of these folders that are empty without it."""
        before = edge.read(path)
        self._undo.append(lambda: _put(path, before, ()))
        edge.remove(path, folders)

    def ask(self, place: Place, step: Step) -> str | None:
        """Have the client do something. None: done; else what it said. It may write its settings."""
        before = edge.read(place.settings)
        missing = tuple(str(folder) for folder in place.settings.parents if not folder.exists())
        self._undo.append(lambda: _put(place.settings, before, missing))
        said = edge.ask_client(place, step.words)
        undo = step.undo
        if said is None and undo:
            self._undo.append(lambda: edge.ask_client(place, undo))
        return said


def _put(path: Path, text: str | None, made: tuple[str, ...]) -> None:
    if text is None:
        edge.remove(path, made)
    elif edge.read(path) != text:
        edge.write(path, text)
