"""`replace` for structs. To mypy the fields of a Struct are those of a dataclass: it checks the arguments of
`dataclasses.replace`, while msgspec's takes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = ["replace"]
