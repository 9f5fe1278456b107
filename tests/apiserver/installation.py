"""What install.yaml installs, run as nodes would: by the Deployments' own arguments."""

import base64
import itertools
import socket
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import yaml

from tests.cluster.client import Client, Response
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installation import NAMESPACE, install_yaml, shipped
from tests.cluster.objects import made, pod
from tests.cluster.processes import COMMAND, Program, free_port, own_environment
from tests.cluster.webhook import CONFIGURATIONS
from tests.waiting import wait_until
from webhook.core import names
from webhook.core.profiles.objects import PLURAL

from .mounts import SECRET, mount, secret

CONFIGURATION = f"{CONFIGURATIONS}/zz-fabric-injector"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURAL}.fabric-injector.io"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOUNTED = "/etc/fabric-injector"


def admit(api: Client, namespace: str, profile: str = "rdma-shared") -> Response:
    """Ask for a pod that names its profile itself, and create none."""
    return api.create(pod(labels={names.PROFILE: profile}), namespace, dry_run=True)


def injected(api: Client, namespace: str = "labelled", profile: str = "rdma-shared") -> bool:
    """Tell whether such a pod is injected."""
    answer = admit(api, namespace, profile)
    return names.STATUS in answer.json.get("metadata", {}).get("annotations", {})


def remove(control_plane: ControlPlane, text: str) -> None:
    """Remove manifests as the manual says, but the namespace, whose end nothing here finishes."""
    api, kubectl = control_plane.api, control_plane.kubectl
    api.request("DELETE", CONFIGURATION)
    kept = [each for each in yaml.safe_load_all(text) if each["kind"] != "Namespace"]
    options = ("--ignore-not-found", "--wait=false", "--filename=-")
    kubectl("delete", *options, input=yaml.safe_dump_all(kept))
    api.request("DELETE", SECRET)
    who = {"annotations": {APPLIED: None}, "managedFields": [{}]}  # as if nobody had applied it
    api.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}", {"metadata": who})
    wait_until(lambda: admit(api, "labelled").status == 201, "the webhook to be forgotten")
    gone = "the definition and its profiles to be gone"
    wait_until(lambda: api.request("GET", DEFINITION).status == 404, gone, 120)


def own_address() -> str:
    """Give an address of this machine that is not loopback, which no endpoint may be."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # chooses the way, and sends nothing
        return str(probe.getsockname()[0])


class Installation:
    """The processes of an installed product, stopped when the `with` block is left.

    *webhooks*: those that are endpoints of the Service, each with its port of admissions.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        profiles: str,
        *,
        install: Path | None = None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """Prepare to run the command with what the Deployments of *install* add to it.

        *profiles*: those that are made objects before the first webhook starts.
        """
        self.api, self.tls_dir = control_plane.api, folder / "mounted" / "tls"
        self.webhooks: dict[Program, int] = {}
        self._control_plane, self._command, self._profiles = control_plane, command, profiles
        self._folder, self._install = folder, install or install_yaml()
        self._numbers = itertools.count()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Begin with nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what runs."""
        self._stack.close()

    def start_controller(self) -> Program:
        """Start the controller's container; return once it is ready and a caBundle is written."""
        controller = self._start("controller")
        wait_until(lambda: controller.status("/readyz") == 200, "the controller to be ready")
        wait_until(lambda: self.ca_bundle() != b"", "the controller to write the caBundle")
        return controller

    def start_webhook(self) -> Program:
        """Start one more webhook's container; return once it is ready, and of the Service."""
        if not self.webhooks:
            self._control_plane.define_profiles(self._profiles)
            self.mount_secret()
        port = free_port()
        listen = (f"--listen=0.0.0.0:{port}", f"--dry-run-listen=127.0.0.1:{free_port()}")
        webhook = self._start("webhook", *listen)
        wait_until(lambda: webhook.status("/readyz") == 200, "the webhook to be ready")
        self.webhooks[webhook] = port
        self._stack.callback(self.stop_webhook, webhook)
        labels = {"kubernetes.io/service-name": "fabric-injector"}
        # what the EndpointSlice controller does for a pod that the Service selects
        endpoint = made("discovery.k8s.io/v1 EndpointSlice", f"fabric-injector-{port}")
        endpoint["metadata"]["labels"] = labels
        endpoint |= {
            "addressType": "IPv4",
            "endpoints": [{"addresses": [own_address()], "conditions": {"ready": True}}],
            "ports": [{"name": "admission", "port": port, "protocol": "TCP"}],
        }
        self.api.expect("POST", SLICES, endpoint)
        return webhook

    def stop_webhook(self, webhook: Program) -> int | None:
        """End a webhook as its kubelet does, and take it from the Service; give its exit status."""
        with ThreadPoolExecutor(1) as beside:
            ending = beside.submit(webhook.stop)
            if port := self.webhooks.pop(webhook, None):
                self.api.request("DELETE", f"{SLICES}/fabric-injector-{port}")
            return ending.result()

    def roll(self) -> list[int | None]:
        """Replace every webhook, the new one first; give the exit statuses of the old ones."""
        statuses = []
        for webhook in [*self.webhooks]:
            self.start_webhook()
            statuses.append(self.stop_webhook(webhook))
        return statuses

    def mount_secret(self) -> None:
        """Write the files of the Secret as it now is, as a kubelet does in its time."""
        mount(self.tls_dir, secret(self.api))

    def served(self) -> str:
        """Give the certificate that a webhook serves, as PEM."""
        [port] = self.webhooks.values()
        return ssl.get_server_certificate((own_address(), port), timeout=10)

    def configuration(self) -> dict[str, Any]:
        """Give the live MutatingWebhookConfiguration."""
        found: dict[str, Any] = self.api.expect("GET", CONFIGURATION)
        return found

    def ca_bundle(self) -> bytes:
        """Give what all entries of the configuration trust, empty where they trust others."""
        entries = self.configuration()["webhooks"]
        bundles = {entry["clientConfig"].get("caBundle", "") for entry in entries}
        return base64.b64decode(bundles.pop()) if len(bundles) == 1 else b""

    def _start(self, component: str, *options: str) -> Program:
        (deployment,) = shipped("Deployment", f"fabric-injector-{component}", self._install)
        spec = deployment["spec"]["template"]["spec"]
        folder = self._folder / f"{component}-{next(self._numbers)}"
        folder.mkdir()
        token = self._control_plane.service_account_token(NAMESPACE, spec["serviceAccountName"])
        environment = own_environment(self._control_plane.kubeconfig(folder / "kubeconfig", token))
        environment["KUBERNETES_SERVICE_HOST"] = "127.0.0.1"  # it ends as in a pod
        (container,) = spec["containers"]
        mounted = self._folder / "mounted"
        (mounted / "config").mkdir(parents=True, exist_ok=True)  # of a ConfigMap that is optional
        arguments = [argument.replace(MOUNTED, str(mounted)) for argument in container["args"]]
        words = [*arguments, *options]
        program = Program(folder / "log", words, environment, "/livez", self._command)
        self._stack.callback(program.stop)
        program.start()
        return program
