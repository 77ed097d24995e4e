"""What every embedder must do. Its test file subclasses `EmbedderContract` and gives it two fixtures:
`embedder`, and `absent`, one whose model or server is not there. It must know what logins and bread are."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from claude_mem.vectors.backend import (
    QUERY_S,
    SENTENCE_WEIGHT,
    STATIC_WEIGHT,
    Embedder,
    VectorsUnavailable,
)

ABOUT_LOGIN = "the session token expires after an hour"
ABOUT_BREAD = "bake the bread of this flour in the oven"
QUERY = "login fails"


class EmbedderContract:
    """Subclass it, name the class `Test…`, and override the fixtures."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("the embedder's test file gives it")

    @pytest.fixture
    def absent(self) -> Embedder:
        raise NotImplementedError("the embedder's test file gives one that cannot be used")

    def test_there_is_a_single_precision_vector_of_length_one_for_each_text_in_order(
        self, embedder: Embedder
    ) -> None:
        texts = [ABOUT_LOGIN, ABOUT_BREAD, ABOUT_LOGIN + " and the cart leaks", "cart " * 900] * 9
        vectors = embedder.embed(texts)
        assert len(vectors) == len(texts)
        assert {(vector.dtype, vector.shape) for vector in vectors} == {
            (np.dtype(np.float32), vectors[0].shape)
        }
        assert [float(np.linalg.norm(vector)) for vector in vectors] == pytest.approx([1.0] * len(texts))
        for at, text in enumerate(texts[:4]):
            assert float(vectors[at] @ embedder.embed([text])[0]) == pytest.approx(1, abs=0.01)

    def test_nothing_becomes_nothing(self, embedder: Embedder) -> None:
        assert list(embedder.embed([])) == []

    def test_a_query_is_closer_to_what_means_the_same(self, embedder: Embedder) -> None:
        login, bread = embedder.embed([ABOUT_LOGIN, ABOUT_BREAD])
        query = embedder.embed_query(QUERY, QUERY_S)
        assert float(query @ login) > float(query @ bread) + 0.1

    def test_a_text_without_words_has_no_direction(self, embedder: Embedder) -> None:
        words, blank = embedder.embed([ABOUT_LOGIN, ""])
        assert words.any()
        assert not blank.any()
        assert blank.shape == words.shape

    @pytest.mark.parametrize("text", ["\udcff half a letter", "\x00", "�" * 10, "字" * 3_000])
    def test_no_text_is_refused(self, embedder: Embedder, text: str) -> None:
        assert np.isfinite(embedder.embed([text])[0]).all()
        assert np.isfinite(embedder.embed_query(text, QUERY_S)).all()

    def test_many_threads_may_ask_at_once(self, embedder: Embedder) -> None:
        expected = embedder.embed([ABOUT_LOGIN])[0]
        with ThreadPoolExecutor(4) as pool:
            for vector in pool.map(lambda _: embedder.embed([ABOUT_LOGIN])[0], range(8)):
                assert float(vector @ expected) == pytest.approx(1, abs=0.01)

    def test_asking_whether_it_is_ready_makes_it_so_without_waiting(self, embedder: Embedder) -> None:
        embedder.is_ready()
        for thread in threading.enumerate():
            if thread.name == "embedder":
                thread.join(30)
        assert embedder.is_ready()

    def test_it_says_who_it_is_and_how_strong(self, embedder: Embedder) -> None:
        assert embedder.name
        assert embedder.weight in (STATIC_WEIGHT, SENTENCE_WEIGHT)
        assert embedder.batch > 0

    def test_one_that_is_not_there_is_unavailable_and_says_why(self, absent: Embedder) -> None:
        for ask in (lambda: absent.embed([QUERY]), lambda: absent.embed_query(QUERY, QUERY_S)):
            with pytest.raises(VectorsUnavailable) as why:
                ask()
            assert str(why.value).endswith(".")
            assert not absent.is_ready()
