"""Rows 10 to 13: what the model's side can do to us, and that neither a batch nor a hook suffers for it.

What takes time is tested with the worker's own parts (pump, observer, SQLite store, the provider on a real
wire) under a clock that is set; the rest with a whole worker.
"""

import json
from pathlib import Path

import pytest
from tests.e2e.observer_setup import GOOD, HOUR, MINUTE, NOON, SECOND, Moody, ids, many, rigged
from tests.e2e.test_hook_to_memory import edit, health, rows, work
from tests.e2e.test_statusline import shows
from tests.harness import checker, hook_process, payloads, workers
from tests.harness.commands import Mem
from tests.harness.model_script import Cut, Drip, Hang, Raw, Request, Reset, Say, Status, Step
from tests.harness.model_server import ModelServer

from claude_mem.observe import observer
from claude_mem.serve import control
from claude_mem.settings.declarations import Settings


class TestRow10ToldToWait:
    def test_with_retry_after_all_sessions_wait_as_told_and_nothing_is_lost(self, data: Path) -> None:
        busy = Status(429, {"Retry-After": "37"})
        with rigged(data, *[busy] * 10, GOOD) as rig:
            rig.queue(*many(30))
            rig.run(until=NOON + 37 * SECOND - 1)
            assert rig.asked_at == [NOON], "no storm: one was told, all wait"
            rig.run(until=NOON + HOUR)
            assert rig.waits[:10] == [37] * 10
            assert len(rig.server.requests) == 10 + 30
            assert (rig.store.queue.figures().done, rig.parked(), rig.told) == (90, [], [])
            assert checker.check(data, ids(many(30))) == {"done": 30, "spooled": 0}

    def test_without_it_they_wait_a_minute_and_a_jitter(self, data: Path) -> None:
        with rigged(data, *[Status(429)] * 5, GOOD) as rig:
            rig.queue(*many(5))
            rig.run(until=NOON + HOUR)
            assert rig.waits == [90] * 5 + [0] * 4
            assert checker.check(data, ids(many(5))) == {"done": 5, "spooled": 0}

    def test_a_long_wait_is_kept_to_as_well(self, data: Path) -> None:
        with rigged(data, Status(429, {"Retry-After": "7200"}), GOOD) as rig:
            rig.queue(*many(10))
            rig.run(until=NOON + 3 * HOUR)
            assert rig.waits == [7200] + [0] * 9
            assert rig.store.queue.figures().done == 30

    def test_however_often_it_is_told_to_wait_a_batch_is_never_given_up(self, data: Path) -> None:
        with rigged(data, *[Status(429)] * 200, GOOD) as rig:
            rig.queue("s")
            rig.run(until=NOON + 6 * HOUR)
            assert len(rig.server.requests) == 201
            assert rig.observed() == ["toolu_s"]

    def test_a_whole_worker_with_many_sessions_asks_once_for_each_of_its_observers(self, data: Path) -> None:
        busy = Status(429, {"Retry-After": "3600"})
        with ModelServer([busy]) as server, workers.running(data, **workers.asking(server.url)):
            for session in many(6):
                work(data, payloads.bash(f"toolu_{session}", session=session), session=session)
            workers.drained(data)
            server.wait_for_request()
            workers.until(lambda: "leased" not in workers.states(data), "those who asked were told")
            assert workers.states(data) == {"ready": 18}
            checker.check(data, ids(many(6)))
        assert 1 <= len(server.requests) <= Settings(data_dir=data).observers


FAILING: dict[str, Step] = {
    "500": Status(500),
    "529": Status(529),
    "reset": Reset(),
    "cut off": Cut(),
    "not JSON": Raw(b"<html>a proxy's page</html>", "text/html"),
    "slow body": Drip(),
    "slow headers": Drip(of="headers"),
    "hang": Hang(),
}


class TestRow11OutOfOrder:
    @pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=pytest.mark.prove) if isinstance(FAILING[name], Drip | Hang) else name
            for name in FAILING
        ],
    )
    def test_a_failed_call_is_made_again_later_and_later(
        self, data: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        step = FAILING[name]
        with rigged(data, step, step, GOOD) as rig:
            rig.queue("s")
            with monkeypatch.context() as impatient:
                if isinstance(step, Drip | Hang):
                    impatient.setattr(observer, "ASK_WITHIN_S", 1.0)
                rig.run(until=NOON + 29 * SECOND)
            rig.run(until=NOON + HOUR)
            assert rig.waits == [5, 25]
            assert (rig.observed(), rig.parked()) == (["toolu_s"], [])
            checker.check(data, ["toolu_s"])

    def test_a_server_that_is_down_is_left_alone_more_and_more_however_many_wait_for_it(
        self, data: Path
    ) -> None:
        with rigged(data, Status(500)) as rig:
            rig.queue(*many(50))
            rig.run(until=NOON + HOUR)
            assert rig.waits[1:4] == [5, 25, 125], "from the second failure on it is the server's"
            assert set(rig.waits[4:]) == {300}
            assert len(rig.server.requests) < 20
            assert rig.store.queue.figures().done == 0

    def test_an_outage_of_a_day_is_told_once_and_costs_no_batch_its_attempts(self, data: Path) -> None:
        moody = Moody(Status(503))
        with rigged(data, script=moody) as rig:
            rig.queue(*many(20))
            rig.run(until=NOON + 24 * HOUR)
            assert (rig.store.queue.figures().done, rig.parked()) == (0, [])
            assert len(rig.told) == 1
            assert "cannot be reached" in rig.told[0]
            moody.step = None
            rig.run(until=NOON + 25 * HOUR)
            assert checker.check(data, ids(many(20))) == {"done": 20, "spooled": 0}
            assert (rig.pump.paused, len(rig.told)) == (None, 1)

    def test_a_batch_the_server_refuses_three_times_is_parked_with_its_reason_and_one_command_resumes_it(
        self, data: Path
    ) -> None:
        with rigged(data, *[Status(413, type="request_too_large")] * 3, GOOD) as rig:
            rig.queue("s")
            rig.run(until=NOON + HOUR)
            assert [name for name, _ in rig.parked()] == ["s-1", "s-2", "s-3"]
            (reason,) = {str(reason) for _, reason in rig.parked()}
            assert "too long (413)" in reason
            (told,) = rig.told
            assert told.startswith("3 events ")
            assert reason in told
            checker.check(data, ["toolu_s"])
            assert rig.store.queue.resume() == 3
            rig.run(until=NOON + 2 * HOUR)
            assert (rig.observed(), rig.parked()) == (["toolu_s"], [])

    def test_hooks_are_answered_and_their_events_taken_in_while_every_observer_hangs(
        self, data: Path
    ) -> None:
        two = {"CLAUDE_MEM_OBSERVERS": "2"}
        with ModelServer([Hang()]) as server, workers.running(data, **workers.asking(server.url, **two)):
            for session in many(4):
                work(data, payloads.bash(f"toolu_{session}", session=session), session=session)
            server.wait_for_request(2)
            late = [f"late-{n}" for n in range(8)]
            for id in late:
                answer = hook_process.run(data, payloads.bash(id, session="late"))
                assert (answer.code, answer.json) == (0, {"continue": True, "suppressOutput": True})
            workers.drained(data)
            assert health(data)["status"] == "ok"
            where = checker.check(data, [*ids(many(4)), *late])
            assert where == {"leased": 2, "ready": 10, "spooled": 0}
            server.release()
        assert checker.check(data, [*ids(many(4)), *late])["spooled"] == 0

    def test_two_calls_that_hang_do_not_hold_up_a_third_session(self, data: Path) -> None:
        def hang_or_answer(request: Request) -> Step:
            return Hang() if "hang" in json.dumps(request.body["messages"]) else GOOD

        with ModelServer(hang_or_answer) as server, workers.running(data, **workers.asking(server.url)):
            for session in ("one", "two"):
                work(data, payloads.bash(session, session=session), ask="hang", session=session)
            server.wait_for_request(2)
            work(data, payloads.bash("three", session="three"), session="three")
            query = "SELECT title FROM observations"
            workers.until(lambda: rows(data, query) == [{"title": "Found"}], "the third is observed")
            assert checker.check(data, ["one", "two", "three"])["leased"] == 2
            server.release()


UNREADABLE = {
    "prose": "I looked at the session and found nothing out of the ordinary. Shall I go on?",
    "quota": "You've hit your session limit · resets 3:45pm",
    "login": "Invalid API key · Please run /login",
    "JSON": '{"observations": [{"title": "in the wrong language"}]}',
    "foreign": "<div><p>a page</p></div>",
    "cut off": "<observation><type>bug",
    "empty": "",
    "blank": " \n\t ",
}


class TestRow12NotInOurGrammar:
    @pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
    def test_the_batch_is_retried_parked_with_a_preview_remembered_offline_and_resumed(
        self, data: Path, text: str
    ) -> None:
        with rigged(data, *[Say(text)] * 3, GOOD) as rig:
            rig.queue("s")
            rig.run(until=NOON + HOUR)
            assert rig.waits == [5, 25]
            assert [name for name, _ in rig.parked()] == ["s-1", "s-2", "s-3"]
            ((_, reason), *_) = rig.parked()
            assert reason
            assert " ".join(text.split())[:40] in reason if text.strip() else "empty" in reason
            summarized = "SELECT request FROM session_summaries"
            assert [row["request"] for row in rows(data, summarized)] == ["make s"], "offline, meanwhile"
            assert len(rows(data, "SELECT * FROM spending")) == 3, "each of them was paid for"
            checker.check(data, ["toolu_s"])
            rig.store.queue.resume()
            rig.run(until=NOON + 2 * HOUR)
            assert rig.observed() == ["toolu_s"]
            assert rows(data, summarized) == [], "the model's answer takes its place"
            for table in ("fallbacks", "fallback_memories"):
                assert rows(data, f"SELECT * FROM {table}") == []
            checker.check(data, ["toolu_s"])

    @pytest.mark.parametrize(
        "text",
        [
            f"```xml\n{GOOD.text}\n```",
            f"Here is what I found:\n\n{GOOD.text}\n\nAnything else?",
            f"<observations>{GOOD.text}</observations>",
            f"{GOOD.text}<observation><title>this one is cut o",
        ],
        ids=["fenced", "in prose", "wrapped", "truncated"],
    )
    def test_what_can_be_read_is_kept(self, data: Path, text: str) -> None:
        with rigged(data, Say(text)) as rig:
            rig.queue("s")
            rig.run(until=NOON + HOUR)
            assert len(rig.server.requests) == 1
            assert [each["title"] for each in rows(data, "SELECT * FROM observations")] == ["Found"]

    @pytest.mark.prove  # with the worker's parts it is above; this is the whole worker
    def test_a_session_whose_replies_cannot_be_read_holds_up_no_other(self, data: Path) -> None:
        def answer(request: Request) -> Step:
            return Say("no") if "make bad" in str(request.body["messages"]) else GOOD

        with ModelServer(answer) as server, workers.running(data, **workers.asking(server.url)):
            work(data, payloads.bash("toolu_bad", session="bad"), session="bad", ask="make bad")
            server.wait_for_request()
            work(data, payloads.bash("toolu_good", session="good"), session="good")
            workers.until(lambda: workers.states(data).get("done") == 3, "the other is observed")
            assert checker.check(data, ["toolu_bad", "toolu_good"])["done"] == 1


class TestRow13Refused:
    REVOKED = "The Anthropic API key was rejected (401)"

    def test_a_key_revoked_in_the_middle_pauses_with_one_message_and_resumes_when_it_works(
        self, data: Path
    ) -> None:
        with rigged(data, GOOD, *[Status(401)] * 4, GOOD, Status(401), GOOD) as rig:
            rig.queue(*many(10))
            rig.run(until=NOON + 10 * MINUTE - 1)
            assert len(rig.server.requests) == 3, "looked at again after five minutes, by one batch"
            assert rig.pump.paused
            assert rig.pump.paused.startswith(self.REVOKED)
            assert rig.told == [rig.pump.paused]
            rig.run(until=NOON + HOUR)
            # It was refused four times, worked, was refused once more: that is news again.
            assert rig.told == [rig.told[0]] * 2
            assert rig.pump.paused is None
            assert rig.parked() == []
            assert checker.check(data, ids(many(10))) == {"done": 10, "spooled": 0}

    @pytest.mark.parametrize(
        ("status", "says"),
        [
            (402, "requires payment"),
            (403, "key was rejected (403)"),
            (404, "the model 'scripted' (404). Set CLAUDE_MEM_MODEL"),
            (308, "has moved"),
        ],
    )
    def test_what_only_a_person_can_mend_pauses_and_says_what_to_do(
        self, data: Path, status: int, says: str
    ) -> None:
        with rigged(data, *[Status(status)] * 3, GOOD) as rig:
            rig.queue(*many(3))
            rig.run(until=NOON + HOUR)
            assert len(rig.told) == 1
            assert says in rig.told[0]
            assert rig.waits == [300, 300, 300, 0, 0]
            assert checker.check(data, ids(many(3))) == {"done": 3, "spooled": 0}

    def test_a_whole_worker_tells_the_user_once_at_the_next_start_and_goes_on_recording(
        self, data: Path
    ) -> None:
        moody = Moody(Status(401))
        with ModelServer(moody) as server, workers.running(data, **workers.asking(server.url)):
            work(data, payloads.bash("toolu_1"))
            workers.until(lambda: bool(health(data)["observer"]["paused"]), "it pauses")
            for session in many(5):
                work(data, payloads.bash(f"toolu_{session}", session=session), session=session)
            workers.drained(data)
            assert len(server.requests) == 1
            assert str(health(data)["observer"]["paused"]).startswith(self.REVOKED)
            started = [hook_process.run(data, payloads.start(f"start-{n}")).json for n in range(3)]
            assert [self.REVOKED in answer.get("systemMessage", "") for answer in started] == [
                True,
                False,
                False,
            ]

            moody.step = None  # the user has mended it, and need not wait for us to notice
            assert control.request(data, "POST", "/api/queue/retry", {}, deadline_s=30)[0] == 200
            workers.settled(data)
            assert health(data)["observer"]["paused"] is None
            checker.check(data, ["toolu_1", *ids(many(5))])

    @pytest.mark.prove  # what is said of it: above; that it is told: also above
    def test_an_unknown_model_is_named_to_the_user(self, data: Path) -> None:
        unknown, env = Status(404, type="not_found_error"), {"CLAUDE_MEM_MODEL": "haiku-99"}
        with ModelServer([unknown]) as server, workers.running(data, **workers.asking(server.url, **env)):
            work(data, payloads.bash("toolu_1"))
            workers.until(lambda: bool(health(data)["observer"]["paused"]), "it pauses")
            answer = hook_process.run(data, payloads.start("another")).json
        assert "the model 'haiku-99'" in answer["systemMessage"]
        assert "CLAUDE_MEM_MODEL" in answer["systemMessage"]


@pytest.mark.prove
def test_a_model_that_answers_ok_leaves_memory_and_says_so_until_another_is_asked(data: Path) -> None:
    answers = [Say("ok")]
    mem = Mem(data)
    with ModelServer(lambda _: answers[-1]) as server, workers.running(data, **workers.asking(server.url)):
        work(data, edit("toolu_1", Path("/home/u/proj/src/login.py")))
        workers.until(lambda: workers.states(data).get("parked") == 3, "it is parked")
        authors = "SELECT DISTINCT provider FROM observations"
        assert rows(data, authors) == [{"provider": "offline:fallback"}]
        assert len(rows(data, "SELECT * FROM session_summaries")) == 1
        findings = {each["check"]: each for each in mem.json("doctor", code=None)["findings"]}
        assert findings["unreadable"]["level"] == "warn"
        shows(data, r"mem ◐ anthropic · replies unreadable: 3 processed offline.*")
        answers.append(GOOD)
        mem("queue", "retry")
        workers.settled(data)
        assert rows(data, authors) == [{"provider": "anthropic:scripted"}]
        assert rows(data, "SELECT * FROM session_summaries") == []
        assert checker.check(data, ["toolu_1"]) == {"done": 1, "spooled": 0}
        shows(data, r"mem ● anthropic.*")
    assert len(server.requests) == 4
