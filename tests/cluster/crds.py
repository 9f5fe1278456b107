"""Custom resources of others that our manifests use and their programs ask for, from the Go modules that define them."""

from pathlib import Path

from .assets import go_module

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


def crd_files() -> list[Path]:
    """Give the files, downloaded where Go's module cache lacks them. Raises AssetsUnavailable."""
    return [go_module(module) / file for module, files in FILES.items() for file in files]
