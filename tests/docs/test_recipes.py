"""The pages that say how to add a training system, a finding and a field work as written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import ROOT
from tests.docs.recipes import follow

CODES = "tests/diagnose/test_codes.py"
CHECK = "tests/diagnose/check/test_cases.py"
VALIDATE = "tests/validate/test_definition.py"
PAGES = ("add-a-training-system.md", "add-a-finding.md", "add-a-profile-field.md")


def test_all_work_in_a_copy(tmp_path: Path) -> None:
    for folder in ("webhook", "certs", "tests", "manifests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=ignored)
    for file in ("pyproject.toml", "long-lines.toml", "README.md"):
        shutil.copy(ROOT / file, tmp_path)
    before = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.py")}
    tests = [
        name for page in PAGES for name in follow((ROOT / "docs" / page).read_text(), tmp_path)
    ]
    assert tests, "of the other pages, tests that are there read the cases"
    tests += [CODES, VALIDATE, CHECK]
    pytest = ["pytest", "-q", "-p", "no:cacheprovider", *tests]
    after = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.py")}
    changed = [str(path) for path, text in after.items() if before.get(path) != text]
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    for command in (pytest, ["ruff", "check", *changed], ["ruff", "format", "--check", *changed]):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env=unmeasured,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr
