"""What of a stranger's record is kept: bounded, scrubbed as capture scrubs, and not from the future. Pure.

Whose its sessions are, and what it may not touch, is the store's to see to (`ports.portable`).
"""

from __future__ import annotations

from collections.abc import Callable

from claude_mem.model.records import FIELDS, FOREIGN, INT, LIST, TEXT, Record

LONGEST = 70_000  # characters of a text: what capture keeps of a field, and what it says of the rest
LONGEST_NAME = 1_000  # of what others refer to: cut, it would be another one
MOST_ITEMS = 200
LONGEST_ITEM = 2_000
A_DAY_MS = 24 * 60 * 60 * 1000
NAMES = frozenset(
    (
        "key",
        "name",
        "session_id",
        "project",
        "effect_key",
        "event_id",
        "observation",
        "supersedes",
        "event_kind",
    )
)


class Unfit(ValueError):
    """`str()` is a sentence that says why nothing of it is kept."""


def fit(record: Record, clean: Callable[[str], str], now: int) -> Record:
    """With what is left of its fields. What has another shape than its field stays: the store refuses it."""
    fields = FIELDS.get(str(record.get("kind")))
    if fields is None:
        return record
    kept = dict(record)
    for name, shape in fields.items():
        value = record.get(name)
        if shape == TEXT and isinstance(value, str):
            kept[name] = _name(name, value, clean) if name in NAMES else clean(value[:LONGEST])
        elif shape == LIST and isinstance(value, list):
            items = [clean(item[:LONGEST_ITEM]) for item in value[:MOST_ITEMS] if isinstance(item, str)]
            kept[name] = [item for item in items if item.strip()]
        elif shape == INT and name.endswith("at") and isinstance(value, int) and value > now + A_DAY_MS:
            raise Unfit(f"{name} is in the future; it would be the newest for as long.")
    if record.get("kind") == "session":
        kept["client"] = FOREIGN
    return kept


def _name(name: str, value: str, clean: Callable[[str], str]) -> str:
    if len(value) > LONGEST_NAME:
        raise Unfit(f"{name} is longer than {LONGEST_NAME:,} characters.")
    return clean(value)
