"""Measure branch coverage: `python -m tests.coverage`. Exit status 0 if the pure core is at 100 %; the rest is shown.

Only the tests that need nothing count for the core; those of real servers count for the rest too.

The pure core is what pyproject.toml's import contract keeps from I/O.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def core_files() -> list[str]:
    """Give the patterns of the core's files, ``webhook/core/*``: the folders and modules that may not import socket."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    pure = [one for one in contracts if "socket" in one.get("forbidden_modules", ())]
    [contract] = [one for one in pure if "webhook.core" in one["source_modules"]]
    paths = [ROOT / module.replace(".", "/") for module in contract["source_modules"]]
    missing = [
        str(path) for path in paths if not path.is_dir() and not path.with_suffix(".py").is_file()
    ]
    if missing:
        sys.exit(
            f"pyproject.toml: contract {contract['name']!r} names what is not there: {', '.join(missing)}"
        )
    return [
        f"{path.relative_to(ROOT)}/*" if path.is_dir() else f"{path.relative_to(ROOT)}.py"
        for path in paths
    ]


def coverage(*words: str) -> int:
    """Run coverage; give its exit status."""
    return subprocess.run(
        [sys.executable, "-m", "coverage", *words], cwd=ROOT, check=False
    ).returncode


def main() -> int:
    """Run the tests that need nothing and judge the core by them; add the tests of real servers, and show the rest."""
    files = ",".join(core_files())
    coverage("erase")
    failed = coverage("run", "-m", "pytest", "-q", "-m", "core")
    coverage("combine", "--quiet")
    print("\nThe pure core:", flush=True)
    failed |= coverage("report", f"--include={files}", "--fail-under=100", "--precision=2")
    failed |= coverage("run", "-m", "pytest", "-q", "-m", "sockets")
    coverage("combine", "--quiet", "--append")
    print("\nThe rest; what only a real API server or node shows is not counted:", flush=True)
    coverage("report", f"--omit={files}", "--no-skip-covered")
    return failed


if __name__ == "__main__":
    sys.exit(main())
