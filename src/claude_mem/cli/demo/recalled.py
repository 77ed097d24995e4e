"""Plays the next session in the same directory, and asks what it is not told by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from claude_mem.cli.demo import replay
from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import control

QUESTION = "which decimal separator do weights accept?"
FILE = "src/parcel/weight.py"
RESULTS = 3


@dataclass(frozen=True, slots=True)
class Recalled:
    context: str  # what the client shows the model at the session's start
    prompt: str
    reminder: str  # what it shows the model beside the prompt
    question: str
    found: list[dict[str, Any]]
    file: str
    history: list[dict[str, Any]]


def play(env: Mapping[str, str], data_dir: Path) -> Recalled:
    start, prompt = replay.recorded("next.jsonl")
    context = _told(replay.answer(start, env, data_dir))
    # Asked before the prompt is one of the things that are remembered.
    found = _ask(data_dir, "/api/search", q=QUESTION, limit=RESULTS)
    history = _ask(data_dir, "/api/file", path=FILE, limit=RESULTS)
    reminder = _told(replay.answer(prompt, env, data_dir))
    return Recalled(context, str(json.loads(prompt)["prompt"]), reminder, QUESTION, found, FILE, history)


def _told(answer: object) -> str:
    """The text inside a hook's answer, as the client hands it on."""
    match answer:
        case {"hookSpecificOutput": {"additionalContext": str(text)}}:
            return text
    return ""


def _ask(data_dir: Path, route: str, /, **query: object) -> list[dict[str, Any]]:
    status, answer = control.request(data_dir, "GET", f"{route}?{urlencode(query)}")
    if status != 200:
        raise ClaudeMemError(f"The demo asked {route} and was refused: {answer}")
    return cast("list[dict[str, Any]]", answer["results"])
