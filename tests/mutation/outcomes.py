"""Keep what became of each mutant in build/mutation/outcomes.jsonl, a line each, so that a run that is stopped goes on."""

import json
from enum import StrEnum
from pathlib import Path

from tests import ROOT
from tests.mutation.mutants import Mutant

BUILD = ROOT / "build" / "mutation"


class Outcome(StrEnum):
    """What became of a mutant: a test failed, all passed in a forked process, or all passed in a new interpreter too."""

    KILLED = "killed"
    PASSED = "passed"
    SURVIVED = "survived"


class Outcomes:
    """The outcomes of mutants by their key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._found = {one["key"]: one for one in map(json.loads, lines)}

    def of(self, mutant: Mutant, state: str) -> Outcome | None:
        """Give the outcome if it still holds: what survived is run again once the tests that reach it are others."""
        found = self._found.get(mutant.key)
        if found is None or (found["outcome"] != Outcome.KILLED and found["tests"] != state):
            return None
        return Outcome(found["outcome"])

    def survived(self, mutant: Mutant) -> bool:
        """Tell whether all tests passed."""
        return bool(self._found[mutant.key]["outcome"] != Outcome.KILLED)

    def add(self, mutant: Mutant, state: str, outcome: Outcome) -> None:
        """Keep one outcome, with the *state* of the tests that reach the mutant."""
        found = {"key": mutant.key, "outcome": outcome, "tests": state, "mutant": mutant.label}
        self._found[mutant.key] = found
        with self._path.open("a") as file:
            file.write(json.dumps(found) + "\n")
