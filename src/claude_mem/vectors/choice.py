"""Who embeds and who keeps the vectors, as the settings have it. Nothing heavy is loaded before its use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem.ports.vectors import Embedder
from claude_mem.settings import Settings
from claude_mem.vectors.embed import WordLlama
from claude_mem.vectors.keeper import Keeper
from claude_mem.vectors.late import Late

if TYPE_CHECKING:
    from claude_mem.vectors.builtin import Shelf

CHROMA = "chroma"
"""The folder in the data directory."""


def embedder() -> Embedder:
    return WordLlama()


def keeper(settings: Settings, shelf: Shelf) -> Keeper | None:
    """None: the user wants none."""

    def builtin() -> Keeper:
        from claude_mem.vectors.builtin import Builtin

        return Builtin(shelf)

    def chroma() -> Keeper:
        from claude_mem.vectors.chroma import Chroma

        return Chroma(settings.place(CHROMA), settings.chroma_url)

    match settings.vectors:
        case "off":
            return None
        case "chroma":
            return Late("chroma", chroma)
        case "builtin":
            return Late("builtin", builtin)
