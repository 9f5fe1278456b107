"""Write logs on standard error: one JSON object a line, or readable lines on a terminal."""

from __future__ import annotations

import atexit
import json
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Mapping
from queue import Queue
from typing import Any, TextIO

import orjson

MESSAGE_LENGTH = 1024
"""Longest text that is logged of a message or field: names come from requests and have any length there."""
MOST_LINES = 10_000
"""Most lines that wait for a reader of the log that has stopped."""
FINISH_SECONDS = 2.0


def configure(stream: TextIO | None = None) -> None:
    """Send every log record of the process to *stream*, standard error if none is given."""
    global _lines
    handler: logging.Handler = logging.StreamHandler(stream)
    readable = (stream or sys.stderr).isatty()
    if stream is None and not readable:
        _lines = LineWriter(sys.stderr.fileno())
        handler = _LineHandler(_lines)
    handler.setFormatter(ReadableFormatter() if readable else JSONFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for noisy in ("asyncio", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    logging.captureWarnings(True)
    logging.raiseExceptions = False
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # documented way to skip the search for the caller


def log_fields(logger: logging.Logger, level: int, message: str, fields: Mapping[str, Any]) -> None:
    """Log *message* with *fields* beside it; values are strings, numbers, booleans or lists of strings."""
    if _lines is None:
        logger.log(level, "%s", message, extra={"fields": fields})
    elif logger.isEnabledFor(level):  # a record of logging costs more than the line
        _lines.write(_json_line(time.time(), logging.getLevelName(level).lower(), message, fields))


class LineWriter:
    """Write lines to the file *number*: each in one write, in order, and without waiting for whoever reads them.

    What cannot be written at once is written by a thread, which `write` waits for only where MOST_LINES wait already.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._lock = threading.Lock()
        self._late: Queue[bytes] = Queue(MOST_LINES)
        self._ready = select.poll()
        self._ready.register(number, select.POLLOUT)
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Write a line, whose end is added."""
        line += b"\n"
        with self._lock:
            is_free = not self._late.unfinished_tasks
            # a pipe that is ready takes PIPE_BUF bytes, and all of them at once
            if is_free and len(line) <= select.PIPE_BUF and self._ready.poll(0):
                self._put(line)
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_late, name="log", daemon=True)
                self._thread.start()
                atexit.register(self._finish)
            self._late.put(line)

    def _write_late(self) -> None:
        while True:
            self._put(self._late.get())
            self._late.task_done()

    def _put(self, line: bytes) -> None:
        try:  # contextlib.suppress takes as long as a write
            while line:
                line = line[os.write(self._number, line) :]
        except OSError:  # nobody reads it any more
            pass

    def _finish(self) -> None:
        """Give what waits a moment to be written."""
        deadline = time.monotonic() + FINISH_SECONDS
        while self._late.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.01)


_lines: LineWriter | None = None
"""Where lines go, unless a person reads them, or a test."""


class _LineHandler(logging.Handler):
    def __init__(self, lines: LineWriter) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.write(self.format(record).encode("utf-8", "replace"))


def _json_line(
    created: float, level: str, message: str, fields: Mapping[str, Any], error: str = ""
) -> bytes:
    line: dict[str, Any] = {
        "time": _time(created),
        "level": level,
        "message": message[:MESSAGE_LENGTH],
        **fields,
    }
    for name, value in fields.items():
        if value.__class__ is str and len(value) > MESSAGE_LENGTH:
            line[name] = value[:MESSAGE_LENGTH]
    if error:
        line["error"] = error
    try:
        return orjson.dumps(line)
    except TypeError:  # lone surrogates, integers beyond 64 bits
        return json.dumps(line).encode()


_today = (0, "")


def _time(created: float) -> str:
    """Write a time as RFC 3339 does; the date and the second are written once a second."""
    global _today
    second, text = _today
    if second != int(created):
        second = int(created)
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        _today = second, text
    return f"{text}.{int((created - second) * 1000):03d}Z"


class JSONFormatter(logging.Formatter):
    """Write a record as one JSON object: time (RFC 3339), level, message, the fields, and the traceback as ``error``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        error = self.formatException(record.exc_info) if record.exc_info else ""
        fields = getattr(record, "fields", {})
        return _json_line(
            record.created, record.levelname.lower(), record.getMessage(), fields, error
        ).decode()


class ReadableFormatter(logging.Formatter):
    """Write a record for people: ``12:00:01 info  injected  namespace=ml name=train-0 …``; control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback below it."""
        parts = [
            time.strftime("%H:%M:%S", time.localtime(record.created)),
            f"{record.levelname.lower():<7}",
        ]
        parts.append(_printable(record.getMessage()))
        for name, value in getattr(record, "fields", {}).items():
            if value not in ("", [], None):
                text = ",".join(value) if isinstance(value, list) else str(value)
                parts.append(f"{name}={_printable(text)}")
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() else repr(char)[1:-1] for char in text[:MESSAGE_LENGTH]
    )
