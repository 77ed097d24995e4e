"""Export and import over HTTP: a real worker on a real database."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts import worker_client
from tests.contracts.worker_client import Worker, over_tcp
from tests.harness import workers

from claude_mem.cli import import_sender
from claude_mem.cli.import_sender import SendReport
from claude_mem.serve import control, requests

LINES = "application/x-ndjson"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker_client.remembering(tmp_path_factory.mktemp("travel") / "data") as worker:
        yield worker


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def exported(worker: Worker, query: str = "") -> list[dict[str, Any]]:
    with control.streamed(worker.data, "GET", f"/api/export{query}", deadline_s=60) as response:
        assert response.status == 200
        assert response.headers["content-type"].startswith(LINES)
        return [json.loads(line) for line in response.read().splitlines()]


def imported(worker: Worker, body: bytes, query: str = "") -> dict[str, Any]:
    status, answer = control.request(worker.data, "POST", f"/api/import{query}", body, deadline_s=60)
    assert status == 200, answer
    return answer


def made(session: str, title: str, **more: Any) -> bytes:
    project = {"kind": "project", "key": "/home/ada/shop", "name": "shop"}
    about = {"kind": "session", "session_id": session, "project": project["key"], "created_at": 1}
    told = {"kind": "observation", "session_id": session, "type": "decision", "title": title, "at": 1}
    return lines(project, about, told | more)


def test_all_goes_out_a_line_each_the_head_first(worker: Worker) -> None:
    records = exported(worker)
    assert records[0]["kind"] == "claude-mem"
    assert {record["session_id"] for record in records if record["kind"] == "session"} >= {
        *("shop-1", "shop-2", "mill-1")
    }


def test_it_is_narrowed_by_the_same_words_as_a_search(worker: Worker) -> None:
    assert {record["name"] for record in exported(worker, "?project=mill")[1:2]} == {"mill"}
    found = exported(worker, "?q=burrs")
    assert {record.get("session_id") for record in found[1:]} - {None} == {"mill-1"}
    assert worker.refused("GET", "/api/export", since="nonsense") == (400, "bad_field", "since")


def test_it_goes_out_over_tcp_and_a_head_request_reads_nothing(worker: Worker) -> None:
    assert over_tcp(worker, "/api/export?project=mill").status == 200
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
    connection.request("HEAD", "/api/export", headers={"Authorization": f"Bearer {worker.token}"})
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"")
    connection.close()


def test_lines_come_in_and_are_found_at_once(worker: Worker) -> None:
    answer = imported(worker, made("new-1", "A cormorant dries its wings"))
    assert answer["taken"] == {"session": 1, "observation": 1}
    assert answer["known"] == {"project": 1}
    found = worker.get("/api/search", q="cormorant", kind="observation")["results"][0]
    assert found["title"] == "A cormorant dries its wings"
    assert (found["session_id"], found["source"], found["project"]) == ("new-1", "external", "shop")
    assert imported(worker, made("new-1", "A cormorant dries its wings"))["taken"] == {}


@pytest.mark.parametrize(("query", "source"), [("?own=1", "work"), ("", "external"), ("?own=0", "external")])
def test_only_who_says_so_is_believed_to_be_oneself(worker: Worker, query: str, source: str) -> None:
    title = f"A grebe of {source}{len(query)}"
    imported(worker, made(f"own-{query}", title, pinned=True), query)
    (found,) = [
        each
        for each in worker.get("/api/search", q="grebe", kind="observation")["results"]
        if each["title"] == title
    ]
    assert (found["source"], found["pinned"]) == (source, source == "work")


def test_unreadable_lines_are_told_by_their_numbers_and_the_others_taken(worker: Worker) -> None:
    body = (
        b"\n{nonsense\n[1]\n"
        + made("new-2", "A teal")
        + b'"\xff"\n'
        + b"[" * 200
        + b"\n"
        + lines({"kind": "x"})
    )
    answer = imported(worker, body)
    assert answer["taken"] == {"session": 1, "observation": 1}
    assert [number for number, _ in answer["refused"]] == [1, 2, 6, 7, 8]
    assert all(why.endswith(".") for _, why in answer["refused"])


def test_a_newer_format_is_refused_whole(worker: Worker) -> None:
    head = lines({"kind": "claude-mem", "version": 2})
    status, answer = control.request(worker.data, "POST", "/api/import", head + made("new-3", "A coot"))
    assert (status, answer["error"]["field"]) == (400, "version")  # type: ignore[index]
    assert worker.refused("GET", "/api/session/new-3")[0] == 404
    imported(worker, made("new-3", "A coot"))
    assert worker.get("/api/session/new-3")["observations"][0]["title"] == "A coot"


def test_more_lines_than_fit_a_transaction_are_refused(worker: Worker) -> None:
    blank = b"\n" * (requests.MOST_LINES + 1)
    status, answer = control.request(worker.data, "POST", "/api/import", blank)
    assert (status, answer["error"]["code"]) == (400, "too_many")  # type: ignore[index]
    assert imported(worker, b"\n" * requests.MOST_LINES)["taken"] == {}


def test_other_routes_take_no_lines(worker: Worker) -> None:
    status, _ = control.request(worker.data, "POST", "/api/memory/save", made("x", "y"))
    assert status == 415


def test_one_json_object_is_still_taken(worker: Worker) -> None:
    record = {"title": "A heron fishes", "project": "shop"}
    assert worker.post("/api/import", records=[record])["imported"] == 1


def test_what_the_command_line_sends_is_added_up_from_the_workers_own_answers(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(worker.data))
    monkeypatch.setattr(import_sender, "BATCH_LINES", 3)
    project = {"kind": "project", "key": "/home/ada/sent", "name": "sent"}
    session = {"kind": "session", "session_id": "sent-1", "project": project["key"], "created_at": 1}
    told = {"kind": "observation", "session_id": "sent-1", "type": "decision", "title": "Sent", "at": 1}
    records: list[dict[str, Any]] = [
        project,
        session,
        told,
        told | {"type": "none"},
        told | {"title": "Too", "at": 2},
        {"kind": "x"},
    ]
    for taken, known in (({"project": 1, "session": 1, "observation": 2}, {}), ({}, {"observation": 2})):
        lines, absorb = import_sender.encoded(records), import_sender.posted(own=True)
        sent = import_sender.send(lines, SendReport(), absorb, "Importing ...")
        assert (sent.records, sent.refused, [number for number, _ in sent.reasons]) == (6, 2, [4, 6])
        assert sent.code != 0
        assert dict(sent.taken) == taken
        assert known.items() <= sent.known.items()
