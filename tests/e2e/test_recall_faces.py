"""Asking memory on the command line: the same answers as over HTTP, in words a person reads."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.contract import recalling
from tests.contract.recalling import Worker, refs, timeless

from claude_mem.capture import drops, places
from claude_mem.cli.parser import RECALL
from claude_mem.serve import control
from claude_mem.testing import hooks, workers

NAMES = [noun.__name__.rpartition(".")[2] for noun in RECALL]
DEADLINE_S = 60


def claude_mem(
    data: Path,
    *words: str,
    typed: bytes | None = None,
    piped: bytes | None = b"",
    cwd: Path | None = None,
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """`typed`: standard input is a terminal at which this was typed; `piped` None: it is /dev/null."""
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL} if piped is None else {"input": piped.decode()}
    if typed is not None:
        ours, theirs = pty.openpty()
        os.write(ours, typed)
        options = {"stdin": theirs}
    try:
        return subprocess.run(
            [sys.executable, "-m", "claude_mem", *words],
            **options,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=cwd,
            env=hooks.environment(data, COLUMNS="80", **env),
            timeout=DEADLINE_S,
            check=False,
        )
    finally:
        if typed is not None:
            os.close(ours)
            os.close(theirs)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with recalling.remembering(tmp_path_factory.mktemp("faces") / "data") as worker:
        yield worker


def said(worker: Worker, *words: str, **more: Any) -> str:
    done = claude_mem(worker.data, *words, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_data(worker: Worker, *words: str, **more: Any) -> Any:
    return json.loads(said(worker, *words, "--json", **more))


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself_with_an_example_in_80_columns(name: str, tmp_path: Path) -> None:
    done = claude_mem(tmp_path / "data", name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\nExample:\n  claude-mem {name}" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_is_exactly_what_http_answers(worker: Worker) -> None:
    query = {"q": "login passwords", "project": "shop", "limit": 5, "explain": "true"}
    typed = ("search", "login", "passwords", "--project", "shop", "--limit", "5", "--explain")
    over_http = worker.get(f"/api/search?{urlencode(query)}")
    assert over_http["results"]
    assert timeless(as_data(worker, *typed)) == timeless(over_http)
    first = worker.get("/api/observations", limit=1)["items"][0]["ref"]
    around = {"anchor": first, "before": 5, "after": 5}
    questions: tuple[tuple[tuple[str, ...], str], ...] = (
        (("timeline", first), f"/api/timeline?{urlencode(around)}"),
        (("sessions",), "/api/sessions?limit=20"),
        (("show", "--session", "shop-1"), "/api/session/shop-1"),
        (("file", "src/login.py"), "/api/file?path=src/login.py"),
        (("context", "--project", "shop"), "/api/context/inject?project=shop&format=json"),
    )
    for words, path in questions:
        assert as_data(worker, *words) == worker.get(path), words
    assert as_data(worker, "show", first) == worker.post("/api/observations/batch", ids=[first])


def test_a_session_is_shown_by_an_id_with_anything_in_it(worker: Worker) -> None:
    id = "team/alpha 50%2F off? #é"
    worker.works(id, "Name sessions oddly", "src/odd.py", project="odd")
    worker.settle()
    assert as_data(worker, "show", "--session", id)["session"]["session_id"] == id
    unknown = claude_mem(worker.data, "show", "--session", "team/beta")
    assert unknown.returncode == 1
    assert "team/beta" in unknown.stderr


@pytest.mark.parametrize(
    "question", ["why does login fail?", "basket totals", "src/burrs.py", "what did I do"]
)
def test_the_same_question_gets_the_same_order_on_the_screen_and_over_http(
    worker: Worker, question: str
) -> None:
    over_http = refs(worker.get("/api/search", q=question, limit=10)["results"])
    rows = said(worker, "search", *question.split()).splitlines()[1:]
    assert [row.split()[0] for row in rows if row[:2].strip() or not row.startswith(" " * 10)] == over_http


def test_what_is_printed_goes_where_it_belongs(worker: Worker) -> None:
    found = claude_mem(worker.data, "search", "login")
    assert "login" in found.stdout.lower()
    assert "claude-mem show" in found.stderr
    assert "\x1b" not in found.stdout + found.stderr
    nothing = claude_mem(worker.data, "search", "--until", "2001-01-01", "login")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == "Nothing is remembered of that.\n"


def test_what_is_only_near_is_said_to_be_so_before_it_is_shown(worker: Worker) -> None:
    question = ("search", "zzqqx", "nonsenseword")
    over_http = worker.get("/api/search", q="zzqqx nonsenseword", limit=10)
    assert len(over_http["results"]) > 3
    near = claude_mem(worker.data, *question)
    assert near.stdout.startswith(over_http["note"])
    assert "--offset" not in near.stderr
    rows = [line.split()[0] for line in near.stdout.splitlines()[2:] if not line.startswith(" " * 10)]
    assert rows == refs(over_http["results"])[:3]
    assert timeless(as_data(worker, *question)) == timeless(over_http)
    assert not said(worker, "search", "login").startswith(over_http["note"])


def test_an_event_is_shown_with_all_that_was_given_answered_or_asked(worker: Worker) -> None:
    kept = worker.post("/api/observations/batch", ids=[f"e{n}" for n in range(1, 10)])["results"]
    events = {each["type"]: each["ref"] for each in kept if each["session_id"] == "shop-1"}
    edit = said(worker, "show", events["Edit"])
    for line in ("file_path: /home/ada/shop/src/login.py", "old_string: a", "new_string: b"):
        assert f"    {line}\n" in edit
    assert "Fix the login that fails on empty passwords" in said(worker, "show", events["prompt"])
    as_kept = as_data(worker, "show", events["prompt"])
    assert as_kept == worker.post("/api/observations/batch", ids=[events["prompt"]])


def test_a_screen_that_cannot_show_a_letter_is_no_reason_to_fail(worker: Worker) -> None:
    ref = worker.post("/api/memory/save", text="Über 日本語", project="shop")["ref"]
    done = claude_mem(worker.data, "show", ref, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, "?ber" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("show", "999999"), 1, "999999"),
        (("show", "--session", "nobody"), 1, ""),
        (("pin", "999999"), 1, ""),
        (("search", "--since", "the day the music died"), 2, ""),
        (("timeline", "999999"), 1, ""),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    worker: Worker, words: tuple[str, ...], code: int, sentence: str
) -> None:
    done = claude_mem(worker.data, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("claude-mem: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


def test_something_is_remembered_pinned_shown_and_forgotten(worker: Worker, tmp_path: Path) -> None:
    text = "Deploys need the Basilisk VPN — überall.\nAsk Ada for <private>canary-key</private> the key."
    words = ("remember", "-", "--type", "decision", "--file", "deploy.sh")
    ref = as_data(worker, *words, piped=text.encode(), cwd=tmp_path)["ref"]
    shown = said(worker, "show", ref)
    for part in ("decision", "überall.", "- deploy.sh", tmp_path.name):
        assert part in shown
    assert "canary-key" not in shown
    assert said(worker, "pin", ref) == f"{ref} is pinned.\n"
    assert "pinned" in said(worker, "search", "basilisk")

    would = claude_mem(worker.data, "forget", ref, "--dry-run")
    assert "1 observation would go." in would.stdout
    unasked = claude_mem(worker.data, "forget", ref)
    assert unasked.returncode == 2
    assert "--yes" in unasked.stderr
    refused = claude_mem(worker.data, "forget", ref, typed=b"n\n")
    assert (refused.returncode, "Nothing was changed." in refused.stderr) == (1, True)
    assert ref in refs(worker.get("/api/search", q="basilisk")["results"])

    gone = claude_mem(worker.data, "forget", ref, typed=b"y\n")
    assert (gone.returncode, "Forgotten: 1 observation." in gone.stdout) == (0, True)
    assert ref not in refs(worker.get("/api/search", q="basilisk")["results"])
    assert "Nothing like that" in said(worker, "forget", "--text", "basilisk vpn", "--yes")


def test_a_project_nobody_knows_has_to_be_meant(worker: Worker) -> None:
    words = ("remember", "The ferret is asleep.", "--project")
    slip = claude_mem(worker.data, *words, "shpo")
    assert (slip.returncode, slip.stdout) == (2, "")
    assert slip.stderr == (
        "claude-mem: no project is called 'shpo'. Did you mean shop? To begin one of that name, add "
        "--new-project.\n"
    )
    assert "Did you mean" not in claude_mem(worker.data, *words, "something-else").stderr
    assert "shpo" not in _projects(worker)

    known, meant = as_data(worker, *words, "shop"), as_data(worker, *words, "shpo", "--new-project")
    again = as_data(worker, *words, "shpo")
    assert [each["status"] for each in (known, meant, again)] == ["saved", "saved", "known"]
    assert "shpo" in _projects(worker)
    said(worker, "forget", known["ref"], meant["ref"], "--yes")


def _projects(worker: Worker) -> set[str]:
    return {each["name"] for each in worker.get("/api/projects")["items"]}


def test_context_typed_by_a_person_is_what_the_next_session_is_told(worker: Worker, tmp_path: Path) -> None:
    told = worker.get("/api/context/inject", project="shop", format="json")["text"]
    assert said(worker, "context", "--project", "shop").strip() == told.strip()
    typed = claude_mem(worker.data, "context", typed=b"", cwd=tmp_path)
    assert typed.returncode == 0
    assert "No previous sessions found" in typed.stdout


def test_context_of_a_script_that_has_nothing_to_say_is_the_plain_text(
    worker: Worker, tmp_path: Path
) -> None:
    done = claude_mem(worker.data, "context", piped=None, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No previous sessions found" in done.stdout
    assert _unreadable(worker) == 0
    empty = claude_mem(worker.data, "context", piped=b"", cwd=tmp_path)
    assert json.loads(empty.stdout)["continue"], "an empty pipe is a client's"
    assert _unreadable(worker) == 1


def _unreadable(worker: Worker) -> int:
    """Of what hooks were given: how much was no payload."""
    counts = worker.data / places.DROPS
    return drops.parse(counts.read_bytes())["unreadable"] if counts.exists() else 0


def test_context_piped_into_is_still_the_hook(worker: Worker) -> None:
    payload = b'{"session_id":"piped","hook_event_name":"SessionStart","source":"startup"}'
    done = claude_mem(worker.data, "context", piped=payload)
    assert done.returncode == 0
    workers.drained(worker.data)
    assert worker.ask("GET", "/sessions/piped/status")[0] == 200


def test_a_worker_that_is_down_is_started_to_answer(tmp_path: Path) -> None:
    data = tmp_path / "data"
    try:
        done = claude_mem(data, "search", "anything", CLAUDE_MEM_WORKER_PORT=str(workers.free_port()))
        assert (done.returncode, done.stdout) == (0, "")
        assert control.status(data).state == "running"
    finally:
        workers.finish(data)
