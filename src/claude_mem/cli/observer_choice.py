"""The choice of the observer: what `install` asks once, what it may cost, and which settings the answer
changes.

A key in the environment is not permission to send code and spend money; a setting is. If the user was not
asked, their own Claude Code observes, if it is logged in.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from claude_mem.agents.file_changes import Change, read_text
from claude_mem.cli import output
from claude_mem.hook import paths
from claude_mem.model.errors import SettingsError
from claude_mem.model.structs import replace
from claude_mem.providers import registry
from claude_mem.settings import Settings, editor
from claude_mem.settings.resolution import is_blank, read_file
from claude_mem.wiring import observer_setup

KEY = "CLAUDE_MEM_PROVIDER"
OFFLINE = "offline"
NAMES = (*(each.name for each in registry.PROVIDERS), OFFLINE)


def usual(settings: Settings) -> str:
    """The first answer offered: `claude` where it can observe. Else `auto`, which is offline until it can."""
    return (
        "claude" if observer_setup.choice(replace(settings, provider="auto")).provider == "claude" else "auto"
    )


def change(
    settings: Settings, requested: str | None, prompt: Callable[[str], str] | None
) -> tuple[Settings, Change | None]:
    """The settings with the observer that was `requested` or chosen, else `auto`, and how it is saved; None:
    it was saved before, or a variable decides. `prompt` gets the usual one. Raises SettingsError."""
    file = settings.data_dir / paths.SETTINGS
    try:
        table = read_file(file)
    except SettingsError:
        if requested:
            raise
        return settings, None  # which says so wherever settings are read
    by_variable = not is_blank(os.environ.get(KEY, ""))
    if requested is None and (by_variable or KEY in table):
        return settings, None
    name = requested or (
        prompt(usual(settings)) if prompt else "auto"
    )  # what nobody chose is not saved as chosen
    after = editor.changed(table, {KEY: name})
    if by_variable:
        output.message(f"The environment variable {KEY} overrides --observer here.")
    else:
        settings = replace(settings, provider=name)
    if after == table:
        return settings, None
    return settings, Change(file, read_text(file), json.dumps(after, indent=2) + "\n")


def terminal_prompt(settings: Settings) -> Callable[[str], str]:
    def prompt(usual: str) -> str:
        first = OFFLINE if usual == "auto" else usual
        names = [first, *(name for name in NAMES if name != first)]
        output.message(menu(settings, names))
        while True:
            print(f"1 to {len(names)} [1]: ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                raise KeyboardInterrupt  # as Ctrl-C would: nothing is changed
            if found := answered(line, names):
                return found

    return prompt


def menu(settings: Settings, names: list[str]) -> str:
    lines = ["What should turn recorded events into memories? You can change this later."]
    for number, name in enumerate(names, 1):
        found = observer_setup.choice(replace(settings, provider=name))
        lines.append(f"  {number}  {cost(settings, name)}")
        lines += [f"     Not ready: {found.problem}"] if found.problem else []
    return "\n".join(lines)


def answered(line: str, names: list[str]) -> str | None:
    """Parses the answer: a number, a name, or nothing for the first choice; None: anything else."""
    word = line.strip().lower()
    if not word:
        return names[0]
    if word.isascii() and word.isdigit() and 1 <= int(word) <= len(names):
        return names[int(word) - 1]
    return word if word in names else None


def cost(settings: Settings, provider: str) -> str:
    """The observer and what it may cost, in one line."""
    if provider == OFFLINE:
        return "offline: no model, free, and nothing leaves this machine."
    title = registry.BY_NAME[provider].title
    limits = [f"{settings.daily_tokens:,} tokens"] if settings.daily_tokens else []
    limits += [f"${settings.daily_usd:.2f}"] if settings.daily_usd else []
    if not limits:
        return f"{title} ({provider}), with no daily limit: you set CLAUDE_MEM_DAILY_TOKENS and _USD to 0."
    return f"{title} ({provider}): at most {' or '.join(limits)} a day, then offline, which is free."
