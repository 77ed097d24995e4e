"""Decides how many tokens a text is taken for."""

from __future__ import annotations

BYTES_PER_TOKEN = 4


def estimate(text: str) -> int:
    """A quarter of its bytes, rounded up: four characters of English, two of Greek, one emoji are a token,
    four Chinese characters are three. Tokenizers differ more among themselves than this from any of them."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
