"""The TorchX command line, in an environment of its own: its requirements exclude ours."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.assets import AssetsUnavailable, cache_folder

VERSION = "0.7.0"
REQUIREMENTS = (f"torchx=={VERSION}", "kubernetes==36.0.3")


def torchx() -> Path:
    """Give the program, installed from PyPI into the user's cache; AssetsUnavailable where it cannot be."""
    folder = cache_folder() / "torchx" / f"{VERSION}-{sys.implementation.cache_tag}"
    program = folder / "bin" / "torchx"
    if not program.is_file():
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        _run(
            str(folder / "bin" / "pip"),
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *REQUIREMENTS,
        )
    return program


def run(
    kubeconfig: Path,
    namespace: str,
    *arguments: str,
    options: Sequence[str] = (),
    scheduler: str = "kubernetes",
    settings: Sequence[str] = ("queue=default",),
) -> str:
    """Do `torchx run` of dist.ddp with these arguments on Kubernetes; give what it prints. *settings* are the scheduler's."""
    configuration = ",".join((f"namespace={namespace}", *settings))
    where = ("--scheduler", scheduler, "--workspace=", "-cfg", configuration)
    return _run(
        str(torchx()), "run", *options, *where, "dist.ddp", *arguments, KUBECONFIG=str(kubeconfig)
    )


def status(kubeconfig: Path, handle: str) -> str:
    """Give what `torchx status` prints of the job."""
    return _run(str(torchx()), "status", handle, KUBECONFIG=str(kubeconfig))


def _run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, **environment},
        timeout=300,
    )
    if done.returncode != 0:
        raise AssetsUnavailable(
            f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout
