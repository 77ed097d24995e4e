"""Decides what stands for an image or a document in base64: its kind and size, never its bytes."""

from __future__ import annotations

from collections.abc import Mapping

DEEPEST = 32
SHORTEST = 200  # characters: below it, it is as well left as it is
_DATA_URL = "data:"


def without(value: object, depth: int = 0) -> object:
    """The same, with a mark in place of every picture."""
    if isinstance(value, str):
        return _mark(value[5:40].partition(";")[0], value) if is_data_url(value) else value
    if depth > DEEPEST:
        return value
    if isinstance(value, list):
        return [without(each, depth + 1) for each in value]
    if isinstance(value, dict):
        shown = shown_as(value)
        if shown:
            return {"type": "text", "text": shown}
        kind = value.get("type") if "base64" in value else None
        return {
            key: _mark(kind, each)
            if key == "base64" and isinstance(each, str) and len(each) >= SHORTEST
            else without(each, depth + 1)
            for key, each in value.items()
        }
    return value


def shown_as(block: Mapping[str, object]) -> str | None:
    """The mark for a content block that is a picture: the Messages API's, or MCP's."""
    source = block.get("source")
    holder = source if isinstance(source, Mapping) else block
    data = holder.get("data")
    kind = holder.get("media_type", holder.get("mimeType"))
    if isinstance(data, str) and isinstance(kind, str) and block.get("type") != "text":
        return _mark(kind, data)
    return None


def is_data_url(text: str) -> bool:
    return text.startswith(_DATA_URL) and len(text) >= SHORTEST and ";base64," in text[:100]


def _mark(kind: object, data: str) -> str:
    named = kind if isinstance(kind, str) and kind else "base64"
    sort = "image" if named.startswith("image") else "document"
    return f"[{sort}: {named[:60]}, {max(len(data) * 3 // 4 // 1000, 1)} kB]"
