"""The event stream: every listener gets each event once, in order, without gaps."""

import http.client
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from tests.contracts import worker_client
from tests.contracts.worker_client import Worker, listening
from tests.harness import workers

from claude_mem.serve import control
from claude_mem.serve.http import stream


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker_client.remembering(tmp_path_factory.mktemp("recall") / "data") as worker:
        yield worker


class TestTheStream:
    @pytest.mark.parametrize("tcp", [False, True], ids=["socket", "tcp"])
    def test_a_turn_is_told_from_its_prompt_to_its_summary(self, worker: Worker, tcp: bool) -> None:
        session = f"live-{tcp}"
        with listening(worker, tcp=tcp) as listener:
            assert {"projects", "sessions", "queue"} <= set(listener.initial.data)
            bird = "parrot" if tcp else "nightingale"
            worker.works(session, f"Teach the {bird} a song", f"src/{bird}.py")
            wanted = {"new_prompt", "new_observation", "new_summary", "session", "queue"}
            seen = [listener.next()]
            while not wanted <= {told.name for told in seen}:
                seen.append(listener.next())
        names = [told.name for told in seen]
        assert names.index("new_prompt") < names.index("new_summary")
        for told in seen:
            if told.name.startswith("new_"):
                assert told.data[told.name.removeprefix("new_")]["session_id"] == session
        assert all(told.data["type"] == told.name for told in seen)

    def test_what_is_saved_is_told_at_once(self, worker: Worker) -> None:
        with listening(worker) as listener:
            saved = worker.post(
                "/api/memory/save", text="The parrot sings — 日本語 \u2028 too", project="shop"
            )
            [*_, told] = listener.until("new_observation", ref=saved["ref"])
        assert told.data["observation"]["source"] == "user"

    def test_who_comes_back_has_missed_nothing_and_is_told_nothing_twice(self, worker: Worker) -> None:
        with listening(worker) as listener:
            first = worker.post("/api/memory/save", text="Before the line was cut", project="shop")
            last = listener.until("new_observation", ref=first["ref"])[-1].id
        missed = [
            worker.post("/api/memory/save", text=sha256(bytes([number])).hexdigest(), project="shop")["ref"]
            for number in range(stream.WINDOW + 20)  # each unlike the others: what is alike is kept once
        ]
        worker.post("/api/memory/forget", ids=missed[3:5], confirm=True)
        with listening(worker, since=last) as listener:
            end = worker.post("/api/memory/save", text="And on it goes", project="shop")["ref"]
            seen = [
                told for told in listener.until("new_observation", ref=end) if told.name == "new_observation"
            ]
        told = [one.data["observation"]["ref"] for one in seen]
        assert told == [*missed[:3], *missed[5:], end]

    def test_a_gap_that_forgetting_left_is_stepped_over(self, worker: Worker) -> None:
        with listening(worker) as listener:
            last = listener.initial.id
        records = [{"title": sha256(b"gap%d" % number).hexdigest()} for number in range(stream.WINDOW * 2)]
        worker.post("/api/import", records=[record | {"project": "gap"} for record in records])
        assert worker.post("/api/memory/forget", project="gap", confirm=True)["observations"] == len(records)
        end = worker.post("/api/memory/save", text="Beyond the gap", project="shop")["ref"]
        with listening(worker, since=last) as listener:
            seen = listener.until("new_observation", ref=end)
        assert [told.name for told in seen].count("new_observation") == 1

    def test_a_mark_that_makes_no_sense_begins_anew(self, worker: Worker) -> None:
        for since in ("nonsense", "p9-o9", "-1", "p" + "9" * 40 + "-o1-s1"):
            with listening(worker, since=since) as listener:
                assert stream.StreamPosition.parse(listener.initial.id)

    def test_who_was_told_more_than_there_is_is_told_what_comes(self, worker: Worker) -> None:
        with listening(worker, since="p999999-o999999-s999999") as listener:
            saved = worker.post("/api/memory/save", text="After the restore", project="shop")
            assert listener.until("new_observation", ref=saved["ref"])

    def test_one_project_alone_can_be_listened_to(self, worker: Worker) -> None:
        with listening(worker, query="?project=mill") as listener:
            worker.post("/api/memory/save", text="Of the shop", project="shop")
            mill = worker.post("/api/memory/save", text="Of the mill", project="mill")
            seen = listener.until("new_observation", ref=mill["ref"])
        memories = [told.data["observation"] for told in seen if told.name == "new_observation"]
        assert {told["project"] for told in memories} == {"mill"}

    def test_more_listeners_than_there_is_room_for_are_told_so_and_gone_ones_make_room(
        self, worker: Worker
    ) -> None:
        held = []
        try:
            for _ in range(stream.MOST_LISTENERS):
                context = listening(worker)
                held.append(context)
                context.__enter__()
            status, code, _ = worker.refused("GET", "/stream")
            assert (status, code) == (503, "too_many")
        finally:
            for context in held:
                context.__exit__(None, None, None)

        def has_room() -> bool:
            try:
                with listening(worker):
                    return True
            except AssertionError:
                return False

        workers.until(has_room, "those who left make room")

    def test_asking_for_its_head_alone_holds_nothing_open(self, worker: Worker) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
        for method, path in (("HEAD", "/stream"), ("GET", "/health")):  # the second waits for the first's end
            connection.request(method, path, headers={"Authorization": f"Bearer {worker.token}"})
            response = connection.getresponse()
            response.read()
            assert response.status == 200
        connection.close()


def test_a_stream_ends_with_the_worker_and_is_taken_up_by_the_next(tmp_path: Path) -> None:
    with workers.running(tmp_path / "data") as data:
        worker = Worker(data)
        with listening(worker) as listener:
            saved = worker.post("/api/memory/save", text="Before the restart", project="shop")
            last = listener.until("new_observation", ref=saved["ref"])[-1].id
            assert control.stop(data)
            with pytest.raises(EOFError):
                listener.until("the end of the world")
        control.start(data)
        with listening(worker, since=last) as listener:
            saved = worker.post("/api/memory/save", text="After the restart", project="shop")
            seen = [
                one
                for one in listener.until("new_observation", ref=saved["ref"])
                if "observation" in one.data
            ]
        assert len(seen) == 1
