import stat
from pathlib import Path

import pytest

from claude_mem.serve import token


def test_a_token_is_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = token.ensure(path)
    assert len(made) == 43
    assert token.ensure(path) == token.read(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token.ensure(tmp_path / "other") != made


@pytest.mark.parametrize("damaged", [b"", b"short", b"\xff" * 43, b"a" * 42 + b"\n", b"a" * 44])
def test_a_damaged_token_is_made_anew(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(damaged)
    assert token.read(path) is None
    assert token.read(path) != token.ensure(path) == token.read(path)


def test_a_planted_symlink_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path, target = tmp_path / "token", tmp_path / "target"
    target.write_text("A" * 43)
    path.symlink_to(target)
    assert token.read(path) is None
    assert token.ensure(path) != "A" * 43
    assert not path.is_symlink()
    assert target.read_text() == "A" * 43
