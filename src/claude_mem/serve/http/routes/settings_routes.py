"""Routes for settings: lists each with its origin, and changes `settings.json`. Secrets are never
returned."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from claude_mem.api import system as api
from claude_mem.api.fields import Error
from claude_mem.files import write_file
from claude_mem.hook import paths
from claude_mem.model.errors import SettingsError
from claude_mem.model.structs import map_text, replace
from claude_mem.serve.http import guard
from claude_mem.serve.http.router import Answer, Call, Routes
from claude_mem.serve.requests import Refusal
from claude_mem.serve.services import Running, log
from claude_mem.settings import editor, read_file
from claude_mem.settings.declarations import BY_KEY
from claude_mem.settings.resolution import summarized

MOST_BYTES = 256 << 10

routes = Routes()

_UNREADABLE = Answer(409, "settings.json cannot be read. Nothing was changed.", Error)


@routes.get(
    "/api/settings",
    "Every setting: its meaning, its value, and where that comes from. Secrets are never shown.",
    _UNREADABLE,
)
def show(call: Call) -> api.SettingsAnswer:
    settings = call.services.settings
    return api.SettingsAnswer(
        file=str(_file(call.running)),
        settings=_described(call.running, _table(call.running)),
        passed_over=list(settings.passed_over),
        warnings=[each.message for each in summarized(settings.warnings)],
    )


@routes.post("/api/settings", "Change settings.json.", _UNREADABLE)
async def change(call: Call, body: api.SettingsRequest) -> api.SettingsSaved:
    # Not in a thread, so that concurrent saves run one after another and do not undo each other.
    changes, settings = body.changes, call.services.settings
    if not call.request.scope.get(guard.TRUSTED):
        _refuse_socket_only(changes)
    _refuse_secrets(changes, call.services.intake.cleaned)
    table = _table(call.running)
    try:
        new = editor.changed(table, changes)
        call.services.check_settings(replace(settings, **editor.applied(changes)))
    except SettingsError as error:
        raise Refusal(400, "bad_field", str(error), field=editor.key_of(error.key)) from None
    except OSError as error:
        raise Refusal(400, "bad_field", f"It cannot be used: {error.strerror}.", field="changes") from None
    _write(_file(call.running), new)
    log.info("settings changed: %s", ", ".join(sorted(changes)))
    call.running.announce("settings", [])
    found = {each.key: each for each in _described(call.running, new)}
    return api.SettingsSaved(
        "saved",
        sorted(changes),
        any(found[key].pending for key in changes),
        [key for key in sorted(changes) if found[key].origin == "environment"],
    )


def _refuse_socket_only(changes: Mapping[str, object]) -> None:
    for key in changes:
        if key in BY_KEY and BY_KEY[key].takes.socket_only:
            raise Refusal(
                403,
                "socket_only",
                f"{key} cannot be changed over the port, only on the command line: "
                f"claude-mem config set {key} …",
                field=key,
            )


def _refuse_secrets(changes: Mapping[str, object], clean: Callable[[str], str]) -> None:
    """Rejects values that contain secrets, except in settings for keys and patterns."""
    for key, value in changes.items():
        takes = BY_KEY[key].takes if key in BY_KEY else None
        if takes and (takes.socket_only or takes.kind == "table"):
            continue
        if map_text(value, clean) != value or clean(key) != key:
            raise Refusal(
                400, "secret_value", "The value contains a secret or private text.", field="changes"
            )


def _write(file: Path, table: dict[str, object]) -> None:
    text = json.dumps(table, indent=2, ensure_ascii=False)
    if text.encode("utf-8", "replace").decode() != text:
        text = json.dumps(table, indent=2)  # half a letter in somebody's value: only an escape can keep it
    content = text.encode() + b"\n"
    if len(content) > MOST_BYTES:
        raise Refusal(
            400, "bad_field", f"settings.json would be larger than {MOST_BYTES:,} bytes.", field="changes"
        )
    try:
        write_file(file, content)
    except OSError as error:
        raise Refusal(503, "unavailable", f"settings.json cannot be written: {error.strerror}.") from None


def _described(running: Running, table: dict[str, object]) -> list[api.SettingRow]:
    return editor.described(table, os.environ, running.services.settings)


def _table(running: Running) -> dict[str, object]:
    try:
        return read_file(_file(running))
    except SettingsError as error:
        raise Refusal(409, "unreadable", f"{error} Fix the file by hand first.") from None


def _file(running: Running) -> Path:
    return running.services.settings.data_path(paths.SETTINGS)
