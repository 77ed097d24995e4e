"""Row 26: nothing outside the data directory is read or written, whatever names and links are planted."""

import contextlib
import json
import threading
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads, workers

from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import control

NAMES = ["../../escape", "/etc/passwd", "a/../../b", "..", ".", "x\x00y", "x" * 5000, "\ud800", "a\nb"]


def outside(data: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in data.parent.rglob("*")
        if path.is_file() and not path.is_symlink() and data not in path.parents
    }


def test_no_id_a_stranger_chooses_leads_out_of_the_data_directory(
    data: Path, subtests: pytest.Subtests
) -> None:
    witness = data.parent / "witness.txt"
    witness.write_text("untouched")
    before = outside(data)
    with workers.running(data):
        for name in NAMES:
            with subtests.test(name[:20].encode("ascii", "backslashreplace").decode()):
                prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "<private>x</private>"}
                call = {"hook_event_name": "PostToolUse", "tool_name": name, "tool_use_id": name, "cwd": name}
                for event in (prompt, call):
                    assert hook_process.run(data, json.dumps({"session_id": name} | event).encode()).code == 0
                workers.drained(data)
                escaped = json.dumps(name)[1:-1].replace("/", "%2F").replace("\\", "%5C")
                assert control.request(data, "GET", f"/sessions/{escaped}/status"[:2000])[0] < 500
                assert outside(data) == before
    assert outside(data) == before


@pytest.mark.parametrize(
    "where",
    [
        *("drops", "spool/.ledger", "token"),
        *(
            pytest.param(where, marks=pytest.mark.prove)
            for where in ("notice", "start.stamp", "worker.lock", "private/s1")
        ),
    ],
)
def test_a_link_planted_where_we_write_is_not_followed(data: Path, where: str) -> None:
    victim = data.parent / "victim"
    victim.write_text("untouched")
    for folder in ("", "spool", "private"):
        (data / folder).mkdir(mode=0o700, exist_ok=True)
    (data / where).symlink_to(victim)
    try:
        hook_process.run(
            data, json.dumps({"session_id": "s1", "prompt": "<private>x</private>"}).encode(), "new"
        )
        hook_process.run(data, payloads.start())
        hook_process.run(data, b"garbage")
        with contextlib.suppress(ClaudeMemError):
            control.start(data)
    finally:
        workers.finish(data)
    assert victim.read_text() == "untouched"


def test_a_marker_swapped_for_a_link_again_and_again_changes_nothing_outside(data: Path) -> None:
    precious = data.parent / "precious"
    precious.write_text("keep me")
    data.mkdir(mode=0o700)
    (data / "private").mkdir(mode=0o700)
    enough = threading.Event()

    def swap() -> None:
        marker = data / "private" / "s1"
        while not enough.is_set():
            with contextlib.suppress(FileExistsError):  # a hook was quicker
                marker.unlink(missing_ok=True)
                marker.symlink_to(precious)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        with hook_process.listening(data):
            for n in range(20):
                prompt = {"session_id": "s1", "prompt": "<private>x</private>", "prompt_id": f"p{n}"}
                assert hook_process.run(data, json.dumps(prompt).encode(), "new").code == 0
    finally:
        enough.set()
        swapping.join()
    assert precious.read_text() == "keep me"
