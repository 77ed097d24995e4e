"""A coverage-guided search for a reply that breaks the grammar. Not part of `make test`: it needs atheris.

    pip install atheris            # Linux; a wheel for CPython 3.11 to 3.13
    python tests/fuzz/grammar.py -max_total_time=600 [a folder to keep what was found]

It stops at the first text that raises, that cannot be stored, or that is read into a memory without content;
libFuzzer writes that text to ./crash-*. Options are libFuzzer's. Without arguments it runs until interrupted.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

# By name: it is there only for who asked for it, and the type checker has never heard of it.
atheris = import_module("atheris")

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

with atheris.instrument_imports(include=["claude_mem"]):
    from claude_mem.model.memory import Nothing, Observed, Unreadable
    from claude_mem.observe import reply

WORDS = [f"<{slash}{name}>" for name in sorted(reply.NAMES) for slash in ("", "/")]
WORDS += ["<nothing/>", "<![CDATA[", "]]>", "&lt;", "&#39;", "&#xD800;", "\n- ", ":", ","]


def _text(data: bytes) -> str:
    """Half of the runs read bytes as they are; in the others the upper ones stand for whole tags."""
    if data[:1] < b"\x80":
        return data[1:].decode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte < 0x80 else WORDS[(byte - 0x80) % len(WORDS)] for byte in data[1:])


def read_one(data: bytes) -> None:
    outcome = reply.read(_text(data))
    match outcome:
        case Observed(findings=memory):
            assert memory.observations or memory.summaries, "an observed nothing"
            repr(memory).encode()
        case Nothing():
            pass
        case Unreadable(reason=reason):
            assert 0 < len(reason) <= reply.MOST_PREVIEW, "no reason, or a long one"


if __name__ == "__main__":
    atheris.Setup(sys.argv, read_one)
    atheris.Fuzz()
