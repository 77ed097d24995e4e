"""Whether a memory's branch is in the default branch, as real git says it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.sharing import BranchState, OutboxItem
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import SqliteStore
from claude_mem.team.merged import Look, MergedBranches, after_look

NOON = 1_760_000_000_000


class Shop:
    """A repository, a store that knows it as a project, and what waits in it."""

    def __init__(self, root: Path, store: SqliteStore) -> None:
        self.root, self.store, self.time = root, store, NOON
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit("begin")
        observation = Observation("decision", title="Prices are integers", narrative="Cents, not floats.")
        origin = Origin(key=str(root), name="shop", root=str(root))
        store.memories.remember(observation, origin, session="s", at=NOON)
        project = store.projects.by_key(str(root))
        assert project is not None
        self.project = project.id
        self.branches = MergedBranches(store.outbox, lambda: self.time, monotonic=count(0, 1_000).__next__)
        self.ids = count(1)

    def git(self, *words: str) -> str:
        fetch_team = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        done = subprocess.run(
            ["git", *fetch_team, *words], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, name: str, text: str | None = None) -> None:
        (self.root / f"{name}.txt").write_text(text or f"{name}\n")
        self.git("add", ".")
        self.git("commit", "-qm", name)

    def memory(self, branch: str | None, *, commit: str | None = None, at_once: bool = False) -> OutboxItem:
        self.time += 1_000
        return OutboxItem(
            "observation",
            next(self.ids),
            1,
            self.project,
            str(self.root),
            self.time,
            branch,
            commit or self.git("rev-parse", "HEAD"),
            at_once=at_once,
        )

    def waits(self, item: OutboxItem) -> bool:
        self.time += 1_000
        return item in self.branches.reasons([item])


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    database = tmp_path / "x.db"
    with SqliteStore.open(database, clock=lambda: NOON, backups=tmp_path / "backups") as store:
        yield Shop(tmp_path / "shop", store)


def test_what_is_made_on_the_default_branch_or_outside_of_any_does_not_wait(shop: Shop) -> None:
    assert not shop.waits(shop.memory("main"))
    assert not shop.waits(OutboxItem("observation", 1, 1, shop.project, "", NOON))


def test_a_branch_waits_until_it_is_merged(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    memory = shop.memory("fix")
    assert shop.waits(memory)
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "--no-ff", "-m", "merge", "fix")
    assert not shop.waits(memory)


def test_what_was_made_on_several_branches_waits_for_each_of_them(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    shop.git("checkout", "-q", "main")
    item = replace(shop.memory("main"), also=("fix", "main"))
    assert shop.waits(item)
    assert not shop.waits(replace(item, at_once=True))
    shop.git("merge", "-q", "--no-ff", "-m", "merge", "fix")
    assert not shop.waits(item)


def test_a_branch_without_a_commit_of_its_own_waits_though_its_tip_is_in_the_default_branch(
    shop: Shop,
) -> None:
    shop.git("checkout", "-qb", "fix")
    memory = shop.memory("fix")
    assert shop.waits(memory)
    shop.git("checkout", "-q", "main")
    shop.commit("other")
    shop.git("checkout", "-q", "fix")
    shop.git("merge", "-q", "main")
    assert shop.waits(memory)  # it was brought up to date, and has nothing of its own
    shop.commit("fix")
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "fix")
    assert not shop.waits(memory)


def test_a_fast_forward_between_two_looks_is_seen_by_the_branchs_own_log(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    memory = shop.memory("fix")
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "fix")
    assert not shop.waits(memory)


def test_a_squashed_branch_is_merged_also_after_it_is_deleted(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    shop.commit("more")
    memory = shop.memory("fix")
    assert shop.waits(memory)
    shop.git("checkout", "-q", "main")
    shop.commit("unrelated")
    shop.git("merge", "-q", "--squash", "fix")
    shop.git("commit", "-qm", "The fix (#1)")
    shop.git("branch", "-qD", "fix")
    assert not shop.waits(memory)


def test_a_squash_that_also_changes_something_else_has_the_branchs_changes(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    memory = shop.memory("fix")
    assert shop.waits(memory)
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "--squash", "fix")
    shop.commit("changelog")
    assert not shop.waits(memory)


def test_a_commit_with_a_part_of_the_branchs_changes_is_no_squash_of_it(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    shop.commit("more")
    memory = shop.memory("fix")
    shop.git("checkout", "-q", "main")
    shop.git("cherry-pick", "fix~1")
    assert shop.waits(memory)


def test_a_rebased_branch_is_merged(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    shop.commit("more")
    memory = shop.memory("fix")
    shop.git("checkout", "-q", "main")
    shop.commit("unrelated")
    shop.git("cherry-pick", "main..fix")
    assert not shop.waits(memory)


def test_a_branch_that_is_deleted_without_being_merged_goes_on_waiting(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    memory = shop.memory("fix")
    assert shop.waits(memory)
    shop.git("checkout", "-q", "main")
    shop.git("branch", "-qD", "fix")
    assert shop.waits(memory)


def test_what_is_made_on_a_branch_after_it_was_merged_waits_for_its_next_commits(shop: Shop) -> None:
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    first = shop.memory("fix")
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "--no-ff", "-m", "merge", "fix")
    assert not shop.waits(first)
    shop.git("checkout", "-q", "fix")
    second = shop.memory("fix")
    assert shop.waits(second)
    shop.commit("next")
    assert shop.waits(second)
    assert not shop.waits(first)
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "--no-ff", "-m", "again", "fix")
    assert not shop.waits(second)


def test_the_default_branch_is_the_one_that_origin_says(shop: Shop, tmp_path: Path) -> None:
    shop.git("branch", "-qm", "main", "stable")
    shop.git("clone", "-q", "--bare", ".", str(tmp_path / "origin"))
    shop.git("remote", "add", "origin", str(tmp_path / "origin"))
    shop.git("fetch", "-q", "origin")
    assert shop.waits(shop.memory("stable"))  # nothing says which one it is
    shop.git("remote", "set-head", "origin", "stable")
    assert not shop.waits(shop.memory("stable"))


def test_a_detached_head_is_shared_once_its_commit_is_in_the_default_branch(shop: Shop) -> None:
    shop.git("checkout", "-q", "--detach")
    shop.commit("aside")
    commit = shop.git("rev-parse", "HEAD")
    memory = shop.memory(None, commit=commit)
    assert shop.waits(memory)
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", commit)
    assert not shop.waits(memory)


def test_where_git_cannot_say_a_memory_waits_and_what_is_sent_at_once_does_not(shop: Shop) -> None:
    (shop.root / ".git" / "HEAD").unlink()
    assert shop.waits(shop.memory("fix", commit="0" * 40))
    assert not shop.waits(shop.memory("fix", commit="0" * 40, at_once=True))


def test_a_commit_that_looks_like_an_option_is_no_commit(shop: Shop) -> None:
    assert shop.waits(shop.memory(None, commit="--output=/dev/null"))


def test_git_is_queried_once_for_many_memories_and_again_after_a_while(shop: Shop) -> None:
    shop.branches = MergedBranches(shop.store.outbox, lambda: shop.time, monotonic=lambda: 0.0)
    shop.git("checkout", "-qb", "fix")
    shop.commit("fix")
    for _ in range(3):
        assert len(shop.branches.reasons([shop.memory("fix") for _ in range(5)])) == 5
    assert shop.branches.lookup_count == 1
    shop.branches.discard_results()
    shop.branches.reasons([shop.memory("fix")])
    assert shop.branches.lookup_count == 2


def test_a_branch_of_the_same_name_as_one_that_was_merged_is_another() -> None:
    merged = BranchState("a" * 40, ahead=False, merged_at=NOON)
    assert after_look(merged, Look("b" * 40, inside=True, committed=True), NOON + 1).merged_at == NOON
