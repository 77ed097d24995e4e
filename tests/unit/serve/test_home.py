import os
import stat
from pathlib import Path

import pytest

from claude_mem.serve import home


def modes(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): stat.S_IMODE(path.lstat().st_mode) for path in root.rglob("*")}


def test_a_new_home_is_its_owners_alone_under_any_umask(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "data"
    before = os.umask(0)
    try:
        assert home.prepare(root) == []
    finally:
        os.umask(before)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert modes(root) == dict.fromkeys(home.FOLDERS, 0o700)


def test_a_loose_home_is_tightened_all_the_way_down(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    for name in ("settings.json", "spool/event.json"):
        (tmp_path / name).touch()
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o777)
    assert home.prepare(tmp_path) == []
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert modes(tmp_path)["settings.json"] == 0o600
    assert modes(tmp_path)["spool"] == 0o700
    assert home.tighten(tmp_path) == []
    assert modes(tmp_path)["spool/event.json"] == 0o600


def test_a_symlink_is_left_and_reported(tmp_path: Path) -> None:
    root, outside = tmp_path / "data", tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "file").touch(mode=0o644)
    root.mkdir()
    (root / "link").symlink_to(outside)
    left = home.prepare(root)
    assert left == [f"{root / 'link'} is a symlink"]
    assert home.tighten(root) == left
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755
    assert stat.S_IMODE((outside / "file").stat().st_mode) == 0o644


def test_another_users_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(home.HomeRefused, match="another user"):
        home.prepare(tmp_path)


def test_another_users_file_is_left_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.prepare(tmp_path)
    (tmp_path / "theirs").touch()
    (tmp_path / "theirs").chmod(0o644)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert any("theirs belongs to another user" in left for left in home.tighten(tmp_path))
    assert modes(tmp_path)["theirs"] == 0o644


def test_a_file_where_the_home_should_be_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(home.HomeRefused, match="cannot be the data directory"):
        home.prepare(tmp_path / "data")
