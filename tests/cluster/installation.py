"""What install.yaml installs."""

import atexit
import functools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from .assets import render

MANIFESTS = Path(__file__).parents[2] / "manifests"
NAMESPACE = "fabric-injector"


@functools.cache
def install_yaml() -> Path:
    """Render what `make manifests` prints, once a process; give the file."""
    folder = Path(tempfile.mkdtemp(prefix="fabric-injector-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "install.yaml"
    path.write_text(render(MANIFESTS / "overlays" / "default"))
    return path


def shipped(
    kind: str, name: str | None = None, install: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Give the objects of install.yaml of this kind, and of this name where one is given."""
    for manifest in yaml.safe_load_all((install or install_yaml()).read_text()):
        if manifest["kind"] == kind and name in (None, manifest["metadata"]["name"]):
            yield manifest
