"""Change the code in one place at a time and see whether a test fails: `python -m tests.mutation [COUNT [SEED]]`.

mutmut makes the mutants of injection, networks and workloads (pyproject.toml, [tool.mutmut]); all of them take hours, so COUNT
are drawn by SEED. What survives is printed, to be killed by a case or understood as no change of behaviour. Exit status 0 if all
drawn ones were run.
"""

import random
import re
import subprocess
import sys

COUNT, SEED = 400, 1
FIRST = "webhook.core.injection.host_devices*"
"""A few mutants: running them makes all, and times the tests."""


def mutmut(*words: str, quiet: bool = True) -> str:
    """Run mutmut; give what it printed."""
    command = [sys.executable, "-m", "mutmut", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE if quiet else None, text=True)
    if done.returncode:
        print(done.stdout or "", file=sys.stderr)
        sys.exit(f"mutmut {words[0]} ended with {done.returncode}")
    return done.stdout or ""


def results() -> dict[str, str]:
    """Give the outcome of each mutant by its name."""
    return dict(re.findall(r"^\s*(\S+__mutmut_\d+): (.+)$", mutmut("results", "--all", "true"), re.MULTILINE))


def main(count: int = COUNT, seed: int = SEED) -> None:
    """Draw, run, print."""
    mutmut("run", FIRST)
    names = sorted(results())
    drawn = sorted(random.Random(seed).sample(names, min(count, len(names))))
    mutmut("run", *drawn, quiet=False)
    found = results()
    outcomes: dict[str, list[str]] = {}
    for name in drawn:
        outcomes.setdefault(found[name], []).append(name)
    for outcome, those in sorted(outcomes.items()):
        if outcome != "killed":
            for name in those:
                print(f"\n{outcome}: {name}\n{mutmut('show', name)}")
    counted = ", ".join(f"{len(those)} {outcome}" for outcome, those in sorted(outcomes.items()))
    print(f"\n{len(drawn)} of {len(names)} mutants, seed {seed}: {counted}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
