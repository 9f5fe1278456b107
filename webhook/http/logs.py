"""Write logs on standard error: one JSON object a line, or readable lines on a terminal."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

import orjson

MESSAGE_LENGTH = 1024
"""Longest text that is logged of a message or field: names come from requests and have any length there."""


def configure(stream: TextIO | None = None) -> None:
    """Send every log record of the process to *stream*, standard error if none is given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(ReadableFormatter() if handler.stream.isatty() else JSONFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for noisy in ("asyncio", "uvicorn.error", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    logging.captureWarnings(True)
    logging.raiseExceptions = False
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # documented way to skip the search for the caller


def log_fields(logger: logging.Logger, level: int, message: str, fields: Mapping[str, Any]) -> None:
    """Log *message* with *fields* beside it; values are strings, numbers, booleans or lists of strings."""
    logger.log(level, "%s", message, extra={"fields": fields})


class JSONFormatter(logging.Formatter):
    """Write a record as one JSON object: time (RFC 3339), level, message, the fields, and the traceback as ``error``."""

    def __init__(self) -> None:
        super().__init__()
        self._second = (0, "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": self._time(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage()[:MESSAGE_LENGTH],
        }
        for name, value in getattr(record, "fields", {}).items():
            line[name] = value[:MESSAGE_LENGTH] if isinstance(value, str) else value
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        try:
            return orjson.dumps(line).decode()
        except TypeError:  # lone surrogates, integers beyond 64 bits
            return json.dumps(line)

    def _time(self, created: float) -> str:
        second, text = self._second
        if second != int(created):
            second = int(created)
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second, text
        return f"{text}.{int((created - second) * 1000):03d}Z"


class ReadableFormatter(logging.Formatter):
    """Write a record for people: ``12:00:01 info  injected  namespace=ml name=train-0 …``; control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback below it."""
        parts = [time.strftime("%H:%M:%S", time.localtime(record.created)), f"{record.levelname.lower():<7}"]
        parts.append(_printable(record.getMessage()))
        for name, value in getattr(record, "fields", {}).items():
            if value not in ("", [], None):
                text = ",".join(value) if isinstance(value, list) else str(value)
                parts.append(f"{name}={_printable(text)}")
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[:MESSAGE_LENGTH])
