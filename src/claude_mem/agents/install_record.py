"""The record of what an install changed, so that all of it can be taken back to the byte."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, field, to_builtins

from claude_mem.agents.file_changes import Change
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace


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

    def with_file(self, path: Path, before: str | None, after: str | None) -> InstallRecord:
        """A file changed by an earlier install, and by nobody since, keeps what was there before that one."""
        earlier = self.files.get(str(path))
        saved = SavedText(earlier.before if earlier and earlier.after == before else before, after)
        return replace(self, files={**self.files, str(path): saved})

    def with_folders(self, path: Path) -> InstallRecord:
        made = [str(folder) for folder in path.parents if not folder.exists()]
        return replace(self, folders=tuple(dict.fromkeys([*self.folders, *made])))

    def restores(self, changes: Iterable[Change]) -> bool:
        """Whether these changes leave every file as it was before the install."""
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
