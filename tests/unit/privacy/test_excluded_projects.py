"""Which directories are of a project of which nothing is recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import pytest
from tests.harness import payloads

from claude_mem.hook.stdin import Payload
from claude_mem.privacy.excluded_projects import KEY, is_excluded, is_hook_excluded, read

HOME = "/home/ada"
PAYLOAD = Payload(payloads.bash("t"))


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


@pytest.mark.parametrize(
    "value",
    [
        '["proj"]',
        '[ "x" ,\n  "proj" ]',
        '["~/x", "/home/u/proj"]',
        '"x, proj"',
        '["pr\\u006fj"]',
        '["a]b", "proj"]',
        '[" proj "]',
        '["x"], "CLAUDE_MEM_EXCLUDED_PROJECTS": ["proj"]',
    ],
)
def test_the_list_is_read_the_same_with_and_without_a_parser(value: str) -> None:
    settings = f'{{"CLAUDE_MEM_LOG_LEVEL": "INFO", "{KEY}": {value}, "CLAUDE_MEM_MODE": "code"}}'.encode()
    assert read(settings)
    assert is_hook_excluded(settings, b"PostToolUse", PAYLOAD)
    others = settings.replace(b"proj", b"other").replace(rb"pr\u006fj", b"other")
    assert not is_hook_excluded(others, b"PostToolUse", PAYLOAD)


@pytest.mark.parametrize(
    "value", ["[]", "7", '{"a": "proj"}', "null", "[7]", '["x",]', '"', '["proj', "[" * 100_000]
)
def test_what_is_no_list_of_globs_excludes_nothing(value: str) -> None:
    assert not is_hook_excluded(f'{{"{KEY}": {value}}}'.encode(), b"PostToolUse", PAYLOAD)


@pytest.mark.parametrize("value", ['["proj"', '["proj" "x"]', '["proj",]', '["proj", 7]', '"[\\"proj\\"]"'])
def test_what_can_be_read_of_a_broken_list_excludes(value: str) -> None:
    assert is_hook_excluded(f'{{"{KEY}": {value}}}'.encode(), b"PostToolUse", PAYLOAD)


def test_a_list_of_nothing_but_plain_strings_needs_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", None)
    assert is_hook_excluded(f'{{"{KEY}": ["proj"]}}'.encode(), b"PostToolUse", PAYLOAD)


def test_of_an_endless_directory_only_so_much_is_looked_at_as_a_path_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = []

    def lstat(path: str) -> NoReturn:
        looked_at.append(path)
        raise FileNotFoundError

    monkeypatch.setattr("claude_mem.privacy.excluded_projects.posix.lstat", lstat)
    assert is_excluded("/srv/secret" + "/a" * 5_000, ("/srv/secret",), HOME)
    assert sum(map(len, looked_at)) < 4096 * 4096 / 2


def test_a_payload_that_was_cut_before_it_named_its_directory_is_excluded() -> None:
    settings = f'{{"{KEY}": ["proj"]}}'.encode()
    cut = b'{"session_id":"s","hook_event_name":"PostToolUse","tool_response":"' + b"x " * 50
    assert is_hook_excluded(settings, b"", Payload(cut, is_complete=False))
    assert not is_hook_excluded(b"{}", b"", Payload(cut, is_complete=False))
    assert not is_hook_excluded(settings, b"", Payload(cut + b'"}'))
