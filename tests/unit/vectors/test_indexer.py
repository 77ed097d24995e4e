"""Vectors in step with memories, whatever becomes of the backend (row 22)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.vectors_contract import SIZE, vector
from tests.unit.vectors.chroma_server import chroma, free_port, serving
from tests.unit.vectors.letter_embedder import Letters
from tests.unit.vectors.memories import OTHER, Memories, opened

from claude_mem import settings
from claude_mem.model.errors import StoreError
from claude_mem.model.memory import Summary
from claude_mem.settings import Settings
from claude_mem.vectors import indexer
from claude_mem.vectors.backend import LazyBackend, VectorBackend, VectorsStarting, VectorsUnavailable
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.indexer import LOOK_MS, RETRY_MS, Similarity, VectorIndexer


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    with opened(tmp_path) as memories:
        yield memories


def builtin(memories: Memories) -> VectorBackend:
    return LazyBackend("builtin", lambda: Builtin(memories.table))


def finish(embedding: VectorIndexer, now: int = 0) -> int:
    done = 0
    while step := embedding.step(now):
        done += step
    return done


def test_every_memory_but_evidence_gets_a_vector_of_its_telling_words(memories: Memories) -> None:
    summary = Summary(
        request="fix the cart", investigated="nothing", learned="it leaks", completed="done", notes="n"
    )
    memory_keys = memories.learn("Cart leaks", prompt="why does it leak?", summaries=[summary])
    embedder, backend = Letters(), builtin(memories)
    embedding = VectorIndexer(memories.source, backend, embedder)
    assert embedding.waiting() == 3
    assert finish(embedding) == 3
    assert embedding.waiting() == 0
    assert backend.cosines(vector(1), memory_keys).keys() == set(memory_keys)
    assert backend.count() == 3
    assert sorted(embedder.given) == ["Cart leaks", "fix the cart\nit leaks\ndone", "why does it leak?"]


def test_a_private_prompt_gets_none(memories: Memories) -> None:
    memories.learn("a", prompt=None)
    memories.store.writer.run(
        lambda db: db.execute(
            "INSERT INTO user_prompts (session_id, prompt_number, private, created_at, created_at_epoch)"
            " VALUES (1, 9, 1, '', 0)"
        )
    )
    backend = builtin(memories)
    embedding = VectorIndexer(memories.source, backend, Letters())
    finish(embedding)
    assert (backend.count(), embedding.waiting()) == (1, 0)


def test_what_is_new_is_embedded_and_nothing_twice(memories: Memories) -> None:
    embedder, backend = Letters(), builtin(memories)
    embedding = VectorIndexer(memories.source, backend, embedder)
    memories.learn(*(f"title {number}" for number in range(Letters.batch + 5)))
    assert embedding.step(0) == Letters.batch
    assert finish(embedding) == 5
    memories.learn("another")
    finish(VectorIndexer(memories.source, builtin(memories), embedder))
    assert len(embedder.given) == len(set(embedder.given)) == Letters.batch + 6


def test_until_it_was_looked_at_nothing_can_be_asked(memories: Memories) -> None:
    backend = builtin(memories)
    with pytest.raises(VectorsStarting):
        backend.nearest(vector(1), None, 3)
    VectorIndexer(memories.source, backend, Letters()).step(0)
    assert backend.nearest(vector(1), None, 3) == []


class TestAModelThatIsDown:
    def test_costs_nothing_but_the_vectors_and_they_are_made_later(self, memories: Memories) -> None:
        (memory_key,) = memories.learn("abc")
        embedder, backend = Letters(), builtin(memories)
        embedder.broken = "The model is out of order."
        embedding = VectorIndexer(memories.source, backend, embedder)
        assert embedding.step(1_000) == 0
        assert embedding.trouble == "The model is out of order."
        with pytest.raises(VectorsUnavailable, match="out of order"):
            Similarity(embedder, backend).cosines("abc", 1, [memory_key])
        embedder.broken = None
        assert embedding.step(1_000 + RETRY_MS - 1) == 0
        assert embedding.step(1_000 + RETRY_MS) == 1
        assert embedding.trouble is None
        assert Similarity(embedder, backend).cosines("abc", 1, [])[memory_key] == pytest.approx(1, abs=0.01)


class TestAnotherModel:
    def test_makes_all_vectors_anew(self, memories: Memories) -> None:
        memory_keys = memories.learn("abc", "def")
        finish(VectorIndexer(memories.source, builtin(memories), Letters()))
        other, backend = Letters("other letters", SIZE * 2), builtin(memories)
        finish(VectorIndexer(memories.source, backend, other))
        assert len(other.given) == 2
        assert backend.cosines(vector(1, size=SIZE * 2), memory_keys).keys() == set(memory_keys)

    def test_is_never_compared_with_what_is_left_of_the_one_before(self, memories: Memories) -> None:
        """Also when the worker is killed between clearing and recording."""
        memories.learn("abc")
        finish(VectorIndexer(memories.source, builtin(memories), Letters()))
        other = Letters("other letters", SIZE * 2)
        other.broken = "Killed."
        backend = builtin(memories)
        assert VectorIndexer(memories.source, backend, other).step(0) == 0
        assert backend.nearest(vector(1, size=SIZE * 2), None, 3) == []
        other.broken = None
        assert finish(VectorIndexer(memories.source, builtin(memories), other)) == 1

    def test_of_other_dimensions_under_the_same_name_makes_them_all_again(self, memories: Memories) -> None:
        memories.learn("abc")
        backend = builtin(memories)
        finish(VectorIndexer(memories.source, backend, Letters()))
        changed = Letters(size=SIZE * 2)
        with pytest.raises(VectorsUnavailable, match="dimensions"):
            Similarity(changed, backend).cosines("abc", None, [])
        memories.learn("def")
        embedding = VectorIndexer(memories.source, backend, changed)
        assert embedding.step(0) == 0
        assert "dimensions" in (embedding.trouble or "")
        assert embedding.step(RETRY_MS) == 2
        assert len(Similarity(changed, backend).cosines("abc", None, [])) == 2


class TestForgetting:
    def test_a_memory_forgotten_while_its_vector_is_made_leaves_none(self, memories: Memories) -> None:
        kept, gone = memories.learn("kept", "gone")
        backend = builtin(memories)

        class Slow(Letters):
            def embed(self, texts: Sequence[str]) -> list[Any]:
                memories.forget(gone)
                return super().embed(texts)

        finish(VectorIndexer(memories.source, backend, Slow()))
        assert backend.cosines(vector(1), [kept, gone]).keys() == {kept}
        assert [memory_key for memory_key, _ in backend.nearest(vector(1), None, 3)] == [kept]

    def test_what_was_forgotten_is_not_found_even_before_the_next_step(self, memories: Memories) -> None:
        kept, gone = memories.learn("kept", "gone")
        backend = builtin(memories)
        embedding = VectorIndexer(memories.source, backend, Letters())
        finish(embedding)
        assert len(backend.nearest(vector(1), None, 3)) == 2
        memories.forget(gone)
        assert [memory_key for memory_key, _ in backend.nearest(vector(1), None, 3)] == [kept]
        assert embedding.step(0) == 1
        assert memories.source.forgotten() is None

    @pytest.mark.prove
    def test_a_backend_that_is_away_forgets_when_it_is_back(self, memories: Memories, tmp_path: Path) -> None:
        kept, gone = memories.learn("kept", "gone")
        port, folder = free_port(), tmp_path / "server"
        with closing(chroma(tmp_path / "unused", f"http://127.0.0.1:{port}", clock=Steps())) as backend:
            embedding = VectorIndexer(memories.source, backend, Letters())
            with serving(folder, port):
                assert finish(embedding) == 2
            memories.forget(gone)
            memories.learn("later")
            assert embedding.step(0) == 0
            assert (embedding.trouble or "").startswith("Chroma failed")
            with pytest.raises(VectorsUnavailable):
                backend.nearest(vector(1), None, 3)
            with serving(folder, port):
                assert finish(embedding, RETRY_MS) == 2
                assert embedding.trouble is None
                assert backend.count() == 2
                assert backend.cosines(vector(1), [kept, gone]).keys() == {kept}


class Steps:
    """A clock on which a minute passes with every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 60
        return self.now


class TestChroma:
    @pytest.mark.prove
    def test_in_a_folder_is_filled_and_goes_on_where_it_was(self, memories: Memories, tmp_path: Path) -> None:
        memory_keys = memories.learn("abc") + memories.learn("def", session="s2", origin=OTHER)
        embedder = Letters()
        for _ in range(2):
            with closing(chroma(tmp_path / "chroma")) as backend:
                finish(VectorIndexer(memories.source, backend, embedder))
                assert {memory_key for memory_key, _ in backend.nearest(vector(1), None, 5)} == set(
                    memory_keys
                )
                assert [memory_key for memory_key, _ in backend.nearest(vector(1), 2, 5)] == memory_keys[1:]
        assert len(embedder.given) == 2
        assert (tmp_path / "chroma").stat().st_mode & 0o777 == 0o700

    @pytest.mark.prove
    def test_a_lost_folder_is_filled_again(self, memories: Memories, tmp_path: Path) -> None:
        memories.learn("abc")
        for _ in range(2):
            with closing(chroma(tmp_path / "chroma")) as backend:
                assert finish(VectorIndexer(memories.source, backend, Letters())) == 1
            shutil.rmtree(tmp_path / "chroma")

    @pytest.mark.prove
    def test_a_server_that_lost_everything_is_noticed_and_filled_again(
        self, memories: Memories, tmp_path: Path
    ) -> None:
        memories.learn("abc")
        port = free_port()
        with closing(chroma(tmp_path / "unused", f"http://127.0.0.1:{port}", clock=Steps())) as backend:
            embedding = VectorIndexer(memories.source, backend, Letters())
            with serving(tmp_path / "one", port):
                assert finish(embedding) == 1
            with serving(tmp_path / "two", port):
                assert finish(embedding, LOOK_MS) == 1
                assert backend.count() == 1

    @pytest.mark.prove
    def test_changing_backends_leaves_nothing_behind_in_the_database(
        self, memories: Memories, tmp_path: Path
    ) -> None:
        memories.learn("abc")
        finish(VectorIndexer(memories.source, builtin(memories), Letters()))
        with closing(chroma(tmp_path / "chroma")) as other:
            assert finish(VectorIndexer(memories.source, other, Letters())) == 1
        assert memories.table.count() == 0
        backend = builtin(memories)
        assert finish(VectorIndexer(memories.source, backend, Letters())) == 1
        assert backend.count() == 1

    def test_what_is_not_installed_is_said(self, memories: Memories) -> None:
        def missing() -> VectorBackend:
            raise ModuleNotFoundError("No module named 'chromadb'")

        embedding = VectorIndexer(memories.source, LazyBackend("chroma", missing), Letters())
        assert embedding.step(0) == 0
        assert embedding.trouble
        assert "chromadb" in embedding.trouble

    def test_what_is_installed_and_does_not_work_is_said_too(self, memories: Memories) -> None:
        def unhappy() -> VectorBackend:
            raise RuntimeError("your system has an unsupported version of sqlite3")

        embedding = VectorIndexer(memories.source, LazyBackend("chroma", unhappy), Letters())
        assert embedding.step(0) == 0
        assert "unsupported version" in (embedding.trouble or "")

    def test_before_it_is_opened_it_is_starting_and_after_a_failure_it_says_why(self) -> None:
        def unhappy() -> VectorBackend:
            raise RuntimeError("your system has an unsupported version of sqlite3")

        backend = LazyBackend("chroma", unhappy)
        with pytest.raises(VectorsStarting):
            backend.count()
        with pytest.raises(VectorsUnavailable):
            backend.open("stamp")
        with pytest.raises(VectorsUnavailable, match="unsupported version"):
            backend.count()


def test_a_database_that_cannot_be_used_stops_nothing(memories: Memories) -> None:
    memories.learn("abc")
    embedding = VectorIndexer(memories.source, builtin(memories), Letters())
    memories.store.close()
    assert embedding.step(0) == 0
    assert embedding.trouble == "The database cannot be used: it was closed."
    with pytest.raises(StoreError):
        embedding.waiting()


# Who keeps the vectors, as the settings have it.


CHOSEN = """
import pathlib, sys
from claude_mem.settings import Settings
from claude_mem.vectors import embedders, indexer
chosen = Settings(data_dir=pathlib.Path("data"), vectors=sys.argv[1], embedder=sys.argv[2])
kept = indexer.backend_of(chosen, table=None)
indexer.Similarity(embedders.build(chosen), kept)
heavy = {"numpy", "chromadb", "tokenizers", "safetensors", "onnxruntime", "fastembed"}
print(kept.name, sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("name", "embedder"),
    [("builtin", "static"), ("chroma", "http://127.0.0.1:9/v1"), ("builtin", "/model"), ("builtin", "a/b")],
)
def test_choosing_one_loads_nothing_heavy(name: str, embedder: str) -> None:
    command = [sys.executable, "-c", CHOSEN, name, embedder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{name} []"


def test_off_is_nobody(tmp_path: Path) -> None:
    assert indexer.backend_of(Settings(data_dir=tmp_path, vectors="off"), table=None) is None  # type: ignore[arg-type]


def test_the_default_is_builtin_and_anything_else_is_named(tmp_path: Path) -> None:
    home = {"CLAUDE_MEM_DATA_DIR": str(tmp_path)}
    assert settings.load(home).vectors == "builtin"
    found = settings.load(home | {"CLAUDE_MEM_VECTORS": "pinecone", "CLAUDE_MEM_CHROMA_URL": "somewhere"})
    assert (found.vectors, found.chroma_url) == ("builtin", None)
    assert {each.key for each in found.warnings} == {"CLAUDE_MEM_VECTORS", "CLAUDE_MEM_CHROMA_URL"}
