"""Which embedder the settings name: `static`, a model of fastembed, a folder with an ONNX model, or a URL.
What those in this process have in common, and the default one, which arrives inside the `wordllama` package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from claude_mem.settings import Settings
from claude_mem.vectors.backend import STATIC_BATCH, STATIC_WEIGHT, Embedder, VectorsUnavailable

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector

    Model = Callable[[Sequence[str]], Sequence[Vector]]

MODELS = "models"
"""The folder in the data directory for fastembed's downloads."""
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
"""A text about as long as a memory."""


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


PACKAGE = "wordllama"
WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
TENSOR = "embedding.weight"

MOST_CHARACTERS = 2_000
"""An average over more words would not represent any subject."""


class LocalModel(ABC):
    """An Embedder in this process. A text without words is a vector of zeros, which is close to nothing."""

    name: str
    weight: float
    batch: int

    def __init__(self) -> None:
        self._model: Model | None = None
        self._loading = Lock()

    def is_ready(self) -> bool:
        if self._model is None and not self._loading.locked():
            Thread(target=self._try_to_load, name="embedder", daemon=True).start()
        return self._model is not None

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        model = self._model or self._loaded()
        return model([encodable(text[:MOST_CHARACTERS]) for text in texts])

    def embed_query(self, text: str, within_s: float) -> Vector:
        del within_s
        return self.embed([text])[0]

    def close(self) -> None:
        self._model = None

    @abstractmethod
    def _load(self) -> Model:
        """Raises VectorsUnavailable."""

    def _try_to_load(self) -> None:
        with suppress(VectorsUnavailable):  # whoever waits for it gets the error
            self._loaded()

    def _loaded(self) -> Model:
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model


class WordLlama(LocalModel):
    """The default model, static. Only two files of its package are used, never its code: importing it takes
    twice the time, configures logging for the whole process, and includes a downloader. The vectors are the
    same; a test compares them."""

    name = "wordllama-l2-supercat-256"
    weight, batch = STATIC_WEIGHT, STATIC_BATCH

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: where the model's files are; None: in the installed package."""
        super().__init__()
        self._folder = folder

    def _load(self) -> Model:
        return _load(self._folder or _installed())


def _installed() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise VectorsUnavailable(f"The package {PACKAGE} is not installed.")
    return Path(spec.submodule_search_locations[0])


def _load(folder: Path) -> Model:
    try:
        import numpy as np
        from safetensors import SafetensorError, safe_open
        from tokenizers import Tokenizer
    except Exception as error:
        raise VectorsUnavailable(f"The embedding model's libraries cannot be loaded: {error}.") from error
    try:
        with safe_open(folder / WEIGHTS, framework="np") as file:
            # A copy in single precision: halves the time of every average, for 16 MiB.
            table = file.get_tensor(TENSOR).astype(np.float32)
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except (OSError, SafetensorError) as error:
        raise VectorsUnavailable(f"The embedding model in {folder} cannot be read: {error}.") from error
    except Exception as error:  # the tokenizer raises nothing narrower for a file it cannot read
        raise VectorsUnavailable(f"The embedding model in {folder} is damaged: {error}.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def embed(text: str) -> Vector:
        # One by one: in batches the tokenizer starts threads, and the other core is the user's.
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if not ids:
            return np.zeros(table.shape[1], dtype=np.float32)
        vector: Vector = table[ids].mean(axis=0)
        length = float(np.linalg.norm(vector))
        return vector / np.float32(length) if length else vector

    return lambda texts: [embed(text) for text in texts]


def encodable(text: str) -> str:
    """Lone surrogates, from paths with invalid bytes, have no UTF-8."""
    return text if text.isascii() else text.encode(errors="replace").decode()
