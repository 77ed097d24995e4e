"""The worker's log: written without captured text, and read from its end."""

from __future__ import annotations

import copy
import logging
import os
import re
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, get_args

from claude_mem.api.system import LogLevel, LogLine, LogsAnswer
from claude_mem.model.errors import StoreError
from claude_mem.model.text import lazy_pattern

LOG_NAME = "worker.log"
LOG_BYTES = 5_000_000
LOG_FILES = 5
OUR_LOGGER = "claude_mem"
OTHER_LOGGERS = ("uvicorn.error", "asyncio", "mcp")
REQUEST: ContextVar[str] = ContextVar("request", default="")
"""The id of the current HTTP request: in its response, in every log line written in the meantime, and in the
id of the event it reports."""
_SQLITE_CODE = lazy_pattern(r"SQLITE_[A-Z_]+", re.ASCII)


@contextmanager
def open_log(folder: Path, level: str) -> Iterator[None]:
    """Logs to `folder` while the block runs."""
    handler = _LogFile(
        folder / LOG_NAME, maxBytes=LOG_BYTES, backupCount=LOG_FILES - 1, encoding="utf-8", errors="replace"
    )
    handler.setFormatter(WithoutMessages("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    loggers = log_to(handler, level)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()


def log_to(handler: logging.Handler, level: str) -> list[logging.Logger]:
    """All loggers that write to it from now on."""
    loggers = [logging.getLogger(name) for name in (OUR_LOGGER, *OTHER_LOGGERS)]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(level if logger.name == OUR_LOGGER else logging.ERROR)
    return loggers


def log_loop_error(loop: object, context: dict[str, Any]) -> None:
    """The event loop's exception handler; the default one would quote the exception."""
    del loop
    logging.getLogger(OUR_LOGGER).error(
        "event loop: %s", context.get("message"), exc_info=context.get("exception")
    )


def name_of(error: BaseException) -> str:
    """An error's type and SQLite's code, without its message, which may quote captured text."""
    code = _SQLITE_CODE.search(str(error)) if isinstance(error, StoreError) else None
    return f"{type(error).__name__} {code[0]}" if code else type(error).__name__


class _LogFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.baseFilename, flags, 0o600)
        return open(fd, "a", encoding=self.encoding, errors=self.errors)  # noqa: PTH123 - a descriptor

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Ignores errors: a full disk must not stop the worker, or fill start.log instead."""


class WithoutMessages(logging.Formatter):
    """Logs only an exception's type and stack, because its message may quote captured text."""

    def format(self, record: logging.LogRecord) -> str:
        """Another handler's formatter leaves its text in the record, with the message: it is not used."""
        record = copy.copy(record)
        record.exc_text = None
        if request := REQUEST.get():
            record.msg, record.args = f"{record.getMessage()} request={request}", ()
        return super().format(record)

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


TAIL_BYTES = 1 << 20
LEVELS: tuple[str, ...] = get_args(LogLevel)

_LINE = lazy_pattern(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ([A-Z]+) ([\w.]+): (.*)", re.ASCII | re.DOTALL)
_PLACE = lazy_pattern(r"(\d{1,20})-(\d{1,15})", re.ASCII)


def tail(log: Path, after: str, level: LogLevel, limit: int) -> LogsAnswer:
    """`after`: the `next` of an answer, or nothing for the end of the log."""
    text, following = read_since(log, after)
    levels = LEVELS[LEVELS.index(level) :]
    lines = [line for line in _parsed(text) if line.level in levels or line.level not in LEVELS]
    return LogsAnswer(lines[-limit:], following)


def read_since(log: Path, after: str) -> tuple[str, str | None]:
    """What was written since a place (a file, and how much of it was read), and the next place; else the end
    of it all. A log that was rotated meanwhile is read to its end first, one that was emptied from its
    beginning."""
    place = _PLACE.fullmatch(after)
    content = b""
    following = None
    with ExitStack() as stack:
        for file in _opened(log, stack):
            found = os.fstat(file.fileno())  # of what was opened: by now the name may be another file's
            start = 0
            if place and found.st_ino == int(place[1]):
                content, start = b"", int(place[2]) if int(place[2]) <= found.st_size else 0
            file.seek(max(start, found.st_size - TAIL_BYTES))
            piece = file.read(TAIL_BYTES)
            # An incomplete line is read next time.
            complete_lines = piece[: piece.rfind(b"\n") + 1]
            content += complete_lines
            following = f"{found.st_ino}-{_end(start, found.st_size, complete_lines)}"
    return content[-TAIL_BYTES:].decode("utf-8", "replace"), following


def _opened(log: Path, stack: ExitStack) -> list[BinaryIO]:
    """The rotated one, and the log. Opened the other way round: rotated in between, the log is found twice,
    and nothing is missed."""
    files: list[BinaryIO] = []
    for path in (log, log.with_name(f"{log.name}.1")):
        with suppress(OSError):
            files.append(stack.enter_context(path.open("rb")))
    if len(files) == 2 and os.path.sameopenfile(*(file.fileno() for file in files)):
        del files[1]
    return files[::-1]


def _end(start: int, size: int, complete_lines: bytes) -> int:
    return max(start, size - TAIL_BYTES) + len(complete_lines)


def _parsed(text: str) -> Iterator[LogLine]:
    """Parses a record and the lines that follow it, which are the stack of an exception."""
    record: list[str] = []
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found:
            if record:
                yield LogLine(*record)
            record = list(found.groups())
        elif record:
            record[-1] += f"\n{line}"
    if record:
        yield LogLine(*record)
