"""Modified copies of structs: `replace` changes fields, `map_text` changes texts.

mypy treats a Struct's fields like those of a dataclass, so it checks the arguments of `dataclasses.replace`.
msgspec's own function accepts anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct, structs

if TYPE_CHECKING:
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = ["map_text", "replace"]

T = TypeVar("T")


def map_text(value: T, change: Callable[[str], str]) -> T:
    """The same with every text in it changed: of a struct, a tuple, a list or a mapping's values, at any
    depth."""
    made: object = value
    if isinstance(value, str):
        made = change(value)
    elif isinstance(value, Struct):
        fields = {name: map_text(getattr(value, name), change) for name in value.__struct_fields__}
        made = structs.replace(value, **fields)
    elif isinstance(value, list | tuple):
        made = type(value)(map_text(each, change) for each in value)
    elif isinstance(value, dict):
        made = {name: map_text(each, change) for name, each in value.items()}
    return cast(T, made)
