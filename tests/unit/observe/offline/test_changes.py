"""Edits become one observation per change, named by what they touched."""

from __future__ import annotations

from tests.unit.observe.offline.acting import Acting

DEF = ("+def parse_user(text):", "+    return text.strip()")


def test_edits_of_one_file_are_one_observation_named_by_the_functions_touched() -> None:
    seen = (
        Acting("tidy the session code")
        .edit("src/auth.py", " def parse_user(text):", "-    return text", "+    return text.strip()")
        .edit(
            "src/auth.py", " class Session:", "     def close(self):", "-        pass", "+        self.end()"
        )
        .only()
    )
    assert seen.title == "parse_user(), close() changed in src/auth.py"
    assert seen.subtitle == "+2 −2"
    assert seen.type == "change"
    assert seen.files_modified == ("src/auth.py",)


def test_files_edited_for_one_request_belong_together() -> None:
    seen = Acting("add a parser").edit("src/auth.py", *DEF).edit("tests/test_auth.py", "+x = 1").only()
    assert seen.title == "parse_user() added in src/auth.py; test_auth.py"
    assert seen.type == "feature"
    assert set(seen.files_modified) == {"src/auth.py", "tests/test_auth.py"}
    assert "add a parser" in (seen.narrative or "")


def test_the_function_a_change_fell_in_is_known_from_what_was_read_before() -> None:
    source = "\n".join(
        ["import os", "", "def first():", *["    pass"] * 10, "def second():", *["    pass"] * 10]
    )
    seen = (
        Acting("x").read("src/a.py", source).edit("src/a.py", "-    pass", "+    return 1", start=18).only()
    )
    assert seen.title == "second() changed in src/a.py"


def test_a_new_file_is_a_feature_and_lists_what_it_defines() -> None:
    seen = (
        Acting("make a store")
        .write("src/store.go", "package store\n\nfunc (s *Store) Open() error {\n}\n")
        .only()
    )
    assert seen.title == "src/store.go created: Store.Open()"
    assert seen.subtitle == "new file, 3 lines"
    assert seen.type == "feature"


def test_a_constant_and_a_version_that_changed_are_facts_with_both_values() -> None:
    seen = (
        Acting("raise the limits")
        .edit("src/limits.py", "-TIMEOUT = 30", "+TIMEOUT = 60")
        .edit("pyproject.toml", '-httpx = "0.27.0"', '+httpx = "0.28.1"', '+rich = "13.0.0"')
        .only()
    )
    assert "TIMEOUT changed from 30 to 60 in src/limits.py" in seen.facts
    assert 'httpx changed from "0.27.0" to "0.28.1" in pyproject.toml' in seen.facts or any(
        fact.startswith("httpx changed from") for fact in seen.facts
    )
    assert any(fact.startswith("dependency added in pyproject.toml: rich") for fact in seen.facts)


def test_a_name_only_exchanged_for_another_is_a_refactoring() -> None:
    seen = (
        Acting("rename it")
        .edit("src/a.py", "-    load(user)", "+    fetch(user)", "-    load(group)", "+    fetch(group)")
        .edit("src/b.py", "-    load(team)", "+    fetch(team)")
        .only()
    )
    assert seen.type == "refactor"
    assert seen.title is not None
    assert seen.title.startswith("load renamed to fetch")


def test_documentation_is_named_by_its_sections_and_is_a_change() -> None:
    seen = Acting("document it").edit("docs/guide.md", " ## Install", "+## Upgrade", "+Run it again.").only()
    assert seen.title == "docs/guide.md: section “Upgrade” added"
    assert seen.type == "change"


def test_of_keys_within_keys_only_the_outermost_are_told() -> None:
    seen = Acting("x").edit(
        ".github/workflows/ci.yml",
        "       - run: make",
        "+      - name: Package it",
        "+        shell: bash",
        "+        run: tar",
    )
    assert seen.only().title == "Package it added in .github/workflows/ci.yml"


def test_imports_and_searches_that_led_to_the_file_are_facts() -> None:
    seen = (
        Acting("x")
        .grep("hashlib", ["/home/u/proj/src/a.py", "/home/u/proj/src/b.py"])
        .edit("src/a.py", "+import hashlib", " def f():", "+    hashlib.sha256()")
        .only()
    )
    assert "imports added: hashlib" in seen.facts
    assert "found by searching hashlib in src/a.py, src/b.py" in seen.facts


def test_what_the_request_calls_a_fix_is_a_bugfix() -> None:
    for request in ("fix the login", "Bitte den Fehler beheben", "исправь вход", "修复登录"):
        assert Acting(request).edit("src/a.py", " def f():", "-    x", "+    y").only().type == "bugfix"


def test_a_failed_edit_and_temporary_files_are_nobodys_memory() -> None:
    acted = Acting("x").write("/tmp/scratch.py", "def probe():\n    pass\n")
    acted.tool(
        "Edit", {"file_path": "/home/u/proj/a.py", "old_string": "x", "new_string": "y"}, ""
    ).events.pop()
    assert acted.observations() == ()


def test_a_draft_outside_the_project_is_told_when_it_is_all_that_was_made() -> None:
    seen = (
        Acting("write an analysis").write("/tmp/x/scratchpad/analysis.md", "# Why it hangs\n\nText.\n").only()
    )
    assert seen.title == "analysis.md created: Why it hangs"


def test_a_codex_patch_is_understood_as_edits() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n-    x\n+    y\n*** Delete File: src/b.py\n"
    )
    seen = Acting("x").run(patch).only()
    assert seen.files_modified == ("src/a.py", "src/b.py")


def test_a_title_recorded_before_does_not_hide_a_later_change() -> None:
    acted = Acting("wait longer").edit("src/limits.py", "-TIMEOUT = 5", "+TIMEOUT = 9")
    (seen,) = acted.observations(recorded=(acted.only().title or "",))
    assert "TIMEOUT changed from 5 to 9 in src/limits.py" in seen.facts


def test_two_turns_that_change_one_thing_are_both_told() -> None:
    acted = Acting("wait longer").edit("src/limits.py", "-TIMEOUT = 3", "+TIMEOUT = 5").stop("Done.")
    acted.ask("wait longer").edit("src/limits.py", "-TIMEOUT = 5", "+TIMEOUT = 9").stop("Done.")
    first, second = acted.observations()
    assert first.title == second.title
    assert "TIMEOUT changed from 3 to 5 in src/limits.py" in first.facts
    assert "TIMEOUT changed from 5 to 9 in src/limits.py" in second.facts


def test_the_same_thing_in_the_same_words_is_told_once() -> None:
    acted = Acting("try it").fail("make it", "no rule to make target it").stop("It fails.")
    once = acted.observations()
    acted.ask("try it").fail("make it", "no rule to make target it").stop("It fails.")
    assert acted.observations() == once


def test_many_files_in_several_folders_are_told_folder_by_folder() -> None:
    acted = Acting("x")
    for folder in ("src/api", "src/web"):
        for number in range(6):
            acted.edit(f"{folder}/f{number}.py", " def f():", "-    x", f"+    y{number}")
    assert sorted(len(seen.files_modified) for seen in acted.observations()) == [6, 6]


def test_windows_paths_are_written_relative_to_the_project() -> None:
    acted = Acting()
    file = "D:\\proj\\src\\a.go"
    patch = [{"oldStart": 1, "lines": [" func Run() {", "-\tx()", "+\ty()"]}]
    acted.tool(
        "Edit",
        {"file_path": file, "old_string": "x", "new_string": "y"},
        {"structuredPatch": patch},
        cwd="D:\\proj\\src",
    )
    assert acted.only().title == "Run() changed in src/a.go"
