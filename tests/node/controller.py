"""The controller's process, with the privileges that it has in a cluster."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3

from tests.apiserver.controlplane import ControlPlane
from tests.apiserver.processes import Server, free_port

NAMESPACE, ACCOUNT = "fabric-injector", "fabric-injector-controller"
SECONDS_TO_LEAD = 30


class Controller:
    """`fabric-injector control`, from entering the `with` block until it is left; it may be stopped and started between."""

    def __init__(self, control_plane: ControlPlane, folder: Path, command: Sequence[str]) -> None:
        """Prepare one that keeps its kubeconfig and log in the folder."""
        self._control_plane = control_plane
        self._folder = folder
        self._url = f"http://127.0.0.1:{(port := free_port())}"
        self._command = [*command, "control", f"--namespace={NAMESPACE}", f"--metrics-listen=127.0.0.1:{port}"]
        self._server: Server | None = None

    def __enter__(self) -> Self:
        """Make its account and the policies that bind it, as shipped; start it, and return once it leads."""
        self._control_plane.ensure_shipped("namespace", "rbac-controller", "admission-policy")
        self._control_plane.kubeconfig(
            self._folder / "kubeconfig", self._control_plane.service_account_token(NAMESPACE, ACCOUNT)
        )
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Start it unless it runs, and return once it leads."""
        if self._server is not None:
            return
        dropped = ("KUBE", "FABRIC_INJECTOR_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
        environment = {**kept, "KUBECONFIG": str(self._folder / "kubeconfig")}
        self._server = Server(self._command, self._folder / "controller.log", environment)
        self._server.wait_ready(self._leads, SECONDS_TO_LEAD)

    def stop(self) -> None:
        """Stop it if it runs: nothing is published any more."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def output(self) -> str:
        """Give all that it has logged."""
        return (self._folder / "controller.log").read_text(errors="replace")

    def _leads(self) -> bool:
        try:
            text = urllib3.request("GET", f"{self._url}/metrics", retries=False, timeout=5).data.decode()
        except urllib3.exceptions.HTTPError:
            return False
        return "fabric_injector_leader 1.0" in text
