"""The controller's process, run against a real API server as a Deployment's container would."""

from pathlib import Path
from typing import Self

import yaml

from tests.waiting import wait_until

from .controlplane import BASE, ControlPlane
from .processes import Program, own_environment

ACCOUNT = ("fabric-injector", "fabric-injector-controller")


def own_token(control_plane: ControlPlane, lease_namespace: str = ACCOUNT[0]) -> str:
    """Install the account as shipped, for a Lease of this namespace too; give its token."""
    control_plane.ensure_shipped("namespace", "rbac-controller", "admission-policy")
    for manifest in yaml.safe_load_all((BASE / "rbac-controller.yaml").read_text()):
        if manifest["kind"] in ("Role", "RoleBinding"):
            manifest["metadata"]["namespace"] = lease_namespace
            control_plane.api.ensure(manifest)
    return control_plane.service_account_token(*ACCOUNT)


class Controller(Program):
    """`fabric-injector control` with a kubeconfig and a log of its own, until the block is left.

    It acts as the account that is shipped, under the policies that are. *lease_namespace* holds the
    Lease: controllers that share it are replicas. *server* is a URL such as a relay's.
    """

    def __init__(
        self, control_plane: ControlPlane, folder: Path, lease_namespace: str, server: str = ""
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        token = own_token(control_plane, lease_namespace)
        config = control_plane.kubeconfig(folder / "kubeconfig", token, server=server)
        words = ("control", f"--namespace={lease_namespace}", "--certificates=none")
        super().__init__(folder / "controller.log", words, own_environment(config), "/livez")

    def __enter__(self) -> Self:
        """Start, and return once all pods are known."""
        self.start()
        wait_until(self.is_ready, "the controller to know all pods", 300)
        return self

    def is_ready(self) -> bool:
        """Tell whether it knows all pods."""
        return self.status("/readyz") == 200

    def leads(self) -> bool:
        """Tell whether it holds the Lease and may write."""
        return self.metric("fabric_injector_leader") == 1

    def wait_until_leading(self, seconds: float = 120) -> None:
        """Wait until it leads; a Lease whose holder was killed lasts 6 s."""
        wait_until(self.leads, "the controller to hold the Lease", seconds)
