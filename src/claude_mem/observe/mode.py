"""Modes: what is worth recording, and in which language; read from TOML files.

`code` is built in. A user's NAME.toml in one of the given folders takes precedence, so `code` can be
replaced.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct

from claude_mem.model.errors import SettingsError
from claude_mem.model.refs import TYPES
from claude_mem.settings.declarations import Verbosity

USUAL = "code"
SHIPPED = Path(__file__).parent / "modes"
VERBOSITIES: tuple[Verbosity, ...] = get_args(Verbosity)
KEYS = ("description", "language", "extra", "record", "skip", "types", "concepts")


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
    return _mode(name, table, str(path))


def load_or_usual(name: str, folders: Sequence[Path]) -> tuple[Mode, str | None]:
    """The mode of that name; or the built-in one, and why."""
    try:
        return load(name, folders), None
    except SettingsError as error:
        return load(USUAL, []), f"{error} Used instead: {USUAL}."


def available(folders: Sequence[Path]) -> dict[str, Path]:
    """All available modes, by name."""
    found: dict[str, Path] = {}
    for folder in (*folders, SHIPPED):
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


def _mode(name: str, table: Mapping[str, Any], where: str) -> Mode:
    def check(key: str, value: object, allowed: str, *, holds: bool) -> None:
        if not holds:
            raise SettingsError(key, value, allowed, where)

    def line(key: str, value: Any) -> str:
        text = value.strip() if isinstance(value, str) else ""
        check(key, value, "a non-empty line of text", holds=len(text.splitlines()) == 1)
        return text

    def lines(key: str, value: Any) -> tuple[str, ...]:
        check(key, value, "a list of lines of text", holds=isinstance(value, list))
        return tuple(line(key, each) for each in value)

    def meanings(key: str) -> tuple[tuple[str, str], ...]:
        value: Any = table.get(key)
        check(
            key, value, "a table of names and what they mean", holds=isinstance(value, dict) and bool(value)
        )
        return tuple((each, line(f"{key}.{each}", meaning)) for each, meaning in value.items())

    for key in table:
        check(key, table[key], "only the keys " + ", ".join(KEYS), holds=key in KEYS)
    types, skip, extra = meanings("types"), table.get("skip"), table.get("extra", "none")
    for kind, _ in types:
        check("types", kind, "some of " + ", ".join(TYPES), holds=kind in TYPES)
    levels = set(skip) if isinstance(skip, dict) else set()
    check("skip", skip, "a table with " + ", ".join(VERBOSITIES), holds=levels == set(VERBOSITIES))
    check("extra", extra, "text that is not empty", holds=isinstance(extra, str) and bool(extra.strip()))
    return Mode(
        name=name,
        description=line("description", table.get("description")),
        types=types,
        concepts=meanings("concepts"),
        record=lines("record", table.get("record")),
        skip=tuple((each, lines(f"skip.{each}", table["skip"][each])) for each in VERBOSITIES),
        language=line("language", table["language"]) if "language" in table else None,
        extra=extra.strip() if "extra" in table else None,
    )
