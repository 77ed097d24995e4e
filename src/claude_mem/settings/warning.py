"""Decides what is said of a setting that does not hold: an unknown name, or a value that cannot be used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from claude_mem.model.errors import SettingsError
from claude_mem.settings import neighbour
from claude_mem.settings.table import SETTINGS, Setting

PREFIX = "CLAUDE_MEM_"
NEAR = 0.8  # of 1: how much of two names must agree
NAMED = 3
TOLD = 2
LONGEST = 80
MOST_HINTS = 50  # comparing a name with all others takes a moment
_NAMES = tuple(setting.key.removeprefix(PREFIX) for setting in SETTINGS if setting.key.startswith(PREFIX))


@dataclass(frozen=True, slots=True)
class SettingWarning:
    kind: Literal["bad", "unknown", "theirs"]
    """bad: a value that cannot be used. unknown: not a setting. theirs: the TypeScript claude-mem's."""
    key: str
    says: str
    meant: str | None = None  # the setting that an unknown key was probably to be


def unknown(key: str, where: str, *, hint: bool = True) -> SettingWarning:
    """Its value is not shown: it may be a key under a name we do not know."""
    meant = nearest(key) if hint else None
    if meant is None and neighbour.is_setting(key):
        return SettingWarning("theirs", key, f"{key} is a setting of another claude-mem, and ignored.")
    named = _name(key)
    place = "" if where == "settings.json" else f" (in {where})"
    question = f" Did you mean {meant}?" if meant else ""
    return SettingWarning("unknown", key, f"{named}{place} is not a setting.{question}", meant)


def refused(setting: Setting, value: object, where: str) -> SettingsError:
    """With the value as it may be shown: short, and without what is secret."""
    shown = value
    if setting.takes.kind == "secret":
        shown = "(hidden)"
    elif isinstance(value, dict | list):
        shown = "an object" if isinstance(value, dict) else "a list"
    elif isinstance(value, str):
        shown = cut(without_password(value))
    elif len(repr(value)) > LONGEST:
        shown = cut(repr(value))  # a number with endless digits
    return SettingsError(setting.key, shown, setting.allowed, where)


def bad(setting: Setting, value: object, where: str, instead: str) -> SettingWarning:
    return SettingWarning("bad", setting.key, f"{refused(setting, value, where)} {instead}")


def unreadable_entries(setting: Setting, count: int, kept: int) -> SettingWarning:
    if kept:
        entries = "1 entry" if count == 1 else f"{count} entries"
        what = f"{entries} of {setting.key} cannot be read; the rest applies"
    else:
        what = f"{setting.key} cannot be read, so nothing is excluded or redacted by it"
    return SettingWarning("bad", setting.key, f"settings.json: {what}. Allowed: {setting.allowed}.")


def nearest(key: str) -> str | None:
    """The setting that was probably meant: one spelled much alike, or with all of its words in its name."""
    if neighbour.is_setting(key) or len(key) > LONGEST:
        return None
    name = key.upper().replace("-", "_").removeprefix(PREFIX)
    alike = difflib.get_close_matches(name, _NAMES, len(_NAMES), NEAR) or [
        known
        for known in _NAMES
        if all(difflib.get_close_matches(word, known.split("_"), 1, NEAR) for word in name.split("_"))
    ]

    def likeness(known: str) -> tuple[bool, float]:
        return sorted(known) == sorted(name), difflib.SequenceMatcher(None, name, known).ratio()

    return PREFIX + max(alike, key=likeness) if alike else None


def summed(warnings: Sequence[SettingWarning]) -> list[SettingWarning]:
    """The same, with many names in one line."""
    kept = [each for each in warnings if each.kind == "bad" or each.meant]
    for kind, one, more in (
        ("theirs", "setting of another claude-mem is", "settings of another claude-mem are"),
        ("unknown", "", "keys are not settings and are"),
    ):
        some = [each for each in warnings if each.kind == kind and each not in kept]
        if kind == "unknown" and len(some) <= NAMED:
            kept += some
        elif some:
            names = _some([_name(each.key) for each in some])
            says = f"{len(some)} {one if len(some) == 1 else more} ignored: {names}"
            kept.append(SettingWarning(some[0].kind, some[0].key, says))
    return kept


def to_tell(warnings: Iterable[SettingWarning]) -> str:
    """What a session's start tells the user; empty when there is nothing they must know."""
    bad = [each.says for each in warnings if each.kind == "bad"]
    if not bad:
        return ""
    more = f" And {len(bad) - TOLD} more." if len(bad) > TOLD else ""
    return f"claude-mem: {' '.join(bad[:TOLD])}{more} Run: claude-mem doctor"


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def without_password(text: str) -> str:
    """An address may hold one."""
    if "://" not in text or "@" not in text:
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return "(hidden)"
    return urlunsplit(parts._replace(netloc=f"…@{parts.netloc.rpartition('@')[2]}"))


def _name(key: str) -> str:
    return cut(key if key.isprintable() else repr(key))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
