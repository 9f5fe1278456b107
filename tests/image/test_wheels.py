"""The locked requirements are all there is to install, as wheels, on both processors."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_wheels_for_the_default_image(processor: str, tmp_path: Path) -> None:
    """The installer resolves what the wheels themselves require, and refuses what is not locked."""
    found = re.search(
        r"^ARG BASE=\S*python:(3\.\d+)-slim$", (ROOT / "Dockerfile").read_text(), re.MULTILINE
    )
    assert found is not None
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
    command += [f"--target={tmp_path}", "--only-binary=:all:", "--require-hashes"]
    command += [f"--requirement={ROOT / 'requirements.lock'}", f"--python-version={found[1]}"]
    command += [f"--platform={name}_{processor}" for name in PLATFORMS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
