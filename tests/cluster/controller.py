"""The controller's process, run against a real API server as a Deployment's container would run it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import urllib3
import yaml

from tests.waiting import wait_until

from .controlplane import BASE, ControlPlane
from .processes import Program, own_environment, sum_of, text_of

ACCOUNT = ("fabric-injector", "fabric-injector-controller")


def own_token(control_plane: ControlPlane, lease_namespace: str = ACCOUNT[0]) -> str:
    """Install the account, its privileges and policies as shipped, for a Lease of this namespace too; give the account's token."""
    control_plane.ensure_shipped("namespace", "rbac-controller", "admission-policy")
    for manifest in yaml.safe_load_all((BASE / "rbac-controller.yaml").read_text()):
        if manifest["kind"] in ("Role", "RoleBinding"):
            manifest["metadata"]["namespace"] = lease_namespace
            control_plane.api.ensure(manifest)
    return control_plane.service_account_token(*ACCOUNT)


class Controller(Program):
    """`fabric-injector control` with a kubeconfig, a metrics port and a log of its own; stopped when the `with` block is left.

    It acts as the account that is shipped, under the policies that are. *lease_namespace* holds the Lease: controllers that share
    it are replicas. *server* is a URL in place of the API server's own, such as a relay's. Certificates are left alone unless
    the *options* say otherwise.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        command: Sequence[str],
        lease_namespace: str,
        *options: str,
        server: str | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = control_plane.kubeconfig(
            folder / "kubeconfig", own_token(control_plane, lease_namespace)
        )
        config.write_text(
            config.read_text().replace(control_plane.url, server or control_plane.url)
        )
        super().__init__(folder / "controller.log")
        self._command = [
            *command,
            "control",
            f"--namespace={lease_namespace}",
            f"--metrics-listen=127.0.0.1:{self.metrics_port}",
            *(options or ["--certificates=none"]),
        ]
        self._environment = own_environment(config)

    def __enter__(self) -> Self:
        """Start, and return once all pods are known."""
        self.start()
        wait_until(self.is_ready, "the controller to know all pods", 300)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what runs."""
        self.stop()

    def start(self) -> None:
        """Start the process and return once it answers; after `stop` or its end it has the same port again."""
        self.run(self._command, self._environment, "/livez", 60)

    def is_running(self) -> bool:
        """Tell whether the process lives."""
        return self._server is not None and self._server.running()

    def is_ready(self) -> bool:
        """Tell whether it knows all pods."""
        return self.status("/readyz") == 200

    def leads(self) -> bool:
        """Tell whether it holds the Lease and may write."""
        return self.metric("fabric_injector_leader") == 1

    def wait_until_leading(self, seconds: float = 120) -> None:
        """Wait until it leads; a Lease whose holder was killed lasts 6 s."""
        wait_until(self.leads, "the controller to hold the Lease", seconds)

    def metric(self, name: str, /, **labels: str) -> float:
        """Give the sum of a metric over the series that carry these labels; 0 where nothing answers."""
        with suppress(urllib3.exceptions.HTTPError):
            return sum_of(text_of(f"{self.metrics_url}/metrics"), name, labels)
        return 0.0


@contextmanager
def leading_controller(
    plane: ControlPlane, folder: Path, command: list[str], namespace: str
) -> Iterator[Controller]:
    """Run a controller that leads, and see at the end that nothing of it was refused or failed unexpectedly."""
    with Controller(plane, folder, command, namespace) as controller:
        controller.wait_until_leading()
        yield controller
        refused = controller.metric("fabric_injector_addresses_published_total", result="refused")
        assert refused == 0, "the shipped privileges and policies are enough"
    assert "Traceback" not in controller.output()
