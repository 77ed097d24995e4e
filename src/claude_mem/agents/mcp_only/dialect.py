"""No hooks: nothing is recorded, and text reaches the model by MCP alone."""

from __future__ import annotations

EVENTS: dict[str, str] = {}
KEYS: dict[str, str] = {}
PLACES: frozenset[str] = frozenset()
