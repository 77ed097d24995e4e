"""Writes the worker's log: rotating, its owner's alone, and never a word of what was captured.

An exception's message may quote what it tripped over, so only its type and the lines it passed are written.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any

NAME = "worker.log"
MOST_BYTES = 5_000_000
FILES = 5
OURS = "claude_mem"
THEIRS = ("uvicorn.error", "asyncio", "mcp")


@contextmanager
def opened(folder: Path, level: str) -> Iterator[None]:
    """Log into `folder` for as long as the block runs."""
    handler = _File(
        folder / NAME, maxBytes=MOST_BYTES, backupCount=FILES - 1, encoding="utf-8", errors="replace"
    )
    handler.setFormatter(_WithoutMessages("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in (OURS, *THEIRS)]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(level if logger.name == OURS else logging.ERROR)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()


def loop_trouble(loop: object, context: dict[str, Any]) -> None:
    """The event loop's exception handler: its own would quote the exception."""
    del loop
    logging.getLogger(OURS).error("event loop: %s", context.get("message"), exc_info=context.get("exception"))


class _File(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.baseFilename, flags, 0o600)
        return open(fd, "a", encoding=self.encoding, errors=self.errors)  # noqa: PTH123 - a descriptor

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A full disk must not stop the worker, nor fill start.log instead."""


class _WithoutMessages(logging.Formatter):
    def formatException(  # noqa: N802 - logging's name
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        lines: list[str] = []
        error = ei[1]
        while error is not None and len(lines) < 100:
            lines += traceback.format_tb(error.__traceback__)
            lines.append(f"{type(error).__module__}.{type(error).__qualname__}\n")
            error = error.__cause__ or error.__context__
        return "".join(lines).rstrip()
