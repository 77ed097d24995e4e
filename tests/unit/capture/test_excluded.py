"""Which directories are of a project of which nothing is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_mem.capture.excluded import is_excluded

HOME = "/home/ada"


@pytest.mark.parametrize(
    ("glob", "cwd", "excluded"),
    [
        ("~/clients/*", "/home/ada/clients/acme", True),
        ("~/clients/*", "/home/ada/clients/acme/src/deep", True),
        ("~/clients/*", "/home/ada/clients", False),
        ("~/clients", "/home/ada/clients/acme", True),
        ("~/clients/", "/home/ada/clients", True),
        ("~/clients", "/home/bob/clients", False),
        ("/srv/secret", "/srv/secret/x", True),
        ("/srv/secret", "/srv/secrets/x", False),
        ("/srv/secret", "/mnt/srv/secret", False),
        ("**/vault", "/a/b/vault/c", True),
        ("work/vault", "/a/work/vault", True),
        ("work/vault", "/a/work/other", False),
        ("/srv/*/private", "/srv/acme/private/x", True),
        ("/Srv/Secret", "/srv/secret", True),
        ("payroll", "/home/ada/payroll", True),
        ("payroll", "/home/ada/payroll-docs", False),
        ("*-private", "/home/ada/shop-private", True),
        ("payroll", "/home/payroll/shop", False),
        ("", "/home/ada/shop", False),
        ("*", "/home/ada/shop", True),
        ("payroll", "", False),
    ],
)
def test_with_a_slash_it_is_a_directory_and_all_below_without_a_projects_name(
    glob: str, cwd: str, excluded: bool
) -> None:
    assert is_excluded(cwd, (glob,), HOME) is excluded


def test_a_project_is_called_by_its_repository_wherever_in_it_the_work_is(tmp_path: Path) -> None:
    (tmp_path / "payroll" / ".git").mkdir(parents=True)
    inside = tmp_path / "payroll" / "src" / "deep"
    inside.mkdir(parents=True)
    assert is_excluded(str(inside), ("payroll",), HOME)
    assert not is_excluded(str(inside), ("deep",), HOME), "a folder of it is no project"
    (tmp_path / "shop" / "payroll").mkdir(parents=True)
    (tmp_path / "shop" / ".git").mkdir()
    assert not is_excluded(str(tmp_path / "shop" / "payroll"), ("payroll",), HOME)


def test_a_worktree_is_of_its_repositorys_project(tmp_path: Path) -> None:
    main, tree = tmp_path / "payroll", tmp_path / "fix-42"
    (main / ".git" / "worktrees" / "fix-42").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/fix-42\n")
    assert is_excluded(str(tree), ("payroll",), HOME)
    assert is_excluded(str(tree), (f"{tmp_path}/payroll",), HOME)
    assert is_excluded(str(tree), ("fix-42",), HOME)
    assert not is_excluded(str(tree), ("shop",), HOME)


def test_a_callers_own_name_for_a_project_counts() -> None:
    assert is_excluded("", ("payroll",), HOME, name="Payroll")
    assert is_excluded("/home/ada/x", ("payroll",), HOME, name="payroll")
    assert not is_excluded("", ("payroll",), HOME, name="shop")
