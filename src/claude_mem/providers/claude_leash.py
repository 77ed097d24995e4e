"""Makes sure that no Claude Code outlives who asked it: neither a deadline, nor close(), nor a killed worker.

A Claude Code that waits for its answer does not mind that its standard input is closed and its parent gone;
left alone it stays for many minutes, with 200 MB (measured; docs/adr/0005). So it is started by a small
script that first leaves a watcher behind, and the watcher reads a pipe that only the worker holds open. The
pipe's end without a word, by the worker's hand or by its death, kills the client at once, without anybody
having to know process ids.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import threading
from pathlib import Path

SCRIPT = """\
#!/bin/sh
exec 9<{pipe}
{{
    read -r _ <&9 && exit
    kill $$  # politely first: it takes its session file out of ~/.claude
    n=0
    while kill -0 $$ && [ $n -lt 20 ]; do sleep 0.1; n=$((n + 1)); done
    kill -9 $$
    rm -rf -- {place}
}} </dev/null >/dev/null 2>&1 &
exec 9<&-
exec {command} "$@"
"""


class Leash:
    """A private directory (mode 0700) with the script to start, an empty directory to start it in, and one
    for what it writes to the side; gone afterwards."""

    def __init__(self, command: str) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="claude-mem-"))
        self.empty = self._place / "empty"
        self.temporary = self._place / "tmp"
        self.command = self._place / "claude"
        pipe = self._place / "pipe"
        self.empty.mkdir(mode=0o700)
        self.temporary.mkdir(mode=0o700)
        os.mkfifo(pipe, 0o600)
        script = SCRIPT.format(
            pipe=shlex.quote(str(pipe)), place=shlex.quote(str(self._place)), command=shlex.quote(command)
        )
        self.command.write_text(script, encoding="utf-8")
        self.command.chmod(0o700)
        self._lock = threading.Lock()
        # Read and write: opening a pipe for writing alone would wait for the watcher. No child inherits it.
        self._held: int | None = os.open(pipe, os.O_RDWR)

    def __enter__(self) -> Leash:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end(b"done\n")
        shutil.rmtree(self._place, ignore_errors=True)

    def cut(self) -> None:
        """Kill the client, if it still runs. Any thread may; once is enough."""
        self._end(b"")

    def _end(self, word: bytes) -> None:
        with self._lock:
            if self._held is not None:
                if word:
                    os.write(self._held, word)
                os.close(self._held)
                self._held = None
