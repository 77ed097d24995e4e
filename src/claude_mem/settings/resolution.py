"""Resolves the effective settings from the environment and `settings.json`, with warnings about invalid ones.

An invalid setting never stops the program: it is ignored, a safe value applies, and a warning says so. Only
this package reads both sources. (Hooks do not import it, because that would cost too much. The worker writes
the spool's limits into the ledger, and `privacy/rules.py` reads the privacy settings.)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from claude_mem.hook import paths
from claude_mem.model.errors import SettingsError
from claude_mem.privacy import rules
from claude_mem.providers import registry
from claude_mem.settings import foreign_database
from claude_mem.settings.declarations import BY_KEY, SETTINGS, SWITCHES, Setting, Settings, SettingWarning

PREFIX = "CLAUDE_MEM_"
LEAST_LIKENESS = 0.8  # of 1: how much of two names must agree
MOST_NAMES = 3
MOST_SHOWN = 2
LONGEST = 80
MOST_HINTS = 50  # comparing a name with all others takes a moment
_FILE, _ENVIRONMENT = "settings.json", "the environment"
_FILE_ONLY = {setting.key for setting in SETTINGS if setting.file_only}
_NAMES = tuple(setting.key.removeprefix(PREFIX) for setting in SETTINGS if setting.key.startswith(PREFIX))


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force: defaults, then `settings.json`, then the environment. Raises nothing."""
    environ = os.environ if environ is None else environ
    data_dir = data_directory(environ)
    table, problem = _read(data_dir / paths.SETTINGS)
    chosen, warned = resolved(table, environ, unreadable=problem is not None)
    if problem:
        consequence = " No model is used until you correct it." if chosen["provider"] == "offline" else ""
        message = (
            f"settings.json cannot be used ({problem}). Using the defaults, and any readable exclusions."
        )
        message += consequence
        warned.insert(0, SettingWarning("bad", _FILE, message))
    borrowed = {name: environ[name] for name in registry.VARIABLES if environ.get(name)}
    return Settings(data_dir=data_dir, **chosen, provider_variables=borrowed, warnings=tuple(warned))


def is_blank(value: object) -> bool:
    """Whether the value counts as not set."""
    return isinstance(value, str) and not value.strip()


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    as_bytes = {os.fsencode(key): os.fsencode(value) for key, value in environ.items()}
    return Path(os.fsdecode(paths.data_directory(as_bytes)))


def read_file(file: Path) -> dict[str, object]:
    """The content of `settings.json`; {} if there is none. Raises SettingsError."""
    table, problem = _read(file)
    if problem:
        raise SettingsError("the file", problem, "one JSON object", str(file))
    return table


def _read(file: Path) -> tuple[dict[str, object], str | None]:
    """The file's content, and why it cannot be used; in that case only the exclusions that can be read."""
    try:
        content = paths.content(os.fsencode(file), paths.MOST_SETTINGS + 1)
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        return {}, error.strerror or str(error)
    table, problem = rules.table(content[: paths.MOST_SETTINGS])
    if len(content) > paths.MOST_SETTINGS:
        return {key: table[key] for key in _FILE_ONLY if key in table}, "larger than 1 MiB"
    return table, problem


def _given(table: Mapping[str, object], environ: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """Where, which, what: the file first, for the environment comes before it."""
    for key, value in table.items():
        yield _FILE, key, value
    for key, text in environ.items():
        if key in BY_KEY or (key.startswith(PREFIX) and key not in SWITCHES):
            yield _ENVIRONMENT, key, text


def resolved(
    table: Mapping[str, object], environ: Mapping[str, str], *, unreadable: bool = False
) -> tuple[dict[str, Any], list[SettingWarning]]:
    """Fields of Settings and their values, and warnings about the rest. `unreadable`: the file holds more
    than is in the table."""
    chosen: dict[str, Any] = {}
    warned: list[SettingWarning] = []
    wrong: list[tuple[Setting, str, object]] = []
    unsure = set(BY_KEY) - set(_FILE_ONLY) if unreadable else set()  # set to something that is not text
    for where, key, value in _given(table, environ):
        setting = BY_KEY.get(key)
        if setting is None or (key in _FILE_ONLY and where == _ENVIRONMENT):
            if setting is None or not is_blank(value):
                warned.append(_ineffective(key, where, hint=len(warned) < MOST_HINTS))
        elif setting.takes.readable:
            chosen[setting.field], lost = setting.takes.readable(value)
            if lost:
                warned.append(unreadable_entries(setting, lost, len(chosen[setting.field])))
        else:
            try:
                parsed = setting.takes.parse(value)
            except (ValueError, TypeError):
                if is_blank(value):
                    continue
                wrong.append((setting, where, value))
                unsure |= set() if value is None else {key}
                continue
            if parsed is not None:  # else blank
                unsure.discard(key)
                chosen[setting.field] = parsed
    _fall_back_safely(chosen, unsure)
    for setting, where, value in wrong:
        message = f"{refused(setting, value, where)} {_instead(setting, chosen)}"
        warned.append(SettingWarning("bad", setting.key, message))
    return chosen, warned


def _fall_back_safely(chosen: dict[str, Any], unsure: set[str]) -> None:
    """Where it is not known what the user wants, nothing is sent that they may want to stay here, and nothing
    is deleted that they may want to keep."""
    for key in unsure:
        if BY_KEY[key].instead is not None:
            chosen[BY_KEY[key].field] = BY_KEY[key].instead
    if "CLAUDE_MEM_BASE_URL" in unsure and chosen.get("provider") != "claude":
        chosen["provider"] = "offline"  # it would go to the provider's own address


def _ineffective(key: str, where: str, *, hint: bool) -> SettingWarning:
    if key in _FILE_ONLY:
        return SettingWarning("bad", key, f"{key} has no effect in the environment: set it in settings.json.")
    if key == "CLAUDE_MEM_OFF":
        message = f"{key} has no effect in settings.json: set it in the environment, or run: claude-mem off"
        return SettingWarning("bad", key, message)
    return unknown(key, where, hint=hint)


def _instead(setting: Setting, chosen: Mapping[str, Any]) -> str:
    if setting.key == "CLAUDE_MEM_BASE_URL" and chosen.get("provider") == "offline":
        return "No model is used until you correct it."
    value = chosen.get(setting.field, setting.default)
    if value is None or setting.takes.kind == "secret":
        return "It is ignored."
    if isinstance(value, frozenset | tuple):
        return f"Used instead: {', '.join(sorted(value)) or 'none'}."
    return f"Used instead: {value}."


def unknown(key: str, where: str, *, hint: bool = True) -> SettingWarning:
    """The warning about an unknown key. Its value is not shown, because it may be a secret."""
    suggestion = nearest(key) if hint else None
    if suggestion is None and foreign_database.is_foreign_setting(key):
        return SettingWarning("theirs", key, f"{key} is a setting of another claude-mem and is ignored.")
    named = _name(key)
    place = "" if where == "settings.json" else f" (in {where})"
    question = f" Did you mean {suggestion}?" if suggestion else ""
    return SettingWarning("unknown", key, f"{named}{place} is not a setting.{question}", suggestion)


def refused(setting: Setting, value: object, where: str) -> SettingsError:
    """The warning about an invalid value, which is shortened and, if secret, omitted."""
    shown = value
    if setting.takes.kind == "secret":
        shown = "(hidden)"
    elif isinstance(value, dict | list):
        shown = "an object" if isinstance(value, dict) else "a list"
    elif isinstance(value, str):
        shown = cut(without_password(value))
    elif len(repr(value)) > LONGEST:
        shown = cut(repr(value))  # a number with endless digits
    return SettingsError(setting.key, shown, setting.takes.allowed, where)


def unreadable_entries(setting: Setting, count: int, left: int) -> SettingWarning:
    if left:
        entries = "1 entry" if count == 1 else f"{count} entries"
        what = f"{entries} of {setting.key} cannot be read; the rest applies"
    else:
        what = f"{setting.key} cannot be read, so nothing is excluded or redacted by it"
    return SettingWarning("bad", setting.key, f"settings.json: {what}. Allowed: {setting.takes.allowed}.")


def nearest(key: str) -> str | None:
    """The setting that was probably meant: one spelled much alike, or with all of its words in its name."""
    import difflib  # only where something is misspelled

    if foreign_database.is_foreign_setting(key) or len(key) > LONGEST:
        return None
    name = key.upper().replace("-", "_").removeprefix(PREFIX)
    alike = difflib.get_close_matches(name, _NAMES, len(_NAMES), LEAST_LIKENESS) or [
        known
        for known in _NAMES
        if all(
            difflib.get_close_matches(word, known.split("_"), 1, LEAST_LIKENESS) for word in name.split("_")
        )
    ]

    def similarity(known: str) -> tuple[bool, float]:
        return sorted(known) == sorted(name), difflib.SequenceMatcher(None, name, known).ratio()

    return PREFIX + max(alike, key=similarity) if alike else None


def summarized(warnings: Sequence[SettingWarning]) -> list[SettingWarning]:
    """The warnings, with many unknown keys in one line."""
    shown = [each for each in warnings if each.kind == "bad" or each.suggestion]
    for kind, one, more in (
        ("theirs", "setting of another claude-mem is", "settings of another claude-mem are"),
        ("unknown", "", "keys are not settings and are"),
    ):
        some = [each for each in warnings if each.kind == kind and each not in shown]
        if kind == "unknown" and len(some) <= MOST_NAMES:
            shown += some
        elif some:
            names = ", ".join(_name(each.key) for each in some[:MOST_NAMES])
            names += ", …" if len(some) > MOST_NAMES else ""
            message = f"{len(some)} {one if len(some) == 1 else more} ignored: {names}"
            shown.append(SettingWarning(some[0].kind, some[0].key, message))
    return shown


def session_notice(warnings: Iterable[SettingWarning]) -> str:
    """The notice for a session's start; empty: there is nothing the user needs to know."""
    bad = [each.message for each in warnings if each.kind == "bad"]
    if not bad:
        return ""
    more = f" And {len(bad) - MOST_SHOWN} more." if len(bad) > MOST_SHOWN else ""
    return f"claude-mem: {' '.join(bad[:MOST_SHOWN])}{more} Run: claude-mem doctor"


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def without_password(text: str) -> str:
    """A URL without the password it may contain."""
    if "://" not in text or "@" not in text:
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return "(hidden)"
    return urlunsplit(parts._replace(netloc=f"…@{parts.netloc.rpartition('@')[2]}"))


def _name(key: str) -> str:
    return cut(key if key.isprintable() else repr(key))
