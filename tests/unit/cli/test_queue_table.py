"""The queue as a table: what, how old, why; nothing wider than a screen."""

from typing import Any

from claude_mem.cli.queue import table

NOW = 1_760_000_000.0


def job(**differences: Any) -> dict[str, Any]:
    return {
        "id": 41,
        "kind": "tool_use",
        "claudeSessionId": "5694c0de-0000-4000-8000-000000000001",
        "toolName": "Bash",
        "at": (NOW - 7_300) * 1000,
        "attempts": 3,
        "reason": "no XML",
    } | differences


def test_a_row_says_which_event_where_when_how_often_and_why() -> None:
    jobs = [job(), job(id=1234, toolName=None, kind="subagent_stop", reason=None)]
    assert table(jobs, NOW).splitlines() == [
        "  id  session   what          age      tries  reason",
        "  41  5694c0de  Bash          2 h          3  no XML",
        "1234  5694c0de  subagent st…  2 h          3",
    ]


def test_a_row_is_never_wider_than_80_columns() -> None:
    wide = job(id=10**9, toolName="mcp__tracker__" + "x" * 60, reason="because " * 40)
    assert max(map(len, table([wide], NOW).splitlines())) <= 80
