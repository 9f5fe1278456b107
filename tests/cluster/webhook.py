"""The webhook's server process, run against a real API server with the privileges that it will have in a cluster."""

import base64
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import yaml

from tests.waiting import wait_until

from .controlplane import BASE, ControlPlane
from .objects import account, pod
from .pki import Authority
from .processes import Program, free_port, own_environment, text_of

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
ACCOUNT = ("fabric-injector", "fabric-injector-webhook")
PROBE_NAMESPACE = "fabric-injector-probe"


def installed_command() -> list[str] | None:
    """Give the `fabric-injector` of this Python environment, else the one on PATH, else None."""
    beside = Path(sys.executable).with_name("fabric-injector")
    found = str(beside) if beside.is_file() else shutil.which("fabric-injector")
    return [found] if found else None


def default_configuration() -> dict[str, Any]:
    """Give the MutatingWebhookConfiguration that is shipped, without a clientConfig."""
    configuration: dict[str, Any] = yaml.safe_load(
        (BASE / "mutating-webhook-configuration.yaml").read_text()
    )
    for entry in configuration["webhooks"]:
        del entry["clientConfig"]
    return configuration


def calling(configuration: Mapping[str, Any], url: str, authority: Authority) -> dict[str, Any]:
    """Give the configuration whose entries all call the URL and trust the authority."""
    client = {"url": url, "caBundle": base64.b64encode(authority.pem).decode()}
    entries = [{**entry, "clientConfig": client} for entry in configuration["webhooks"]]
    return {**configuration, "webhooks": entries}


class Webhook(Program):
    """The server and its registration, from entering the `with` block until it is left.

    On entry the API server is known to call the webhook, on exit to call it no more. Two at a
    time need configurations with different names. `configuration` may be one of the caller's, which must
    reach pods in namespaces with a profile label; every entry of it gets the server's URL and caBundle.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        profiles: Path | None,
        command: Sequence[str],
        configuration: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare a server that keeps certificate, kubeconfig and log in the folder and reads the profiles file, None: objects."""
        super().__init__(folder / "webhook.log")
        self.control_plane = control_plane
        self.tls_dir = folder / "tls"
        self.profiles = profiles
        self.configuration = {**(configuration or default_configuration())}
        self.name = str(self.configuration["metadata"]["name"])
        self.authority = Authority("webhook of the tests")
        admission, dry_run = (free_port() for _ in range(2))
        self.url = f"https://127.0.0.1:{admission}"
        self.dry_run_url = f"http://127.0.0.1:{dry_run}"
        self._folder = folder
        self._environment = environment or {}
        self._command = [
            *command,
            "serve",
            *([f"--profiles={profiles}"] if profiles else []),
            f"--tls-dir={self.tls_dir}",
            f"--listen=127.0.0.1:{admission}",
            f"--dry-run-listen=127.0.0.1:{dry_run}",
            f"--metrics-listen=127.0.0.1:{self.metrics_port}",
            f"--webhook-configuration={self.name}",
        ]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Register the webhook, start its server, and return once the API server calls it."""
        with self._stack:
            self._write_files()
            self._stack.callback(self.stop)
            self._stack.callback(self._unregister)
            self._register()
            self.start()
            wait_until(self._is_called, "the API server to call the webhook", interval=0.05)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the registration, then stop the server."""
        self._stack.close()

    def start(self) -> None:
        """Start the server and wait until it is ready; after `stop` it has the same ports again."""
        self.run(self._command, self._server_environment(), "/readyz", 30)

    def metrics(self) -> str:
        """Give the server's own metrics as text."""
        return text_of(self.metrics_url + "/metrics")

    def calls(self) -> float:
        """Give how often the API server has called this webhook, readiness probes of these fixtures included."""
        entries = [entry["name"] for entry in self.configuration["webhooks"]]
        metric = "apiserver_admission_webhook_request_total"
        return sum(self.control_plane.metric(metric, name=entry) for entry in entries)

    def _write_files(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.authority.write(self.tls_dir)
        self.control_plane.ensure_shipped("namespace", "rbac-webhook")
        self.control_plane.kubeconfig(
            self._folder / "kubeconfig", self.control_plane.service_account_token(*ACCOUNT)
        )
        probe = {"name": PROBE_NAMESPACE, "labels": {"fabric-injector.io/profile": "probe"}}
        self.control_plane.api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": probe})
        self.control_plane.api.ensure(account(), PROBE_NAMESPACE)

    def _register(self) -> None:
        body = calling(self.configuration, f"{self.url}/mutate", self.authority)
        self.control_plane.api.expect("POST", CONFIGURATIONS, body)

    def _unregister(self) -> None:
        self.control_plane.api.request("DELETE", f"{CONFIGURATIONS}/{self.name}")
        wait_until(
            lambda: not self._is_called(), "the API server to forget the webhook", interval=0.05
        )

    def _is_called(self) -> bool:
        before = self.calls()
        probe = pod(annotations={"probe": "true"})
        self.control_plane.api.create(probe, PROBE_NAMESPACE, dry_run=True)
        return self.calls() > before

    def _server_environment(self) -> dict[str, str]:
        return {**own_environment(self._folder / "kubeconfig"), **self._environment}
