"""A folder of Claude Code's is traced back to the directory it is named for."""

from __future__ import annotations

import json
from pathlib import Path

from claude_mem.backfill import whereabouts


def folder_for(directory: Path, home: Path) -> Path:
    found = home / "projects" / whereabouts.dashed(str(directory))
    found.mkdir(parents=True)
    return found


def test_its_sessions_say_it_also_when_the_directory_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "my_shop.old"
    folder = folder_for(gone, tmp_path)
    assert whereabouts.directory_of(folder) is None
    said = [
        {"type": "user", "cwd": str(tmp_path), "message": {}},
        {"type": "user", "cwd": str(gone), "message": {}},
    ]
    (folder / "s.jsonl").write_text("\n".join(map(json.dumps, said)))
    assert whereabouts.directory_of(folder) == str(gone)


def test_without_a_session_the_directories_there_are_say_it(tmp_path: Path) -> None:
    shop = tmp_path / "a-b" / "my_shop.v2"
    shop.mkdir(parents=True)
    (tmp_path / "a").mkdir()
    assert whereabouts.directory_of(folder_for(shop, tmp_path)) == str(shop)


def test_notes_are_found_from_any_folder_above_them(tmp_path: Path) -> None:
    memory = tmp_path / "projects" / "-home-u-shop" / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# Notes")
    for given in (tmp_path / "projects", memory.parent, memory, memory / "MEMORY.md"):
        assert whereabouts.indexes(given) == [memory / "MEMORY.md"]
    assert whereabouts.indexes(tmp_path) == []
