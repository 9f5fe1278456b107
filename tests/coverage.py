"""Measure branch coverage: `python -m tests.coverage`. Exit status 0 if the pure core is at 100 %; the rest is shown.

The pure core is what pyproject.toml's import contract "the core does no I/O" lists.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
COVERAGE = [sys.executable, "-m", "coverage"]


def core_files() -> list[str]:
    """Give the patterns of the core's files, ``webhook/networks/*``."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [contract] = [one for one in contracts if one["name"] == "the core does no I/O"]
    paths = [module.replace(".", "/") for module in contract["source_modules"]]
    return [f"{path}/*" if (ROOT / path).is_dir() else f"{path}.py" for path in paths]


def main() -> int:
    """Run the tests that need nothing, and report core and rest."""
    tests = subprocess.run([*COVERAGE, "run", "-m", "pytest", "-q", "-m", "core", *sys.argv[1:]], cwd=ROOT)
    files = ",".join(core_files())
    print("\nAll but the pure core: what only server processes and a real cluster run is not counted here.")
    subprocess.run([*COVERAGE, "report", f"--omit={files}", "--no-skip-covered"], cwd=ROOT)
    print("\nThe pure core:")
    core = subprocess.run([*COVERAGE, "report", f"--include={files}", "--fail-under=100", "--precision=2"], cwd=ROOT)
    return tests.returncode or core.returncode


if __name__ == "__main__":
    sys.exit(main())
