"""Sentence models in this process: a folder with an ONNX file and a tokenizer, or fastembed's models by name.

Both need extras (`claude-mem-py[onnx]`, `claude-mem-py[fastembed]`), imported late. They use one core, to
leave the others to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_mem.files import read_object
from claude_mem.model.text import sentence_of
from claude_mem.vectors.backend import SENTENCE_BATCH, SENTENCE_WEIGHT, VectorsUnavailable
from claude_mem.vectors.embedders import MOST_CHARACTERS, LocalModel, encodable

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector
    from claude_mem.vectors.embedders import Model

TOKENIZER = "tokenizer.json"
USUAL_TOKENS = 256
MOST_TOKENS = 512
AT_ONCE = SENTENCE_BATCH
"""Texts per call; texts of similar length are grouped, because shorter ones are padded."""
PREFERRED = ("model.onnx", "model_quantized.onnx", "model_int8.onnx")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
POOLED = "sentence_embedding"


class OnnxFolder(LocalModel):
    """As such folders are published: an ONNX file in it or in `onnx/`, `tokenizer.json`, and where they are
    there the files that say how long a text may be and how its tokens become one vector."""

    weight, batch = SENTENCE_WEIGHT, SENTENCE_BATCH

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.name = _named(folder)

    def _load(self) -> Model:
        try:
            import numpy as np
            import onnxruntime
            from tokenizers import Tokenizer
        except Exception as error:
            raise VectorsUnavailable(
                f"A sentence model needs onnxruntime (pip install onnxruntime): {error}."
            ) from error
        session, tokenizer = self._open(onnxruntime, Tokenizer)
        input_names = [each.name for each in session.get_inputs()]
        if unknown := set(input_names) - set(INPUTS):
            raise VectorsUnavailable(
                f"The model in {self._folder} needs other inputs than text: {', '.join(sorted(unknown))}."
            )
        names = [each.name for each in session.get_outputs()]
        output = POOLED if POOLED in names else names[0]
        takes_first = _pools_by_first_token(self._folder)

        def run(token_ids: list[list[int]]) -> Any:
            width = max(map(len, token_ids))
            ids = np.zeros((len(token_ids), width), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, tokens in enumerate(token_ids):
                ids[row, : len(tokens)] = tokens
                mask[row, : len(tokens)] = 1
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            try:
                (found,) = session.run([output], {name: given[name] for name in input_names})
            except Exception as error:
                raise VectorsUnavailable(f"The model in {self._folder} failed: {error}.") from error
            return _pooled(np, np.asarray(found, dtype=np.float32), mask, takes_first)

        def embed(texts: Sequence[str]) -> Sequence[Vector]:
            # Not as a batch: the tokenizer would start threads.
            token_ids = [tokenizer.encode(text).ids or [0] for text in texts]
            vectors: dict[int, Vector] = {}
            for some in _alike(token_ids):
                rows = run([token_ids[at] for at in some])
                vectors |= zip(some, unit(rows, [bool(texts[at].strip()) for at in some]), strict=True)
            return [vectors[at] for at in range(len(texts))]

        return embed

    def _open(self, onnxruntime: Any, tokenizers: Any) -> tuple[Any, Any]:
        file = model_file(self._folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors; they are raised as well
        try:
            session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.from_file(str(self._folder / TOKENIZER))
        except Exception as error:  # neither library raises anything narrower
            raise VectorsUnavailable(f"The model in {self._folder} cannot be read: {error}.") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(_longest(self._folder))
        return session, tokenizer


def _pooled(np: Any, found: Any, mask: Any, takes_first: bool) -> Any:
    """One vector per text, pooled from the vectors of its tokens."""
    if found.ndim == 2:
        return found
    if takes_first:
        return found[:, 0]
    shares = mask[:, :, None].astype(np.float32)
    return (found * shares).sum(axis=1) / np.maximum(shares.sum(axis=1), 1.0)


class FastEmbed(LocalModel):
    """A model that fastembed knows by name. It is downloaded on first use and saved in `folder`."""

    weight, batch = SENTENCE_WEIGHT, SENTENCE_BATCH

    def __init__(self, model: str, folder: Path) -> None:
        super().__init__()
        self._named, self._folder = model, folder
        self.name = f"fastembed {model}"
        self._embed_query: Model | None = None

    def embed_query(self, text: str, within_s: float) -> Vector:
        """Embeds a query, which some of these models do differently than for texts."""
        del within_s
        self._loaded()
        assert self._embed_query is not None
        return self._embed_query([encodable(text[:MOST_CHARACTERS])])[0]

    def _load(self) -> Model:
        try:
            from fastembed import TextEmbedding
        except Exception as error:
            raise VectorsUnavailable(
                f"Models by name need fastembed (in a clone: make install EXTRAS=fastembed): {error}."
            ) from error
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            model: Any = TextEmbedding(self._named, cache_dir=str(self._folder), threads=1)
        except Exception as error:  # no such model, no network, a broken file: in its own words
            raise VectorsUnavailable(f"fastembed cannot load {self._named}: {sentence_of(error)}.") from error

        def made_by(method: Callable[[list[str]], Any]) -> Model:
            def embed(texts: Sequence[str]) -> Sequence[Vector]:
                import numpy as np

                if not texts:
                    return []
                try:
                    found = np.asarray(list(method(list(texts))), dtype=np.float32)
                except Exception as error:
                    raise VectorsUnavailable(f"fastembed failed: {sentence_of(error)}.") from error
                return unit(found, [bool(text.strip()) for text in texts])

            return embed

        self._embed_query = made_by(model.query_embed)
        return made_by(lambda texts: model.embed(texts, batch_size=AT_ONCE))


def model_file(folder: Path) -> Path:
    """The ONNX file of a folder. Raises VectorsUnavailable."""
    if not (folder / TOKENIZER).is_file():
        raise VectorsUnavailable(f"There is no {TOKENIZER} in {folder}.")
    for place in (folder, folder / "onnx"):
        files = sorted(place.glob("*.onnx"))
        for file in (*(place / name for name in PREFERRED), *files):
            if file in files:
                return file
    raise VectorsUnavailable(f"There is no ONNX file in {folder}.")


def unit(rows: Any, has_words: Sequence[bool]) -> Sequence[Vector]:
    """Vectors of length 1; a text without words is a zero vector. Raises VectorsUnavailable."""
    import numpy as np

    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise VectorsUnavailable("The model's answer is not a vector of finite numbers for each text.")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.maximum(lengths, np.float32(1e-12)) * np.asarray(has_words, dtype=np.float32)[:, None]
    return list(rows)


def _named(folder: Path) -> str:
    """With what distinguishes another model in the same place: vectors must not outlive theirs."""
    try:
        seen = model_file(folder).stat()
    except (VectorsUnavailable, OSError):
        return f"onnx {folder.name}"
    return f"onnx {folder.name} {seen.st_size}-{int(seen.st_mtime)}"


def _alike(token_ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    order = sorted(range(len(token_ids)), key=lambda at: len(token_ids[at]))
    return (order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE))


def _longest(folder: Path) -> int:
    found = read_object(folder / "sentence_bert_config.json").get("max_seq_length")
    return min(found, MOST_TOKENS) if isinstance(found, int) and found > 0 else USUAL_TOKENS


def _pools_by_first_token(folder: Path) -> bool:
    return read_object(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token") is True
