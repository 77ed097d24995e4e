"""What is set, where from, and how `settings.json` would read with some of it changed. Pure, but for `read`.

For a worker that runs: it must not look at its database's file, as `load` may (see `neighbour`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from claude_mem.model.errors import SettingsError
from claude_mem.settings import Settings, default, is_blank, read_file, resolved, warning
from claude_mem.settings.table import FILE_ONLY, SETTINGS, Setting

Origin = Literal["default", "file", "environment"]
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_NOT_KEPT = "Not kept"  # where it is: nowhere yet


@dataclass(frozen=True, slots=True)
class Described:
    setting: Setting
    kind: str
    choices: tuple[str, ...]
    value: Any  # None for a secret, whatever it is
    default: Any
    origin: Origin
    is_set: bool
    is_pending: bool  # in force from the worker's next start on
    trouble: str | None  # what is wrong with what is set


def read(data_dir: Path, name: str) -> dict[str, object]:
    """What the file holds. Raises SettingsError."""
    return read_file(data_dir / name)


def described(table: Mapping[str, object], environ: Mapping[str, str], in_force: Settings) -> list[Described]:
    chosen, _ = resolved(table, environ)
    return [_described(setting, table, environ, chosen, in_force) for setting in SETTINGS]


def changed(table: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The file with the changes in it; null takes one out. What is not ours stays. Raises SettingsError."""
    new = dict(table)
    for key, value in changes.items():
        if key not in _BY_KEY:
            raise SettingsError(key, "(not a setting)", "the name of a setting", _NOT_KEPT)
        parsed = None if value is None else _parsed(_BY_KEY[key], value, _NOT_KEPT)
        if parsed is None:
            new.pop(key, None)
        elif key not in table or parsed != _shown(table[key]):  # shown without its password, and sent back so
            new[key] = _plain(parsed)
    return new


def applied(in_force: Settings, changes: Mapping[str, object]) -> dict[str, Any]:
    """What they come to, by the fields of Settings. Raises SettingsError."""
    return {
        _BY_KEY[key].field: default(_BY_KEY[key])
        if value is None
        else _parsed(_BY_KEY[key], value, _NOT_KEPT)
        for key, value in changes.items()
        if hasattr(in_force, _BY_KEY[key].field)
    }


def key_of(name: str) -> str:
    """A setting's key, by that or by its field."""
    return next((setting.key for setting in SETTINGS if setting.field == name), name)


def _described(
    setting: Setting,
    table: Mapping[str, object],
    environ: Mapping[str, str],
    chosen: Mapping[str, Any],
    in_force: Settings,
) -> Described:
    key = setting.key
    origin: Origin = "default"
    given: object = None
    if key in environ and key not in FILE_ONLY:
        origin, given = "environment", environ[key]
    elif key in table:
        origin, given = "file", table[key]
    trouble = None
    try:
        if given is not None and not is_blank(given):
            _parsed(setting, given, "the environment" if origin == "environment" else "settings.json")
    except SettingsError as error:
        trouble = str(error)
    value = chosen.get(setting.field, default(setting))
    secret = setting.takes.kind == "secret"
    return Described(
        setting,
        setting.takes.kind,
        setting.takes.choices,
        None if secret else _shown(value),
        None if secret else _plain(default(setting)),
        origin,
        is_set=given is not None,
        is_pending=value != getattr(in_force, setting.field),
        trouble=trouble,
    )


def _parsed(setting: Setting, value: object, where: str) -> Any:
    try:
        return setting.parse(value)
    except (ValueError, TypeError):
        raise warning.refused(setting, value, where) from None


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return dict(value) if value and isinstance(value[0], tuple) else list(value)
    return value


def _shown(value: Any) -> Any:
    plain = _plain(value)
    if not isinstance(plain, str):
        return plain
    return warning.without_password(plain).encode("utf-8", "replace").decode()
