"""Who keeps the vectors, as the settings have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from claude_mem import settings
from claude_mem.settings import Settings
from claude_mem.vectors import choice

CHOSEN = """
import pathlib, sys
from claude_mem.settings import Settings
from claude_mem.vectors import choice, embedding, near
kept = choice.keeper(Settings(data_dir=pathlib.Path("data"), vectors=sys.argv[1]), shelf=None)
near.Nearby(choice.embedder(), kept)
print(kept.name, sorted({"numpy", "chromadb", "tokenizers", "safetensors"} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", ["builtin", "chroma"])
def test_choosing_one_loads_nothing_heavy(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", CHOSEN, name], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{name} []"


def test_off_is_nobody(tmp_path: Path) -> None:
    assert choice.keeper(Settings(data_dir=tmp_path, vectors="off"), shelf=None) is None  # type: ignore[arg-type]


def test_the_default_is_builtin_and_anything_else_is_named(tmp_path: Path) -> None:
    home = {"CLAUDE_MEM_DATA_DIR": str(tmp_path)}
    assert settings.load(home).vectors == "builtin"
    found = settings.load(home | {"CLAUDE_MEM_VECTORS": "pinecone", "CLAUDE_MEM_CHROMA_URL": "somewhere"})
    assert (found.vectors, found.chroma_url) == ("builtin", None)
    assert {each.key for each in found.warnings} == {"CLAUDE_MEM_VECTORS", "CLAUDE_MEM_CHROMA_URL"}
