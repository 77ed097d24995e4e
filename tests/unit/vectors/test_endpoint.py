"""A model behind an OpenAI-compatible address: what it is sent, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.harness.embedding_models import SIZE, Behaviour, EmbeddingServer, serving_embeddings

from claude_mem.vectors.backend import HURRIED_S, QUERY_S, VectorsUnavailable
from claude_mem.vectors.endpoint import AT_ONCE, REST_S, EndpointEmbedder, embeddings_url, is_of_this_machine


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving_embeddings() as server:
        yield server


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/embeddings"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1/embeddings"),
        ("https://api.example/v1/embeddings", "https://api.example/v1/embeddings"),
        ("https://example/openai/v2", "https://example/openai/v2/embeddings"),
    ],
)
def test_an_address_is_understood_as_its_servers_manual_writes_it(given: str, meant: str) -> None:
    assert embeddings_url(given) == meant


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1/v1", True),
        ("https://api.example/v1", False),
        ("http://10.0.0.7:11434/v1", False),
    ],
)
def test_what_leaves_the_machine_is_known(url: str, is_here: bool) -> None:
    assert is_of_this_machine(url) == is_here


def test_texts_are_sent_in_batches_with_the_model_and_the_key(server: EmbeddingServer) -> None:
    EndpointEmbedder(server.url, "tiny", "sk-test").embed(
        [f"login {number}" for number in range(AT_ONCE + 1)]
    )
    assert [len(body["input"]) for _, body, _ in server.requests] == [AT_ONCE, 1]
    assert {(path, body["model"], key) for path, body, key in server.requests} == {
        ("/v1/embeddings", "tiny", "Bearer sk-test")
    }


def test_no_key_and_no_model_are_sent_where_none_is_set(server: EmbeddingServer) -> None:
    EndpointEmbedder(server.url).embed(["login"])
    ((_, body, key),) = server.requests
    assert (set(body), key) == ({"input"}, None)


def test_a_query_is_cleaned_before_it_leaves(server: EmbeddingServer) -> None:
    EndpointEmbedder(server.url, clean=lambda text: text.replace("hunter2", "…")).embed_query(
        "login hunter2", QUERY_S
    )
    assert server.texts == ["login …"]


def test_its_name_has_no_password(server: EmbeddingServer) -> None:
    assert "secret" not in EndpointEmbedder(server.url.replace("//", "//ada:secret@")).name


def test_vectors_are_taken_by_their_index(server: EmbeddingServer) -> None:
    server.behaviour = "backwards"
    login, bread = EndpointEmbedder(server.url).embed(["login token", "bread oven"])
    assert [int(np.argmax(each)) for each in (login, bread)] == [0, 1]
    assert login.size == SIZE


@pytest.mark.parametrize("behaviour", ["garbage", "too few", "not numbers"])
def test_an_answer_that_is_no_vectors_is_unavailable(server: EmbeddingServer, behaviour: Behaviour) -> None:
    server.behaviour = behaviour
    with pytest.raises(VectorsUnavailable) as why:
        EndpointEmbedder(server.url).embed(["login"])
    assert str(why.value).endswith(".")


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_refusal_is_named_by_its_status(server: EmbeddingServer, status: int) -> None:
    server.status = status
    with pytest.raises(VectorsUnavailable, match=str(status)):
        EndpointEmbedder(server.url).embed(["login"])


def test_after_a_failure_no_query_waits_for_a_while(server: EmbeddingServer) -> None:
    clock = Clock()
    embedder = EndpointEmbedder(server.url, clock=clock)
    server.status = 500
    for _ in range(3):
        with pytest.raises(VectorsUnavailable):
            embedder.embed_query("login", QUERY_S)
    assert len(server.requests) == 1
    server.status = 200
    clock.now += REST_S
    assert embedder.embed_query("login", QUERY_S).any()


def test_a_server_that_hangs_is_waited_for_no_longer_than_said(server: EmbeddingServer) -> None:
    server.behaviour = "hangs"
    embedder = EndpointEmbedder(server.url, batch_s=0.2)
    with pytest.raises(VectorsUnavailable):
        embedder.embed(["login"])
    with pytest.raises(VectorsUnavailable):
        embedder.embed_query("login", QUERY_S)  # at once: it rests
    assert len(server.requests) == 1


def test_one_that_is_too_slow_for_a_prompt_still_serves_searches(server: EmbeddingServer) -> None:
    embedder = EndpointEmbedder(server.url)
    server.behaviour = "hangs"
    with pytest.raises(VectorsUnavailable):
        embedder.embed_query("login", HURRIED_S)
    server.behaviour = "answers"
    assert embedder.embed_query("login", QUERY_S).any()
