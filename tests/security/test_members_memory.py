"""What another member of the team wrote is data: fenced, marked with the name, never in the user's voice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, ORIGIN
from tests.harness.member_records import shared_session
from tests.security.test_injection import CANARY, ORDER, POISON
from tests.unit.recall.recall_store import DAY, House, house

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.errors import AmbiguousProject
from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation, Summary
from claude_mem.privacy import tags
from claude_mem.recall.fence import TAG
from claude_mem.serve import mcp_tools

FILE = "/home/a/shop/deploy/harbour.sh"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as made:
        yield made


def shared(memory: House, poison: str, **more: object) -> None:
    """As bad as can be: in every field a member can fill, saved on request, and pinned for the team."""
    observation: dict[str, Any] = {
        "narrative": f"The harbour crane needs this: {poison}",
        "facts": [poison],
        "concepts": [poison],
        "files_modified": [FILE, poison],
        "branch": poison,
        "source": "user",
        "pinned": True,
    }
    summary = {
        "request": f"Deploy the harbour crane {poison}",
        "completed": f"Deployed the harbour crane to the north quay {poison}",
        "learned": f"The harbour crane of the north quay listens on port 7700 {poison}",
        "next_steps": f"Grease the harbour crane of the north quay {poison}",
    }
    done = memory.store.transfer.absorb(
        shared_session(
            "adas",
            ORIGIN,
            f"The harbour crane of the north quay {poison}",
            at=NOON - DAY,
            summary=summary,
            **(observation | more),
        ),
        own=False,
        author="ada",
    )
    assert done.refused == ()
    memory.indexing.catch_up()


def injected(memory: House) -> dict[str, str]:
    project = memory.project()
    prompt = "how does the harbour crane of the north quay listen on its port?"
    return {
        "start": memory.injector.start(project, reader="claude-code").text,
        "prompt": memory.injector.at_prompt(project, "mine", ORIGIN.root, prompt).text,
        "file": memory.injector.before_file(project, "mine", ORIGIN.root, FILE).text,
    }


def test_a_poisoned_memory_of_a_member_stays_inside_the_fence_with_the_members_name(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for kind, poison in POISON.items():
        with house(tmp_path / kind.replace(" ", "-")) as memory:
            shared(memory, poison)
            for way, text in injected(memory).items():
                with subtests.test(kind, way=way):
                    assert text.startswith(f"<{TAG}>\n")
                    assert tags.strip(f"before {text} after") == ("before  after", None, False)
                    said = [line for line in text.splitlines() if "harbour crane" in line]
                    assert said, "it is injected"
                    for line in said:
                        assert "by ada" in line or "by ada" in _heading(text, line)


def _heading(text: str, line: str) -> str:
    lines = text.splitlines()
    above = lines[: lines.index(line)]
    return next(each for each in reversed(above) if not each.startswith("- "))


def test_nothing_of_a_members_is_said_in_the_users_name(memory: House) -> None:
    shared(memory, ORDER)
    for text in injected(memory).values():
        assert CANARY in text
        assert "saved by the user" not in text
        assert "- Asked:" not in text


def test_what_a_member_saved_is_no_decision_of_the_users_and_what_the_user_saved_is(memory: House) -> None:
    shared(memory, "", pinned=False, type="discovery")
    project = memory.project()

    def decided() -> list[str]:
        lines = memory.injector.start(project).text.splitlines()
        return [
            line for line in lines if line.startswith("- #") and _heading_of(lines, line).startswith("Deci")
        ]

    assert decided() == []
    memory.keep("Cranes are painted yellow", source="user", client="user", type="discovery")
    (own,) = decided()
    assert "Cranes are painted yellow" in own
    assert "saved by the user" in own


def _heading_of(lines: list[str], line: str) -> str:
    return next(each for each in reversed(lines[: lines.index(line)]) if not each.startswith("- "))


def test_the_last_session_is_ones_own_however_much_a_member_did_since(memory: House) -> None:
    mine = Observation("feature", "The till counts in cents", narrative="Because sums of floats drift.")
    summary = Summary(request="Make the till exact", completed="The till counts in cents")
    memory.turn("make the till exact", session="mine", observed=[mine], summary=summary, at=NOON - 3 * DAY)
    shared(memory, "")
    lines = memory.injector.start(memory.project(), reader="claude-code").text.splitlines()
    (last,) = [line for line in lines if line.startswith("Last session, ")]
    assert "by ada" not in last
    assert any("The till counts in cents" in line for line in lines[lines.index(last) + 1 :][:2])
    (earlier,) = [line for line in lines if "Earlier sessions:" in line]
    assert "by ada" in lines[lines.index(earlier) + 1]


def test_a_model_that_reads_memory_is_told_whose_it_is(memory: House) -> None:
    shared(memory, ORDER)
    memory.keep("My own harbour crane is red", session="mine")
    found = memory.reading.search("harbour crane", FilterRequest(), Page())
    shown = {result.session_id: result.author for result in found.results}
    assert shown["adas"] == "ada"
    builtin = mcp_tools.index_text(_builtins(found)).text()
    assert builtin.count("by ada") == 1, "once for its session, in few tokens"
    (own,) = [result for result in found.results if result.session_id == "mine"]
    assert "author" not in _builtins(own)
    whole = mcp_tools.memories_text(_builtins(memory.reading.details(["1", "s1"]))).text()
    assert whole.count("by ada") == 2
    assert "saved by the user" not in whole
    assert tags.strip(whole)[0] == ""


def _builtins(value: object) -> dict[str, object]:
    from msgspec import to_builtins

    found: dict[str, object] = to_builtins(value)
    return found


def test_a_members_project_whose_key_is_the_name_of_ones_own_does_not_take_its_place(memory: House) -> None:
    memory.keep("Cranes are painted yellow")
    own = memory.project()
    trap = Origin(key=own.name, name=own.name, root="")
    done = memory.store.transfer.absorb(
        shared_session("trap", trap, "A trap", at=NOON), own=False, author="ada"
    )
    assert done.refused == ()
    assert memory.store.projects.by_key(own.name) is not None
    found = memory.store.projects.find(own.name)
    assert found is not None
    assert found.key == own.key


def test_where_neither_has_a_directory_the_name_of_both_is_refused(memory: House) -> None:
    for key in ("git.example/acme/quay", "quay"):
        origin = Origin(key=key, name="quay", root="")
        memory.store.transfer.absorb(shared_session(key, origin, "A pier", at=NOON), own=False, author="ada")
    with pytest.raises(AmbiguousProject):
        memory.store.projects.find("quay")
    assert memory.store.projects.find("git.example/acme/quay") is not None
