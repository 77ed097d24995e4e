"""Which words and files a memory is found by."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.harness.growth import LONG, Finish, many_long_runs

from claude_mem.model.refs import MemoryKind, Ref, memory_key
from claude_mem.store.relational import text_document
from claude_mem.store.relational.text_document import (
    MOST,
    MOST_FILES,
    MOST_OUTPUT,
    TextDocument,
    document_of,
    relative,
    split_path,
)

CWD = "/home/a/shop"


def made(kind: MemoryKind, /, **row: Any) -> TextDocument:
    common = {"id": 7, "session_id": 3, "project_id": 2, "cwd": CWD}
    empty: dict[MemoryKind, str] = {
        "observation": "title subtitle narrative facts concepts files_read files_modified text",
        "summary": "request investigated learned completed next_steps notes files_read files_edited",
        "prompt": "prompt",
        "evidence": "kind tool_name tool_input tool_response text",
    }
    return document_of(kind, cast(Any, dict.fromkeys(empty[kind].split()) | common | row), memory_key)


def test_an_observation_is_found_by_all_it_says_and_by_its_files() -> None:
    found = made(
        "observation",
        title="parseUser",
        narrative="why",
        facts='["fact"]',
        concepts='["idea"]',
        files_read=f'["{CWD}/src/a.py"]',
        files_modified='["src/b.py"]',
    )
    assert found.memory_key == memory_key(2, 3, Ref("observation", 7))
    assert found.title == "parseUser parse User"
    assert found.body == "why\nfact\nidea"
    assert found.files == (("src/b.py", "modified"), ("src/a.py", "read"))
    assert found.names == "src/a.py src/b.py"


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("look at src/a.py and @lib/b.ts, please", {"src/a.py", "lib/b.ts"}),
        (f"{CWD}/src/a.py: broken", {"src/a.py"}),
        ("C:\\work\\a.cs and app/[slug]/page.tsx", {"C:\\work\\a.cs", "app/[slug]/page.tsx"}),
        ("README.md, setup.cfg.", {"README.md", "setup.cfg"}),
        ("run --config=x.toml on 2.1.0", {"x.toml"}),
        ("nothing of the kind", set()),
    ],
)
def test_a_prompt_names_files(prompt: str, named: set[str]) -> None:
    assert {path for path, how in made("prompt", prompt=prompt).files if how == "named"} == named


def test_a_tools_input_and_the_head_of_its_output_are_words_and_its_path_is_a_file() -> None:
    given = f'{{"file_path": "{CWD}/src/a.py", "new_string": "zebra"}}'
    edit = made("evidence", kind="tool_use", tool_name="Edit", tool_input=given, tool_response="q" * 9_000)
    assert edit.files == (("src/a.py", "modified"),)
    assert "zebra" in edit.tool
    assert "new_string" not in edit.tool
    assert edit.tool.count("q") <= MOST_OUTPUT
    assert edit.body == edit.names == ""
    read = made("evidence", tool_name="Read", tool_input=given)
    assert read.files == (("src/a.py", "read"),)
    shell = made("evidence", tool_name="Bash", tool_input='{"command": "cat src/c.py"}')
    assert shell.files == (("src/c.py", "named"),)


@pytest.mark.parametrize(
    "given", ["", "{", '{"a": ', "[1]", '{"file_path": 3}', "{" * 100_000, '{"a": "\ud800"}']
)
def test_whatever_a_tool_was_given_is_read(given: str) -> None:
    made("evidence", tool_name="Bash", tool_input=given, tool_response=given)


def test_a_long_text_is_found_by_its_beginning_and_its_end() -> None:
    found = made("prompt", prompt=f"first {'x ' * 50_000} last")
    assert found.body.startswith("first")
    assert found.body.endswith("last")
    assert len(found.body) <= MOST + 1
    many = made("observation", files_read=str([f"f{n}.py" for n in range(500)]).replace("'", '"'))
    assert len(many.files) == MOST_FILES


def test_a_plans_first_heading_is_its_title_and_a_clients_own_text_has_none() -> None:
    assert made("prompt", prompt="Do this:\n\n# Rework the cache\n\ntext").title == "# Rework the cache"
    assert made("prompt", prompt="<command-name>x</command-name>\nmore").title == ""
    assert made("prompt", prompt="one line").title == ""


def test_a_file_is_the_same_in_every_worktree() -> None:
    assert relative("/home/a/shop/src/a.py", "/home/a/shop") == "src/a.py"
    assert relative("/home/a/shopping/a.py", "/home/a/shop") == "/home/a/shopping/a.py"
    assert relative("/home/a/shop", "/home/a/shop") == "/home/a/shop"
    assert relative("src/a.py", None) == "src/a.py"


def test_a_path_has_one_spelling() -> None:
    assert split_path("Src\\Win\\A.cs") == split_path("/src/win/a.cs/") == ("src/win", "a.cs")


@many_long_runs
def test_files_are_looked_for_in_many_thousand_characters(
    finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand long prompts must not keep the index behind for an hour."""
    monkeypatch.setattr(text_document, "MOST", LONG)  # the pattern is linear without its bound as well
    for unit in ("a", "a-", "/", "a.", "(", "\\", "a/", "-@"):
        finish(lambda text: made("prompt", prompt=text), unit)
