"""Note which codes are told in a run of tests, and at which levels, and let none but *ok* be without an action.

A plugin for pytest, which conftest.py of tests/diagnose begins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests import ROOT
from webhook.diagnose.finding import Finding

TOLD: dict[str, set[str]] = defaultdict(set)
"""Levels by code, ``{"lease-stale": {"fail"}}``, as far as this process has come."""
_FILE = "TOLD_CODES"
_make = Finding.__init__


def _note(self: Finding, *values: Any, **named: Any) -> None:
    _make(self, *values, **named)
    TOLD[str(self.code)].add(self.level)
    assert self.action or self.level == "ok", f"who is told of a fault is told what to do: {self}"


def begin() -> None:
    """Note each finding from now on."""
    Finding.__init__ = _note  # type: ignore[method-assign]


def pytest_sessionfinish() -> None:
    """Write down what was told, in a run that `told_by_all_tests` began."""
    if file := os.environ.get(_FILE):
        Path(file).write_text(json.dumps({code: sorted(levels) for code, levels in TOLD.items()}))


def told_by_all_tests(file: Path) -> dict[str, set[str]]:
    """Run the tests of check and explain, but for the patient ones, in a process of their own, and return what they tell."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.told_codes",
    ]
    folders = [
        "tests/diagnose/check",
        "tests/diagnose/explain",
        "--ignore-glob=*hostile*",
    ]
    subprocess.run(
        [*command, *folders],
        cwd=ROOT,
        env={**os.environ, _FILE: str(file)},
        check=False,
        capture_output=True,
    )
    return {code: set(levels) for code, levels in json.loads(file.read_text()).items()}
