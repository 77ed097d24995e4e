"""Generates docs from the code: docs/cli.md from --help, docs/settings.md from SETTINGS,
docs/http-reference.md and docs/team-server-reference.md from the route tables, the table in docs/agents.md
from the folders of `agents`, and the viewer's list of filters from `api.filters`.

With --check it changes nothing, and fails if a page is out of date.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import agent_table
import http_reference
import msgspec

from claude_mem import settings
from claude_mem.agents import TITLES
from claude_mem.api.filters import filter_infos
from claude_mem.cli import commands as command_line
from claude_mem.providers import registry

DOCS = Path(__file__).resolve().parent.parent / "docs"
MADE = "<!-- Generated from the code by scripts/docs.py; run `make docs` after a change. -->"

CLI = """\
# The command line

Results go to stdout, messages to stderr. Use `--json` to get data as JSON.
Output is colored only in a terminal, and only if `NO_COLOR` is not set.

| exit code | means |
|--:|---|
| 0 | success |
| 1 | failure; a message on stderr says why |
| 2 | usage error |
| 130 | interrupted with Ctrl-C |
| 141 | the output pipe was closed |

Hook commands always exit 0.
"""

SETTINGS = """\
# Settings

Each setting is a key in `settings.json` in the data directory. An environment variable of the same name
overrides it, except for settings that cannot be set in the environment; [some only after you
approved them](privacy.md#a-sessions-environment). After a change, run
`claude-mem worker restart`.

Invalid settings never stop claude-mem:

- An unknown key is ignored and stays in the file, which the TypeScript claude-mem shares.
- An invalid value is replaced by the default, or by the value listed below under "If it cannot be read". The
  next session start reports it, once.
- If the file as a whole cannot be used (not JSON, larger than 1 MiB, or not a file), the defaults apply.
  Readable entries of excluded projects, excluded files and secret patterns still apply. No model is used
  until you fix the file, or the environment sets the provider and its URL. The file is not overwritten.

`claude-mem doctor` and the worker's log list all of these. The viewer and the HTTP API reject invalid values.

```json
{
  "CLAUDE_MEM_PROVIDER": "offline",
  "CLAUDE_MEM_EXCLUDE_PATHS": ["**/vault/*"]
}
```
"""

SWITCHES = """\
## Other variables

| variable | means |
|---|---|
| `CLAUDE_MEM_DATA_DIR` | the data directory, instead of `~/.claude-mem` |
| `CLAUDE_MEM_OFF` | anything but empty, `0` or `false`: hooks record nothing |
| `CLAUDE_MEM_OBSERVER` | set by claude-mem for agents it runs itself: their hooks record nothing |

## Provider variables

Used if the setting is not set. They are read from the environment in which the worker was started.

| variable | instead of the setting |
|---|---|
| {keys} | `CLAUDE_MEM_API_KEY` |
| {addresses} | `CLAUDE_MEM_BASE_URL` |
"""


def cli_page() -> str:
    # So that the page is the same wherever it is made.
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}
    sections = [f"## `{name}`\n\n```text\n{text}```\n" for name, text in _helps(command_line.build())]
    return "\n".join((MADE, CLI, *sections))


def _helps(command: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    yield command.prog, command.format_help()
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            is_top = command.prog == "claude-mem"  # as the table lists them, whichever module adds them
            for name in command_line.COMMANDS if is_top else action.choices:
                yield from _helps(action.choices[name])


def settings_page() -> str:
    rows = []
    for name, group in itertools.groupby(settings.SETTINGS, key=lambda setting: setting.group):
        rows.append(f"## {name}\n")
        for setting in group:
            rows += [
                f"### `{setting.key}`\n",
                f"{setting.meaning}\n",
                f"- Allowed: {setting.takes.allowed}",
                f"- Default: {_shown(setting.default)}",
                *([f"- If it cannot be read: {unread}"] if (unread := _unread(setting)) else []),
                "",
            ]
    switches = SWITCHES.format(
        keys=_listed(registry.KEY_VARIABLES), addresses=_listed(registry.URL_VARIABLES)
    )
    return "\n".join((MADE, SETTINGS, *rows, switches))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _unread(setting: settings.Setting) -> str:
    if setting.takes.readable:
        return "the entries that can be read apply"
    return _shown(setting.instead) if setting.instead is not None else ""


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, frozenset | tuple):
        return _listed(sorted(value)) or "none"
    return f"`{value}`"


def filter_list() -> str:
    """The viewer's constants: a filter that is declared is shown, and an agent goes by its title."""
    rows = "".join(f"  {msgspec.json.encode(each).decode()},\n" for each in filter_infos())
    head = "// Generated from the code by scripts/docs.py; run `make docs` after a change."
    titles = "".join(f'  "{name}": "{title}",\n' for name, title in TITLES.items())
    return f"{head}\nexport const FILTERS = [\n{rows}];\n\nexport const AGENTS = {{\n{titles}}};\n"


PAGES = {
    "cli.md": cli_page,
    "settings.md": settings_page,
    "http-reference.md": lambda: http_reference.page(MADE),
    "team-server-reference.md": lambda: http_reference.server_page(MADE),
    "agents.md": lambda: agent_table.page((DOCS / "agents.md").read_text(encoding="utf-8")),
    "../src/claude_mem/serve/viewer/filter_list.js": filter_list,
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    stale = []
    for name, made in PAGES.items():
        page, text = DOCS / name, made()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            page.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"docs/{', docs/'.join(stale)}: no longer what the code says. Run: make docs", file=sys.stderr)
        return 1
    print("docs: " + (f"written: {', '.join(stale)}" if stale else "up to date"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
