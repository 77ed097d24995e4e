"""Where another program was first, ours lies beside its database, and its settings are no obstacle."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.harness import claude_mem_ts_data

from claude_mem.cli.doctor import facts, judge
from claude_mem.settings import Settings, foreign_database, load
from claude_mem.store.sqlite import SqliteStore

THEIRS = {
    "CLAUDE_MEM_CHROMA_ENABLED": "true",
    "CLAUDE_MEM_CONTEXT_OBSERVATIONS": "50",
    "CLAUDE_MEM_PROVIDER": "gemini",
    "CLAUDE_MEM_MODE": "code--ko",
    "CLAUDE_MEM_SKIP_TOOLS": "TodoWrite,Skill",
    "CLAUDE_MEM_MODEL": "claude-haiku-4-5-20251001",
}


def environment(data: Path, **more: str) -> dict[str, str]:
    return {"CLAUDE_MEM_DATA_DIR": str(data), "HOME": "/nowhere"} | more


def ours(path: Path) -> None:
    SqliteStore.open(path, clock=lambda: 1_800_000_000_000, backups=path.parent / "backups").close()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    claude_mem_ts_data.typical(tmp_path / "claude-mem.db")
    (tmp_path / "settings.json").write_text(json.dumps(THEIRS))
    return tmp_path


def test_ours_has_the_usual_name_where_nobody_else_has_it(tmp_path: Path) -> None:
    assert Settings(data_dir=tmp_path).database == tmp_path / "claude-mem.db"
    ours(tmp_path / "claude-mem.db")
    assert Settings(data_dir=tmp_path).database == tmp_path / "claude-mem.db"


def test_it_lies_beside_another_programs(shared: Path) -> None:
    assert Settings(data_dir=shared).database == shared / "claude-mem-py.db"


def test_also_while_that_program_has_all_but_its_header_in_the_log(tmp_path: Path) -> None:
    with claude_mem_ts_data.made(tmp_path / "claude-mem.db"):
        assert (tmp_path / "claude-mem.db").stat().st_size <= 4096
        assert Settings(data_dir=tmp_path).database == tmp_path / "claude-mem-py.db"


def test_once_it_lies_there_it_stays(shared: Path) -> None:
    ours(shared / "claude-mem-py.db")
    (shared / "claude-mem.db").unlink()
    assert Settings(data_dir=shared).database == shared / "claude-mem-py.db"
    ours(shared / "claude-mem.db")
    assert Settings(data_dir=shared).database == shared / "claude-mem-py.db"


def test_a_damaged_one_of_ours_is_not_taken_for_anothers(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    ours(path)
    content = path.read_bytes()
    for at in range(108):
        for bit in range(8):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :])
            assert not foreign_database.is_foreign_database(path), (at, bit)
    for broken in (b"", b"garbage" * 1000, content[:50], b"\0" * 4096):
        path.write_bytes(broken)
        assert not foreign_database.is_foreign_database(path)


def test_an_empty_database_is_nobodys(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "claude-mem.db")) as db:
        db.execute("CREATE TABLE t (id)")
        db.execute("DROP TABLE t")
        db.execute("VACUUM")
    assert not foreign_database.is_foreign_database(tmp_path / "claude-mem.db")


def test_settings_of_the_program_that_was_first_are_ignored_and_what_both_mean_alike_holds(
    shared: Path,
) -> None:
    chosen = load(environment(shared, CLAUDE_MEM_TELEGRAM_CHAT_ID="1"))
    assert set(chosen.passed_over) == {
        "CLAUDE_MEM_CHROMA_ENABLED",
        "CLAUDE_MEM_CONTEXT_OBSERVATIONS",
        "CLAUDE_MEM_TELEGRAM_CHAT_ID",
    }
    assert [each.key for each in chosen.warnings if each.kind == "bad"] == ["CLAUDE_MEM_PROVIDER"]
    assert chosen.provider == "offline", "whom it asks is not ours to replace by somebody else"
    assert chosen.skip_tools == {"TodoWrite", "Skill"}


def test_the_same_holds_without_its_database_beside_it(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(THEIRS))
    before = load(environment(tmp_path))
    ours(tmp_path / "claude-mem.db")
    assert load(environment(tmp_path)) == before


def test_doctor_says_in_one_line_what_is_ignored(shared: Path) -> None:
    found = facts.gather(environment(shared, PATH="/usr/bin"))
    assert isinstance(found.configuration, facts.Configuration)
    provider, ignored = [each for each in judge(found) if each.check == "settings"]
    assert (provider.level, ignored.level) == ("warn", "warn")
    assert "CLAUDE_MEM_PROVIDER" in provider.says
    assert "2 settings" in ignored.says
    assert "CLAUDE_MEM_CHROMA_ENABLED" in ignored.says
