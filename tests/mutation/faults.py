"""Put each fault of faults.toml into a copy of the checkout, and see its tests fail: `python -m tests.mutation.faults [TIER,…]`.

Exit status 0 if tests find every fault of these tiers, without --tiers those of core and sockets, and the tests pass without any.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT

LIST = Path(__file__).with_name("faults.toml")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """One mistake that a maintainer could make.

    Attributes:
        breaks: The behaviour that is lost, as a sentence that holds without the fault.
        file: Where it is put, below the checkout.
        old: The text there, which the file holds once.
        new: What stands there instead.
        tests: The files or folders of tests that find it, below tests/.
        tier: Their marker.
    """

    breaks: str
    file: str
    old: str
    new: str
    tests: list[str]
    tier: str = "core"

    def put_into(self, folder: Path) -> str:
        """Change the file in *folder*; return its text from before. Raises ValueError where the old text is not there once."""
        path = folder / self.file
        text = path.read_text() if path.exists() else ""
        if text.count(self.old) != 1:
            found = (
                f"{text.count(self.old)} times in {self.file}"
                if path.exists()
                else f"in {self.file}, which is gone"
            )
            raise ValueError(
                f"{self.breaks}\n  the old text is {found}, and once is right: put the fault in anew\n"
            )
        path.write_text(text.replace(self.old, self.new))
        return text


def read_faults() -> list[Fault]:
    """Read the list."""
    return [Fault(**entry) for entry in tomllib.loads(LIST.read_text())["fault"]]


def copy_checkout(folder: Path) -> None:
    """Copy all files that git knows or would take."""
    names = subprocess.check_output(
        ["git", "-C", ROOT, "ls-files", "-coz", "--exclude-standard"], text=True
    )
    for name in filter(None, names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)


def run_tests(folder: Path, tests: list[str], tier: str) -> tuple[int, str]:
    """Run tests in *folder* until one fails; return pytest's exit status, and the test that failed or what pytest said last."""
    words = [
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        tier,
        *(f"tests/{each}" for each in tests),
    ]
    command = [sys.executable, "-m", "pytest", *words]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    failed = _FAILED.search(done.stdout)
    return done.returncode, failed[1] if failed else done.stdout[-500:]


def main(tiers: str = "core,sockets") -> int:
    """Run all, print what found each."""
    os.nice(10)
    faults = [fault for fault in read_faults() if fault.tier in tiers.split(",")]
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        copy_checkout(folder)
        for fault in faults:  # all of them, before the first test
            try:
                (folder / fault.file).write_text(fault.put_into(folder))
            except ValueError as error:
                print(error)
                wrong += 1
        for tier in dict.fromkeys(fault.tier for fault in faults):
            tests = sorted({each for fault in faults if fault.tier == tier for each in fault.tests})
            status, last = run_tests(folder, tests, tier)
            if status:
                print(f"tier {tier} fails without any fault: {last}")
                wrong += 1
        for fault in faults if not wrong else ():
            text = fault.put_into(folder)
            status, found = run_tests(folder, fault.tests, fault.tier)
            (folder / fault.file).write_text(text)
            wrong += status != 1
            print(
                f"{fault.breaks}\n  {f'found by {found}' if status == 1 else f'NOT FOUND: {found}'}",
                flush=True,
            )
    print(f"{len(faults)} faults, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
