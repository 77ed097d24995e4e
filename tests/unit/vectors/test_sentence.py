"""Sentence models in a folder, with onnxruntime; a small one is made here. `make prove` has onnxruntime."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.harness.embedding_models import write_onnx_folder

from claude_mem.vectors.backend import VectorsUnavailable
from claude_mem.vectors.sentence import OnnxFolder, model_file

pytestmark = pytest.mark.prove


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_onnx_folder(tmp_path / "model")


def test_the_vector_is_the_mean_of_its_tokens_whatever_it_is_embedded_with(folder: Path) -> None:
    texts = ["login", "bread oven flour", "cart leaks memory shop login session token fails"]
    alone = [OnnxFolder(folder).embed([text])[0] for text in texts]
    together = OnnxFolder(folder).embed(texts)
    assert np.asarray(alone) == pytest.approx(np.asarray(together), abs=1e-5)


def test_a_model_may_want_token_types(tmp_path: Path) -> None:
    folder = write_onnx_folder(tmp_path, inputs=("input_ids", "attention_mask", "token_type_ids"))
    assert OnnxFolder(folder).embed(["login"])[0].any()


def test_a_model_that_wants_more_than_text_is_unavailable(tmp_path: Path) -> None:
    folder = write_onnx_folder(tmp_path, inputs=("input_ids", "pixel_values"))
    with pytest.raises(VectorsUnavailable, match="pixel_values"):
        OnnxFolder(folder).embed(["login"])


def test_it_reads_as_many_tokens_as_the_folder_says(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 2}))
    short, long = OnnxFolder(folder).embed(["login bread", "login bread oven oven oven"])
    assert (short == long).all()


def test_it_takes_the_first_token_where_the_folder_says_so(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    first, both = OnnxFolder(folder).embed(["login", "login bread"])
    assert first == pytest.approx(both, abs=1e-6)


def test_the_file_may_lie_in_a_folder_of_its_own_and_model_onnx_comes_first(folder: Path) -> None:
    assert model_file(folder) == folder / "model.onnx"
    (folder / "onnx").mkdir()
    for name in ("a.onnx", "model.onnx"):
        (folder / "onnx" / name).write_bytes((folder / "model.onnx").read_bytes())
    (folder / "model.onnx").unlink()
    assert model_file(folder) == folder / "onnx" / "model.onnx"


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_or_missing_file_is_unavailable(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"garbage")
    with pytest.raises(VectorsUnavailable):
        OnnxFolder(folder).embed(["login"])
    (folder / name).unlink()
    with pytest.raises(VectorsUnavailable):
        OnnxFolder(folder).embed(["login"])


def test_another_model_in_the_same_folder_has_another_name(folder: Path) -> None:
    before = OnnxFolder(folder).name
    assert OnnxFolder(folder).name == before
    os.utime(folder / "model.onnx", (1, 1))
    assert OnnxFolder(folder).name != before
