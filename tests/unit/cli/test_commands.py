"""What is typed becomes one question, and what makes no sense is said before anybody is asked."""

import argparse
import subprocess
import sys
import time
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import pytest

from claude_mem.cli import HOOK_VERBS, filter_flags, main
from claude_mem.cli.commands import COMMANDS, build, hooks, run
from claude_mem.cli.commands.corrections import copies_text
from claude_mem.cli.commands.maintenance import events_table


def asked(*words: str) -> dict[str, object]:
    said = filter_flags.query(build(["search"]).parse_args(["search", *words]))
    return {name: value for name, value in said.items() if value is not None}


def test_flags_become_the_fields_of_the_http_api() -> None:
    words = "--project shop --kind summary --kind prompt --type bugfix --file a.py --branch main --session s1"
    assert asked(*words.split(), "--since", "last week", "--no-superseded", "--offset", "5") == {
        "project": "shop",
        "kind": ["summary", "prompt"],
        "type": ["bugfix"],
        "file": "a.py",
        "branch": "main",
        "session": "s1",
        "since": "last week",
        "superseded": "false",
        "limit": 10,
        "offset": 5,
    }


def test_here_is_this_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert asked("--here") == {"cwd": str(tmp_path), "limit": 10}


@pytest.mark.parametrize(
    "words",
    [
        "search --limit 0",
        "search --limit 101",
        "search --limit ٣",
        "search --offset -1",
        "search --kind nonsense",
        "search --project a --here",
        "timeline --before 51 1",
        "show",
        "show 1 nonsense",
        "show 1 --session s",
        "remember",
        "remember x --new-project",
        "pin",
        "forget",
        "forget --yes",
    ],
)
def test_what_makes_no_sense_exits_2_and_nobody_is_asked(
    words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(tmp_path / "nobody"))
    try:
        code = run(words.split())
    except SystemExit as left:
        code = int(str(left.code))
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert said.err
    assert not (tmp_path / "nobody").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("serach login", "Unknown command 'serach'. Did you mean search?"),
        ("worker strat", "Unknown command 'strat'. Did you mean start?"),
        ("worker bogus", "Unknown command 'bogus'. See: claude-mem worker --help"),
        (
            "status",
            "Unknown command 'status'. Did you mean `claude-mem doctor` or `claude-mem worker status`?",
        ),
        ("xyzzy", "Unknown command 'xyzzy'. See: claude-mem --help"),
        ("search login --limt 3", "Unknown option '--limt'. Did you mean --limit?"),
        ("worker stop --jsno=1", "Unknown option '--jsno'. Did you mean --json?"),
        ("sessions --zzz", "Unknown option '--zzz'. See: claude-mem sessions --help"),
        ("sessions today", "Unexpected argument 'today'. See: claude-mem sessions --help"),
    ],
)
def test_a_slip_in_the_name_of_a_command_or_an_option_is_answered_in_a_line(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words.split()) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"claude-mem: {sentence}\n")


def test_an_agent_is_a_client() -> None:
    search = build(["search"])
    for flag in ("--agent", "--client"):
        assert search.parse_args(["search", flag, "codex"]).client == "codex"


@pytest.mark.parametrize(
    ("words", "first"), [("help", "claude-mem"), ("help worker start", "claude-mem worker start")]
)
def test_help_explains_a_command_as_its_own_help_does(
    words: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        run(words.split())
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {first} ")
    assert run(["help", "serach"]) == 2


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sear", {"search"}),
        ("worker sta", {"start", "status"}),
        ("config s", {"set"}),
        ("search login --lim", {"--limit"}),
        ("worker stop --j", {"--json"}),
    ],
)
def test_bash_completes_commands_and_options(
    typed: str, offered: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["completion", "bash"]) == 0
    words = ["claude-mem", *typed.split()]
    ask = (
        f"{capsys.readouterr().out}\nCOMP_WORDS=({' '.join(words)}) COMP_CWORD={len(words) - 1}\n"
        '_claude_mem; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == offered
    assert not done.stderr


def test_zsh_and_fish_have_completions_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "zsh"]) == 0
    assert "bashcompinit" in capsys.readouterr().out
    assert run(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("seen_subcommand_from search" in line and "-l limit " in line for line in lines)
    assert all(line.startswith(("#", "complete -c claude-mem ")) for line in lines)


def test_the_table_names_the_module_of_every_command_and_nothing_else() -> None:
    (commands,) = (each for each in build()._actions if isinstance(each, argparse._SubParsersAction))
    assert commands.choices.keys() == COMMANDS.keys()


@pytest.mark.parametrize("words", ["--help", "--version", "version", "search --help", "worker --help"])
def test_only_the_command_that_was_typed_is_imported(words: str) -> None:
    probe = (
        "import sys; from claude_mem.cli import main\n"
        f"try: main({words.split()!r})\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    typed = {module for name, (module, _) in COMMANDS.items() if name in words.split()}
    others = {
        resolve_name(module, "claude_mem.cli.commands")
        for module, _ in COMMANDS.values()
        if module not in typed
    }
    assert "claude_mem.cli.commands" in loaded
    assert not loaded & (others | {"asyncio", "sqlite3", "starlette", "shutil", "claude_mem.wiring"})


def test_help_has_what_people_type_before_what_clients_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = build().format_help()
    daily, _, plumbing = text.partition("\nRun by ")
    for name in ("install", "uninstall", "search", "show", "off", "doctor", "worker"):
        assert (f"\n  {name} " in daily, f"\n  {name} " in plumbing) == (True, False), name
    for name in ("new", "save", "summary", "cleanup", "hook", "slash", "token", "hooks", "mcp"):
        assert (f"\n  {name} " in daily, f"\n  {name} " in plumbing) == (False, True), name
    assert max(map(len, text.splitlines())) <= 80


def test_context_with_a_wish_is_a_persons_and_alone_it_is_the_hook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["context", "--source", "nonsense"])
    assert left.value.code == 2
    assert "--source" in capsys.readouterr().err


def test_what_still_holds_it_is_named_with_what_to_do_about_it() -> None:
    def lying(kind: str, done: str, note: str = "") -> dict[str, str]:
        return {"path": f"/b/{kind}", "kind": kind, "done": done, "note": note}

    told = {
        "dry_run": False,
        "backups": 1,
        "elsewhere": [lying("backup", "left", "no room"), lying("export", "holds")],
    }
    left, exported, how, still = copies_text(told)
    assert left == "Not removed from: /b/backup (no room)"
    assert exported == "Also found in: /b/export"
    assert "--also-exports" in how
    assert still.startswith("1 copy of the database ")
    clean = {"dry_run": False, "backups": 0, "elsewhere": [lying("backup", "rewritten")]}
    assert copies_text(clean) == ["Removed from: /b/backup"]


def test_every_hook_verb_can_be_explained() -> None:
    assert {*hooks.PAYLOADS, "context"} == set(HOOK_VERBS)


NOW = time.time()


def job(**differences: Any) -> dict[str, Any]:
    return {
        "id": 41,
        "kind": "tool_use",
        "claudeSessionId": "5694c0de-0000-4000-8000-000000000001",
        "toolName": "Bash",
        "at": (NOW - 7_300) * 1000,
        "attempts": 3,
        "reason": "no XML",
    } | differences


def test_a_row_says_which_event_where_when_how_often_and_why() -> None:
    jobs = [job(), job(id=1234, toolName=None, kind="subagent_stop", reason=None)]
    assert events_table(jobs).splitlines() == [
        "  id  session   what          age      tries  reason",
        "  41  5694c0de  Bash          2 h          3  no XML",
        "1234  5694c0de  subagent st…  2 h          3",
    ]


def test_events_of_two_sessions_of_one_agent_are_told_apart() -> None:
    ids = [f"codex:0199aaaa-{n}-7000-8000-000000000001" for n in (1111, 2222)]
    rows = events_table([job(claudeSessionId=id) for id in ids]).splitlines()[1:]
    assert [row.split()[1] for row in rows] == ["0199aaaa-1111", "0199aaaa-2222"]


def test_a_row_is_never_wider_than_80_columns() -> None:
    wide = job(id=10**9, toolName="mcp__tracker__" + "x" * 60, reason="because " * 40)
    assert max(map(len, events_table([wide]).splitlines())) <= 80
