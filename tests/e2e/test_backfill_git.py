"""`claude-mem backfill --git`: a commit belongs to the session that made it, and else to its repository."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.transcripts import backfill
from tests.harness import workers

DAY = "2026-07-15"
BY_SESSION, BY_HAND = "Add a cart that holds ten items", "Fix the rounding of prices"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all of them; each has a repository of its own."""
    with workers.running(tmp_path_factory.mktemp("commits") / "data") as data:
        yield data


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """One commit by hand, one by a session at 04:01."""
    repo = tmp_path / "shop"
    repo.mkdir()
    _git(repo, "init", "-q", "-b", "main")
    _commit(repo, "prices.py", BY_HAND, f"{DAY}T03:00:00Z")
    _commit(repo, "cart.py", BY_SESSION, f"{DAY}T04:01:00Z")
    return repo


def test_it_belongs_to_the_session_that_made_it_and_stays_there(
    worker: Path, repo: Path, tmp_path: Path
) -> None:
    folder = _told(tmp_path, repo, "maker", BY_SESSION, answer=_git(repo, "rev-parse", "HEAD")[:7])
    first = _imported(worker, folder, repo)
    assert (first["imported"], first["git"]["taken"]["observation"]) == (1, 2)
    once = _commits(worker, repo)
    assert [(title, session) for title, session, _ in once] == [
        (BY_HAND, "the repository's"),
        (BY_SESSION, "maker"),
    ]
    assert [source for *_, source in once] == ["external", "work"]
    again = _imported(worker, folder, repo)
    assert again["git"]["taken"].get("observation", 0) == 0
    assert _commits(worker, repo) == once


def test_one_that_was_taken_in_before_its_session_is_told_stays_where_it_is(
    worker: Path, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "none").mkdir()
    _imported(worker, tmp_path / "none", repo)
    before = _commits(worker, repo)
    assert {session for _, session, _ in before} == {"the repository's"}
    folder = _told(tmp_path, repo, "late-maker", BY_SESSION)
    told = _imported(worker, folder, repo)
    assert (told["imported"], told["git"]["taken"].get("observation", 0)) == (1, 0)
    assert _commits(worker, repo) == before


def test_a_commit_that_the_worker_refuses_is_counted_and_said_and_fails_the_command(
    worker: Path, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "none").mkdir()
    _committed_by(repo, "Ada " * 300_000)
    arguments = ("--from", str(tmp_path / "none"), "--git", str(repo), "--yes")
    told = json.loads(backfill(worker, *arguments, "--json", code=1).stdout)["git"]
    assert (told["refused"], told["taken"]["observation"]) == (1, 2)
    assert [each["record"] for each in told["reasons"]] == [5], "the last, after a project and a session"
    assert told["reasons"][0]["message"] in backfill(worker, *arguments, code=1).stderr


@pytest.mark.prove  # of an excluded project nothing is imported: test_backfill.py
def test_of_an_excluded_project_no_commit_is_taken(repo: Path, tmp_path: Path) -> None:
    data, none = tmp_path / "data", tmp_path / "none"
    none.mkdir()
    data.mkdir(mode=0o700)
    settings = data / "settings.json"
    settings.write_text(json.dumps({"CLAUDE_MEM_EXCLUDED_PROJECTS": ["shop"]}))
    with workers.running(data):
        ran = backfill(data, "--from", str(none), "--git", str(repo), "--yes")
        assert "excluded" in ran.stderr
        shown = backfill(data, "--from", str(none), "--git", str(repo), "--dry-run", "--json")
        assert json.loads(shown.stdout)["git"] == {
            "repository": str(repo),
            "excluded": True,
            "commits": 0,
            "passed_over": {},
        }
        assert _commits(data, repo) == []
        settings.write_text("{}")
        backfill(data, "--from", str(none), "--git", str(repo), "--yes")
        assert len(_commits(data, repo)) == 2


def _imported(data: Path, folder: Path, repo: Path) -> dict[str, Any]:
    ran = backfill(data, "--from", str(folder), "--git", str(repo), "--yes", "--json")
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def _commits(data: Path, repo: Path) -> list[tuple[str, str, str]]:
    """Title, session and source of each, the oldest first."""
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        return db.execute(
            "SELECT o.title, IIF(s.client = 'git', 'the repository''s', s.claude_session_id), o.source "
            "FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id "
            "JOIN projects AS p ON p.id = o.project_id "
            "WHERE o.client = 'git' AND p.key = ? ORDER BY o.created_at_epoch",
            (str(repo),),
        ).fetchall()


def _told(tmp_path: Path, repo: Path, session: str, subject: str, answer: str = "") -> Path:
    """A transcript in which a command commits. `answer`: the hash that git says, if it is to say one."""
    use: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "Bash"}
    use |= {"input": {"command": f"git add -A && git commit -m '{subject}'"}}
    stdout = f"[main {answer}] {subject}\n 1 file changed" if answer else ""
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": stdout}
    said = {"type": "text", "text": "The cart is committed."}
    messages: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "content": "Commit the cart"}, "promptId": "p1"},
        {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]}}
        | {"toolUseResult": {"stdout": stdout, "stderr": ""}},
        {"type": "assistant", "message": {"id": "m2", "role": "assistant", "content": [said]}},
    ]
    folder = tmp_path / "projects"
    folder.mkdir()
    lines = [
        {
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "isSidechain": False,
            "sessionId": session,
            "cwd": str(repo),
            "gitBranch": "main",
            "timestamp": f"{DAY}T04:01:0{number}.000Z",
        }
        | message
        for number, message in enumerate(messages)
    ]
    (folder / f"{session}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def _commit(repo: Path, name: str, subject: str, at: str) -> None:
    (repo / name).write_text("x = 1\n")
    _git(repo, "add", "-A")
    _git(repo, "commit", "-q", "-m", subject, at=at)


def _committed_by(repo: Path, author: str) -> None:
    """A commit whose author's name is as long as git itself would not take it from us."""
    tree, parent = _git(repo, "rev-parse", "HEAD^{tree}").strip(), _git(repo, "rev-parse", "HEAD").strip()
    who = f"{author.strip()} <ada@example.org> 1784000000 +0000"
    lines = (f"tree {tree}", f"parent {parent}", f"author {who}", f"committer {who}", "", "Mend the clock")
    (repo / ".git" / "long").write_text("\n".join(lines) + "\n\nIt was late.\n")
    sha = _git(repo, "hash-object", "-w", "-t", "commit", ".git/long").strip()
    _git(repo, "update-ref", "HEAD", sha)


def _git(repo: Path, *arguments: str, at: str = f"{DAY}T00:00:00Z") -> str:
    who = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_CONFIG_GLOBAL": os.devnull}
    who |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    ran = subprocess.run(
        ["git", *arguments], cwd=repo, env={**os.environ, **who, **dates}, capture_output=True, check=True
    )
    return ran.stdout.decode()
