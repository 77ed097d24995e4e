"""`claude-mem config`: shows settings, and changes settings.json. `claude-mem embedder`: changes what makes
the vectors.

The viewer can change most settings too. Those that name a program, an address or a key can only be changed
here, because the worker accepts them only over its socket, which nobody else can open.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from claude_mem.cli import client, output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError, unknown, yes_flag
from claude_mem.model.errors import ClaudeMemError, SettingsError
from claude_mem.serve import control
from claude_mem.settings import Settings, editor
from claude_mem.settings.resolution import without_password
from claude_mem.vectors import embedders
from claude_mem.vectors.backend import Embedder, VectorsUnavailable

NAME = 30


def add(commands: Commands) -> None:
    verbs = commands.group(
        "config",
        example=(
            "claude-mem config list\n"
            "claude-mem config get CLAUDE_MEM_PROVIDER\n"
            "claude-mem config set CLAUDE_MEM_LANGUAGE German\n"
            "claude-mem config set CLAUDE_MEM_API_KEY < key.txt\n"
            "claude-mem config unset CLAUDE_MEM_BASE_URL"
        ),
    )
    verbs.add("list", "list all settings, with their values and where they are set", run=_list)
    get = verbs.add("get", "print the value of a setting", run=_get)
    change = verbs.add("set", "change a setting in settings.json", run=_set)
    unset = verbs.add("unset", "remove a setting from settings.json, so that its default applies", run=_unset)
    for verb in (get, change, unset):
        verb.argument("key", "KEY", "the setting's name")
    change.argument("value", "VALUE", "text, or JSON for a list or an object", nargs="?")
    embedder = commands.group(
        "embedder",
        more=(
            "An embedder turns text into vectors, which find related memories even if they\n"
            "use other words than the query."
        ),
        example=f"claude-mem embedder use {embedders.RECOMMENDED}",
    )
    embedder.add("list", "list available embedders", run=_list_embedders)
    use = embedder.add(
        "use",
        "change the embedder",
        example=(
            f"claude-mem embedder use {embedders.RECOMMENDED}\n"
            "claude-mem embedder use ~/models/all-MiniLM-L6-v2\n"
            "claude-mem embedder use http://127.0.0.1:11434/v1 --model nomic-embed-text\n"
            "claude-mem embedder use static"
        ),
        run=_use_embedder,
    )
    use.argument("embedder", "EMBEDDER", "static, a model's name, a folder, or a URL")
    use.argument("--model", "NAME", "the model at the URL")
    yes_flag(use)
    purpose = "show the embedder in use, and how many memories have no vector yet"
    embedder.add("status", purpose, run=_embedder_status)


def _list(args: argparse.Namespace) -> int:
    def table(rows: list[dict[str, Any]]) -> str:
        lines = (f"{each['key']:<{NAME}} {each['origin']:<11} {_shown(each)}" for each in rows)
        return "\n".join(output.clean(line.rstrip()) for line in lines)

    found = request("GET", "/api/settings")
    hint = f"Stored in {found['file']}. Environment variables override the file."
    return output.listing(args, output.page(found, "settings"), found["settings"], table, "", hint)


def _get(args: argparse.Namespace) -> int:
    """Example:
    claude-mem config get CLAUDE_MEM_PROVIDER
    """
    rows = {each["key"]: each for each in request("GET", "/api/settings")["settings"]}
    if args.key not in rows:
        raise unknown("setting", args.key, rows, "claude-mem config list")
    return output.result(args, rows[args.key], output.clean(_shown(rows[args.key])))


def _shown(setting: dict[str, Any]) -> str:
    if setting["kind"] == "secret" and setting["set"]:
        return "(hidden)"
    value = "" if setting["value"] is None else setting["value"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _set(args: argparse.Namespace) -> int:
    """Without VALUE, reads it from stdin. Use that for secrets: other users can see the arguments of
    commands.

    Example:
      claude-mem config set CLAUDE_MEM_BASE_URL http://127.0.0.1:11434/v1
    """
    value = args.value if args.value is not None else _read(args.key)
    if not value.strip():
        raise UsageError(f"The value is empty. To remove it: claude-mem config unset {args.key}")
    return _change(args, _meaning(value))


def _unset(args: argparse.Namespace) -> int:
    """Example:
    claude-mem config unset CLAUDE_MEM_BASE_URL
    """
    return _change(args, None)


def _read(key: str) -> str:
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"{key}: ")
    return sys.stdin.read().rstrip("\n")


def _meaning(value: str) -> object:
    if value.lstrip().startswith(("[", "{")):
        try:
            return json.loads(value)
        except ValueError:
            raise UsageError("The value looks like JSON, but is not valid JSON.") from None
    return value


def _change(args: argparse.Namespace, value: object) -> int:
    answer = request("POST", "/api/settings", body={"changes": {args.key: value}})
    saved = "removed" if value is None else "saved"
    then = "It takes effect when the worker restarts: claude-mem worker restart" if answer["restart"] else ""
    if answer["shadowed"]:
        then = "An environment variable overrides it."
    return output.result(args, answer, f"{args.key} {saved}. {then}".rstrip())


EMBEDDER, EMBEDDER_MODEL = "CLAUDE_MEM_EMBEDDER", "CLAUDE_MEM_EMBEDDER_MODEL"
KNOWN = (
    ("static", "included with claude-mem; ignores word order", ""),
    (embedders.RECOMMENDED, "English, 90 MB", "fastembed"),
    ("BAAI/bge-small-en-v1.5", "English, 70 MB", "fastembed"),
    ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "50 languages, 220 MB", "fastembed"),
    ("/path/to/folder", "an ONNX model and its tokenizer.json", "onnxruntime"),
    ("http://127.0.0.1:11434/v1", "Ollama, LM Studio, or another OpenAI-compatible server", ""),
)
NEEDED = {"fastembed": "fastembed", "folder": "onnxruntime"}
LOADING_S = 3.0


def _list_embedders(args: argparse.Namespace) -> int:
    def line(row: dict[str, Any]) -> str:
        needs = f" (needs {row['needs']})" if row["needs"] and not find_spec(row["needs"]) else ""
        return f"{'*' if row['in_use'] else ' '} {row['embedder']}\n    {row['about']}{needs}"

    in_use = client.load_settings().embedder
    rows: list[dict[str, Any]] = [
        {"embedder": name, "about": about, "needs": needs or None, "in_use": name == in_use}
        for name, about, needs in KNOWN
    ]
    if in_use not in {row["embedder"] for row in rows}:
        shown = without_password(in_use)
        rows.insert(0, {"embedder": shown, "about": "your setting", "needs": None, "in_use": True})
    hint = "To change it: claude-mem embedder use EMBEDDER"
    return output.listing(args, {"items": rows}, rows, lambda _: "\n".join(map(line, rows)), "", hint)


def _use_embedder(args: argparse.Namespace) -> int:
    """Tests the embedder before anything is changed. Then the setting is saved, the worker restarts, and all
    vectors are rebuilt in the background; until then, search mostly uses full text. With a URL, the text of
    memories and queries is sent there, without secrets and private text that were recognized.
    """
    settings = client.load_settings()
    value = _absolute(args.embedder)
    kind = embedders.kind_of(value)
    if args.model and kind != "endpoint":
        raise UsageError("--model requires a URL.")
    if overridden := [key for key in (EMBEDDER, EMBEDDER_MODEL) if os.environ.get(key)]:
        raise UsageError(
            f"{' and '.join(overridden)} is set in the environment, which overrides this. Unset it first."
        )
    changes: dict[str, object] = {EMBEDDER: None if kind == "static" else value}
    changes[EMBEDDER_MODEL] = args.model if kind == "endpoint" else None
    if code := _confirm(value, kind, settings, yes=args.yes):
        return code
    tried = _try(settings, changes)
    request("POST", "/api/settings", body={"changes": changes})
    stored = request("GET", "/api/stats")
    with output.waiting("Restarting the worker ..."):
        control.stop(settings.data_dir)
        control.start(settings.data_dir)
    memories = sum(int(stored[name]) for name in ("observations", "summaries", "prompts"))
    data = {
        "embedder": without_password(value),
        "dimensions": tried.dimensions,
        "per_second": round(tried.per_second, 1),
        "memories": memories,
    }
    text = f"Using {without_password(value)} ({tried.dimensions} dimensions)."
    if memories:
        time_left = _duration(memories / tried.per_second)
        text += (
            f"\nThe vectors of {output.plural(memories, 'memory', 'memories')} are being rebuilt in the "
            f"background, which takes about {time_left}.\nUntil then, search uses full text and the vectors "
            "that are ready. Progress: claude-mem embedder status"
        )
    if settings.vectors == "off":
        text += " Vectors are off. To turn them on: claude-mem config unset CLAUDE_MEM_VECTORS"
    return output.result(args, data, text)


def _absolute(given: str) -> str:
    """The value to save: a folder as an absolute path."""
    folder = Path(given).expanduser()
    if "://" not in given and (folder.is_dir() or given.startswith(("/", "~", "."))):
        if not folder.is_dir():
            raise UsageError(f"{given} does not exist, or is not a folder.")
        return str(folder.resolve())
    return given


def _confirm(value: str, kind: embedders.Kind, settings: Settings, *, yes: bool) -> int | None:
    """None: continue. The user decides what is installed, and what leaves the machine."""
    if kind == "endpoint":
        from urllib.parse import urlsplit

        from claude_mem.vectors.endpoint import is_of_this_machine

        if not is_of_this_machine(value):
            host = urlsplit(value).hostname
            question = f"The text of all memories and queries will be sent to {host}. Continue?"
            return output.confirm(question, f"Memories would be sent to {host}", yes=yes)
    needed = NEEDED.get(kind)
    if needed and find_spec(needed) is None:
        command = [sys.executable, "-m", "pip", "install", needed]
        question = f"This needs {needed}, which is not installed. Install it with pip now?"
        if code := output.confirm(question, f"{needed} is not installed: {' '.join(command)}", yes=yes):
            return code
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode:  # noqa: S603 our own words
            raise ClaudeMemError(f"{needed} could not be installed. The embedder was not changed.")
    if kind == "fastembed":
        output.message(
            f"Loading {value}. If needed, it is downloaded to {settings.data_path('models')} first ..."
        )
    return None


def _try(settings: Settings, changes: dict[str, object]) -> embedders.Trial:
    """Raises UsageError, ClaudeMemError; nothing is changed then."""
    from claude_mem.model.structs import replace

    try:
        changed = replace(settings, **editor.applied(changes))
    except SettingsError as error:
        raise UsageError(str(error)) from None
    embedder: Embedder = embedders.build(changed)
    try:
        with output.waiting("Testing the embedder ...", LOADING_S):
            return embedders.tried(embedder, time.perf_counter)
    except VectorsUnavailable as why:
        raise ClaudeMemError(f"{why} The embedder was not changed.") from None
    finally:
        embedder.close()


def _embedder_status(args: argparse.Namespace) -> int:
    settings = client.load_settings()
    vectors = (request("GET", "/health").get("recall") or {}).get("vectors") or {}
    state = {name: vectors.get(name) for name in ("state", "embedder", "waiting", "trouble")}
    data = {"setting": without_password(settings.embedder), **state, "waiting": state["waiting"] or 0}
    lines = [f"Setting: {data['setting']}"]
    if state["state"] == "off":
        lines.append("Vectors are off (CLAUDE_MEM_VECTORS). Search uses full text only.")
    else:
        lines.append(f"Worker:  {state['embedder'] or 'unknown'}")
        waiting = state["waiting"] and output.plural(state["waiting"], "memory")
        lines.append(f"Vectors: {f'{waiting} without one yet' if waiting else 'up to date'}")
    if state["trouble"]:
        lines.append(f"Unavailable: {state['trouble']} Search uses full text for now.")
    code = WRONG if state["trouble"] else OK
    return output.result(args, data, "\n".join(lines), code=code)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return output.plural(max(1, round(seconds)), "second")
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.0f} hours"
