"""A repository's commits become observations: those that say something, once, and for whoever made them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.unit.imports.import_target import Memory
from tests.unit.observe.offline.scripted_session import Acting

from claude_mem import git
from claude_mem.git import GitCommit
from claude_mem.imports import git_history
from claude_mem.imports.git_history import finder
from claude_mem.imports.import_report import SourceReport, own_session_id
from claude_mem.model.events import Origin
from claude_mem.model.records import Record

SHOP = Origin("example.com/shop", "shop", "/home/u/shop")
AT = 1_700_000_000


class Repository:
    """A commit a minute."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        self._at = AT
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(path.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "Ann" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        path.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main", *options)

    def __call__(self, *arguments: str, input: bytes | None = None) -> str:
        said = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=self._environ,
            input=input,
            capture_output=True,
            check=True,
        )
        return said.stdout.decode(errors="replace").strip()

    def commit(self, message: str | bytes, *files: str, options: Iterable[str] = ()) -> str:
        self._at += 60
        self._environ |= {
            "GIT_AUTHOR_DATE": f"{self._at} +0200",
            "GIT_COMMITTER_DATE": f"{self._at + 5} +0000",
        }
        for name in files:
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(str(self._at))
        self("add", "-A")
        raw = message.encode() if isinstance(message, str) else message
        self("commit", "-q", "--allow-empty", "--allow-empty-message", "-F", "-", *options, input=raw)
        return self("rev-parse", "HEAD")

    def sign_head(self) -> None:
        """By nobody, which git finds out by asking a program."""
        head, _, message = self("cat-file", "commit", "HEAD").partition("\n\n")
        signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
        signed = f"{head}\n{signature}\n\n{message}\n".encode()
        self("update-ref", "HEAD", self("hash-object", "-t", "commit", "-w", "--stdin", input=signed))


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "shop")


def read(path: Path, report: SourceReport | None = None, **more: object) -> list[Record]:
    found = git_history.read(path, SHOP, clean=str, report=report or SourceReport(), **more)  # type: ignore[arg-type]
    return list(found)


def observations(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record["kind"] == "observation"]


def test_a_commit_is_told_with_its_subject_body_files_and_the_time_of_its_author(
    repo: Repository, tmp_path: Path
) -> None:
    body = "The server says when.\nSo wait.\n\nFor as long as it says.\n\nSigned-off-by: Ann <a@b>"
    sha = repo.commit(f"fix: retry later\n\n{body}", "src/client.py", "docs/ä b.md")
    memory = Memory(tmp_path)
    assert memory.take(read(repo.path)).refused == ()
    (kept,) = memory.holds("observation")
    assert (kept["type"], kept["title"], kept["commit"]) == ("bugfix", "fix: retry later", sha)
    assert kept["narrative"] == "The server says when.\nSo wait.\n\nFor as long as it says."
    assert kept["files_modified"] == ["docs/ä b.md", "src/client.py"]
    assert kept["at"] == (AT + 60) * 1000
    assert kept["facts"] == [f"Commit {sha[:12]} by Ann"]
    assert kept["source"] == "external", "others may have written it"


def test_twice_and_from_another_clone_is_the_same(repo: Repository, tmp_path: Path) -> None:
    repo.commit("Add a cart", "cart.py")
    repo.commit("Add a cart", "cart.py")
    repo("clone", "-q", str(repo.path), str(tmp_path / "clone"))
    memory = Memory(tmp_path)
    assert memory.take(read(repo.path)).taken == {"project": 1, "session": 1, "observation": 2}
    before = memory.everything()
    for path in (repo.path, tmp_path / "clone"):
        assert memory.take(read(path)).known == {"project": 1, "session": 1, "observation": 2}
    assert memory.everything() == before


def test_a_bare_repository_planted_in_a_folder_is_not_entered(repo: Repository, tmp_path: Path) -> None:
    repo.commit("Add a cart", "cart.py")
    repo("clone", "-q", "--bare", str(repo.path), str(tmp_path / "planted"))
    with pytest.raises(git.Unanswered):
        read(tmp_path / "planted")


def test_all_that_nobody_is_known_to_have_made_is_one_session_at_the_end_of_the_list(
    repo: Repository,
) -> None:
    for number in range(3):
        repo.commit(f"Step {number} of the cart", f"{number}.py")
    sessions = [record for record in read(repo.path) if record["kind"] == "session"]
    assert len(sessions) == 1
    assert sessions[0]["updated_at"] == (AT + 60) * 1000, "as old as its first commit"
    assert sessions[0]["session_id"] == own_session_id(git_history.CLIENT, SHOP)


def test_merges_and_noise_are_passed_over_and_counted(repo: Repository) -> None:
    repo.commit("Add a cart", "cart.py")
    repo("checkout", "-q", "-b", "side")
    repo.commit("Add a till", "till.py")
    repo("checkout", "-q", "main")
    repo.commit("wip", "cart.py")
    repo("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
    repo.commit("Update dependencies", "package-lock.json", "web/yarn.lock")
    repo.commit("v1.2.3", "version.py")
    repo.commit("chore(release): bump version to 1.2.4", "version.py")
    repo.commit("Bump left-pad from 1.0 to 1.1", "package.json")
    repo.commit("Trigger the build")
    repo.commit("", "silent.py")
    repo.commit("Set the timeout to 1.5", "cart.py")
    report = SourceReport()
    found = observations(read(repo.path, report))
    assert [each["title"] for each in found] == ["Add a cart", "Add a till", "Set the timeout to 1.5"]
    assert report.skipped == {
        ("commit", "a merge"): 1,
        ("commit", "uninformative message"): 1,
        ("commit", "only lock files"): 1,
        ("commit", "a version bump"): 2,
        ("commit", "a dependency bump"): 1,
        ("commit", "no changes"): 1,
        ("commit", "no message"): 1,
    }


def test_a_terse_subject_is_kept_when_a_body_says_more(repo: Repository) -> None:
    repo.commit("wip\n\nThe cart loses its last item when two tabs are open.", "cart.py")
    assert [each["title"] for each in observations(read(repo.path))] == ["wip"]


def test_a_commit_has_the_type_it_had_when_a_session_made_it(repo: Repository) -> None:
    subjects = (
        *("style: sort the imports", "Add a cart", "feat(cart)!: empty it", "The cart no longer crashes"),
        *("perf(db): fewer queries", "Rename the cart", "Behebe den Absturz", "Carts for everybody"),
    )
    live = {}
    for number, subject in enumerate(subjects):
        repo.commit(subject, f"{number}.py")
        made = Acting("commit it").run(
            f"git commit -m '{subject}'", f"[main aaaaaaa] {subject}\n 1 file changed"
        )
        live[subject] = made.only().type
    assert {each["title"]: each["type"] for each in observations(read(repo.path))} == live


def test_a_commit_belongs_to_the_session_that_made_it(repo: Repository) -> None:
    first = repo.commit("Add a cart", "cart.py")
    repo.commit("Add a till", "till.py")
    found = observations(read(repo.path, session_of=lambda sha, *_: "maker" if sha == first else None))
    own = own_session_id(git_history.CLIENT, SHOP)
    assert [(each["session_id"], each["source"]) for each in found] == [("maker", "work"), (own, "external")]
    records = read(repo.path, session_of=lambda *_: "maker")
    assert [each["kind"] for each in records] == ["project", "observation", "observation"], (
        "the session is there"
    )


def test_since_and_limit_narrow_it_to_the_newest(repo: Repository) -> None:
    for number in range(5):
        repo.commit(f"Step {number} of the cart", f"{number}.py")
    titles = [each["title"] for each in observations(read(repo.path, limit=2))]
    assert titles == ["Step 3 of the cart", "Step 4 of the cart"]
    found = observations(read(repo.path, since=(AT + 240) * 1000))
    assert [each["title"] for each in found] == titles


def test_the_edge_of_a_shallow_clone_does_not_claim_every_file(repo: Repository, tmp_path: Path) -> None:
    repo.commit("Add a cart", "cart.py")
    repo.commit("Add a till", "till.py")
    repo.commit("Add a door", "door.py")
    shallow = tmp_path / "shallow"
    repo("clone", "-q", "--depth", "2", f"file://{repo.path}", str(shallow))
    report = SourceReport()
    found = observations(read(shallow, report))
    assert [(each["title"], each["files_modified"]) for each in found] == [("Add a door", ["door.py"])]
    assert report.skipped == {("commit", "the edge of a shallow clone"): 1}


def test_a_folder_below_the_root_tells_the_paths_from_the_root(repo: Repository) -> None:
    repo.commit("Add a cart", "src/cart.py")
    (found,) = observations(read(repo.path / "src"))
    assert found["files_modified"] == ["src/cart.py"]


def test_messages_in_any_encoding_are_read(repo: Repository) -> None:
    repo("config", "i18n.commitEncoding", "ISO-8859-1")
    repo.commit("Grüße im Kopf".encode("latin-1"), "a.py")
    repo("config", "i18n.commitEncoding", "UTF-8")
    repo.commit(b"Broken \xff bytes in it", "b.py")
    titles = [str(each["title"]) for each in observations(read(repo.path))]
    assert titles[0] == "Grüße im Kopf"
    assert titles[1].startswith("Broken ")


def test_no_message_can_pass_for_another_commit(repo: Repository) -> None:
    forged = "0" * 40
    repo.commit(f"Add a cart\n\n\x01{forged} 1 \n%x00{forged} 1", "cart.py")
    assert [each["title"] for each in observations(read(repo.path))] == ["Add a cart"]


def test_secrets_in_messages_are_cleaned(repo: Repository) -> None:
    repo.commit("Rotate SECRET\n\nIt was SECRET.", "SECRET.py")
    found = git_history.read(
        repo.path, SHOP, clean=lambda text: text.replace("SECRET", "[gone]"), report=SourceReport()
    )
    assert "SECRET" not in str(observations(found))


def test_a_repository_without_commits_has_none_and_one_without_a_head_has_its_branches(
    repo: Repository,
) -> None:
    assert read(repo.path) == []
    repo.commit("Add a cart", "cart.py")
    repo("symbolic-ref", "HEAD", "refs/heads/nowhere")
    assert [each["title"] for each in observations(read(repo.path))] == ["Add a cart"]


def test_no_repository_is_an_error_with_gits_own_words(tmp_path: Path) -> None:
    with pytest.raises(git.Unanswered, match="not a git repository"):
        read(tmp_path)
    with pytest.raises(git.Unanswered):
        read(tmp_path / "not there")


def test_git_that_takes_too_long_is_given_up(repo: Repository, tmp_path: Path) -> None:
    repo.commit("Add a cart", "cart.py")
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 600\n")
    (slow / "git").chmod(0o755)
    patient = git.log(repo.path, limit=1, within_s=0.2, environ={"PATH": f"{slow}:{os.environ['PATH']}"})
    with pytest.raises(git.Unanswered, match="too long"):
        list(patient)
    assert [each.subject for each in git.log(repo.path, limit=1)] == ["Add a cart"]


def test_a_repository_runs_no_program_of_its_own(repo: Repository, tmp_path: Path) -> None:
    repo.commit("Add a cart", "cart.py")
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "diff.external",
        "gpg.program",
        "core.sshCommand",
    ):
        repo("config", key, str(program))
    repo("config", "log.showSignature", "true")
    (repo.path / ".gitattributes").write_text("* diff=run\n")
    repo("config", "diff.run.textconv", str(program))
    repo.sign_head()
    assert len(observations(read(repo.path))) == 1
    assert not ran.exists()
    repo("log", "-1")
    assert ran.exists(), "which git alone does"


def test_who_stops_reading_leaves_no_git_behind(repo: Repository) -> None:
    for number in range(3):
        repo.commit(f"Step {number} of the cart", f"{number}.py")
    found = git.log(repo.path, limit=10)
    assert next(found).subject == "Step 2 of the cart"
    assert _gits() != []
    found.close()  # type: ignore[attr-defined]
    assert _gits() == []


def _gits() -> list[str]:
    """Our own processes of that name, the dead that nobody asked for among them."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().rpartition(") ")
            if name.endswith("(git") and rest.split()[1] == str(os.getpid()):
                found.append(name)
    return found


def test_noise_is_told_by_its_first_reason() -> None:
    assert git_history.noise(GitCommit("a" * 40, 0, merges=True, is_edge=True)) == "a merge"
    assert git_history.noise(GitCommit("a" * 40, 0, subject="Add a cart", files=("cart.py",))) is None


# Who made a commit is told by the events in which it was made, and by where it was taken in before.


TEST_MAKERS_AT = 1_700_000_000_000
SHA = "abcdef0123456789abcdef0123456789abcdef01"


def ran(command: str, output: str = "", at: int = TEST_MAKERS_AT, session: str = "maker") -> Record:
    return {
        "kind": "event",
        "session_id": session,
        "event_id": f"e-{at}",
        "event_kind": "tool_use",
        "tool_name": "Bash",
        "tool_input": json.dumps({"command": command}),
        "tool_response": json.dumps({"stdout": output, "stderr": ""}),
        "at": at,
    }


@pytest.mark.parametrize(
    "event",
    [
        ran("git commit -m 'Add a cart'", f"[main {SHA[:8]}] Add a cart\n 1 file changed"),
        ran('git add -A && git -C . commit -qam "Add a cart" && git push'),
        ran("git commit --message='add  a cart\n\nThe body'"),
        ran("cd shop; git commit -F message", f"[main (root-commit) {SHA[:7]}] Something else"),
        {**ran(""), "tool_input": """{"command": "git commit -m 'Add a cart'", "cut"""},
    ],
)
def test_it_is_known_by_its_hash_or_by_its_subject_near_its_time(event: Record) -> None:
    assert finder([event])(SHA, "Add a cart", TEST_MAKERS_AT + 30_000) == "maker"


@pytest.mark.parametrize(
    "event",
    [
        ran("git commit -m 'Add a cart'", f"[main {'1' * 8}] Add a cart"),
        ran("git commit -m 'Add a cart'", at=TEST_MAKERS_AT - 3_600_000),
        ran("git log", f"[main {SHA[:8]}] Add a cart"),
        ran("echo 'Add a cart'"),
        {**ran("git commit -m 'Add a cart'"), "tool_name": "Read"},
        {**ran("git commit -m 'Add a cart'"), "tool_input": None},
        {
            "kind": "observation",
            "session_id": "s",
            "title": "Add a cart",
            "commit": SHA,
            "at": TEST_MAKERS_AT,
        },
        {"kind": "event"},
    ],
)
def test_else_nobody_is_said_to_have_made_it(event: Record) -> None:
    assert finder([event])(SHA, "Add a cart", TEST_MAKERS_AT + 30_000) is None


def test_of_two_that_tell_the_subject_it_was_the_nearer() -> None:
    told = [
        ran("git commit -m 'x y'", at=TEST_MAKERS_AT, session="far"),
        ran("git commit -m 'x y'", at=TEST_MAKERS_AT + 60_000),
    ]
    assert finder(told)(SHA, "x y", TEST_MAKERS_AT + 50_000) == "maker"
    assert finder(told)(SHA, "x y", TEST_MAKERS_AT + 10_000) == "far"


def test_one_taken_in_before_stays_where_it_is(tmp_path: Path) -> None:
    """Its maker may become known only later, from a transcript; it is not taken in a second time."""
    repo, memory = Repository(tmp_path / "shop"), Memory(tmp_path)
    repo.commit("Add a cart", "cart.py")
    memory.take(read(repo.path))
    (kept,) = memory.holds("observation")
    maker = {"kind": "session", "session_id": "maker", "project": SHOP.key, "created_at": TEST_MAKERS_AT}
    memory.take([maker, ran("git commit -m 'Add a cart'", at=kept["at"])])
    again = memory.take(read(repo.path, session_of=finder(memory.everything())))
    assert again.taken == {}
    assert again.refused == ()
    repo.commit("Add a till", "till.py")
    event = ran("git commit -m 'Add a till'", at=kept["at"] + 60_000)
    found = observations(read(repo.path, session_of=finder([*memory.everything(), event])))
    assert [each["session_id"] for each in found] == [own_session_id(git_history.CLIENT, SHOP), "maker"]
