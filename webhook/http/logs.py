"""Write logs on standard error: one JSON object a line."""

import atexit
import json
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

MESSAGE_LENGTH = 1024
"""Longest message that is logged: one may tell what stands in a request."""
MOST_BYTES = 8 << 20
"""Most that waits for a reader of the log that has stopped; what comes then is lost."""
FINISH_MILLISECONDS = 2000


def configure() -> None:
    """Send every log record of the process to standard error."""
    global _lines
    _lines = LineWriter(sys.stderr.fileno())
    root = logging.getLogger()
    root.handlers[:] = [_LineHandler()]
    root.setLevel(logging.INFO)
    for noisy in ("asyncio", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    logging.captureWarnings(True)
    logging.raiseExceptions = False


def log_fields(logger: logging.Logger, level: int, message: str, fields: Mapping[str, Any]) -> None:
    """Log *message* with *fields*: strings, numbers, booleans or lists of strings."""
    if _lines is None:
        logger.log(level, "%s", message, extra={"fields": fields})
    elif logger.isEnabledFor(level):  # a record of logging costs more than the line
        _lines.write(_json_line(time.time(), logging.getLevelName(level), message, fields))


class LineWriter:
    """Write lines to the file *number*: each whole and in order, without a wait for their reader.

    What cannot be written at once is written with the next line, or at the end of the process.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._lock = threading.Lock()
        self._late = bytearray()
        self._ready = select.poll()
        self._ready.register(number, select.POLLOUT)
        atexit.register(self._write_late, FINISH_MILLISECONDS)

    def write(self, line: bytes) -> None:
        """Write a line, whose end is added."""
        with self._lock:
            if len(self._late) < MOST_BYTES:
                self._late += line + b"\n"
            self._write_late(0)

    def _write_late(self, milliseconds: int) -> None:
        try:  # a pipe that is ready takes PIPE_BUF bytes, and all of them at once
            while self._late and self._ready.poll(milliseconds):
                del self._late[: os.write(self._number, self._late[: select.PIPE_BUF])]
        except OSError:  # nobody reads it any more
            self._late.clear()


_lines: LineWriter | None = None
"""Where lines go, unless a test reads records."""


class _LineHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        info = record.exc_info
        error = {"error": logging.Formatter().formatException(info)} if info else {}
        if _lines:
            message = record.getMessage()
            _lines.write(_json_line(record.created, record.levelname, message, error))


def _json_line(created: float, level: str, message: str, fields: Mapping[str, Any]) -> bytes:
    written = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")
    line = {
        "time": written.replace("+00:00", "Z"),
        "level": level.lower(),
        "message": message[:MESSAGE_LENGTH],
        **fields,
    }
    try:
        return orjson.dumps(line)
    except TypeError:  # lone surrogates, integers beyond 64 bits
        return json.dumps(line).encode()
