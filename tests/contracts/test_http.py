"""The HTTP API, as callers see it: over real sockets, on a real worker."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import Driven


def test_health_tells_who_and_how_the_worker_is(worker: Driven) -> None:
    status, health = worker.ask("GET", "/health")
    assert status == 200
    assert health["status"] == "ok"
    assert (health["pid"], health["port"]) == (worker.pid, worker.port)
    assert (health["version"], health["protocol"]) == ("0.1.0", 1)
    assert health["uptime"] > 0
    assert health["memory"]["rss"] > 1 << 20
    assert set(health["queue"]) == {
        *("spooled", "ready", "leased", "parked", "fallback", "done", "oldestAgeMs", "alert")
    }
    assert isinstance(health["activeSessions"], int)


class TestTheSecondGeneration:
    def test_a_prompt_makes_the_session_and_prompts_count_up(self, worker: Driven) -> None:
        prompt = {"claudeSessionId": "two-1", "project": "shop", "prompt": "Fix it", "cwd": "/home/ada/shop"}
        status, first = worker.ask("POST", "/api/sessions/init", prompt)
        assert (status, first["promptNumber"], first["duplicate"]) == (200, 1, False)
        status, second = worker.ask("POST", "/api/sessions/init", prompt | {"prompt": "And that"})
        assert (second["sessionDbId"], second["promptNumber"]) == (first["sessionDbId"], 2)

    def test_a_session_may_be_made_known_without_a_prompt(self, worker: Driven) -> None:
        status, answer = worker.ask("POST", "/api/sessions/init", {"claudeSessionId": "two-2"})
        assert (status, answer["promptNumber"], answer["status"]) == (200, 0, "initialized")

    def test_a_private_prompt_is_said_to_be_skipped(self, worker: Driven) -> None:
        prompt = {"claudeSessionId": "two-3", "userPrompt": "<private>x</private>"}
        _, answer = worker.ask("POST", "/api/sessions/init", prompt)
        assert (answer["private"], answer["skipped"]) == (True, True)

    def test_a_tool_use_is_queued_once_whatever_it_brings_along(self, worker: Driven) -> None:
        use = {
            "contentSessionId": "two-4",
            "tool_name": "Read",
            "tool_use_id": "toolu_1",
            "tool_input": {"a": 1},
        }
        status, answer = worker.ask("POST", "/api/sessions/observations", use)
        assert (status, answer["status"], answer["duplicate"]) == (202, "queued", False)
        status, again = worker.ask("POST", "/api/sessions/observations", use)
        assert (status, again["duplicate"], again["sessionDbId"]) == (202, True, answer["sessionDbId"])

    def test_a_tool_on_the_skip_list_is_understood_and_not_queued(self, worker: Driven) -> None:
        use = {"claudeSessionId": "two-5", "tool_name": "Skill"}
        status, answer = worker.ask("POST", "/api/sessions/observations", use)
        assert (status, answer["status"]) == (200, "skipped")

    def test_an_id_that_two_sessions_begin_with_is_refused_and_both_are_named(self, worker: Driven) -> None:
        both = ("codex:twin-1", "codex:twin-2")
        for session in both:
            worker.ask("POST", "/api/sessions/init", {"claudeSessionId": session, "prompt": "Twin"})
        for method, path, body in (
            ("GET", "/api/session/twin", None),
            ("GET", "/api/observations?session=twin", None),
            ("POST", "/api/memory/forget", {"session": "twin", "confirm": True}),
        ):
            status, answer = worker.ask(method, path, body)
            error = answer["error"]
            assert (status, error["code"], error["field"]) == (400, "ambiguous_session", "session")
            assert all(session in error["message"] for session in both)
        assert worker.ask("GET", "/api/session/twin-1")[1]["session"]["id"] == "codex:twin-1"

    def test_a_session_is_summarized_and_completed(self, worker: Driven) -> None:
        words = {"claudeSessionId": "two-6", "last_user_message": "Thanks", "last_assistant_message": "Done."}
        assert worker.ask("POST", "/api/sessions/summarize", words)[0] == 202
        assert worker.ask("GET", "/sessions/two-6/status")[1]["status"] == "summarizing"
        assert (
            worker.ask("POST", "/api/sessions/complete", {"claudeSessionId": "two-6", "reason": "exit"})[0]
            == 202
        )
        assert worker.ask("GET", "/sessions/two-6/status")[1]["status"] == "completed"

    def test_the_users_last_message_is_the_prompt_of_a_turn_that_has_none(self, worker: Driven) -> None:
        words = {
            "last_user_message": "Fix the <private>secret</private> login",
            "last_assistant_message": "Done.",
        }
        for _ in range(2):
            worker.ask("POST", "/api/sessions/summarize", {"claudeSessionId": "two-8"} | words)
        session = worker.ask("GET", "/api/session/two-8")[1]
        (prompt,) = session["prompts"]
        assert prompt["title"].startswith("Fix the")
        assert "secret" not in prompt["title"]
        worker.ask("POST", "/api/sessions/init", {"claudeSessionId": "two-8", "prompt": "And that"})
        later = {"claudeSessionId": "two-8", "last_user_message": "Thanks"}
        assert worker.ask("POST", "/api/sessions/summarize", later)[0] == 202
        assert worker.ask("GET", "/sessions/two-8/status")[1]["promptCounter"] == 2

    @pytest.mark.parametrize(
        ("stamp", "at"),
        [
            ("2025-10-15T19:30:00Z", "2025-10-15T19:30:00.000Z"),
            (1_760_556_600_000, "2025-10-15T19:30:00.000Z"),
            ("2999-01-01T00:00:00Z", None),
            ("1970-01-01T00:00:01Z", None),
            ("yesterday", None),
        ],
    )
    def test_a_timestamp_counts_if_it_can_be_believed(
        self, worker: Driven, stamp: object, at: str | None
    ) -> None:
        named = f"two-9-{stamp}"
        prompt = {"claudeSessionId": named, "prompt": "Hello", "timestamp": stamp}
        number = worker.ask("POST", "/api/sessions/init", prompt)[1]["sessionDbId"]
        made = worker.ask("GET", f"/api/session/{number}")[1]["session"]["created_at"]
        assert made == at if at else made[:4] not in ("2999", "1970", "2025")

    def test_the_newest_documents_example_without_the_prefix_is_served(self, worker: Driven) -> None:
        example = {"sessionId": "two-7", "project": "default", "userPrompt": "hello"}
        assert worker.ask("POST", "/sessions/init", example)[0] == 200


class TestTheFirstGeneration:
    def test_a_session_is_addressed_by_its_number_or_by_the_clients_id(self, worker: Driven) -> None:
        _, made = worker.ask("POST", "/sessions/one-1/init", {"project": "shop", "userPrompt": "Fix it"})
        number = made["sessionDbId"]
        use = {"tool_name": "Bash", "tool_input": '{"command":"ls"}', "tool_output": "ok", "prompt_number": 1}
        assert worker.ask("POST", f"/sessions/{number}/observations", use)[0] == 202
        status, summary = worker.ask("POST", f"/sessions/{number}/summarize", {"prompt_number": 1})
        assert (status, summary["sessionDbId"]) == (202, number)
        status, session = worker.ask("GET", f"/sessions/{number}/status")
        assert status == 200
        # Its turn has ended: it may be observed already.
        assert session.pop("pendingMessages") == session.pop("queueLength") in (0, 3)
        assert session == {
            "sessionDbId": number,
            "claudeSessionId": "one-1",
            "sdkSessionId": None,
            "project": "shop",
            "status": "summarizing",
            "promptCounter": 1,
        }

    def test_an_unknown_clients_id_is_made(self, worker: Driven) -> None:
        assert worker.ask("POST", "/sessions/one-2/observations", {"tool_name": "Read"})[0] == 202

    @pytest.mark.parametrize("action", ["init", "observations", "summarize"])
    def test_an_unknown_number_is_not_found_and_what_to_do_is_said(self, worker: Driven, action: str) -> None:
        status, answer = worker.ask("POST", f"/sessions/987654/{action}", {"userPrompt": "x"})
        assert (status, answer["error"]["code"]) == (404, "unknown_session")
        assert "/api/sessions/init" in answer["error"]["message"]

    def test_an_aborted_session_is_failed_and_its_events_stay(self, worker: Driven) -> None:
        worker.ask("POST", "/sessions/one-3/observations", {"tool_name": "Read"})
        status, answer = worker.ask("DELETE", "/sessions/one-3")
        assert (status, answer["status"], answer["pendingMessages"]) == (200, "failed", 1)
        assert worker.ask("GET", "/sessions/one-3/status")[1]["status"] == "failed"
        status, answer = worker.ask("POST", "/sessions/one-3/observations", {"tool_name": "Read"})
        assert (status, answer["status"], answer["queueLength"]) == (202, "queued", 2)
        assert worker.ask("GET", "/sessions/one-3/status")[1]["status"] == "active"

    def test_forty_aborts_that_wait_hold_nobody_else_up(self, worker: Driven) -> None:
        busy, names = worker.data / "session-is-busy", [f"busy-{number}" for number in range(40)]
        ids = [worker.ask("POST", "/sessions/init", {"sessionId": name})[1]["sessionDbId"] for name in names]
        busy.touch()
        with ThreadPoolExecutor(len(names)) as callers:
            try:
                answers = [callers.submit(worker.ask, "DELETE", f"/sessions/{name}") for name in names]
                waiting = [worker.data / f"aborting-{number}" for number in ids]
                worker_driver.until("all of them wait", lambda: all(file.exists() for file in waiting))
                assert worker.ask("GET", "/health")[0] == 200
                assert not any(answer.done() for answer in answers)
            finally:
                busy.unlink()
            assert all(answer.result()[1]["stopped"] for answer in answers)

    @pytest.mark.parametrize(
        ("method", "path"), [("DELETE", "/sessions/nobody"), ("GET", "/sessions/nobody/status")]
    )
    def test_a_session_nobody_knows_is_not_found(self, worker: Driven, method: str, path: str) -> None:
        assert worker.ask(method, path)[0] == 404

    def test_a_number_too_large_for_the_database_is_a_clients_id(self, worker: Driven) -> None:
        assert worker.ask("GET", f"/sessions/{'9' * 40}/status")[0] == 404


class TestTheFigures:
    def test_the_activity_flag_is_kept_as_the_documents_have_it(self, worker: Driven) -> None:
        assert worker.ask("POST", "/api/processing", {"isProcessing": True, "project": "shop"})[0] == 200
        flag = json.loads((worker.data / "activity.flag").read_bytes())
        assert (flag["active"], flag["project"]) == (True, "shop")
        assert isinstance(flag["timestamp"], int)
        assert worker.ask("GET", "/api/processing")[1]["isProcessing"] is True
        worker.ask("POST", "/api/processing", {"isProcessing": False})
        assert "project" not in json.loads((worker.data / "activity.flag").read_bytes())

    def test_the_queue_is_told_in_pages_without_a_word_of_its_text(self, worker: Driven) -> None:
        for number in range(3):
            use = {"claudeSessionId": "queue", "tool_name": "Read", "tool_input": f"canary-{number}"}
            worker.ask("POST", "/api/sessions/observations", use)
        status, page = worker.ask("GET", "/api/queue?state=ready&limit=2")
        assert status == 200
        assert len(page["jobs"]) == 2
        assert page["drops"]["spool_full"] == 0
        assert page["counters"]["accepted"] >= 3
        _, rest = worker.ask("GET", f"/api/queue?state=ready&limit=500&after={page['next']}")
        assert rest["next"] is None
        assert {job["id"] for job in page["jobs"]}.isdisjoint(job["id"] for job in rest["jobs"])
        assert "canary" not in json.dumps([page, rest])

    @pytest.mark.parametrize(
        "query", ["limit=0", "limit=x", "limit=9999", "after=-1", "state=lost", "limit=%FF"]
    )
    def test_a_bad_page_is_refused_naming_the_field(self, worker: Driven, query: str) -> None:
        status, answer = worker.ask("GET", f"/api/queue?{query}")
        assert (status, answer["error"]["field"]) == (400, query.partition("=")[0])

    def test_metrics_are_prometheus_text(self, worker: Driven) -> None:
        reply = worker.tcp("GET", "/metrics", headers=worker.with_token())
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        lines = reply.raw.decode().splitlines()
        assert 'claude_mem_queue_jobs{state="parked"} 0' in lines
        assert any(line.startswith('claude_mem_batch_duration_seconds_bucket{le="+Inf"} ') for line in lines)
        assert 'claude_mem_drops_total{reason="spool_full"} 0' in lines
        samples = [line for line in lines if not line.startswith("#")]
        assert all(float(line.rpartition(" ")[2]) >= 0 for line in samples)
        for name in ("spool_files", "spool_bytes", "uptime_seconds", "resident_memory_bytes"):
            assert any(line.startswith(f"claude_mem_{name} ") for line in samples)
        for outcome in ("accepted", "duplicate", "set_aside"):
            assert any(line.startswith(f'claude_mem_events_total{{outcome="{outcome}"}}') for line in samples)

    def test_the_api_describes_itself(self, worker: Driven) -> None:
        status, document = worker.ask("GET", "/openapi.json")
        assert (status, document["openapi"]) == (200, "3.1.0")
        assert document["servers"] == [{"url": f"http://127.0.0.1:{worker.port}"}]


def test_a_full_disk_is_unavailable_and_recovers_without_a_restart(worker: Driven) -> None:
    (worker.data / "disk-is-full").touch()
    use = json.dumps({"claudeSessionId": "full", "tool_name": "Read"}).encode()
    try:
        reply = worker.tcp("POST", "/api/sessions/observations", use, worker.with_token())
        assert (reply.status, reply.json["error"]["code"]) == (503, "unavailable")
        assert int(reply.headers["retry-after"]) > 0
    finally:
        (worker.data / "disk-is-full").unlink()
    assert worker.tcp("POST", "/api/sessions/observations", use, worker.with_token()).status == 202


def test_a_caller_names_itself_and_does_not_count_as_claude_code(worker: Driven) -> None:
    for session, more, client in (("named", {"client": "my-agent"}, "my-agent"), ("unnamed", {}, "api")):
        worker.ask("POST", "/api/sessions/init", {"claudeSessionId": session, "prompt": "Hello"} | more)
        assert worker.ask("GET", f"/api/session/{session}")[1]["session"]["client"] == client
    status, answer = worker.ask("POST", "/api/sessions/init", {"claudeSessionId": "x", "client": "A B"})
    assert (status, answer["error"]["field"]) == (400, "client")


def test_an_abort_waits_no_longer_than_the_user_wants(data: Path) -> None:
    with worker_driver.started(data, "--delete-timeout-ms", "50") as worker:
        worker.ask("POST", "/sessions/init", {"sessionId": "busy"})
        (data / "session-is-busy").touch()
        status, answer = worker.ask("DELETE", "/sessions/busy")
        assert (status, answer["status"], answer["stopped"]) == (200, "failed", False)


def test_a_failing_drain_degrades_the_health_until_it_works_again(data: Path) -> None:
    with worker_driver.started(data) as worker:
        (data / "disk-is-full").touch()
        worker_driver.spool(data, 1)
        worker.poke()
        worker_driver.until("it is said", lambda: worker.ask("GET", "/health")[1]["status"] == "degraded")
        assert "disk full" in worker.ask("GET", "/health")[1]["reason"]
        (data / "disk-is-full").unlink()
        worker_driver.until("it recovers", lambda: worker.ask("GET", "/health")[1]["status"] == "ok")
        assert worker.counters()["accepted"] == 1
