"""The log of a team server: one JSON object a line on stderr, without a word of what was asked or stored."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from claude_mem.serve.worker_log import OTHER_LOGGERS, OUR_LOGGER, REQUEST, WithoutMessages


class JsonLines(WithoutMessages):
    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if request := REQUEST.get():
            facts["request"] = request
        if record.exc_info:
            facts["trace"] = self.formatException(record.exc_info)
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (OUR_LOGGER, *OTHER_LOGGERS):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(level if name == OUR_LOGGER else logging.ERROR)
