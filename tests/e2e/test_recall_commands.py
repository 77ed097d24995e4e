"""Asking memory on the command line: the same answers as over HTTP, in words a person reads."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.contracts import worker_client
from tests.contracts.worker_client import Worker, refs, timeless
from tests.harness import workers
from tests.harness.commands import Mem

from claude_mem.hook import drop_counters, paths
from claude_mem.serve import control


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker_client.remembering(tmp_path_factory.mktemp("faces") / "data") as worker:
        yield worker


@pytest.fixture(scope="module")
def mem(worker: Worker) -> Mem:
    return Mem(worker.data, COLUMNS="80")


def shown(screen: str) -> list[str]:
    """The ids of the memories, from top to bottom."""
    return re.findall(r"^ {2,6}([spe]?\d+)  \S", screen, re.MULTILINE)


def called_results(page: dict[str, Any]) -> dict[str, Any]:
    """On the command line every list is `items`, with a `next`."""
    whole = {key: value for key, value in page.items() if key != "items"} | {"results": page["items"]}
    return {
        key: value for key, value in whole.items() if key != "next" or value is not None or "hasMore" in page
    }


def test_json_is_what_http_answers(worker: Worker, mem: Mem) -> None:
    query = {"q": "login passwords", "project": "shop", "limit": 5, "explain": "true"}
    typed = ("search", "login", "passwords", "--project", "shop", "--limit", "5", "--explain")
    over_http = worker.get(f"/api/search?{urlencode(query)}")
    assert over_http["results"]
    assert timeless(called_results(mem.json(*typed))) == timeless(over_http)
    first = worker.get("/api/observations", limit=1)["items"][0]["ref"]
    around = worker.get(f"/api/timeline?{urlencode({'anchor': first, 'before': 5, 'after': 5})}")
    in_order = [*around["before"], around["anchor"], *around["after"]]
    assert mem.json("timeline", first) == {"items": in_order, "next": None, "anchor": first}
    questions: tuple[tuple[tuple[str, ...], str], ...] = (
        (("sessions",), "/api/sessions?limit=20"),
        (("show", "--session", "shop-1"), "/api/session/shop-1"),
        (("file", "src/login.py"), "/api/file?path=src/login.py"),
        (("context", "--project", "shop"), "/api/context/inject?project=shop&format=json"),
    )
    for words, path in questions:
        told = mem.json(*words)
        assert (called_results(told) if words[0] == "file" else told) == worker.get(path), words
    assert called_results(mem.json("show", first)) == worker.post("/api/observations/batch", ids=[first])


@pytest.mark.parametrize("words", [("projects",), ("config", "list"), ("queue", "list"), ("timeline", "p1")])
def test_a_list_as_json_has_items_and_next(mem: Mem, words: tuple[str, ...]) -> None:
    assert {"items", "next"} <= mem.json(*words).keys()


def test_a_session_is_shown_by_an_id_with_anything_in_it(worker: Worker, mem: Mem) -> None:
    id = "team/alpha 50%2F off? #é"
    worker.works(id, "Name sessions oddly", "src/odd.py", project="odd")
    worker.settle()
    assert mem.json("show", "--session", id)["session"]["session_id"] == id
    assert "team/beta" in mem("show", "--session", "team/beta", code=1).stderr


def test_the_same_question_gets_the_same_order_on_the_screen_and_over_http(
    worker: Worker, mem: Mem, subtests: pytest.Subtests
) -> None:
    for question in ("why does login fail?", "basket totals", "src/burrs.py", "what did I do"):
        with subtests.test(question):
            over_http = refs(worker.get("/api/search", q=question, limit=10)["results"])
            assert shown(mem("search", *question.split()).stdout) == over_http


def test_what_is_printed_goes_where_it_belongs(worker: Worker, mem: Mem) -> None:
    found = mem("search", "login")
    assert "login" in found.stdout.lower()
    assert "claude-mem show" in found.stderr
    assert "\x1b" not in found.stdout + found.stderr
    nothing = mem("search", "--until", "2001-01-01", "login")
    assert nothing.stdout == ""
    assert nothing.stderr == "No results.\n"


def test_a_nonsense_word_has_no_results_on_any_face(worker: Worker, mem: Mem) -> None:
    question = ("search", "zzqqx", "nonsenseword")
    assert worker.get("/api/search", q="zzqqx nonsenseword")["results"] == []
    done = mem(*question)
    assert (done.stdout, done.stderr) == ("", "No results.\n")
    assert mem.json(*question)["items"] == []


def test_an_event_is_shown_with_all_that_was_given_answered_or_asked(worker: Worker, mem: Mem) -> None:
    kept = worker.post("/api/observations/batch", ids=[f"e{n}" for n in range(1, 10)])["results"]
    events = {each["type"]: each["ref"] for each in kept if each["session_id"] == "shop-1"}
    edit = mem("show", events["Edit"]).stdout
    for line in ("file_path: /home/ada/shop/src/login.py", "old_string: a", "new_string: b"):
        assert f"    {line}\n" in edit
    assert "Fix the login that fails on empty passwords" in mem("show", events["prompt"]).stdout
    as_kept = mem.json("show", events["prompt"])
    assert called_results(as_kept) == worker.post("/api/observations/batch", ids=[events["prompt"]])


def test_a_screen_that_cannot_show_a_letter_is_no_reason_to_fail(worker: Worker, mem: Mem) -> None:
    ref = worker.post("/api/memory/save", text="Über 日本語", project="shop")["ref"]
    done = mem("show", ref, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, process=True)
    assert "?ber" in done.stdout


def test_what_cannot_be_answered_is_one_sentence(mem: Mem, subtests: pytest.Subtests) -> None:
    questions: tuple[tuple[tuple[str, ...], int, str], ...] = (
        (("show", "999999"), 1, "999999"),
        (("show", "--session", "nobody"), 1, ""),
        (("pin", "999999"), 1, ""),
        (("search", "--since", "the day the music died"), 2, ""),
        (("timeline", "999999"), 1, ""),
    )
    for words, code, sentence in questions:
        with subtests.test(" ".join(words)):
            done = mem(*words, code=code)
            assert done.stdout == ""
            assert done.stderr.startswith("claude-mem: ")
            assert done.stderr.count("\n") == 1
            assert sentence in done.stderr


def test_something_is_remembered_pinned_shown_and_forgotten(worker: Worker, mem: Mem, tmp_path: Path) -> None:
    text = "Deploys need the Basilisk VPN — überall.\nAsk Ada for <private>canary-key</private> the key."
    words = ("remember", "-", "--type", "decision", "--file", "deploy.sh")
    ref = mem.json(*words, given=text.encode(), cwd=tmp_path)["ref"]
    shown = mem("show", ref).stdout
    for part in ("decision", "überall.", "- deploy.sh", tmp_path.name):
        assert part in shown
    assert "canary-key" not in shown
    assert mem("pin", ref).stdout == f"{ref} is pinned.\n"
    assert "pinned" in mem("search", "basilisk").stdout

    would = mem("forget", ref, "--dry-run")
    assert "1 observation would be deleted." in would.stdout
    assert "--yes" in mem("forget", ref, code=2).stderr
    assert "Nothing was changed." in mem("forget", ref, typed="n", code=1).stderr
    assert ref in refs(worker.get("/api/search", q="basilisk")["results"])

    assert "Deleted: 1 observation." in mem("forget", ref, typed="y", process=True).stdout
    assert ref not in refs(worker.get("/api/search", q="basilisk")["results"])
    assert "No results." in mem("forget", "--text", "basilisk vpn", "--yes").stdout


def test_a_project_nobody_knows_has_to_be_meant(worker: Worker, mem: Mem) -> None:
    words = ("remember", "The ferret is asleep.", "--project")
    slip = mem(*words, "shpo", code=2)
    assert slip.stdout == ""
    assert slip.stderr == (
        "claude-mem: No project named 'shpo'. Did you mean shop? To create it, add --new-project.\n"
    )
    assert "Did you mean" not in mem(*words, "something-else", code=2).stderr
    assert "shpo" not in _projects(worker)

    known, meant = mem.json(*words, "shop"), mem.json(*words, "shpo", "--new-project")
    again = mem.json(*words, "shpo")
    assert [each["status"] for each in (known, meant, again)] == ["saved", "saved", "known"]
    assert "shpo" in _projects(worker)
    mem("forget", known["ref"], meant["ref"], "--yes")


def _projects(worker: Worker) -> set[str]:
    return {each["name"] for each in worker.get("/api/projects")["items"]}


def test_context_typed_by_a_person_is_what_the_next_session_is_told(
    worker: Worker, mem: Mem, tmp_path: Path
) -> None:
    told = worker.get("/api/context/inject", project="shop", format="json")["plain"]
    assert mem("context", "--project", "shop").stdout.strip() == told.strip()
    typed = mem("context", typed="", cwd=tmp_path, process=True)
    assert "No previous sessions found" in typed.stdout


def test_context_of_a_script_that_has_nothing_to_say_is_the_plain_text(
    worker: Worker, mem: Mem, tmp_path: Path
) -> None:
    done = mem("context", given=None, cwd=tmp_path, process=True)
    assert done.stderr == ""
    assert "No previous sessions found" in done.stdout
    assert _unreadable(worker) == 0
    empty = mem("context", given=b"", cwd=tmp_path, process=True)
    assert json.loads(empty.stdout)["continue"], "an empty pipe is a client's"
    assert _unreadable(worker) == 1


def _unreadable(worker: Worker) -> int:
    """Of what hooks were given: how much was no payload."""
    counts = worker.data / paths.DROPS
    return drop_counters.parse(counts.read_bytes())["unreadable"] if counts.exists() else 0


def test_context_piped_into_is_still_the_hook(worker: Worker, mem: Mem) -> None:
    payload = b'{"session_id":"piped","hook_event_name":"SessionStart","source":"startup"}'
    mem("context", given=payload, process=True)
    workers.drained(worker.data)
    assert worker.ask("GET", "/sessions/piped/status")[0] == 200


def test_a_worker_that_is_down_is_started_to_answer(data: Path) -> None:
    try:
        mem = Mem(data, CLAUDE_MEM_WORKER_PORT=str(workers.free_port()))
        assert mem("search", "anything", process=True).stdout == ""
        assert control.status(data).state == "running"
    finally:
        workers.finish(data)
