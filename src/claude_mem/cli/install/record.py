"""What an install changed, kept in the data directory so that it can be taken back exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from claude_mem.cli.install.place import Place
from claude_mem.model.errors import ClaudeMemError

VERSION = 1


@dataclass(frozen=True, slots=True)
class Kept:
    before: str | None  # None: there was no such file
    after: str | None


@dataclass(frozen=True, slots=True)
class Record:
    plugin: bool
    scope: str
    folder: str
    config: str | None = None  # CLAUDE_CONFIG_DIR, if it was set
    files: Mapping[str, Kept] = field(default_factory=dict)
    folders: tuple[str, ...] = ()  # that had to be made
    server: Any = None  # the MCP server by our name that was there before, if the client keeps it
    version: int = VERSION

    @property
    def mode(self) -> str:
        return f"as a plugin ({self.scope})" if self.plugin else f"by settings ({self.scope})"

    def is_like(self, other: Record) -> bool:
        return (self.plugin, self.scope, self.folder) == (other.plugin, other.scope, other.folder)

    def with_file(self, path: Path, before: str | None, after: str | None) -> Record:
        """A file that an earlier install changed, and nobody since, keeps what was there before that one."""
        earlier = self.files.get(str(path))
        kept = Kept(earlier.before if earlier and earlier.after == before else before, after)
        return replace(self, files={**self.files, str(path): kept})

    def with_folders(self, path: Path) -> Record:
        made = [str(folder) for folder in path.parents if not folder.exists()]
        return replace(self, folders=(*self.folders, *(each for each in made if each not in self.folders)))


def new(place: Place, *, plugin: bool) -> Record:
    return Record(plugin, place.scope, str(place.folder), place.config)


def load(path: Path) -> Record | None:
    try:
        found = json.loads(path.read_text("utf-8"))
        kept = {name: Kept(**file) for name, file in found.pop("files").items()}
        return Record(**found | {"folders": tuple(found["folders"])}, files=kept)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ClaudeMemError(
            f"{path}, which says what an install changed, cannot be read ({error}). "
            "Move it away; then `claude-mem uninstall` removes what it finds to be ours."
        ) from error


def text(record: Record) -> str:
    return json.dumps(asdict(record), indent=1)
