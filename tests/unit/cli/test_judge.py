"""Facts become findings: every fault is named, with the next step, and nothing sound is blamed."""

from dataclasses import replace
from typing import Any

import pytest

from claude_mem.cli.doctor.facts import (
    Configuration,
    Database,
    Directory,
    Disk,
    Facts,
    Interpreter,
    Queue,
    Spool,
    Unknown,
    Worker,
)
from claude_mem.cli.doctor.judge import Finding, is_wrong, judge, why_not

SOUND = Facts(
    interpreter=Interpreter("/opt/python", "3.11.7", "3.40.1", 9.0),
    directory=Directory("/data", exists=True, owner=1000, me=1000, filesystem="ext4"),
    configuration=Configuration(),
    worker=Worker("running", 7, 37777, "1.0", "1.0", 37777, True),
    spool=Spool(0, 0, 100, 1 << 20, newest_age_s=4.0),
    database=Database(
        exists=True,
        bytes=4096,
        schema=3,
        known_schema=3,
        checked=True,
        figures=Queue(done=9),
        last_event_age_s=5.0,
        backups=1,
        newest_backup_age_s=60.0,
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
    assert {finding.level for finding in findings} == {"ok"}
    assert not is_wrong(findings)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (changed("directory", is_directory=False), "/data is not a directory"),
        (changed("directory", owner=0), "/data belongs to another user"),
        (changed("directory", writable=False), "/data cannot be written"),
        (changed("configuration", off="CLAUDE_MEM_OFF"), "CLAUDE_MEM_OFF is set in this shell"),
        (changed("spool", files=100), "the spool is full and no worker drains it"),
        (changed("spool", bytes=1 << 20), "the spool is full and no worker drains it"),
        (changed("disk", free=0), "the disk is full"),
        (
            replace(SOUND, spool=Spool(0, 0, 100, 1 << 20), database=Database()),
            "no hook has reported anything yet",
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
    fresh = replace(SOUND, spool=Spool(0, 0, 100, 1 << 20), database=Database(), disk=Disk(0, 1))
    assert why_not(judge(fresh)) == "the disk is full"


@pytest.mark.parametrize(
    ("facts", "check", "level", "word"),
    [
        (changed("interpreter", start_ms=400.0), "interpreter", "warn", "400 ms"),
        (changed("interpreter", path="/home/u/.pyenv/shims/python3"), "interpreter", "warn", "shims"),
        (changed("interpreter", start_ms=Unknown("gone")), "interpreter", "warn", "gone"),
        (changed("directory", exists=False), "directory", "ok", "not there yet"),
        (changed("directory", foreign=("token",)), "directory", "bad", "token"),
        (
            changed("directory", open_to_others=("token",), open_count=1),
            "directory",
            "bad",
            "read by others: token",
        ),
        (changed("directory", filesystem="nfs4"), "directory", "warn", "nfs4"),
        (changed("configuration", problem="X is 'y'; allowed: z."), "settings", "bad", "X is 'y'"),
        (changed("worker", state="stopped"), "worker", "warn", "next hook starts it"),
        (changed("worker", state="hung"), "worker", "bad", "does not answer"),
        (changed("worker", version="0.9"), "worker", "warn", "0.9"),
        (changed("worker", trouble="The disk is full."), "worker", "bad", "The disk is full."),
        (changed("worker", mishaps=2), "mishaps", "warn", "2 failures"),
        (changed("worker", hook_socket_answers=False), "socket", "bad", "nobody answers"),
        (changed("worker", hook_socket_answers=Unknown("refused")), "socket", "bad", "refused"),
        (changed("worker", port=37778), "port", "warn", "37778"),
        (changed("worker", port=None), "port", "warn", "no port"),
        (changed("spool", files=3, oldest_age_s=600.0), "spool", "warn", "10 min"),
        (changed("spool", aside=2), "set aside", "warn", "2 files"),
        (changed("database", problem="It is damaged."), "database", "bad", "damaged"),
        (changed("database", schema=2, figures=None), "database", "warn", "schema 2"),
        (changed("database", figures=Queue(parked=4)), "parked", "warn", "4 events"),
        (changed("database", newest_backup_age_s=9e6), "backups", "warn", "days ago"),
        (changed("database", newest_backup_age_s=None), "backups", "ok", "none yet"),
        (changed("disk", free=100 << 20), "disk", "warn", "100.0 MiB free"),
        (replace(SOUND, drops={"late": 3, "disk_full": 1}), "drops", "warn", "4 events could not be kept"),
    ],
)
def test_each_fault_is_found_and_named(facts: Facts, check: str, level: str, word: str) -> None:
    finding = of(facts, check)
    assert finding.level == level
    assert word in finding.says


def test_a_worker_that_hangs_does_not_stop_recording_because_events_are_spooled() -> None:
    assert why_not(judge(changed("worker", state="hung"))) is None


def test_what_cannot_be_found_out_is_said_so_and_stops_nothing() -> None:
    nothing = Unknown("no answer in time")
    findings = judge(Facts(nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing))
    assert why_not(findings) is None
    assert {finding.level for finding in findings} == {"warn"}
