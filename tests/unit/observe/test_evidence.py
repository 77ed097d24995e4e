import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.observe import evidence, shell
from claude_mem.observe.tool_calls import parse_all


def use(tool: str, given: object, *, kind: Kind = Kind.TOOL_USE, cwd: str = "/repo") -> Event:
    text = given if isinstance(given, str) else json.dumps(given)
    return Event(id="1", at=0, kind=kind, session="s", cwd=cwd, tool=ToolCall(tool, text, "ok", "u"))


def edited(*paths: str) -> list[Event]:
    return [use("Edit", {"file_path": path}) for path in paths]


PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: src/b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("event", "read", "modified"),
    [
        (use("Read", {"file_path": "/repo/src/a.py"}), ["src/a.py"], []),
        (use("Read", {"file_path": "/etc/hosts"}), ["/etc/hosts"], []),
        (use("Edit", {"file_path": "/repo/src/a.py"}), [], ["src/a.py"]),
        (use("MultiEdit", {"file_path": "/repo/a.py", "edits": []}), [], ["a.py"]),
        (use("Write", {"file_path": "/repo/./x/../a.py"}), [], ["a.py"]),
        (use("NotebookEdit", {"notebook_path": "/repo/n.ipynb"}), [], ["n.ipynb"]),
        (use("Edit", {"file_path": "d:\\Repo\\src\\a.go"}, cwd="D:\\repo"), [], ["src/a.go"]),
        (use("write_file", {"absolute_path": "/repo/a.py"}), [], ["a.py"]),
        (use("apply_patch", {"input": PATCH}), [], ["src/a.py", "src/b.py"]),
        (use("apply_patch", PATCH), [], ["src/a.py", "src/b.py"]),
        (use("Grep", {"pattern": "x", "path": "/repo/src/a.py"}), ["src/a.py"], []),
        (use("Grep", {"pattern": "x", "path": "/repo/src"}), [], []),
        (use("Glob", {"pattern": "*.py", "path": "/repo/.git"}), [], []),
        (use("Bash", {"command": "echo x > out.txt"}), [], ["out.txt"]),
        (use("Bash", {"command": "make 2>&1 | tail -3 >> /tmp/log"}), [], ["/tmp/log"]),
        (use("Bash", {"command": "git mv a.py b.py && rm -f old.py"}), [], ["a.py", "b.py", "old.py"]),
        (use("Edit", {"file_path": "/repo/a.py"}, kind=Kind.TOOL_FAILURE), [], []),
        (use("Edit", {"file_path": 7}), [], []),
        (use("Read", "not JSON"), [], []),
        (use("TodoWrite", {"path": "/repo/a.py"}), [], []),
    ],
)
def test_tool_calls_show_which_files_they_touched(event: Event, read: list[str], modified: list[str]) -> None:
    assert evidence.files(parse_all([event])) == (tuple(read), tuple(modified))


@pytest.mark.parametrize(
    "command",
    [
        "echo > $OUT",
        "rm *.pyc",
        "rm -r build",
        "cd src && rm a.py",
        "a || echo > b",
        "for f in a; do rm b; done",
        "cat <<EOF > a",
        "echo 'a > b'",
        'echo "x',
        "git mv a dir",
        "rm a; true",
        "x > /dev/null 2>&1",
        "rm a | cat",
        "echo > ~/x",
        "if x; then rm y; fi",
        "echo a \\> b",
        "echo '>' b",
        "echo '&&' rm b",
        "rm " + "x" * 5000,
        "git rm a > b/",
        "python -c 'rm a'",
    ],
)
def test_a_command_that_leaves_doubt_shows_nothing(command: str) -> None:
    assert list(shell.surely_changed(command)) == []


def test_files_are_told_once_in_order_and_from_the_outermost_folder() -> None:
    events = [
        use("Edit", {"file_path": "/repo/src/b.py"}, cwd="/repo/src"),
        use("Edit", {"file_path": "a.py"}, cwd="/repo/src"),
        *edited("/repo/src/b.py"),
    ]
    assert evidence.files(parse_all(events)) == ((), ("src/b.py", "src/a.py"))


def corrected(observation: Observation, events: list[Event]) -> Observation:
    return evidence.correct(Findings((observation,)), parse_all(events)).observations[0]


def test_a_claim_is_kept_only_if_the_file_was_modified_and_takes_the_evidences_spelling() -> None:
    claims = Observation(
        "change", "T", files_modified=("keys.py", "/home/x/repo/src/b.py", "src/invented.py")
    )
    events = [
        *edited("/repo/auth/keys.py", "/repo/src/b.py"),
        use("Read", {"file_path": "/repo/src/invented.py"}),
    ]
    assert corrected(claims, events).files_modified == ("auth/keys.py", "src/b.py")


def test_a_claim_that_fits_two_files_is_dropped_unless_it_names_one_exactly() -> None:
    events = edited("/repo/a/index.ts", "/repo/b/index.ts")
    assert corrected(Observation("change", "T", files_modified=("index.ts",)), events).files_modified == ()
    assert corrected(Observation("change", "T", files_modified=("b/index.ts",)), events).files_modified == (
        "b/index.ts",
    )


def test_a_name_that_only_ends_alike_is_another_file() -> None:
    claims = Observation("change", "T", files_modified=("keys.py",))
    assert corrected(claims, edited("/repo/monkeys.py")).files_modified == ()
    claims = Observation("change", "T", files_modified=("h/keys.py",))
    assert corrected(claims, edited("/repo/auth/keys.py")).files_modified == ()


def test_an_only_observation_without_claims_gets_the_edits() -> None:
    events = edited("/repo/a.py", "/repo/b.py")
    assert corrected(Observation("discovery", "T"), events).files_modified == ("a.py", "b.py")


def test_the_one_change_without_claims_gets_the_edits_nobody_claims() -> None:
    told = (
        Observation("bugfix", "A", files_modified=("a.py",)),
        Observation("discovery", "B"),
        Observation("feature", "C"),
    )
    memory = evidence.correct(Findings(told), parse_all(edited("/repo/a.py", "/repo/b.py")))
    assert [each.files_modified for each in memory.observations] == [("a.py",), (), ("b.py",)]


def test_two_changes_without_claims_get_none() -> None:
    told = (Observation("bugfix", "A"), Observation("feature", "C"))
    memory = evidence.correct(Findings(told), parse_all(edited("/repo/a.py")))
    assert [each.files_modified for each in memory.observations] == [(), ()]


def test_files_said_to_be_read_must_have_been_seen() -> None:
    claims = Observation("discovery", "T", files_read=("a.py", "b.py", "ghost.py"))
    events = [use("Read", {"file_path": "/repo/src/a.py"}), *edited("/repo/src/b.py")]
    assert corrected(claims, events).files_read == ("src/a.py", "src/b.py")


def test_a_summary_takes_its_files_from_the_evidence_alone() -> None:
    claims = Summary("r", files_read=("ghost.py",), files_edited=("ghost.py",))
    events = [use("Read", {"file_path": "/repo/a.py"}), *edited("/repo/b.py")]
    (summary,) = evidence.correct(Findings((), (claims,)), parse_all(events)).summaries
    assert (summary.files_read, summary.files_edited) == (("a.py",), ("b.py",))


@given(st.text(alphabet="rm git mv>|&;'\"\\ \nab./$-", max_size=60))
def test_no_command_is_too_odd(command: str) -> None:
    assert all(path.strip() for path in shell.surely_changed(command))
