"""The demo: it shows the truth, and leaves nothing behind, however it ends."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.harness import workers
from tests.harness.commands import command
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer

from claude_mem.cli import demo
from claude_mem.serve import control

DEADLINE_S = 120
COMMAND = command("demo")


def surroundings(root: Path) -> dict[str, str]:
    """Everything the demo makes is made in here; a home it must not touch is beside it."""
    (root / "tmp").mkdir()
    (root / "home").mkdir()
    rest = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE")}
    return rest | {"TMPDIR": str(root / "tmp"), "HOME": str(root / "home")}


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    yield surroundings(tmp_path)
    for data_dir in (tmp_path / "tmp").glob("*/data"):
        workers.finish(data_dir)


@dataclass(frozen=True)
class Shown:
    said: subprocess.CompletedProcess[str]
    left: list[Path]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What it says, and what it leaves behind, to somebody whose memory is switched off and elsewhere, and
    who has models to ask."""
    root = tmp_path_factory.mktemp("demo")
    env = surroundings(root) | {"CLAUDE_MEM_OFF": "1", "CLAUDE_MEM_DATA_DIR": "/nowhere"}
    with ModelServer([Say("")]) as server:
        keys = {"ANTHROPIC_API_KEY": "key", "OPENAI_API_KEY": "key"}
        said = run(env | workers.asking(server.url) | keys)
        assert server.requests == []
    return Shown(said, [*(root / "tmp").iterdir(), *(root / "home").iterdir()])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return json.loads(run(surroundings(tmp_path_factory.mktemp("demo")), "--json", code=0).stdout)


def run(env: dict[str, str], *args: str, code: int | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*COMMAND, *args], env=env, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert code is None or done.returncode == code, done
    return done


def test_the_recorded_session_holds_what_the_demo_says_it_hides() -> None:
    recorded = b"\n".join(demo.recorded()).decode()
    assert demo.FILE in recorded
    for text in (*demo.HIDDEN.values(), demo.PUBLIC):
        assert text in recorded
    assert set(demo.INSTEAD) <= set(demo.HIDDEN)


def test_the_recorded_payloads_have_the_clients_shape() -> None:
    for line in (*demo.recorded(), *demo.recorded("next.jsonl")):
        assert line.startswith(b'{"session_id":"')
        payload = json.loads(line)
        assert {"session_id", "transcript_path", "cwd", "hook_event_name"} <= set(payload)


def test_the_demo_shows_what_became_of_the_session_in_80_columns_and_leaves_nothing(shown: Shown) -> None:
    said = shown.said
    assert (said.returncode, said.stderr) == (0, "")
    assert "parcel: completed, 4 prompts (1 private), 2 observations" in said.stdout
    assert said.stdout.count("not found") == len(demo.HIDDEN)
    assert len(said.stdout.splitlines()) <= 130
    assert max(map(len, said.stdout.splitlines())) <= 80
    assert not any(text in said.stdout for text in demo.HIDDEN.values())
    assert shown.left == []


def test_the_demo_ends_with_what_the_next_session_is_told_a_search_and_a_files_history(shown: Shown) -> None:
    told, _, rest = shown.said.stdout.partition("Injected into the next session")[2].partition("Search it: ")
    found, _, history = rest.partition("Show a file's history")
    assert "<claude-mem-context>\n  Memory of parcel" in told
    assert "Does the mail job still find its settings" in told  # what the last session was about
    assert demo.QUERY in found
    assert "decimal comma" in found
    assert demo.FILE in history
    assert "decimal comma" in history


def test_the_demo_recalls_as_data_what_hook_and_worker_said(report: Any) -> None:
    assert report["context"].startswith("<claude-mem-context>\n")
    assert report["context"].endswith("</claude-mem-context>")
    assert "parse_weight" in report["context"]
    assert "decimal comma" in report["reminder"]
    assert {"ref", "kind", "session_id", "project", "score"} <= set(report["results"][0])
    assert all(demo.FILE in result["files"] for result in report["history"])
    assert report["found"][demo.PUBLIC]
    assert not any(report["found"][text] for text in demo.HIDDEN.values())


def test_the_demo_tells_the_same_as_data(report: Any) -> None:
    assert len(report["hooks"]) == len(demo.recorded())
    assert all(hook["code"] == 0 for hook in report["hooks"])
    session = report["session"]
    assert {observation["provider"] for observation in session["observations"]} == {"offline"}
    assert [summary["prompt_number"] for summary in session["summaries"]] == [
        1,
        2,
        4,
    ]  # 3 was private
    assert [prompt["prompt_number"] for prompt in session["prompts"]] == [1, 2, 4]


@pytest.mark.prove
def test_kept_on_request_the_directory_has_a_running_worker_and_says_how_to_end_it(
    env: dict[str, str], tmp_path: Path
) -> None:
    said = run(env, "--keep")
    (data_dir,) = (tmp_path / "tmp").glob("*/data")
    assert control.status(data_dir).state == "running"
    assert f"export CLAUDE_MEM_DATA_DIR={data_dir}" in said.stdout
    assert f"rm -r {data_dir.parent}" in said.stdout


@pytest.mark.parametrize(
    ("number", "code", "when"),
    [
        (signal.SIGINT, 130, "the worker answers"),
        *(
            pytest.param(*case, marks=pytest.mark.prove)
            for case in (
                (signal.SIGINT, 130, "the first hook ran"),
                (signal.SIGTERM, 143, "the first hook ran"),
                (signal.SIGTERM, 143, "the worker answers"),
                (signal.SIGHUP, 129, "the first hook ran"),
                (signal.SIGHUP, 129, "the worker answers"),
            )
        ),
    ],
)
def test_a_demo_that_is_interrupted_leaves_nothing_behind(
    env: dict[str, str], tmp_path: Path, number: signal.Signals, code: int, when: str
) -> None:
    def reached() -> bool:
        for data_dir in (tmp_path / "tmp").glob("*/data"):
            if when == "the first hook ran":
                return (data_dir / "start.stamp").exists()
            return control.status(data_dir).state == "running"
        return False

    with subprocess.Popen(COMMAND, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as demo:
        workers.until(reached, when)
        demo.send_signal(number)
        _, said = demo.communicate(timeout=DEADLINE_S)
    assert (demo.returncode, said) == (code, b"")
    assert list((tmp_path / "tmp").iterdir()) == []
    # The lock is free a moment before its holder's process has ended.
    workers.until(lambda: workers_of(tmp_path) == [], "no process is left")


def workers_of(folder: Path) -> list[str]:
    """Processes of anybody's whose environment names a data directory in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
