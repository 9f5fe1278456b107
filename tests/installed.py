"""Which Debian packages this machine lacks for a target of make; tests/setup.sh lists what each needs."""

import os
import subprocess

from tests import ROOT

SCRIPT = ROOT / "tests/setup.sh"


def packages(option: str, *targets: str, path: str | None = None) -> list[str]:
    """Give what the script prints with `--list` or `--missing` for the targets, on the PATH given or this process's."""
    environment = {"PATH": os.environ["PATH"] if path is None else path}
    command = ["/bin/sh", str(SCRIPT), option, *targets]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()


def not_installed(target: str) -> str:
    """Say which packages this machine lacks that could be installed; empty where none."""
    missing = " ".join(packages("--missing", target))
    return f"not installed: {missing}; install them: apt-get install {missing}" if missing else ""
