"""`claude-mem help`, `version`, and `completion`: a script that completes commands and options in a shell."""

from __future__ import annotations

import argparse
import sys

from claude_mem import __version__
from claude_mem.cli.commands import OK, Commands, build

TYPE_CHECKING = False  # without typing: `version` comes this way
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Level = tuple[tuple[str, ...], dict[str, str], dict[str, str]]  # path, commands and options with purposes

BASH = """\
# claude-mem completion for bash. Load it with: eval "$(claude-mem completion bash)"
_claude_mem() {{
    local words=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}") path="" word
    for word in "${{words[@]}}"; do
        [[ $word == -* ]] && break
        case "$path $word" in
{paths}) path="$path $word" ;;
        *) break ;;
        esac
    done
    local choices
    case "$path" in
{choices}
    esac
    COMPREPLY=($(compgen -W "$choices" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _claude_mem claude-mem
"""
ZSH = """\
# claude-mem completion for zsh. Load it with: eval "$(claude-mem completion zsh)"
autoload -U +X bashcompinit && bashcompinit
"""


def add(commands: Commands) -> None:
    helping = commands.add(
        "help", example="claude-mem help\nclaude-mem help worker start", run=_help, json=False
    )
    helping.argument("words", "COMMAND", "the command to show help for", nargs="*")
    completion = commands.add("completion", run=_completion, json=False)
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    commands.add("version", run=_version)


def _help(args: argparse.Namespace) -> int:
    build(args.words[:1] or ()).parse_args([*args.words, "--help"])
    return OK  # not reached: --help exits


def _version(args: argparse.Namespace) -> int:
    import _sqlite3  # `sqlite3` costs a calendar as well

    from claude_mem.cli import output

    versions = {
        "claude-mem": __version__,
        "python": sys.version.split()[0],
        "sqlite": _sqlite3.sqlite_version,
        "interpreter": sys.executable,
    }
    text = "\n".join(f"{name:<12} {value}" for name, value in versions.items())
    return output.result(args, versions, text)


def _completion(args: argparse.Namespace) -> int:
    """Load it in your shell's start-up file.

    Example:
      eval "$(claude-mem completion bash)"    # in ~/.bashrc
      claude-mem completion fish > ~/.config/fish/completions/claude-mem.fish
    """
    levels = list(_levels(build(), ()))
    sys.stdout.write(_fish(levels) if args.shell == "fish" else _bash(levels, args.shell))
    return OK


def _levels(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Level]:
    below: dict[str, Any] = {}
    options: dict[str, str] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
        elif action.help != argparse.SUPPRESS:
            options |= {name: action.help or "" for name in action.option_strings if name.startswith("--")}
    purposes = {name: each.sentence.removesuffix(".") for name, each in below.items()}
    yield path, purposes, options
    for name, each in below.items():
        yield from _levels(each, (*path, name))


def _bash(levels: list[Level], shell: str) -> str:
    paths = "|".join(f'" {" ".join(path)}"' for path, _, _ in levels if path)
    choices = "\n".join(
        f'    "{"".join(f" {word}" for word in path)}") choices="{" ".join([*below, *options])}" ;;'
        for path, below, options in levels
    )
    return (ZSH if shell == "zsh" else "") + BASH.format(paths=paths, choices=choices)


def _fish(levels: list[Level]) -> str:
    lines = ["# claude-mem completion for fish.", "complete -c claude-mem -f"]
    for path, below, options in levels:
        condition = "__fish_use_subcommand"
        if path:
            inside = [f"__fish_seen_subcommand_from {word}" for word in path]
            outside = [f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else []
            condition = "; and ".join([*inside, *outside])
        for name, purpose in below.items():
            lines.append(f"complete -c claude-mem -n '{condition}' -a {name} -d {_quoted(purpose)}")
        for name, purpose in options.items():
            lines.append(f"complete -c claude-mem -n '{condition}' -l {name[2:]} -d {_quoted(purpose)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
