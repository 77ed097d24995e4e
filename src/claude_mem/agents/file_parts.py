"""Our part of an agent's files: hooks and MCP servers in JSON, a table in TOML, and files of our own.

Each is a `FilePart`: it adds our part to a file's text, finds it again, and takes it back.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem.agents import launcher, settings_file
from claude_mem.agents.claude_code import registration
from claude_mem.agents.launcher import Machine, hook_line
from claude_mem.agents.settings_file import Malformed, malformed
from claude_mem.model.errors import ClaudeMemError


class FilePart(Struct, frozen=True):
    """Our part of one file. `without` receives a text that has it; None: nothing else is in the file."""

    path: Path
    with_us: Callable[[str], str]
    without_us: Callable[[str], str | None]
    data_dir_in: Callable[[str], str | None]  # of a text that we are in: "" for the default; None: not in it
    executable: bool = False
    warnings: Callable[[str], list[str]] = lambda _: []  # of a text that an install leaves, for its user


# A settings file in JSON: hooks by their events, and a section that names MCP servers.


def json_part(
    path: Path,
    *,
    hooks: Mapping[str, list[dict[str, Any]]] | None = None,
    servers: str = "",
    server: Mapping[str, Any] | None = None,
    needs: Mapping[str, Any] | None = None,
) -> FilePart:
    """`servers`: the section in which MCP servers are named. `needs`: what the file must say besides."""

    def with_us(text: str) -> str:
        found = updated = settings_file.parsed(text, str(path), strict=False)
        if hooks:
            updated = dict(needs or {}) | settings_file.with_hooks(updated, dict(hooks))
        if server and _may_serve(found):
            updated = settings_file.with_entry(updated, servers, launcher.SERVER, dict(server))
        return text if updated == found and text.strip() else settings_file.written(updated, text)

    def without_us(text: str) -> str | None:
        if not launcher.is_named_in(text):
            return text  # it may be no JSON at all, and need not be
        found = settings_file.parsed(text, str(path), strict=False)
        left = settings_file.without_hooks(found, launcher.is_our_hook)
        if _is_our_server(left):
            left = settings_file.without_entry(left, servers, launcher.SERVER)
        if left == found:
            return text
        return settings_file.written(left, text) if left and left != needs else None

    def data_dir_in(text: str) -> str | None:
        if not launcher.is_named_in(text):
            return None
        found = settings_file.parsed(text, str(path), strict=False)
        for hook in filter(launcher.is_our_hook, settings_file.all_hooks(found)):
            return launcher.data_dir_of(hook) or ""
        if not _is_our_server(found):
            return None
        entry = found[servers][launcher.SERVER]
        return str((entry.get("env") or entry.get("environment") or {}).get("CLAUDE_MEM_DATA_DIR", ""))

    def _named(found: dict[str, Any]) -> Any:
        section = found.get(servers, {}) if servers else {}
        if not isinstance(section, dict):
            raise malformed(f"{path}: {servers} must be an object")
        return section.get(launcher.SERVER)

    def _is_our_server(found: dict[str, Any]) -> bool:
        return launcher.is_our_server(_named(found))

    def _may_serve(found: dict[str, Any]) -> bool:
        return _named(found) is None or _is_our_server(found)

    def warnings(text: str) -> list[str]:
        found = settings_file.parsed(text, str(path), strict=False)
        foreign = registration.foreign_hooks(found)
        return [
            *([_FOREIGN.format(path=path)] if foreign else []),
            *([_SERVER_NAME_IN_USE.format(path=path)] if server and not _may_serve(found) else []),
        ]

    return FilePart(path, with_us, without_us, data_dir_in, warnings=warnings)


def server_part(path: Path, machine: Machine, section: str = "mcpServers", **more: object) -> FilePart:
    """A file that names MCP servers. `more`: what the agent wants the entry to say besides."""
    return json_part(path, servers=section, server=more | launcher.mcp_server(machine))


_FOREIGN = (
    "{path} also has the hooks of another claude-mem: both record every session. To have one memory, "
    "uninstall the other."
)
_SERVER_NAME_IN_USE = (
    f"{{path}} has an MCP server of yours named {launcher.SERVER}. It was not changed, so the agent cannot "
    "search memory over MCP. Rename it and run claude-mem install again."
)
_INLINE = (
    "{path}: mcp_servers is an inline table, which was not changed, so the agent cannot search memory over "
    f"MCP. Add {launcher.SERVER} to it by hand: claude-mem mcp prints the entry."
)


def hook_groups(
    machine: Machine, agent: str, events: Iterable[str], *, timeout: int, **more: str
) -> dict[str, list[dict[str, Any]]]:
    """The hooks for these events of an agent, as Claude Code's settings would have them."""

    def entry(event: str) -> dict[str, Any]:
        verb = "context" if event == "SessionStart" else "hook"
        return {"type": "command", **more, "command": hook_line(machine, verb, agent), "timeout": timeout}

    return {event: [{"hooks": [entry(event)]}] for event in events}


def own_file(
    path: Path, text: str, *, data_dir_in: Callable[[str], str | None] | None = None, executable: bool = False
) -> FilePart:
    """A file that is ours alone; another's by its name is left as it is, and said to be in the way.
    `data_dir_in`: where one of ours records, None: the default."""

    def with_us(there: str) -> str:
        if there and launcher.MARK not in there:
            raise ClaudeMemError(
                f"{path} is your own file, in the place of claude-mem's hooks. It was not changed. "
                "Rename it and run the command again."
            )
        return text

    def found_in(there: str) -> str | None:
        return ((data_dir_in or _noted_data_dir)(there) or "") if launcher.MARK in there else None

    return FilePart(
        path, with_us, lambda there: None if launcher.MARK in there else there, found_in, executable
    )


_NOTE = re.compile(r"claude-mem data directory: (\".*\")$", re.MULTILINE)


def data_dir_note(machine: Machine) -> str:
    """The text of a comment in a file that we write."""
    where = json.dumps(machine.data_dir or "")
    return (
        f"Written by claude-mem install; claude-mem uninstall removes it. claude-mem data directory: {where}"
    )


def _noted_data_dir(text: str) -> str | None:
    found = _NOTE.search(text)
    return json.loads(found[1]) if found else None


# A table in a TOML file. It is added and removed as text, because the rest of the file is not ours to
# rewrite.


def toml_server(path: Path, machine: Machine) -> FilePart:
    head = f'[mcp_servers."{launcher.SERVER}"]'
    server = launcher.mcp_server(machine)
    lines = [head, f"command = {json.dumps(server['command'])}", f"args = {json.dumps(server['args'])}"]
    if "env" in server:
        members = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
        lines.append(f"env = {{ {members} }}")
    table = "\n".join(lines) + "\n"

    def entry(text: str) -> Any:
        try:
            found = tomllib.loads(text).get("mcp_servers", {})
        except tomllib.TOMLDecodeError as error:
            raise Malformed(
                f"{path} is not valid TOML ({error}). Nothing was changed. Fix the file and run the command "
                "again."
            ) from None
        if not isinstance(found, dict):
            raise malformed(f"{path}: mcp_servers must be a table")
        return found.get(launcher.SERVER)

    def with_us(text: str) -> str:
        current = entry(text)
        if current == tomllib.loads(table)["mcp_servers"][launcher.SERVER] or (
            current is not None and not launcher.is_our_server(current)
        ):
            return text  # up to date, or somebody's own
        if current is not None and (updated := _updated(text, current)):
            return updated
        left = (without_us(text) or "") if current is not None else text
        gap = "" if not left else "\n" if left.endswith("\n") else "\n\n"
        new_text = left + gap + table
        try:
            entry(new_text)
        except Malformed:  # what an inline table holds is all there is
            return text
        return new_text

    def _updated(text: str, current: dict[str, Any]) -> str | None:
        """Replaces our lines, and keeps the user's lines in our table, such as a timeout; None: too
        complex."""
        before, inside, rest = _split(text)
        own = [line for line in inside if not line.startswith(("command", "args", "env"))]
        new_text = before + table + "".join([*own, *rest])
        our_fields = tomllib.loads(table)["mcp_servers"][launcher.SERVER]
        user_fields = {key: value for key, value in current.items() if key not in ("command", "args", "env")}
        try:
            return new_text if user_fields and entry(new_text) == user_fields | our_fields else None
        except Malformed:
            return None

    def without_us(text: str) -> str | None:
        if not launcher.is_named_in(text) or not launcher.is_our_server(entry(text)):
            return text
        before, _, rest = _split(text)
        return ((before if rest else before.removesuffix("\n")) + "".join(rest)) or None

    def _split(text: str) -> tuple[str, list[str], list[str]]:
        """What comes before our table, its lines, and those after it."""
        before, _, after = text.partition(head)
        lines = after.splitlines(keepends=True)
        end = next((at for at, line in enumerate(lines) if at and line.lstrip().startswith("[")), len(lines))
        return before, lines[1:end], lines[end:]

    def data_dir_in(text: str) -> str | None:
        if not launcher.is_named_in(text) or not launcher.is_our_server(current := entry(text)):
            return None
        return str(current.get("env", {}).get("CLAUDE_MEM_DATA_DIR", ""))

    def warnings(text: str) -> list[str]:
        current = entry(text)
        if launcher.is_our_server(current):
            return []
        return [(_INLINE if current is None else _SERVER_NAME_IN_USE).format(path=path)]

    return FilePart(path, with_us, without_us, data_dir_in, warnings=warnings)
