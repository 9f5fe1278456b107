"""Custom resources of others that our manifests use and their programs ask for, from the Go modules that define them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from .assets import AssetsUnavailable, go_environment

FILES = {
    "github.com/cert-manager/cert-manager@v1.21.2": (
        "deploy/crds/cert-manager.io_certificaterequests.yaml",
        "deploy/crds/cert-manager.io_certificates.yaml",
        "deploy/crds/cert-manager.io_clusterissuers.yaml",
        "deploy/crds/cert-manager.io_issuers.yaml",
    ),
    # The last version that is a Go module as a whole; the two kinds are v1 and have only grown since.
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
    ),
}


def crd_files() -> Iterator[Path]:
    """Give the files, downloaded where Go's module cache lacks them. Raises AssetsUnavailable."""
    for module, files in FILES.items():
        folder = _download(module)
        yield from (folder / file for file in files)


def _download(module: str) -> Path:
    with TemporaryDirectory() as nowhere:  # outside of every module
        done = subprocess.run(
            ["go", "mod", "download", "-json", module],
            cwd=nowhere,
            env=go_environment(),
            capture_output=True,
            text=True,
            timeout=300,
        )
    found = json.loads(done.stdout or "{}")
    if done.returncode != 0 or "Dir" not in found:
        raise AssetsUnavailable(
            f"{module} cannot be downloaded: {found.get('Error') or done.stderr.strip()}"
        )
    return Path(found["Dir"])
