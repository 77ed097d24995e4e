"""How a database's growth is judged, and what gc says it frees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claude_mem.cli.commands import on_off
from claude_mem.cli.commands.maintenance import gc_text
from claude_mem.cli.commands.project_list import merge_hint
from claude_mem.cli.doctor import why_not
from claude_mem.cli.doctor.checks import judge_pause
from claude_mem.cli.doctor.directory_facts import Disk
from claude_mem.cli.doctor.facts import Facts, Unknown
from claude_mem.cli.doctor.memory_checks import judge_growth
from claude_mem.model.structs import replace
from claude_mem.serve.data_dir import PauseState
from claude_mem.store.values import DatabaseSize, Survey

MIB = 1 << 20
ROOM = DatabaseSize(100 * MIB, 3 * MIB, 0, shrinks=True)
DATABASE = Survey(Path("/data/claude-mem.db"), exists=True, bytes=100 * MIB, room=ROOM, grows=MIB / 7)
NOT_LOOKED = Unknown("not looked")
FACTS = Facts(
    interpreter=NOT_LOOKED,
    directory=NOT_LOOKED,
    configuration=NOT_LOOKED,
    worker=NOT_LOOKED,
    spool=NOT_LOOKED,
    database=DATABASE,
    observing=NOT_LOOKED,
    recall=NOT_LOOKED,
    drops=NOT_LOOKED,
    disk=Disk(free=10_000 * MIB, total=20_000 * MIB),
)


@pytest.mark.parametrize(
    ("database", "disk", "level", "says"),
    [
        ({}, 10_000, "ok", "100.0 MiB, 1.0 MiB a week, 3 % free"),
        ({"grows": None}, 10_000, "ok", "100.0 MiB, 3 % free"),
        ({"grows": -MIB / 7}, 1, "ok", "100.0 MiB, -1.0 MiB a week, 3 % free"),
        (
            {"bytes": 1000 * MIB, "room": replace(ROOM, free=500 * MIB)},
            10_000,
            "warn",
            "50 % free, more",
        ),
        ({"room": replace(ROOM, free=50 * MIB)}, 10_000, "ok", "50 % free"),
        ({"room": replace(ROOM, log=300 * MIB)}, 10_000, "warn", "its log has grown to 300.0 MiB"),
        ({}, 3, "warn", "full in 3.0 weeks"),
    ],
)
def test_growth_is_one_line_and_a_warning_where_it_cannot_keep_up(
    database: dict[str, Any], disk: int, level: str, says: str
) -> None:
    changed = replace(DATABASE, **database)
    (finding,) = judge_growth(replace(FACTS, database=changed, disk=Disk(disk * MIB, 20_000 * MIB)))
    assert (finding.check, finding.level) == ("growth", level)
    assert says in finding.says
    assert (finding.next is not None) == (level == "warn")


def test_of_a_database_that_is_not_known_nothing_is_said() -> None:
    assert list(judge_growth(replace(FACTS, database=Survey(Path("/data/claude-mem.db"))))) == []
    assert list(judge_growth(replace(FACTS, database=NOT_LOOKED))) == []


def test_gc_names_what_it_freed_and_leaves_out_what_there_was_none_of() -> None:
    told = {
        "dry_run": True,
        "items": [
            {"what": "backups", "count": 2, "bytes": 3 * MIB},
            {"what": "contexts", "count": 0, "bytes": 0},
            {"what": "free", "count": 0, "bytes": MIB},
        ],
        "bytes": 4 * MIB,
        "database": {"size": 9 * MIB, "free": MIB, "log": 0},
    }
    assert gc_text(told).splitlines() == [
        "   3.0 MiB  old backups: 2",
        "   1.0 MiB  unused space in the database",
        "4.0 MiB would be freed.",
        "Database size: 9.0 MiB, of which 1.0 MiB is unused.",
    ]
    nothing = told | {"items": [], "bytes": 0}
    assert gc_text(nothing).startswith("Nothing to delete.")


def test_a_hint_is_a_command_that_can_be_copied_whatever_the_keys_hold() -> None:
    hint = {
        "from": "/a/my shop",
        "into": "git.example/a/shop",
        "names": ["my shop", "shop"],
        "why": "x\x1b[31m",
    }
    assert merge_hint(hint) == (
        "my shop and shop may be one project: x. "
        "If so: claude-mem projects merge '/a/my shop' git.example/a/shop"
    )


SINCE = 1_800_000_000.0


def test_a_pause_of_everything_stops_recording() -> None:
    (found,) = judge_pause(PauseState(everything=SINCE, sessions=(("s-1", SINCE),)))
    assert (found.level, found.next) == ("bad", "claude-mem on")
    assert why_not([found]) == f"it has been paused since {on_off.date_of(SINCE)}"


def test_a_paused_session_is_named_and_stops_nothing_else() -> None:
    (found,) = judge_pause(PauseState(sessions=(("s-2", SINCE + 60), ("s-1", SINCE))))
    assert found.level == "ok"
    assert found.says == f"2 sessions paused; the most recent, s-2, since {on_off.date_of(SINCE + 60)}"
    assert why_not([found]) is None


def test_without_a_pause_there_is_nothing_to_say() -> None:
    assert list(judge_pause(PauseState())) == []
