"""Know which lines of webhook/core each test reaches, so that a mutant is given the tests that can see it.

What is known of a test holds until its own file or a file that it reaches changes.
"""

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from coverage import Coverage

from tests import ROOT
from tests.mutation.mutants import CORE, Mutant


class Reach(NamedTuple):
    """What one test reaches: its processor time in seconds, and a bit for each line of each file, with the file's digest."""

    own: str
    seconds: float
    lines: dict[str, tuple[str, int]]


class Reached:
    """What is known of all tests, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Reach] = pickle.loads(path.read_bytes()) if path.exists() else {}
        self._digests: dict[str, str] = {}
        self._orders: dict[str, list[tuple[float, str, int]]] = {}
        self._states: dict[tuple[str, tuple[int, int]], str] = {}

    def unknown(self, tests: Iterable[str]) -> list[str]:
        """Give the tests that have to be looked at, and forget those that are gone."""
        wanted = list(tests)
        self._known = {name: self._known[name] for name in wanted if name in self._known}
        return [
            name
            for name in wanted
            if name not in self._known or self._is_stale(name, self._known[name])
        ]

    def add(self, found: dict[str, Reach]) -> None:
        """Keep what was found."""
        self._known |= found
        self._orders.clear()
        self._states.clear()
        partial = self._path.with_suffix(".partial")
        partial.write_bytes(pickle.dumps(self._known))
        partial.replace(self._path)

    def tests(self, mutant: Mutant, lines: tuple[int, int], patience: float) -> list[str]:
        """Give the tests that reach any of these lines of its file, at most ``patience`` seconds of them.

        Those of the file of tests that mirrors the mutant's come first, then those beside it, then the quickest.
        """
        mask = (1 << lines[1] + 1) - (1 << lines[0])
        chosen: list[str] = []
        spent = 0.0
        for seconds, name, bits in self._in_order(mutant.path):
            if bits & mask:
                spent += seconds
                if spent > patience and chosen:
                    break
                chosen.append(name)
        return chosen

    def state(self, mutant: Mutant) -> str:
        """Give a digest of the tests that reach a mutant's function, and of their files."""
        function = mutant.path, mutant.body
        if function not in self._states:
            names = sorted(self.tests(mutant, mutant.body, float("inf")))
            text = "\n".join(f"{name} {self._known[name].own}" for name in names)
            self._states[function] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._states[function]

    def _in_order(self, path: str) -> list[tuple[float, str, int]]:
        """Give the seconds, names and lines of the tests that reach a file, in the order in which they are run."""
        if path not in self._orders:
            own = _mirror(path)
            found = [
                (reach.seconds, name, reach.lines[path][1])
                for name, reach in self._known.items()
                if path in reach.lines
            ]
            beside = own.rpartition("/")[0]
            self._orders[path] = sorted(
                found,
                key=lambda each: (
                    not each[1].startswith(own),
                    _file(each[1]).rpartition("/")[0] != beside,
                    each,
                ),
            )
        return self._orders[path]

    def seconds(self, tests: Iterable[str]) -> float:
        """Give the processor time of tests."""
        return sum(self._known[name].seconds for name in tests)

    def look(self, tests: list[str], passes: Callable[[str], bool]) -> dict[str, Reach]:
        """Run each test, and give what those reached that passed."""
        coverage = Coverage(
            data_file=None, config_file=False, branch=False, source=[str(CORE)], messages=False
        )
        coverage.set_option(
            "run:disable_warnings", ["no-data-collected"]
        )  # none of these tests may reach the core
        coverage.start()
        seconds = {}
        for name in tests:
            coverage.switch_context(name)
            before = sum(os.times()[:4])
            if passes(name):
                seconds[name] = sum(os.times()[:4]) - before
        coverage.stop()
        data = coverage.get_data()
        lines: dict[str, dict[str, int]] = {name: {} for name in seconds}
        for file in data.measured_files():
            path = str(Path(file).relative_to(ROOT))
            for line, names in data.contexts_by_lineno(file).items():
                for name in names:
                    if name in lines:
                        lines[name][path] = lines[name].get(path, 0) | 1 << line
        return {
            name: Reach(
                self._digest(_file(name)),
                seconds[name],
                {path: (self._digest(path), bits) for path, bits in lines[name].items()},
            )
            for name in seconds
        }

    def _is_stale(self, name: str, reach: Reach) -> bool:
        return self._digest(_file(name)) != reach.own or any(
            self._digest(path) != digest for path, (digest, _) in reach.lines.items()
        )

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            file = ROOT / path
            self._digests[path] = (
                hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else ""
            )
        return self._digests[path]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _mirror(path: str) -> str:
    """Give the file of tests that mirrors a file: ``tests/core/x/test_y.py`` of ``webhook/core/x/y.py``."""
    file = Path(path)
    return str(Path("tests", *file.parts[1:-1], f"test_{file.name}"))
