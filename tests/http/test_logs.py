"""Lines of the log: each whole, in order, and none that stops whoever writes it."""

import json
import os
import subprocess
import sys
import threading

from webhook.http.logs import MOST_BYTES, LineWriter


def test_waits_for_no_reader_and_loses_no_line() -> None:
    reading, writing = os.pipe()
    lines = LineWriter(writing)
    expected = [b"%06d %s" % (number, b"x" * (number % 6000)) for number in range(2000)]
    for line in expected:  # six megabytes, of which a pipe takes 64 KiB
        lines.write(line)
    with open(reading, "rb") as reader:
        found: list[bytes] = []
        while len(found) < len(expected):
            found.append(reader.readline()[:-1])
            lines.write(b"later")
        assert found == expected
        assert reader.readline() == b"later\n"
    os.close(writing)


def test_lines_of_many_threads_stay_whole() -> None:
    reading, writing = os.pipe()
    lines = LineWriter(writing)

    def write(number: int) -> None:
        for _ in range(300):
            lines.write(b"%d" % number * (1000 * (number + 1)))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    found: list[bytes] = []
    with open(reading, "rb") as reader:
        while len(found) < 1800:
            lines.write(b"-")
            found += [line for line in [reader.readline()] if line != b"-\n"]
    for thread in threads:
        thread.join()
    os.close(writing)
    assert {(line[:1], len(line), len(set(line[:-1]))) for line in found} == {
        (b"%d" % number, 1000 * (number + 1) + 1, 1) for number in range(6)
    }


def test_holds_a_bounded_number_of_lines_and_outlives_its_reader() -> None:
    reading, writing = os.pipe()
    lines = LineWriter(writing)
    for _ in range(MOST_BYTES // 1000 + 500):
        lines.write(b"x" * 999)
    assert MOST_BYTES <= len(lines._late) < MOST_BYTES + 1000
    os.close(reading)
    lines.write(b"y")
    assert not lines._late
    os.close(writing)


SCRIPT = """
import logging
from webhook.http import logs
logs.configure()
log = logging.getLogger("a.b")
fields = {"list": ["a"], "number": 1 << 70, "half": "\\ud800"}
logs.log_fields(log, logging.INFO, "m" * 2000, fields)
log.warning("plain %s", "words")
try:
    raise ValueError("why")
except ValueError:
    log.exception("failed")
logs.log_fields(log, logging.DEBUG, "too much", {})
"""


def test_writes_records_of_both_kinds_as_json() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], stderr=subprocess.PIPE, text=True, check=True
    )
    first, second, third = map(json.loads, done.stderr.splitlines())
    assert list(first) == ["time", "level", "message", "list", "number", "half"]
    assert (first["level"], first["message"]) == ("info", "m" * 1024)
    assert (first["list"], first["number"], first["half"]) == (["a"], 1 << 70, "\ud800")
    assert (second["level"], second["message"]) == ("warning", "plain words")
    assert third["message"] == "failed"
    assert third["error"].endswith("ValueError: why")
    assert {len(each["time"]) for each in (first, second, third)} == {
        len("2026-11-22T12:00:00.000Z")
    }
