"""Secrets given to a real hook, in a prompt, a command and a tool's output, are not in the data directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness import hook_process, payloads
from tests.harness.secret_corpus.cases import Case, secret_cases

MOST_LEFT = 0.05


def one_of_each_group() -> list[Case]:
    cases = {case.group: case for case in secret_cases(rounds=1) if not case.held_out}
    return list(cases.values())


def left_on_disk(data: Path, cases: list[Case]) -> list[Case]:
    """The cases of which something is in the spool. Each is three events."""
    left: list[Case] = []
    for number, case in enumerate(cases):
        known = set(data.rglob("*"))
        for payload in (
            payloads.bash(f"toolu_{number}", stdout=case.text),
            payloads.bash(f"toolu_c{number}", command=case.text),
            payloads.prompt(case.text, prompt_id=f"p-{number}"),
        ):
            assert hook_process.run(data, payload).code == 0
        files = [file for file in data.rglob("*") if file.is_file() and file not in known]
        if any(case.leaks(file.read_text(errors="replace")) for file in files):
            left.append(case)
    return left


def test_a_secret_of_every_group_does_not_reach_the_disk(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with hook_process.starting_no_worker(data):
        assert [case.text for case in left_on_disk(data, one_of_each_group())] == []


@pytest.mark.prove
def test_nearly_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    data = tmp_path / "data"
    cases = secret_cases(rounds=1)[::6]
    with hook_process.starting_no_worker(data):
        assert len(left_on_disk(data, cases)) <= MOST_LEFT * len(cases)
