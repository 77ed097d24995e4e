"""What others may have left in, or done to, the data directory: hooks leave with 0, at once, and write
nowhere else; the worker refuses to start on it."""

import os
import stat
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads

from claude_mem.hook import paths
from claude_mem.serve.data_dir import DataDirRefused, prepare_data_dir

EVENTS = (
    payloads.start(),
    payloads.prompt("<private>x</private>"),
    payloads.bash("toolu_1", stdout="DB_PASSWORD=hunter2hunter2"),
    payloads.stop("done"),
)


def everything(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o703])
def test_a_directory_that_all_users_may_write_is_refused_in_one_line(data: Path, mode: int) -> None:
    data.mkdir()
    data.chmod(mode)
    for event in EVENTS:
        answered = hook_process.run(data, event)
        assert (answered.code, answered.err) == (0, b"")
        said = answered.json.get("systemMessage", "")
        if event is EVENTS[0]:
            assert "chmod 700" in said
            assert len(said.splitlines()) == 1
        else:
            assert not said
    assert everything(data) == []
    with pytest.raises(DataDirRefused, match="chmod 700"):
        prepare_data_dir(data)
    assert stat.S_IMODE(data.stat().st_mode) == mode


@pytest.mark.parametrize("folder", [paths.SPOOL, paths.PRIVATE, paths.SKIPPED_SESSIONS])
def test_a_folder_that_leads_elsewhere_is_not_followed(awake: Path, tmp_path: Path, folder: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (awake / folder).symlink_to(elsewhere)
    more = {"CLAUDE_MEM_OFF": "1"} if folder == paths.SKIPPED_SESSIONS else {}
    for event in EVENTS:
        assert hook_process.run(awake, event, more=more).code == 0
    assert everything(elsewhere) == []


@pytest.mark.parametrize("folder", [paths.SPOOL, paths.PRIVATE, paths.BACKUPS, paths.LOGS])
def test_a_worker_refuses_a_folder_that_is_a_link(data: Path, tmp_path: Path, folder: str) -> None:
    data.mkdir(mode=0o700)
    (tmp_path / "elsewhere").mkdir()
    (data / folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataDirRefused, match=folder):
        prepare_data_dir(data)
    assert everything(tmp_path / "elsewhere") == []


@pytest.mark.parametrize(
    "name", [paths.SETTINGS, paths.NOTICE, paths.DROPS, paths.LEDGER, f"{paths.PRIVATE}/{payloads.SESSION}"]
)
def test_a_pipe_in_a_files_place_is_waited_for_by_no_hook(awake: Path, name: str) -> None:
    for folder in (paths.SPOOL, paths.PRIVATE):
        (awake / folder).mkdir(mode=0o700)
    os.mkfifo(awake / name)
    for event in EVENTS:
        answered, waits = hook_process.run_watched(awake, event)
        assert answered.code == 0
        assert sum(waits) < 5_000
    opened = hook_process.run(awake, EVENTS[0], wrap=["timeout", "6"])
    assert opened.code == 0, "it was still waiting"
