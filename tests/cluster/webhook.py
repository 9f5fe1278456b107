"""The webhook's server process, run against a real API server with its privileges in a cluster."""

import base64
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import yaml

from tests.waiting import wait_until
from webhook.core.names import PROFILE

from .controlplane import BASE, ControlPlane
from .objects import pod
from .pki import Authority
from .processes import Program, free_port, own_environment

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
ACCOUNT = ("fabric-injector", "fabric-injector-webhook")
PROBE_NAMESPACE = "fabric-injector-probe"


def default_configuration() -> dict[str, Any]:
    """Give the MutatingWebhookConfiguration that is shipped."""
    return dict(yaml.safe_load((BASE / "mutating-webhook-configuration.yaml").read_text()))


def calling(configuration: Mapping[str, Any], url: str, authority: Authority) -> dict[str, Any]:
    """Give the configuration whose entries all call the URL and trust the authority."""
    client = {"url": url, "caBundle": base64.b64encode(authority.pem).decode()}
    entries = [{**entry, "clientConfig": client} for entry in configuration["webhooks"]]
    return {**configuration, "webhooks": entries}


class Webhook(Program):
    """The server and its registration, from entering the `with` block until it is left.

    On entry the API server is known to call the webhook, on exit to call it no more. It reads the
    profiles file, None: objects. Two at a time need configurations with different names.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        profiles: Path | None,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self.control_plane, self.profiles, self._folder = control_plane, profiles, folder
        self.tls_dir = folder / "tls"
        self.configuration = {**(configuration or default_configuration())}
        self.name = str(self.configuration["metadata"]["name"])
        self.authority = Authority()
        admission, dry_run = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.url, self.dry_run_url = f"https://{admission}", f"http://{dry_run}"
        words = ["serve", f"--tls-dir={self.tls_dir}", f"--webhook-configuration={self.name}"]
        words += [f"--listen={admission}", f"--dry-run-listen={dry_run}"]
        words += [f"--profiles={profiles}"] if profiles else []
        environment = own_environment(folder / "kubeconfig")
        super().__init__(folder / "webhook.log", words, environment, "/readyz")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Register the webhook, start its server, and return once the API server calls it."""
        plane = self.control_plane
        with self._stack:
            self.authority.write(self.tls_dir)
            plane.ensure_shipped("namespace", "rbac-webhook")
            token = plane.service_account_token(*ACCOUNT)
            plane.kubeconfig(self._folder / "kubeconfig", token)
            plane.create_namespace(PROBE_NAMESPACE, {PROFILE: "probe"})
            self._stack.callback(self.stop)
            self._stack.callback(self._unregister)
            body = calling(self.configuration, f"{self.url}/mutate", self.authority)
            plane.api.expect("POST", CONFIGURATIONS, body)
            self.start()
            wait_until(self._is_called, "the API server to call the webhook")
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def calls(self) -> float:
        """Give how often the API server has called this webhook, by these fixtures too."""
        entries = [entry["name"] for entry in self.configuration["webhooks"]]
        metric = "apiserver_admission_webhook_request_total"
        return sum(self.control_plane.metric(metric, name=entry) for entry in entries)

    def _unregister(self) -> None:
        self.control_plane.api.request("DELETE", f"{CONFIGURATIONS}/{self.name}")
        wait_until(lambda: not self._is_called(), "the API server to forget the webhook")

    def _is_called(self) -> bool:
        before = self.calls()
        probe = pod(annotations={"probe": "true"})
        self.control_plane.api.create(probe, PROBE_NAMESPACE, dry_run=True)
        return self.calls() > before
