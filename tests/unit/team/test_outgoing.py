"""What of a memory leaves a machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from claude_mem.model.records import content_key_of, name_of
from claude_mem.model.sharing import OutboxItem
from claude_mem.team.outgoing import pack, unique_session

NOON = 1_760_000_000_000
OBSERVATION = {
    "kind": "observation",
    "session_id": "s1",
    "type": "bugfix",
    "title": "The lease is renewed",
    "at": NOON,
}


def item(id: int = 1) -> OutboxItem:
    return OutboxItem("observation", id, 1, 1, "", NOON)


def sent(**more: object) -> dict[str, Any]:
    parcel = pack([], [(item(), {**OBSERVATION, **more})], dict, machine="ada/laptop")
    record: dict[str, Any] = json.loads(parcel.body(parcel.items))
    return record


def test_paths_of_the_machine_and_references_to_raw_events_stay() -> None:
    left = sent(cwd="/home/ada", root="/home/ada", transcript_path="/t", tool_use_ids=["toolu_1"])
    assert left == OBSERVATION


def test_what_repeats_a_prompt_stays_where_prompts_stay_and_what_was_understood_goes() -> None:
    asked = "Please fix the login on the staging server, it has failed since Monday"
    left = sent(asked=asked, subtitle="fix the login on staging", narrative="The lease was too short.")
    assert "subtitle" not in left
    assert left["narrative"] == "The lease was too short."
    assert sent(asked=asked, subtitle="Renewed at half of its life")["subtitle"]
    assert sent(subtitle="fix the login on staging")["subtitle"]  # prompts are shared


def test_a_name_is_made_of_what_is_sent_not_of_what_is_stored() -> None:
    def scrub(record: Any) -> Any:
        return {**record, "title": record["title"].replace("lease", "[redacted]")}

    parcel = pack([], [(item(), OBSERVATION)], scrub, machine="ada/laptop")
    scrubbed = scrub(OBSERVATION)
    assert parcel.items[0].name == name_of("s1", NOON, content_key_of(scrubbed))


def test_what_is_not_fit_is_left_out_with_its_reason_and_the_others_go() -> None:
    def fit(record: Any) -> Any:
        if record["title"] == "bad":
            raise ValueError("too long")
        return record

    parcel = pack([], [(item(1), {**OBSERVATION, "title": "bad"}), (item(2), OBSERVATION)], fit, machine="m")
    assert [each.item.id for each in parcel.items] == [2]
    assert list(parcel.unfit.values()) == ["too long"]


def test_as_much_goes_as_there_is_room_for_and_at_least_one() -> None:
    long = [(item(number), {**OBSERVATION, "narrative": "x" * 1_000}) for number in range(5)]
    assert len(pack([], long, dict, machine="m", most=2_600).items) == 2
    assert len(pack([], long, dict, machine="m", most=1).items) == 1


def test_lists_are_cut_to_what_the_server_takes() -> None:
    left = sent(files_modified=[f"src/{number}.py" for number in range(500)], facts=["x" * 9_000])
    assert len(left["files_modified"]) == 200
    assert len(left["facts"][0]) == 2_000


@pytest.mark.parametrize(
    ("session", "is_made"),
    [
        ("user-0123456789ab", True),
        ("memory-notes-0123456789abcdef", True),
        ("5694c0de-0000-4000-8000-000000000001", False),
        ("codex:5694c0de-0000-4000-8000-000000000001", False),
    ],
)
def test_only_sessions_that_every_machine_calls_the_same_are_renamed(session: str, is_made: bool) -> None:
    assert (unique_session(session, "ada/laptop") != session) is is_made
