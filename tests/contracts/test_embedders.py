"""Every embedder under the one contract: the static model, a folder with an ONNX model, fastembed, and an
OpenAI-compatible server. The folder's is made here, in `make prove`, which has onnxruntime."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.contracts.embedder_contract import EmbedderContract
from tests.harness.embedding_models import meaning, serving_embeddings, write_onnx_folder
from tests.unit.vectors.chroma_server import free_port

from claude_mem.vectors.backend import Embedder
from claude_mem.vectors.embedders import WordLlama
from claude_mem.vectors.endpoint import EndpointEmbedder
from claude_mem.vectors.sentence import FastEmbed, OnnxFolder


class TestStatic(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return WordLlama()

    @pytest.fixture
    def absent(self, tmp_path: Path) -> Embedder:
        return WordLlama(tmp_path)


@pytest.mark.prove
class TestOnnxFolder(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return OnnxFolder(write_onnx_folder(tmp_path / "model"))

    @pytest.fixture
    def absent(self, tmp_path: Path) -> Embedder:
        return OnnxFolder(tmp_path / "nowhere")


class TextEmbedding:
    """As fastembed's: what of its interface is used."""

    def __init__(self, model_name: str, cache_dir: str, threads: int) -> None:
        assert Path(cache_dir).is_dir()
        assert threads == 1
        if model_name != "tests/known":
            raise ValueError(f"Model {model_name} is not supported in TextEmbedding.")

    def embed(self, documents: list[str], batch_size: int) -> Iterable[Any]:
        return (np.asarray(meaning(text), dtype=np.float64) * 3 for text in documents)

    def query_embed(self, query: list[str]) -> Iterable[Any]:
        return self.embed(query, 1)


class TestFastEmbed(EmbedderContract):
    @pytest.fixture(autouse=True)
    def package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        package: Any = ModuleType("fastembed")
        package.TextEmbedding = TextEmbedding
        monkeypatch.setitem(sys.modules, "fastembed", package)

    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return FastEmbed("tests/known", tmp_path / "models")

    @pytest.fixture
    def absent(self, tmp_path: Path) -> Embedder:
        return FastEmbed("tests/unknown", tmp_path / "models")


class TestEndpoint(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        with serving_embeddings() as server:
            yield EndpointEmbedder(server.url, "tiny", clock=lambda: 1.0)  # however busy the machine is

    @pytest.fixture
    def absent(self) -> Embedder:
        return EndpointEmbedder(f"http://127.0.0.1:{free_port()}/v1", "tiny")
