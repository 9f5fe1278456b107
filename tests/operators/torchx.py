"""The TorchX command line, in an environment of its own: its requirements exclude ours."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.assets import cache_folder
from tests.cluster.assets import run as run_to_end
from tests.cluster.fixtures import needed
from tests.cluster.node.namespace import Namespace

HOLD = ("--env", "HOLD_SECONDS=600,PYTHONUNBUFFERED=1")
"""Arguments of a job that trains on; torchrun --tee keeps what it writes in a buffer."""

VERSION = "0.7.0"
REQUIREMENTS = (f"torchx=={VERSION}", "kubernetes==36.0.3")


def torchx() -> Path:
    """Give the program, from PyPI, in the user's cache; or AssetsUnavailable."""
    folder = cache_folder() / "torchx" / f"{VERSION}-{sys.implementation.cache_tag}"
    program = folder / "bin" / "torchx"
    if not program.is_file():
        run_to_end([sys.executable, "-m", "venv", "--clear", str(folder)])
        pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        run_to_end([*pip, *REQUIREMENTS])
    return program


def run(
    space: Namespace,
    image: str,
    *arguments: str,
    options: Sequence[str] = (),
    scheduler: str = "kubernetes",
    settings: Sequence[str] = ("queue=default",),
) -> str:
    """Do `torchx run` of dist.ddp for two pods of the image that train; give what it prints.

    *options* are of `torchx run`, *settings* of its scheduler. Skip where TorchX cannot be had.
    """
    configuration = ",".join((f"namespace={space.name}", *settings))
    where = ("--scheduler", scheduler, "--workspace=", "-cfg", configuration)
    job = ("dist.ddp", "-j", "2x1", "--name", "trainer", "-h", "NULL", "--script", "train.py")
    return _torchx(space, "run", *options, *where, *job, "--image", image, *arguments)


def status(space: Namespace, handle: str) -> str:
    """Give what `torchx status` prints of the job."""
    return _torchx(space, "status", handle)


def _torchx(space: Namespace, *words: str) -> str:
    return run_to_end([str(needed(torchx)), *words], KUBECONFIG=str(space.kubeconfig))
