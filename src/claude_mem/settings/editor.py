"""Lists the settings with their origins, and applies changes to the text of `settings.json`. Pure.

For a running worker, which must not open its database's file, as `load` may (see `foreign_database`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from claude_mem.api.system import SettingRow
from claude_mem.model.errors import SettingsError
from claude_mem.settings.declarations import BY_KEY, SETTINGS, Setting, Settings
from claude_mem.settings.resolution import is_blank, refused, resolved, without_password

Origin = Literal["default", "file", "environment"]
_NOT_SAVED = "Not saved"  # where it is: nowhere yet


def described(
    table: Mapping[str, object], environ: Mapping[str, str], in_force: Settings
) -> list[SettingRow]:
    chosen, _ = resolved(table, environ)
    return [_described(setting, table, environ, chosen, in_force) for setting in SETTINGS]


def changed(table: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The file with the changes in it; null takes one out. What is not ours stays. Raises SettingsError."""
    new = dict(table)
    for key, value in changes.items():
        if key not in BY_KEY:
            raise SettingsError(key, "(not a setting)", "the name of a setting", _NOT_SAVED)
        parsed = None if value is None else _parsed(BY_KEY[key], value, _NOT_SAVED)
        if parsed is None:
            new.pop(key, None)
        elif key not in table or parsed != _shown(table[key]):  # shown without its password, and sent back so
            new[key] = _plain(parsed)
    return new


def applied(changes: Mapping[str, object]) -> dict[str, Any]:
    """The parsed values, by the fields of Settings. Raises SettingsError."""
    return {
        BY_KEY[key].field: BY_KEY[key].default if value is None else _parsed(BY_KEY[key], value, _NOT_SAVED)
        for key, value in changes.items()
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
) -> SettingRow:
    key, takes = setting.key, setting.takes
    origin: Origin = "default"
    configured: object = None
    if key in environ and not setting.file_only:
        origin, configured = "environment", environ[key]
    elif key in table:
        origin, configured = "file", table[key]
    problem = None
    try:
        if configured is not None and not is_blank(configured):
            _parsed(setting, configured, "the environment" if origin == "environment" else "settings.json")
    except SettingsError as error:
        problem = str(error)
    value = chosen.get(setting.field, setting.default)
    secret = takes.kind == "secret"
    return SettingRow(
        key=key,
        group=setting.group,
        meaning=setting.meaning,
        allowed=setting.takes.allowed,
        kind=takes.kind,
        choices=list(takes.choices),
        value=None if secret else _shown(value),
        default=None if secret else _plain(setting.default),
        origin=origin,
        set=configured is not None,
        file_only=setting.file_only,
        socket_only=takes.socket_only,
        restart=True,
        pending=value != getattr(in_force, setting.field),
        trouble=problem,
    )


def _parsed(setting: Setting, value: object, where: str) -> Any:
    try:
        return setting.takes.parse(value)
    except (ValueError, TypeError):
        raise refused(setting, value, where) from None


def _plain(value: Any) -> Any:
    """The value as JSON."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return dict(value) if value and isinstance(value[0], tuple) else list(value)
    return value


def _shown(value: Any) -> Any:
    plain = _plain(value)
    if not isinstance(plain, str):
        return plain
    return without_password(plain).encode("utf-8", "replace").decode()
