import os
import stat
from pathlib import Path

import pytest

from claude_mem.serve import data_dir


def modes(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): stat.S_IMODE(path.lstat().st_mode) for path in root.rglob("*")}


def test_a_new_home_is_its_owners_alone_under_any_umask(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "data"
    before = os.umask(0)
    try:
        assert data_dir.prepare_data_dir(root) == []
    finally:
        os.umask(before)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert modes(root) == dict.fromkeys(data_dir.FOLDERS, 0o700)


def test_a_loose_home_is_tightened_all_the_way_down(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    for name in ("settings.json", "spool/event.json"):
        (tmp_path / name).touch()
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o775)
    assert data_dir.prepare_data_dir(tmp_path) == []
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert modes(tmp_path)["settings.json"] == 0o600
    assert modes(tmp_path)["spool"] == 0o700
    assert data_dir.tighten_permissions(tmp_path) == []
    assert modes(tmp_path)["spool/event.json"] == 0o600


def test_a_symlink_is_left_and_reported(tmp_path: Path) -> None:
    root, outside = tmp_path / "data", tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "file").touch(mode=0o644)
    root.mkdir()
    (root / "link").symlink_to(outside)
    left = data_dir.prepare_data_dir(root)
    assert left == [f"{root / 'link'} is a symlink"]
    assert data_dir.tighten_permissions(root) == left
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755
    assert stat.S_IMODE((outside / "file").stat().st_mode) == 0o644


def test_another_users_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(data_dir.DataDirRefused, match="another user"):
        data_dir.prepare_data_dir(tmp_path)


def test_another_users_file_is_left_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir.prepare_data_dir(tmp_path)
    (tmp_path / "theirs").touch()
    (tmp_path / "theirs").chmod(0o644)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert any("theirs belongs to another user" in left for left in data_dir.tighten_permissions(tmp_path))
    assert modes(tmp_path)["theirs"] == 0o644


def test_a_file_where_the_home_should_be_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(data_dir.DataDirRefused, match="cannot be the data directory"):
        data_dir.prepare_data_dir(tmp_path / "data")


def test_a_token_is_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = data_dir.ensure_token(path)
    assert len(made) == 43
    assert data_dir.ensure_token(path) == data_dir.read_token(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert data_dir.ensure_token(tmp_path / "other") != made


@pytest.mark.parametrize("damaged", [b"", b"short", b"\xff" * 43, b"a" * 42 + b"\n", b"a" * 44])
def test_a_damaged_token_is_made_anew(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(damaged)
    assert data_dir.read_token(path) is None
    assert data_dir.read_token(path) != data_dir.ensure_token(path) == data_dir.read_token(path)


def test_a_planted_symlink_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path, target = tmp_path / "token", tmp_path / "target"
    target.write_text("A" * 43)
    path.symlink_to(target)
    assert data_dir.read_token(path) is None
    assert data_dir.ensure_token(path) != "A" * 43
    assert not path.is_symlink()
    assert target.read_text() == "A" * 43
