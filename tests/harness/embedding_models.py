"""Models small enough to make in a test, which know groups of words: as an ONNX file with its tokenizer, and
as an HTTP server that speaks OpenAI's embeddings API and does as it is told."""

from __future__ import annotations

import json
import re
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

GROUPS = ("login session token fails expires hour", "bread bake oven flour", "cart leaks memory shop")
SIZE = 8
_WORDS = re.compile(r"[a-z]+")


def direction(word: str) -> list[float]:
    """Words of a group point the same way; every word a little its own."""
    numbers = [0.05 * ((sum(map(ord, word)) * (at + 3)) % 7) / 7 for at in range(SIZE)]
    for at, group in enumerate(GROUPS):
        numbers[at] += float(word in group.split())
    return numbers


def meaning(text: str) -> list[float]:
    words = _WORDS.findall(text.lower()) or ["none"]
    return [sum(column) / len(words) for column in zip(*map(direction, words), strict=True)]


# -- An ONNX file: one Gather from a table of words --


def write_onnx_folder(folder: Path, *, inputs: Sequence[str] = ("input_ids", "attention_mask")) -> Path:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    words = ["[UNK]", *" ".join(GROUPS).split()]
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(_model([direction(word) for word in words], inputs))
    return folder


def _model(table: list[list[float]], inputs: Sequence[str]) -> bytes:
    """The few messages of onnx.proto that it takes, by the numbers of their fields."""
    flat = [number for row in table for number in row]
    weights = b"".join(
        (
            *(_number(1, size) for size in (len(table), SIZE)),
            _number(2, 1),  # FLOAT
            _bytes(8, b"table"),
            _bytes(9, struct.pack(f"<{len(flat)}f", *flat)),
        )
    )
    gather = _bytes(1, b"table") + _bytes(1, b"input_ids") + _bytes(2, b"hidden") + _bytes(4, b"Gather")
    graph = b"".join(
        (
            _bytes(1, gather),
            _bytes(2, b"tiny"),
            _bytes(5, weights),
            *(_bytes(11, _value(name, 7, ("batch", "length"))) for name in inputs),  # INT64
            _bytes(12, _value("hidden", 1, ("batch", "length", "size"))),
        )
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _number(2, 13))


def _value(name: str, kind: int, axes: Sequence[str]) -> bytes:
    shape = b"".join(_bytes(1, _bytes(2, axis.encode())) for axis in axes)
    tensor = _number(1, kind) + _bytes(2, shape)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


# -- A server --

Behaviour = Literal["answers", "hangs", "garbage", "too few", "not numbers", "other size", "backwards"]


class EmbeddingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour: Behaviour = "answers"
        self.status = 200
        self.texts: list[str] = []
        self.requests: list[tuple[str, dict[str, Any], str | None]] = []  # path, body, Authorization
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def answer(self, texts: list[str]) -> bytes:
        vectors: list[Any] = [meaning(text) for text in texts]
        match self.behaviour:
            case "garbage":
                return b"<html>log in</html>"
            case "too few":
                vectors = vectors[1:]
            case "not numbers":
                vectors = [["many"] for _ in vectors]
            case "other size":
                vectors = [[*vector, 1.0] for vector in vectors]
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        return json.dumps({"data": data[::-1] if self.behaviour == "backwards" else data}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body, self.headers.get("Authorization")))
        self.server.texts += body["input"]
        if self.server.behaviour == "hangs":
            self.server.released.wait(60)
        content = self.server.answer(body["input"]) if self.server.status == 200 else b'{"error": {}}'
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def serving_embeddings() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()
