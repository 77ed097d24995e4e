"""A journal is for people: what memory holds, readable, and whatever it holds only text."""

from __future__ import annotations

import re
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.store_contract import HOUR, NOON
from tests.contracts.transfer_contract import HEAD, PROJECT, SESSION, made

from claude_mem.model.memory import Observation, content_key
from claude_mem.model.records import FOREIGN, name_of
from claude_mem.recall.journal import journal

HOSTILE = {
    "html": "<script>alert(1)</script> <img src=x onerror=alert(1)>",
    "a picture": "![x](https://evil.example/p.png)",
    "a link": "[click](https://evil.example)",
    "lines of its own": "one\n\n# Heading\n\n- item\n```\ncode\n```",
    "backticks": "`` <b>bold</b> `x` ``",
    "an unclosed backtick": "`a <b>bold</b>",
    "a backslash before code": "\\`<b>x</b>`",
    "controls": "a\x1b[31mb\u202ec\x00",
}


def told(*records: dict[str, Any]) -> str:
    return "\n".join(journal([HEAD, *records], UTC))


def test_a_day_reads_from_what_was_asked_to_what_is_left() -> None:
    text = told(
        PROJECT,
        SESSION | {"title": "Mend the till", "branch": "main", "updated_at": NOON + HOUR},
        made("prompt", text="mend it"),
        made("event", text="not for people"),
        made(
            "observation",
            type="bugfix",
            title="The till rounds up",
            narrative="It used `ceil`.",
            facts=["Only pence."],
            files_modified=["till.py"],
            files_read=["till.py", "README.md"],
        ),
        made("summary", request="Mend it", learned="Rounding", next_steps="- test it\n- ship it"),
    )
    assert (
        text
        == """# Journal of shop

## 2025-10-09

### Mend the till

08:53 to 09:53, branch `main`, session `theirs`

- **Asked:** Mend it
- **Learned:** Rounding
- **Next steps:**
  - test it
  - ship it

- **bugfix:** The till rounds up
  - It used `ceil`.
  - Only pence.
  - Files: `till.py`, `README.md`
"""
    )


def test_without_a_summary_it_shows_what_was_asked() -> None:
    text = told(PROJECT, SESSION, made("prompt", text="mend it"), made("prompt", number=2, private=True))
    assert "- Asked: mend it\n" in text
    assert "### mend it" in text


def test_days_and_sessions_are_in_their_order_and_empty_ones_left_out() -> None:
    late = made("session", session_id="late", title="Late", created_at=NOON + 30 * HOUR)
    empty = made("session", session_id="empty", title="Empty")
    text = told(
        PROJECT,
        late,
        SESSION | {"title": "Early"},
        empty,
        made("observation"),
        made("summary", session_id="late", learned="x"),
    )
    assert re.findall("^#.*", text, re.MULTILINE) == [
        *("# Journal of shop", "## 2025-10-09", "### Early", "## 2025-10-10", "### Late")
    ]
    assert told(PROJECT, empty) == ""


def test_where_words_come_from_and_what_was_replaced_is_said() -> None:
    older = made("observation", title="Odd ports", source="external", pinned=True)
    name = name_of("theirs", NOON, content_key(Observation("decision", "Odd ports")))
    text = told(
        PROJECT, SESSION | {"client": FOREIGN}, older, made("observation", supersedes=name, source="user")
    )
    assert "Odd ports (read, not verified; pinned; replaced by a later one)" in text
    assert "Even ports (saved by the user)" in text
    assert "imported, not trusted" in text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    said = told(
        PROJECT | {"name": text},
        SESSION | {"title": text, "branch": text},
        made("observation", title=text, narrative=f"And {text}", facts=[text], files_read=[text]),
        made("summary", request=text, learned=text),
    )
    heads = [line for line in said.splitlines() if line.startswith("#")]
    assert len(heads) == 3
    for line in said.splitlines():
        plain = re.sub("`[^`]+`", "", line)  # code shows what it holds
        assert not re.search(r"(?<!\\)[<\[\]]", plain)
        assert not re.search(r"[\x00-\x08\x1b\u202e]", line)
        assert "``" not in line


@given(st.text(alphabet="`\\<[*# \n-1.ab"))
def test_outside_code_no_bracket_is_left_bare(text: str) -> None:
    for line in told(PROJECT, SESSION, made("observation", facts=[text])).splitlines():
        plain = re.sub(r"(?<!\\)`[^`]+`", "", line.replace("\\\\", ""))
        assert not re.search(r"(?<!\\)[<\[]", plain)


@pytest.mark.parametrize("begin", ["# x", "> x", "- x", "+ x", "1. x", "12) x", "=== x", "| x"])
def test_an_item_begins_nothing_of_its_own(begin: str) -> None:
    text = told(PROJECT, SESSION, made("observation", facts=[begin]))
    (line,) = [line for line in text.splitlines() if line.endswith("x")]
    assert re.match(r"  - \d*\\", line)
