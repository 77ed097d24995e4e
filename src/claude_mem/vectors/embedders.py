"""Which embedder the settings name: `static`, a model of fastembed, a folder with an ONNX model, or a URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from claude_mem.settings import Settings
from claude_mem.vectors.backend import Embedder, VectorsUnavailable
from claude_mem.vectors.local_model import WordLlama

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector

MODELS = "models"
"""The folder in the data directory where fastembed keeps what it downloads."""
STATIC = "static"
RECOMMENDED = "sentence-transformers/all-MiniLM-L6-v2"

Kind = Literal["static", "fastembed", "folder", "endpoint"]

TRIAL = ("The login fails after an hour.", "The session token expires too early.", "Bake the bread.")


def kind_of(value: str) -> Kind:
    if value == STATIC:
        return "static"
    if value.startswith(("http://", "https://")):
        return "endpoint"
    return "folder" if value.startswith(("/", "~")) else "fastembed"


def build(settings: Settings, clean: Callable[[str], str] = lambda text: text) -> Embedder:
    """Loads nothing yet. `clean` takes out of a query what must not be sent to another machine."""
    value = settings.embedder
    match kind_of(value):
        case "static":
            return WordLlama()
        case "endpoint":
            from claude_mem.vectors.endpoint import EndpointEmbedder

            return EndpointEmbedder(value, settings.embedder_model, settings.embedder_key, clean=clean)
        case "folder":
            from claude_mem.vectors.sentence import OnnxFolder

            return OnnxFolder(Path(value).expanduser())
        case "fastembed":
            from claude_mem.vectors.sentence import FastEmbed

            return FastEmbed(value, settings.data_path(MODELS))


LONG = (" ".join(TRIAL) * 10,) * 4
"""About as long as memories are."""


class Trial(Struct, frozen=True):
    dimensions: int
    per_second: float  # memories


def tried(embedder: Embedder, clock: Callable[[], float]) -> Trial:
    """Loads it and embeds something. Raises VectorsUnavailable, also if it does not distinguish meanings."""
    made: Sequence[Vector] = embedder.embed(TRIAL)
    query, near, far = made
    if not float(query @ near) > float(query @ far):
        raise VectorsUnavailable("It does not distinguish related sentences from unrelated ones.")
    began = clock()
    embedder.embed(LONG)
    return Trial(int(query.size), len(LONG) / max(clock() - began, 1e-6))
