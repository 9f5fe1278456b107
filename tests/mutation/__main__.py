"""Change webhook/core in one place at a time and see whether a test fails: `python -m tests.mutation [COUNT [SEED]]`.

There are some 23,000 places (see mutants.py), so COUNT are drawn by SEED. What survives is printed, to be killed by a case or argued
in survivors.yaml. Outcomes are kept in build/mutation: a run that was stopped goes on. A mutant that was killed is run again once its
function changes; one that survived also once a test that reaches it does. Exit status 0 if each drawn one is killed or argued.
"""

import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.mutation.mutants import all_mutants, draw
from tests.mutation.outcomes import BUILD, Outcomes
from tests.mutation.reached import Reached
from tests.mutation.run import Runner

COUNT, SEED = 2000, 1
FOLDERS = ("tests/core", "tests/diagnose", "tests/dry_run", "tests/presets", "tests/control")
SURVIVORS = Path(__file__).with_name("survivors.yaml")


def main(count: int = COUNT, seed: int = SEED) -> int:
    """Draw, run, compare, print."""
    os.nice(19)
    BUILD.mkdir(parents=True, exist_ok=True)
    mutants = all_mutants()
    drawn = draw(mutants, count, seed)
    outcomes = Outcomes(BUILD / "outcomes.jsonl")
    words = ["-qq", "--capture=no", "-p", "no:cacheprovider", "-p", "no:xdist", *FOLDERS]
    if status := pytest.main(
        words, plugins=[Runner(drawn, Reached(BUILD / "reached.pickle"), outcomes)]
    ):
        return status
    arguments: dict[str, str] = {
        label: group["why"]
        for group in yaml.safe_load(SURVIVORS.read_text())
        for label in group["mutants"]
    }
    survived = [mutant.label for mutant in drawn if outcomes.survived(mutant)]
    unargued = [label for label in survived if label not in arguments]
    for label in unargued:
        print(f"survived, and survivors.yaml does not say why that is no fault: {label}")
    there = {mutant.label for mutant in mutants}
    for label in arguments:
        if label not in there:
            print(f"survivors.yaml argues what is gone: {label}")
    for mutant in drawn:
        if mutant.label in arguments and not outcomes.survived(mutant):
            print(f"survivors.yaml argues what is killed: {mutant.label}")
    print(
        f"{len(drawn)} of {len(mutants)} mutants, seed {seed}: {len(drawn) - len(survived)} killed, "
        f"{len(survived) - len(unargued)} survived and argued, {len(unargued)} survived"
    )
    return 1 if unargued else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
