"""Runs one command: whatever goes wrong becomes a sentence and an exit code."""

from __future__ import annotations

import io
import os
import sys

from claude_mem.cli import parser
from claude_mem.cli.command import UNREAD, USAGE, WRONG, UsageError
from claude_mem.model.errors import ClaudeMemError


def run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a letter is no reason to fail
    try:
        chosen = parser.build().parse_args(arguments)
        code: int = chosen.run(chosen)
        sys.stdout.flush()  # here, where a closed pipe is still caught
    except BrokenPipeError:
        # Whoever read has left (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return UNREAD
    except UsageError as error:
        return _explain(str(error), USAGE)
    except ClaudeMemError as error:
        return _explain(str(error), WRONG)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _explain(f"{error.strerror or error}{where}", WRONG)
    return code


def _explain(sentence: str, code: int) -> int:
    print(f"claude-mem: {sentence}", file=sys.stderr)
    return code
