"""Shows every setting and where it comes from, and changes `settings.json`. Keys go in and never come out."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

from starlette.responses import JSONResponse, Response

from claude_mem.capture import places
from claude_mem.model.errors import SettingsError
from claude_mem.serve import whole
from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.running import Running, log
from claude_mem.settings import edit, read_file
from claude_mem.settings.edit import Described
from claude_mem.settings.resolution import summed

MOST_BYTES = 256 << 10


async def show(call: Call) -> Response:
    return JSONResponse(await asyncio.to_thread(_shown, call.running))


async def change(call: Call) -> Response:
    changes = call.body["changes"]
    if not isinstance(changes, dict) or not changes:
        raise Refusal(400, "bad_field", "changes is no object of settings and values.", field="changes")
    # Not in a thread: two who save at once do so one after the other, and neither undoes the other.
    table = _table(call.running)
    try:
        new = edit.changed(table, changes)
        call.running.parts.check_settings(
            replace(call.running.parts.settings, **edit.applied(call.running.parts.settings, changes))
        )
    except SettingsError as error:
        raise Refusal(400, "bad_field", str(error), field=edit.key_of(error.key)) from None
    except OSError as error:
        raise Refusal(400, "bad_field", f"It cannot be used: {error.strerror}.", field="changes") from None
    _write(_file(call.running), new)
    log.info("settings changed: %s", ", ".join(sorted(changes)))
    call.running.tell_correction("settings", [])
    told = {each.setting.key: each for each in _described(call.running, new)}
    return JSONResponse(
        {
            "status": "saved",
            "changed": sorted(changes),
            "restart": any(told[key].is_pending for key in changes),
            "shadowed": [key for key in sorted(changes) if told[key].origin == "environment"],
        }
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
        whole.write(file, content)
    except OSError as error:
        raise Refusal(503, "unavailable", f"settings.json cannot be written: {error.strerror}.") from None


def _shown(running: Running) -> dict[str, object]:
    return {
        "file": str(_file(running)),
        "settings": [_row(each) for each in _described(running, _table(running))],
        "passed_over": list(running.parts.settings.passed_over),
        "warnings": [each.says for each in summed(running.parts.settings.warnings)],
    }


def _described(running: Running, table: dict[str, object]) -> list[Described]:
    return edit.described(table, os.environ, running.parts.settings)


def _row(each: Described) -> dict[str, object]:
    return {
        "key": each.setting.key,
        "group": each.setting.group,
        "meaning": each.setting.meaning,
        "allowed": each.setting.allowed,
        "kind": each.setting.takes.kind,
        "choices": list(each.setting.takes.choices),
        "value": each.value,
        "default": each.default,
        "origin": each.origin,
        "set": each.is_set,
        "file_only": each.setting.file_only,
        "restart": True,
        "pending": each.is_pending,
        "trouble": each.trouble,
    }


def _table(running: Running) -> dict[str, object]:
    try:
        return read_file(_file(running))
    except SettingsError as error:
        raise Refusal(409, "unreadable", f"{error} Mend the file by hand first.") from None


def _file(running: Running) -> Path:
    return running.parts.settings.place(places.SETTINGS)
