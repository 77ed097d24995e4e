"""Transcripts for tests, and the command that takes them in."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.harness import hook_process
from tests.harness.commands import Done, Mem, command

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"


def real(folder: Path) -> Path:
    """The nine real ones, as a client keeps them."""
    folder.mkdir(parents=True)
    for file in sorted(REAL.glob("*.gz")):
        (folder / file.stem).write_bytes(gzip.decompress(file.read_bytes()))
    return folder


def session(
    folder: Path,
    id: str,
    *,
    day: str = "2026-07-15",
    turns: int = 2,
    uses: int = 3,
    filling: int = 0,
    said: Sequence[str] = (),
    cwd: str = "/home/u/parcel",
) -> Path:
    """A session of so many turns; `filling`: how much each tool answers; `said`: prompts of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []

    def add(kind: str, message: dict[str, Any], **more: object) -> None:
        number = len(lines)
        minute, second = divmod(number, 60)
        lines.append(
            {
                "type": kind,
                "uuid": f"{id}-{number}",
                "parentUuid": None,
                "isSidechain": False,
                "sessionId": id,
                "cwd": cwd,
                "gitBranch": "main",
                "timestamp": f"{day}T{4 + minute // 60:02}:{minute % 60:02}:{second:02}.000Z",
                "message": message,
            }
            | more
        )

    for turn in range(max(turns, len(said))):
        prompt = said[turn] if turn < len(said) else f"Turn {turn} of {id}: add a parser for form {turn}"
        add("user", {"role": "user", "content": prompt}, promptId=f"{id}-p{turn}")
        for use in range(uses):
            call = f"toolu_{id}_{turn}_{use}"
            given = {
                "file_path": f"{cwd}/src/form{turn}_{use}.py",
                "content": f"def form_{turn}_{use}(): ...\n",
            }
            block = {"type": "tool_use", "id": call, "name": "Write", "input": given}
            add("assistant", _message(f"{id}-{turn}-{use}", [block], "tool_use"))
            answer = "File created successfully" + " and said so" * (filling // 12)
            result = [{"type": "tool_result", "tool_use_id": call, "content": answer}]
            add(
                "user",
                {"role": "user", "content": result},
                toolUseResult={"type": "create", "said": answer} | given,
            )
        text = {"type": "text", "text": f"The parser for form {turn} of {id} is there."}
        add("assistant", _message(f"{id}-{turn}-end", [text], "end_turn"))
    path = folder / f"{id}.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


def _message(id: str, content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    return {"id": id, "role": "assistant", "model": "claude-x", "content": content, "stop_reason": stop}


def words(*arguments: str) -> list[str]:
    return command("backfill", *arguments)


def backfill(
    data: Path, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None, process: bool = False
) -> Done:
    """Run the command to its end."""
    mem = Mem(data)
    mem.env = environment(data)
    return mem("backfill", *arguments, code=code, env=env, process=process)


def environment(data: Path) -> dict[str, str]:
    """With the running worker's port and provider, for whoever starts it again."""
    own = {
        name: os.environ[name]
        for name in ("CLAUDE_MEM_WORKER_PORT", "CLAUDE_MEM_PROVIDER")
        if name in os.environ
    }
    return hook_process.environment(data, **own)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
