"""Run tests in a new interpreter that has a mutant from the first import on: `python -m tests.mutation.fresh JOB`.

JOB is a file of JSON: the file that is changed, its changed text, and the tests. Exit status: pytest's.
"""

import json
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from tests import ROOT


class SameDraws:
    """A pytest plugin: property tests draw the same in each run, and remember no failure."""

    def pytest_configure(self) -> None:
        from hypothesis import settings  # pytest wants to import it first

        settings.register_profile(
            "mutation", settings.get_profile("any-machine"), database=None, derandomize=True
        )
        settings.load_profile("mutation")


def main(job: Path) -> int:
    """Run them until one fails."""
    wanted = json.loads(job.read_text())
    job.unlink()
    changed = str(ROOT / wanted["path"])
    unchanged = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> object:
        if loader.path == changed:
            return compile(wanted["source"], changed, "exec")
        return unchanged(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    return pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", *wanted["tests"]], plugins=[SameDraws()]
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
