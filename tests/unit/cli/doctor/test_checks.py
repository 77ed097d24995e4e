"""Facts become findings: every fault is named, with the next step, and nothing sound is blamed."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from claude_mem import __version__
from claude_mem.cli.doctor import is_wrong, judge, why_not, why_unobserved
from claude_mem.cli.doctor.checks import Finding
from claude_mem.cli.doctor.directory_facts import DataDirectory, Disk
from claude_mem.cli.doctor.facts import (
    Configuration,
    Connected,
    Facts,
    Interpreter,
    ObserverFacts,
    RecallFacts,
    SpoolFacts,
    Unknown,
    WorkerFacts,
)
from claude_mem.model.jobs import QueueFigures
from claude_mem.model.structs import replace
from claude_mem.settings import SettingWarning
from claude_mem.store.values import SpentToday, Survey

NOW = 1_800_000_000.0
EMPTY_SPOOL = SpoolFacts(0, 0, 100, 1 << 20)
NO_DATABASE = Survey(Path("/data/claude-mem.db"))


def ago(seconds: float) -> int:
    return int((NOW - seconds) * 1000)


SOUND = Facts(
    now=NOW,
    interpreter=Interpreter("/opt/python", "3.11.7", "3.40.1", 9.0),
    directory=DataDirectory("/data", exists=True, owner=1000, me=1000, filesystem="ext4"),
    configuration=Configuration(),
    worker=WorkerFacts("running", 7, 37777, __version__, 37777, observer="claude"),
    spool=SpoolFacts(0, 0, 100, 1 << 20, newest_age_s=4.0),
    database=replace(
        NO_DATABASE,
        exists=True,
        bytes=4096,
        schema=3,
        known_schema=3,
        checked=True,
        figures=QueueFigures(done=9),
        last_event_at=ago(5),
        last_observation_at=ago(200),
        spent_today=SpentToday(1_200, 0.05),
        backups=1,
        newest_backup_at=ago(60),
    ),
    observing=ObserverFacts("claude", "Claude Code is installed and logged in", None, 2_000_000, 2.0),
    recall=RecallFacts(
        from_worker=True, unindexed=0, vectors="on", unembedded=0, context="/data/context", injected=2
    ),
    drops={"disk_full": 0, "late": 0},
    disk=Disk(free=1 << 40, total=1 << 41),
)


def changed(part: str, **differences: Any) -> Facts:
    return replace(SOUND, **{part: replace(getattr(SOUND, part), **differences)})


def of(facts: Facts, check: str) -> Finding:
    """The worst finding of a check."""
    found = [finding for finding in judge(facts) if finding.check == check]
    return max(found, key=lambda finding: ("ok", "warn", "bad").index(finding.level))


def test_a_sound_machine_is_recording_and_nothing_about_it_is_blamed() -> None:
    findings = judge(SOUND)
    assert why_not(findings) is None
    assert why_unobserved(findings) is None
    assert {finding.level for finding in findings} == {"ok"}
    assert not is_wrong(findings)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (changed("directory", is_directory=False), "/data is not a directory"),
        (
            changed("directory", exists=False, obstacle="cannot be made: / is full"),
            "/data cannot be made: / is full",
        ),
        (changed("directory", owner=0), "/data belongs to another user"),
        (changed("directory", writable=False), "/data is not writable"),
        (changed("configuration", off="CLAUDE_MEM_OFF"), "CLAUDE_MEM_OFF is set in this shell"),
        (changed("spool", files=100), "the spool is full and no worker is draining it"),
        (changed("spool", bytes=1 << 20), "the spool is full and no worker is draining it"),
        (changed("disk", free=0), "the disk is full"),
        (
            replace(SOUND, spool=EMPTY_SPOOL, database=NO_DATABASE, connected=Connected(())),
            "no coding agent is connected",
        ),
    ],
)
def test_what_stops_recording_is_the_reason_given_and_comes_with_a_next_step(
    facts: Facts, reason: str
) -> None:
    findings = judge(facts)
    assert why_not(findings) == reason
    assert is_wrong(findings)
    assert all(finding.next for finding in findings if finding.level == "bad")


def test_a_broken_thing_is_a_better_reason_than_that_nothing_ever_came() -> None:
    fresh = replace(SOUND, spool=EMPTY_SPOOL, database=NO_DATABASE, disk=Disk(0, 1))
    assert why_not(judge(fresh)) == "the disk is full"


@pytest.mark.parametrize(
    ("facts", "check", "level", "word"),
    [
        (changed("interpreter", start_ms=400.0), "interpreter", "warn", "400 ms"),
        (changed("interpreter", path="/home/u/.pyenv/shims/python3"), "interpreter", "warn", "shims"),
        (replace(SOUND, interpreter=Unknown("gone")), "interpreter", "warn", "gone"),
        (changed("directory", exists=False), "directory", "ok", "not exist yet"),
        (changed("directory", foreign=("token",)), "directory", "bad", "token"),
        (
            changed("directory", open_to_others=("token",), open_count=1),
            "directory",
            "bad",
            "read by others: token",
        ),
        (changed("directory", filesystem="nfs4"), "directory", "warn", "nfs4"),
        (
            changed("configuration", warnings=(SettingWarning("bad", "X", "X is 'y'; allowed: z."),)),
            "settings",
            "warn",
            "X is 'y'",
        ),
        (changed("worker", state="stopped"), "worker", "warn", "next hook starts it"),
        (changed("worker", state="hung"), "worker", "bad", "not responding"),
        (changed("worker", version="0.9"), "worker", "warn", "0.9"),
        (changed("worker", trouble="The disk is full."), "worker", "bad", "The disk is full."),
        (changed("worker", mishaps=2), "mishaps", "warn", "2 failures"),
        (changed("worker", hung_queries=3), "asks", "warn", "3 hook requests"),
        (changed("worker", hook_socket_problem="refused"), "socket", "bad", "refused"),
        (changed("worker", port=37778), "port", "warn", "37778"),
        (changed("worker", port=None), "port", "warn", "no free port"),
        (changed("spool", files=3, oldest_age_s=600.0), "spool", "warn", "10 min"),
        (changed("spool", aside=2), "set aside", "warn", "2 files"),
        (changed("database", problem="It is damaged."), "database", "bad", "damaged"),
        (changed("database", schema=2, figures=None), "database", "warn", "schema 2"),
        (changed("database", figures=QueueFigures(parked=4)), "parked", "warn", "4 events"),
        (changed("database", figures=QueueFigures(parked=4, fallback=4)), "unreadable", "warn", "4 events"),
        (changed("observing", lacks="Claude Code is not logged in."), "observer", "warn", "not logged in"),
        (SOUND, "observer", "ok", "claude: Claude Code is installed and logged in"),
        (changed("observing", provider="openai", why="OPENAI_API_KEY is set"), "observer", "warn", "openai"),
        (replace(SOUND, observing=Unknown("gone")), "observer", "warn", "gone"),
        (changed("worker", paused="Log in with /login."), "paused", "bad", "Log in with /login."),
        (changed("observing", mode_problem="law.toml: types is 3"), "mode", "warn", "law.toml"),
        (SOUND, "budget", "ok", "1,200 of 2,000,000 tokens and $0.05 of $2.00 spent today"),
        (changed("observing", daily_tokens=0), "budget", "ok", "1,200 tokens and $0.05 of $2.00 spent today"),
        (
            changed("database", spent_today=SpentToday(2_000_000, 0.05)),
            "budget",
            "warn",
            "2,000,000 of 2,000,000",
        ),
        (changed("database", spent_today=SpentToday(1_200, 2.5)), "budget", "warn", "$2.50 of $2.00"),
        (
            changed("worker", spent_up="This session's budget is spent: 9 of 9 tokens."),
            "budget",
            "warn",
            "This session's budget is spent: 9 of 9 tokens. The offline observer took over",
        ),
        (SOUND, "observed", "ok", "3 min ago"),
        (changed("database", last_observation_at=None), "observed", "ok", "nothing yet"),
        (SOUND, "index", "ok", "up to date"),
        (changed("recall", unindexed=7, unindexed_before=9), "index", "ok", "7 rows not indexed"),
        (changed("recall", unindexed=9, unindexed_before=9), "index", "warn", "not catching up"),
        (changed("recall", unindexed=12, unindexed_before=9), "index", "warn", "12 rows not indexed"),
        (changed("recall", unindexed=9, from_worker=False), "index", "ok", "when it runs"),
        (SOUND, "vectors", "ok", "in the database"),
        (changed("recall", configured="off", vectors="off"), "vectors", "ok", "off (CLAUDE_MEM_VECTORS)"),
        (changed("recall", vectors="off"), "vectors", "warn", "builtin"),
        (changed("recall", unembedded=1), "vectors", "ok", "1 memory without"),
        (changed("recall", pgvector="0.8.6"), "vectors", "ok", "pgvector: 0.8.6"),
        (
            changed("recall", vectors="unavailable", trouble="X failed."),
            "vectors",
            "warn",
            "X failed.",
        ),
        (changed("recall", has_model=False), "vectors", "warn", "wordllama"),
        (
            changed("recall", configured="chroma", has_chroma=False),
            "vectors",
            "warn",
            "chromadb is not installed",
        ),
        (changed("recall", configured="chroma"), "vectors", "ok", "by Chroma, in chroma/"),
        (
            changed("recall", configured="chroma", chroma_url="http://c:1"),
            "vectors",
            "ok",
            "by Chroma, at http://c:1",
        ),
        (SOUND, "context", "ok", "pre-rendered"),
        (
            changed("recall", context_exists=False, context_writable=False),
            "context",
            "ok",
            "not pre-rendered yet",
        ),
        (changed("recall", context_writable=False), "context", "bad", "/data/context is not writable"),
        (SOUND, "injected", "ok", "2 times"),
        (changed("recall", injected=0), "injected", "ok", "nothing yet"),
        (replace(SOUND, recall=Unknown("gone")), "recall", "warn", "gone"),
        (changed("database", newest_backup_at=ago(9e6)), "backups", "warn", "days ago"),
        (changed("database", newest_backup_at=None), "backups", "ok", "none yet"),
        (changed("disk", free=100 << 20), "disk", "warn", "100.0 MiB free"),
        (replace(SOUND, drops={"late": 3, "disk_full": 1}), "drops", "warn", "4 events lost"),
    ],
)
def test_each_fault_is_found_and_named(facts: Facts, check: str, level: str, word: str) -> None:
    finding = of(facts, check)
    assert finding.level == level
    assert word in finding.says


def test_a_worker_that_hangs_does_not_stop_recording_because_events_are_spooled() -> None:
    assert why_not(judge(changed("worker", state="hung"))) is None


def test_a_worker_that_is_still_opening_its_database_is_no_reason_to_worry() -> None:
    (worker,) = [
        finding for finding in judge(changed("worker", state="starting")) if finding.check == "worker"
    ]
    assert worker.level == "ok"
    assert "is starting" in worker.says


def test_what_cannot_be_found_out_is_said_so_and_stops_nothing() -> None:
    nothing: Any = Unknown("no answer in time")
    findings = judge(Facts(**{name: nothing for name in Facts.__struct_fields__ if name != "now"}))
    assert why_not(findings) is None
    assert why_unobserved(findings) is None
    assert {finding.level for finding in findings} == {"warn"}
    assert "team" in {finding.check for finding in findings}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (changed("worker", paused="Log in with /login."), "Log in with /login"),
        (changed("worker", state="stopped", observer=None), "the worker is not running"),
        (
            changed("worker", state="stopped", observer=None, start_problem="the lock is a folder"),
            "the worker did not start: the lock is a folder",
        ),
        (
            replace(
                changed("worker", state="stopped", observer=None),
                observing=ObserverFacts("claude", "chosen", lacks="Claude Code is not logged in."),
            ),
            "Claude Code is not logged in",
        ),
        (changed("worker", state="hung", observer=None), "the worker is not responding"),
        (changed("database", problem="It is damaged."), "the database cannot be used"),
    ],
)
def test_what_keeps_events_from_becoming_memory_is_the_reason_given_and_stops_no_recording(
    facts: Facts, reason: str
) -> None:
    findings = judge(facts)
    assert why_unobserved(findings) == reason
    assert why_not(findings) is None
    assert all(finding.next for finding in findings if finding.hinders)


def test_a_queue_beyond_the_settings_is_wrong_with_or_without_a_worker() -> None:
    alert = "2,001 events are waiting: more than 2,000 events (CLAUDE_MEM_QUEUE_ALERT_EVENTS)."
    assert of(SOUND, "queue").level == "ok"
    found = of(changed("worker", queue_alert=alert), "queue")
    assert (found.level, found.says) == ("bad", alert.rstrip("."))
    limits = Configuration(alert_events=10, alert_minutes=60)
    stopped = replace(changed("worker", state="stopped"), configuration=limits)

    def level(**figures: int) -> str:
        counted = changed("database", figures=QueueFigures(**figures)).database
        return of(replace(stopped, database=counted), "queue").level

    assert level(ready=10, oldest_ready_at=ago(3_600)) == "ok"
    assert level(ready=11, oldest_ready_at=ago(1)) == "bad"
    assert level(ready=1, oldest_ready_at=ago(3_661)) == "bad"


def test_parked_events_lead_to_the_queue() -> None:
    assert of(changed("database", figures=QueueFigures(parked=4)), "parked").next == "claude-mem queue list"


def test_a_spent_budget_hinders_nobody_because_the_offline_observer_takes_over() -> None:
    assert why_unobserved(judge(changed("database", spent_today=SpentToday(1_200, 2.5)))) is None


def test_who_asks_no_model_is_told_nothing_of_a_budget() -> None:
    offline = replace(changed("worker", observer="offline"), observing=ObserverFacts("offline", "no model"))
    assert "budget" not in {finding.check for finding in judge(offline)}


def test_vectors_that_are_missing_hinder_nobody_and_come_with_a_next_step() -> None:
    for differences in (
        {"has_model": False},
        {"configured": "chroma", "has_chroma": False},
        {"vectors": "unavailable", "trouble": "Chroma did not answer within 10 seconds."},
    ):
        facts = changed("recall", **differences)
        assert of(facts, "vectors").next
        assert "full text only" in of(facts, "vectors").says
        assert not is_wrong(judge(facts))
        assert why_unobserved(judge(facts)) is None


def test_a_chroma_server_out_of_reach_is_named_by_its_address() -> None:
    down = changed(
        "recall",
        configured="chroma",
        chroma_url="http://c:1",
        vectors="unavailable",
        trouble="Chroma failed.",
    )
    assert "http://c:1" in str(of(down, "vectors").next)
    inside = changed("recall", configured="chroma", vectors="unavailable", trouble="Chroma failed.")
    assert "CLAUDE_MEM_VECTORS=builtin" in str(of(inside, "vectors").next)


def test_without_a_database_nothing_is_said_of_an_index() -> None:
    checks = {finding.check for finding in judge(changed("recall", unindexed=None, injected=None))}
    assert not checks & {"index", "injected"}


def test_before_the_first_session_nothing_is_wrong_with_a_connected_client() -> None:
    findings = judge(replace(SOUND, spool=EMPTY_SPOOL, database=NO_DATABASE))
    assert why_not(findings) is None
    assert findings[0].next


def test_scripts_find_the_facts_under_the_names_they_know() -> None:
    assert {"wanted_port", "hung_asks"} <= set(to_builtins(WorkerFacts("running")))
    assert "wanted" in to_builtins(RecallFacts())
