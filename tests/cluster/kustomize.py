"""Render a kustomization with the pinned kubectl, whose text differs from one version to another."""

import subprocess
from pathlib import Path

from .assets import binary


def render(folder: Path) -> str:
    """Give what `kubectl kustomize` prints; raise RuntimeError with what it complains about."""
    done = subprocess.run(
        [binary("kubectl"), "kustomize", folder], capture_output=True, text=True, timeout=60
    )
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"kubectl kustomize {folder}: status {done.returncode}\n{done.stderr}")
    return done.stdout
