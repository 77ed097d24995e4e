"""Runs a VS Code extension under Node, in the extension host of our own (`vscode_host.js`)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.harness import hook_process

HOST = Path(__file__).with_name("vscode_host.js")


class Host:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, act: str, **given: object) -> Any:
        """Do something, and wait for all that it sets off."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": act, **given}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self("state")
        return found


@contextmanager
def hosted(
    main: Path, folder: Path | None, data: Path, settings: Mapping[str, object], **env: str
) -> Iterator[Host]:
    """An activated extension in a window on a folder, with the data directory of a worker."""
    env = hook_process.environment(data, **env)
    words = ["node", str(HOST), str(main), str(folder or ""), json.dumps(settings)]
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=hook_process.environment(data, **env),
    ) as process:
        host = Host(process)
        host("activate")
        try:
            yield host
        finally:
            process.communicate()
