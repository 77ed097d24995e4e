"""The model that arrives inside a package."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from claude_mem.vectors import embedders
from claude_mem.vectors.backend import VectorsUnavailable
from claude_mem.vectors.embedders import MOST_CHARACTERS, WordLlama

TEXTS = ["The token refresh was retried", "ein Käfig für Löwen 🦁", "def parse(): pass", "x " * 4_000]


@pytest.fixture(scope="module")
def model() -> WordLlama:
    return WordLlama()


def test_vectors_are_singles_of_length_one(model: WordLlama) -> None:
    vectors = model.embed(TEXTS)
    assert len(vectors) == len(TEXTS)
    for vector in vectors:
        assert vector.dtype == np.float32
        assert vector.shape == (256,)
        assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)
    assert model.embed([]) == []


def test_what_means_the_same_is_closer_than_what_does_not(model: WordLlama) -> None:
    query, near, far = model.embed(
        ["login fails after a while", "the session token expires too early", "bake the bread for an hour"]
    )
    assert float(query @ near) > float(query @ far) + 0.1


def test_text_past_the_bound_does_not_count(model: WordLlama) -> None:
    text = "word " * MOST_CHARACTERS
    long, short = model.embed([text, text[:MOST_CHARACTERS]])
    assert (long == short).all()


@pytest.mark.parametrize("text", ["", "\udcff", "\x00", "�" * 10])
def test_no_text_is_refused(model: WordLlama, text: str) -> None:
    (vector,) = model.embed([text])
    assert np.isfinite(vector).all()


def test_a_text_without_words_has_no_direction(model: WordLlama) -> None:
    assert not model.embed([""])[0].any()


def test_the_first_call_of_many_threads_loads_the_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []
    load, barrier = embedders._load, threading.Barrier(4)

    def counting(folder: Path) -> object:
        loads.append(folder)
        return load(folder)

    monkeypatch.setattr(embedders, "_load", counting)
    model = WordLlama()

    def one(_: int) -> object:
        barrier.wait(30)
        return model.embed(["hello"])[0].tolist()

    with ThreadPoolExecutor(4) as pool:
        assert len({json.dumps(vector) for vector in pool.map(one, range(4))}) == 1
    assert len(loads) == 1


def test_asking_whether_it_is_ready_makes_it_so_without_waiting() -> None:
    model = WordLlama()
    assert not model.is_ready()
    for thread in threading.enumerate():
        if thread.name == "embedder":
            thread.join(30)
    assert model.is_ready()


def test_a_missing_package_is_unavailable_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "PACKAGE", "no_such_package")
    with pytest.raises(VectorsUnavailable, match=r"^The package no_such_package is not installed\.$"):
        WordLlama().embed(["hello"])


@pytest.mark.parametrize("broken", [embedders.WEIGHTS, embedders.TOKENIZER])
@pytest.mark.parametrize("content", [None, b"garbage"])
def test_a_broken_package_is_unavailable(tmp_path: Path, broken: Path, content: bytes | None) -> None:
    for file in (embedders.WEIGHTS, embedders.TOKENIZER):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).symlink_to(embedders._installed() / file)
    (tmp_path / broken).unlink()
    if content is not None:
        (tmp_path / broken).write_bytes(content)
    with pytest.raises(VectorsUnavailable, match="The embedding model in"):
        WordLlama(tmp_path).embed(["hello"])


OURS = """
import json, sys
from claude_mem.vectors.embedders import WordLlama
before = set(sys.modules)
asked = []
sys.addaudithook(lambda event, _: asked.append(event) if event.startswith("socket.") else None)
vectors = WordLlama().embed(json.loads(sys.stdin.read()))
import logging
assert not logging.getLogger().handlers, "logging was set up"
print(json.dumps({
    "vectors": [vector.tolist() for vector in vectors],
    "heavy before": sorted({"numpy", "tokenizers", "safetensors"} & before),
    "network": asked,
    "code of theirs": [name for name in sys.modules if name.split(".")[0] in ("wordllama", "requests")],
}))
"""

THEIRS = """
import json, pathlib, sys
import wordllama
model = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True)
print(json.dumps([vector.tolist() for vector in model.embed(json.loads(sys.stdin.read()), norm=True)]))
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, input=json.dumps(TEXTS[:3]), capture_output=True, text=True, timeout=60, check=True
    )


def test_it_is_silent_works_without_a_network_and_loads_late() -> None:
    done = run(sys.executable, "-c", OURS)
    answer = json.loads(done.stdout)
    assert len(answer["vectors"]) == 3
    assert (answer["heavy before"], answer["code of theirs"], answer["network"]) == ([], [], [])
    assert done.stderr == ""


def test_the_vectors_are_those_of_the_packages_own_code() -> None:
    ours = json.loads(run(sys.executable, "-c", OURS).stdout)["vectors"]
    theirs = json.loads(run(sys.executable, "-c", THEIRS).stdout)
    assert np.asarray(ours) == pytest.approx(np.asarray(theirs), abs=1e-6)
