"""What is worth recording, in which words and language: a mode, read from a TOML file.

`code` ships. A user's NAME.toml in one of the given folders comes first, so that also `code` can be replaced.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from msgspec import Struct

from claude_mem.model.errors import SettingsError
from claude_mem.model.refs import ObservationType
from claude_mem.settings.declarations import Verbosity

USUAL = "code"
SHIPPED = Path(__file__).parent / "modes"
TYPES: tuple[str, ...] = get_args(ObservationType)
VERBOSITIES: tuple[Verbosity, ...] = get_args(Verbosity)
KEYS = ("description", "language", "extra", "record", "skip", "types", "concepts")
_LINE = "a non-empty line of text"


class Mode(Struct, frozen=True):
    name: str
    description: str
    types: tuple[tuple[str, str], ...]  # each with its meaning
    concepts: tuple[tuple[str, str], ...]
    record: tuple[str, ...]
    skip: tuple[tuple[Verbosity, tuple[str, ...]], ...]
    language: str | None = None
    extra: str | None = None

    def skips(self, verbosity: Verbosity) -> tuple[str, ...]:
        return dict(self.skip)[verbosity]


def load(name: str, folders: Sequence[Path]) -> Mode:
    """The mode of that name. Raises SettingsError, naming the file, the key and what is allowed."""
    known = available(folders)
    if name not in known:
        raise SettingsError("CLAUDE_MEM_MODE", name, "one of " + ", ".join(sorted(known)), "the settings")
    path = known[name]
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:  # not TOML, not text; endless digits or brackets
        raise SettingsError("the file", str(error), "TOML in UTF-8", str(path)) from error
    return _Reader(str(path)).mode(name, table)


def load_or_usual(name: str, folders: Sequence[Path]) -> tuple[Mode, str | None]:
    """The mode of that name; or the one that ships, and why."""
    try:
        return load(name, folders), None
    except SettingsError as error:
        return load(USUAL, []), f"{error} Used instead: {USUAL}."


def available(folders: Sequence[Path]) -> dict[str, Path]:
    """Every mode there is, by name."""
    found: dict[str, Path] = {}
    for folder in (*folders, SHIPPED):
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


class _Reader(Struct, frozen=True):
    where: str

    def mode(self, name: str, table: Mapping[str, object]) -> Mode:
        for key in table:
            if key not in KEYS:
                raise SettingsError(key, table[key], "only the keys " + ", ".join(KEYS), self.where)
        types = self._meanings("types", table.get("types"))
        for kind, _ in types:
            if kind not in TYPES:
                raise SettingsError("types", kind, "some of " + ", ".join(TYPES), self.where)
        skip = table.get("skip")
        if not isinstance(skip, dict) or set(skip) != set(VERBOSITIES):
            raise SettingsError("skip", skip, "a table with " + ", ".join(VERBOSITIES), self.where)
        return Mode(
            name=name,
            description=self._line("description", table.get("description")),
            types=types,
            concepts=self._meanings("concepts", table.get("concepts")),
            record=self._lines("record", table.get("record")),
            skip=tuple((each, self._lines(f"skip.{each}", skip[each])) for each in VERBOSITIES),
            language=self._line("language", table["language"]) if "language" in table else None,
            extra=self._text("extra", table["extra"]) if "extra" in table else None,
        )

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise SettingsError(key, value, "text that is not empty", self.where)
        return value.strip()

    def _line(self, key: str, value: object) -> str:
        text = value.strip() if isinstance(value, str) else ""
        if not text or len(text.splitlines()) > 1:
            raise SettingsError(key, value, _LINE, self.where)
        return text

    def _lines(self, key: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise SettingsError(key, value, "a list of lines of text", self.where)
        return tuple(self._line(key, line) for line in value)

    def _meanings(self, key: str, value: object) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict) or not value:
            raise SettingsError(key, value, "a table of names and what they mean", self.where)
        return tuple((name, self._line(f"{key}.{name}", meaning)) for name, meaning in value.items())
