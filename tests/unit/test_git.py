import shutil
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from claude_mem.git import NOWHERE, Origins, normalised, resolve
from claude_mem.model.events import enclosing_directories


def git(where: Path, *words: str) -> str:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *settings, *words], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("a")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_a_folder_outside_any_repository_is_its_own_project(tmp_path: Path) -> None:
    origin = resolve(tmp_path)
    assert (origin.key, origin.name, origin.branch, origin.commit) == (
        str(tmp_path),
        tmp_path.name,
        None,
        None,
    )


def test_branch_and_commit_are_what_git_says(repository: Path) -> None:
    origin = resolve(repository)
    assert origin.branch == git(repository, "rev-parse", "--abbrev-ref", "HEAD")
    assert origin.commit == git(repository, "rev-parse", "HEAD")


def test_a_subfolder_belongs_to_its_repository(repository: Path) -> None:
    inside = repository / "src" / "deep"
    inside.mkdir(parents=True)
    assert resolve(inside) == resolve(repository)


def test_packed_references_are_read_too(repository: Path) -> None:
    git(repository, "pack-refs", "--all")
    assert resolve(repository).commit == git(repository, "rev-parse", "HEAD")


def test_a_detached_head_has_a_commit_and_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    origin = resolve(repository)
    assert (origin.branch, origin.commit) == (None, git(repository, "rev-parse", "HEAD"))


def test_a_worktree_shares_the_key_and_has_its_own_branch(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    git(repository, "worktree", "add", "-q", "-b", "topic", str(other))
    main, linked = resolve(repository), resolve(other)
    assert (linked.key, linked.name) == (main.key, main.name)
    assert (linked.branch, linked.worktree) == ("topic", str(other))


def test_a_clone_with_the_same_remote_shares_the_key(repository: Path, tmp_path: Path) -> None:
    git(repository, "remote", "add", "origin", "git@Example.com:team/shop.git")
    clone = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    git(clone, "remote", "set-url", "origin", "https://me:secret@example.com/team/shop")
    assert resolve(clone).key == resolve(repository).key == "example.com/team/shop"


def test_a_repository_without_a_commit_has_a_branch_and_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert (resolve(tmp_path).branch, resolve(tmp_path).commit) == ("main", None)


def test_a_damaged_repository_is_still_a_place_with_a_name(repository: Path) -> None:
    (repository / ".git" / "HEAD").unlink()
    assert resolve(repository).name == "shop"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/team/shop.git",
        "https://example.com/team/shop/",
        "https://user:password@example.com/team/shop",
        "ssh://git@example.com:22/team/shop.git",
        "git@example.com:team/shop.git",
        "EXAMPLE.com:team/shop",
    ],
)
def test_all_spellings_of_a_remote_are_one(url: str) -> None:
    assert normalised(url) == "example.com/team/shop"


def test_an_answer_is_remembered_for_a_moment_and_then_asked_again(repository: Path) -> None:
    now = 1_000_000
    origins = Origins(lambda: now)
    first = origins.of(str(repository))
    git(repository, "remote", "add", "origin", "https://example.com/moved/shop.git")
    assert origins.of(str(repository)) is first
    now += 10_000
    assert origins.of(str(repository)).remote == "example.com/moved/shop"


def test_after_a_checkout_the_branch_is_the_new_one_at_once(repository: Path, tmp_path: Path) -> None:
    worktree = tmp_path / "other"
    git(repository, "worktree", "add", "-q", str(worktree))
    origins = Origins(lambda: 1_000_000)
    for at, branch in ((repository, "topic"), (worktree, "second")):
        origins.of(str(at))
        git(at, "checkout", "-q", "-b", branch)
        assert origins.of(str(at)).branch == branch


def test_after_a_clock_set_back_an_answer_is_asked_again(repository: Path) -> None:
    now = 1_000_000
    origins = Origins(lambda: now)
    origins.of(str(repository))
    git(repository, "checkout", "-q", "-b", "topic")
    now -= 900_000
    assert origins.of(str(repository)).branch == "topic"


def test_no_working_directory_is_nowhere() -> None:
    assert Origins(lambda: 0).of(None) is NOWHERE


@pytest.fixture
def submodule(repository: Path, tmp_path: Path) -> Path:
    library = tmp_path / "library"
    git(tmp_path, "clone", "-q", str(repository), str(library))
    git(
        repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "libs/library"
    )
    git(repository / "libs" / "library", "remote", "remove", "origin")
    return repository / "libs" / "library"


def test_a_submodules_root_is_its_working_tree(submodule: Path) -> None:
    origin = resolve(submodule)
    assert (origin.root, origin.key, origin.name) == (str(submodule), str(submodule), "library")
    assert origin.worktree is None
    assert origin.commit == git(submodule, "rev-parse", "HEAD")


def test_a_worktree_of_a_submodule_belongs_to_the_submodule(submodule: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    git(submodule, "worktree", "add", "-q", "-b", "topic", str(other))
    main, linked = resolve(submodule), resolve(other)
    assert linked.key == main.key
    assert linked.root == main.root == str(submodule)
    assert (linked.branch, linked.worktree) == ("topic", str(other))


def test_a_repository_whose_git_directory_lies_elsewhere_is_its_working_tree(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "kept").mkdir()
    git(tmp_path / "shop", "init", "-q", "--separate-git-dir", str(tmp_path / "kept" / "shop-git"))
    origin = resolve(tmp_path / "shop")
    assert (origin.root, origin.name, origin.branch) == (str(tmp_path / "shop"), "shop", "main")


def test_the_branch_of_a_reftable_repository_is_not_known_without_git(repository: Path) -> None:
    """Git writes this HEAD beside a reftable, for programs that read files."""
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    origin = resolve(repository)
    assert (origin.root, origin.branch, origin.commit) == (str(repository), None, None)


GONE = "/gone/code/shop"


@pytest.mark.parametrize(
    ("cwd", "worktree"),
    [
        (f"{GONE}/.worktrees/3", f"{GONE}/.worktrees/3"),
        (f"{GONE}/.worktrees/3/src/deep", f"{GONE}/.worktrees/3"),
        (f"{GONE}/worktrees/3", f"{GONE}/worktrees/3"),
        (f"{GONE}/.claude/worktrees/agent-1/src", f"{GONE}/.claude/worktrees/agent-1"),
        (f"{GONE}/.git/worktrees/3", f"{GONE}/.git/worktrees/3"),
        (f"{GONE}.worktrees/topic", f"{GONE}.worktrees/topic"),
        (f"{GONE}__worktrees/topic/src", f"{GONE}__worktrees/topic"),
    ],
)
def test_a_worktree_that_is_gone_belongs_to_its_repository(cwd: str, worktree: str) -> None:
    origin = resolve(Path(cwd))
    assert (origin.key, origin.name, origin.root) == (GONE, "shop", GONE)
    assert (origin.worktree, origin.branch) == (worktree, None)


@pytest.mark.parametrize(
    "cwd", ["/home/ann/worktrees/shop", "/Users/ann/.cursor/worktrees/x", "/worktrees/x"]
)
def test_a_folder_of_worktrees_in_a_home_says_nothing_of_the_repository(cwd: str) -> None:
    assert resolve(Path(cwd)).root == cwd


@pytest.mark.parametrize("place", [".worktrees/3", ".claude/worktrees/3", "../shop.worktrees/3"])
def test_a_deleted_worktree_belongs_to_the_repository_that_is_still_there(
    repository: Path, place: str
) -> None:
    git(repository, "remote", "add", "origin", "git@example.com:team/shop.git")
    gone = (repository / place).resolve()
    git(repository, "worktree", "add", "-q", "-b", "topic", str(gone))
    before = resolve(gone)
    shutil.rmtree(gone)
    after = resolve(gone)
    assert (after.key, after.name, after.root) == (before.key, before.name, before.root)
    assert after.key == "example.com/team/shop"


def test_a_path_too_long_for_any_system_takes_no_more_memory_than_its_length() -> None:
    """Its parents, each with a path of its own, would be gigabytes: one such event would end the worker,
    again and again."""
    endless = "/a" * 5_000
    tracemalloc.start()
    try:
        origin = resolve(Path(endless))
        roots = enclosing_directories(endless)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (origin.root, origin.plain, roots) == (endless, True, [endless])
    assert most < 200 * len(endless)
