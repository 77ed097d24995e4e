"""An embedder on a server with OpenAI's embeddings API: Ollama, LM Studio, vLLM, llama.cpp, OpenAI.

It sends the text of memories, which was scrubbed before it was stored, and queries, which are scrubbed
here. Callers do not wait long for it, and after a failure it is not called for a while.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from claude_mem.http_client import Unreached
from claude_mem.providers.failure import Refused
from claude_mem.providers.http import document, post
from claude_mem.vectors.backend import HURRIED_S, QUERY_S, SENTENCE_BATCH, SENTENCE_WEIGHT, VectorsUnavailable
from claude_mem.vectors.embedders import MOST_CHARACTERS, encodable
from claude_mem.vectors.sentence import unit

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector

AT_ONCE = SENTENCE_BATCH
"""Texts per request: with 4,096 dimensions, the response is 1.5 MiB."""
BATCH_S = 60.0
"""The deadline for a batch: a slow machine may have to load the model first."""
REST_S = 15.0


class EndpointEmbedder:
    """An Embedder. `clean` takes out of a query what must not leave the machine."""

    weight, batch = SENTENCE_WEIGHT, SENTENCE_BATCH

    def __init__(
        self,
        url: str,
        model: str | None = None,
        api_key: str | None = None,
        *,
        clean: Callable[[str], str] = lambda text: text,
        clock: Callable[[], float] = time.monotonic,
        batch_s: float = BATCH_S,
    ) -> None:
        self._url, self._model, self._api_key = embeddings_url(url), model, api_key
        self._clean, self._clock, self._batch_s = clean, clock, batch_s
        host = urlsplit(self._url).netloc.rpartition("@")[2]
        self.name = f"endpoint {host}{urlsplit(self._url).path} {model or ''}".rstrip()
        self._rests_until = self._slow_until = 0.0
        self._took: float | None = None  # the last query, in seconds; None: not known to be quick
        self._trying = Lock()

    def is_ready(self) -> bool:
        """Whether the last query was answered as quickly as a prompt waits."""
        if self._took is not None and self._took <= HURRIED_S and not self._rests():
            return True
        is_due = not self._rests() and self._clock() >= self._slow_until
        if is_due and self._trying.acquire(blocking=False):
            Thread(target=self._try, name="embedder", daemon=True).start()
        return False

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        made: list[Vector] = []
        for start in range(0, len(texts), AT_ONCE):
            made += self._embed_within(texts[start : start + AT_ONCE], self._batch_s)
        return made

    def embed_query(self, text: str, within_s: float) -> Vector:
        if self._rests():
            raise VectorsUnavailable(f"{self._description} failed a moment ago and will be retried soon.")
        began = self._clock()
        self._took = None  # should it not come back in time
        (vector,) = self._embed_within([self._clean(text)], within_s)
        self._took = self._clock() - began
        return vector

    def close(self) -> None:
        """No connection stays open between requests."""

    @property
    def _description(self) -> str:
        return f"The embedder at {urlsplit(self._url).netloc.rpartition('@')[2]}"

    def _rests(self) -> bool:
        return self._clock() < self._rests_until

    def _rest(self) -> None:
        self._rests_until = self._clock() + REST_S

    def _try(self) -> None:
        try:
            with suppress(VectorsUnavailable):
                self.embed_query("ready", QUERY_S)
                if (self._took or 0.0) > HURRIED_S:
                    self._slow_until = self._clock() + REST_S
        finally:
            self._trying.release()

    def _embed_within(self, texts: Sequence[str], within_s: float) -> Sequence[Vector]:
        try:
            return self._request(texts, within_s)
        except VectorsUnavailable:
            if within_s > HURRIED_S:  # else it may only be slow
                self._rest()
            raise

    def _request(self, texts: Sequence[str], within_s: float) -> Sequence[Vector]:
        given = {"model": self._model} if self._model else {}
        shortened = [encodable(text[:MOST_CHARACTERS]) for text in texts]
        body = json.dumps({**given, "input": [text if text.strip() else "-" for text in shortened]})
        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        found = document(post(self._url, body.encode(), headers, deadline_s=within_s))
        try:
            if not isinstance(found, dict):
                raise VectorsUnavailable(f"{self._description} {_why(found)}.")
            return unit(_rows(found, len(texts)), [bool(text.strip()) for text in shortened])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise VectorsUnavailable(
                f"{self._description} replied with something other than vectors."
            ) from None


def embeddings_url(base: str) -> str:
    """`http://127.0.0.1:11434`, with `/v1` or with all of it, as its server's manual says."""
    parts = urlsplit(base.rstrip("/"))
    path = parts.path.removesuffix("/embeddings") or "/v1"
    return urlunsplit(parts._replace(path=f"{path}/embeddings"))


def is_of_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _rows(answer: dict[str, Any], count: int) -> Any:
    import numpy as np

    data = answer["data"]
    by_index = {int(each.get("index", at)): each["embedding"] for at, each in enumerate(data)}
    return np.asarray([by_index[at] for at in range(count)], dtype=np.float32)


def _why(fact: object) -> str:
    match fact:
        case Unreached(trouble):
            return str(trouble)
        case Refused(status=401 | 403 as status):
            return f"rejected the key (status {status}). Set CLAUDE_MEM_EMBEDDER_KEY"
        case Refused(status=404):
            return "has no such model or path (status 404)"
        case Refused(status=status):
            return f"rejected the request (status {status})"
        case _:
            return "replied with something that is not JSON"
