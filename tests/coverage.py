"""Measure branch coverage: `python -m tests.coverage`. Exit status 0 if the pure core is at 100 %; the rest is shown.

Only the tests that need nothing count for the core; those of real servers count for the rest too.

The pure core is what pyproject.toml's import contract "core, dry_run, diagnose.check and diagnose.explain do no I/O" lists.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNMEASURED = ("--deselect=tests/sockets/test_fuzz.py",)
"""Patient tests, many times slower where each line is counted."""


def core_files() -> list[str]:
    """Give the patterns of the core's files, ``webhook/core/networks/*``."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [contract] = [
        one for one in contracts if one["name"] == "core, dry_run, diagnose.check and diagnose.explain do no I/O"
    ]
    paths = [module.replace(".", "/") for module in contract["source_modules"]]
    return [f"{path}/*" if (ROOT / path).is_dir() else f"{path}.py" for path in paths]


def coverage(*words: str) -> int:
    """Run coverage; give its exit status."""
    return subprocess.run([sys.executable, "-m", "coverage", *words], cwd=ROOT, check=False).returncode


def main() -> int:
    """Run the tests that need nothing and judge the core by them; add the tests of real servers, and show the rest."""
    files = ",".join(core_files())
    coverage("erase")
    failed = coverage("run", "-m", "pytest", "-q", "-m", "core")
    coverage("combine", "--quiet")
    print("\nThe pure core:", flush=True)
    failed |= coverage("report", f"--include={files}", "--fail-under=100", "--precision=2")
    failed |= coverage("run", "-m", "pytest", "-q", "-m", "sockets", *UNMEASURED)
    coverage("combine", "--quiet", "--append")
    print("\nThe rest; what only a real API server or node shows is not counted:", flush=True)
    coverage("report", f"--omit={files}", "--no-skip-covered")
    return failed


if __name__ == "__main__":
    sys.exit(main())
