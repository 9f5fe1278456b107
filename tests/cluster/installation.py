"""What install.yaml installs, run as a node would: by the Deployments' own arguments, with the Secret as files."""

import atexit
import base64
import functools
import shutil
import socket
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import yaml

from tests.waiting import wait_until
from webhook.core.profiles.objects import PLURAL

from .client import Client, Response
from .controlplane import ControlPlane
from .kustomize import render
from .objects import pod
from .processes import Server, free_port, own_environment, status_of, text_of
from .webhook import CONFIGURATIONS

MANIFESTS = Path(__file__).parents[2] / "manifests"
NAMESPACE = "fabric-injector"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/fabric-injector-tls"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOUNTED = "/etc/fabric-injector"


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


POD = pod(labels={"fabric-injector.io/profile": "rdma-shared"})


def admit(api: Client, namespace: str) -> Response:
    """Ask for a pod that names its profile itself, and create none."""
    return api.create(POD, namespace, dry_run=True)


def injected(api: Client, namespace: str = "labelled") -> bool:
    """Tell whether such a pod is given the profile's network."""
    answer = admit(api, namespace)
    return "k8s.v1.cni.cncf.io/networks" in answer.json.get("metadata", {}).get("annotations", {})


def remove(control_plane: ControlPlane, text: str) -> None:
    """Remove manifests as the manual says; since nothing here finishes a namespace's end, empty it and let it be."""
    control_plane.kubectl(
        "delete", "mutatingwebhookconfiguration", "zz-fabric-injector", "--ignore-not-found"
    )
    kept = yaml.safe_dump_all(
        each for each in yaml.safe_load_all(text) if each["kind"] != "Namespace"
    )
    control_plane.kubectl(
        "delete", "--ignore-not-found", "--wait=false", "--filename=-", input=kept
    )
    control_plane.api.request("DELETE", SECRET)
    who = {"annotations": {APPLIED: None}, "managedFields": [{}]}  # as if nobody had applied it
    control_plane.api.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}", {"metadata": who})
    api = control_plane.api
    wait_until(lambda: admit(api, "labelled").status == 201, "the webhook to be forgotten")
    definition = (
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURAL}.fabric-injector.io"
    )
    wait_until(
        lambda: api.request("GET", definition).status == 404,
        "the definition and its profiles to be gone",
        120,
    )


def apply_profiles(control_plane: ControlPlane, profiles: str) -> None:
    """Create the FabricProfiles that the text of a profiles file describes, as the manual says."""
    control_plane.kubectl(
        "wait", "--for=condition=Established", f"crd/{PLURAL}.fabric-injector.io", "--timeout=30s"
    )
    control_plane.kubectl("apply", "--server-side", "--filename=-", input=profiles)


def own_address() -> str:
    """Give an address of this machine that is not loopback, which no endpoint may be. Raises OSError where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # chooses the way, and sends nothing
        return str(probe.getsockname()[0])


class Installation:
    """The processes of an installed control plane, stopped when the `with` block is left."""

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        command: list[str],
        profiles: str,
        *,
        install: Path | None = None,
    ) -> None:
        """Prepare to run the command, the image's entrypoint, with what the Deployments of *install* add to it.

        *profiles*: those that are made objects before the webhook starts.
        """
        self._install = install or install_yaml()
        self.api = control_plane.api
        self.folder = folder
        self._control_plane, self._command, self._profiles = control_plane, command, profiles
        self._servers: dict[str, tuple[Server, str]] = {}
        self._port = 0

    def __enter__(self) -> Self:
        """Begin with nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what runs."""
        for component in list(self._servers):
            self.stop(component)

    def start_controller(self) -> None:
        """Start the controller's container, and return once it has written certificates and caBundle."""
        self._start("controller")
        wait_until(lambda: self.ca_bundle() != b"", "the controller to write the caBundle")

    def start_webhook(self) -> None:
        """Start the webhook's container, make it the Service's endpoint, and return once it is ready."""
        apply_profiles(self._control_plane, self._profiles)
        self.mount_secret()
        (deployment,) = shipped("Deployment", "fabric-injector-webhook", self._install)
        self._mount_config_maps(deployment)
        port = free_port()
        self._port = port
        listen = (f"--listen=0.0.0.0:{port}", f"--dry-run-listen=127.0.0.1:{free_port()}")
        self._start("webhook", *listen)
        wait_until(lambda: self.status("webhook", "/readyz") == 200, "the webhook to be ready")
        self._set_endpoint(port)

    def mount_secret(self) -> None:
        """Write the files of the Secret as it now is, as a kubelet does in its time."""
        (deployment,) = shipped("Deployment", "fabric-injector-webhook", self._install)
        (secret,) = (
            each["secret"]
            for each in deployment["spec"]["template"]["spec"]["volumes"]
            if "secret" in each
        )
        assert SECRET.endswith(f"/{secret['secretName']}")
        data = self.api.expect("GET", SECRET)["data"]
        (self.folder / "mounted" / "tls").mkdir(parents=True, exist_ok=True)
        for item in secret["items"]:
            (self.folder / "mounted" / "tls" / item["path"]).write_bytes(
                base64.b64decode(data[item["key"]])
            )

    def stop(self, component: str) -> int:
        """Stop the container by SIGTERM; give its exit status."""
        return self._servers.pop(component)[0].stop(40)

    def status(self, component: str, path: str) -> int | None:
        """Give the status of a GET on the metrics port, such as /readyz; None if nothing answers."""
        return status_of(self.url(component, path))

    def url(self, component: str, path: str) -> str:
        """Give the URL of a path on the metrics port."""
        return self._servers[component][1] + path

    def said(self, component: str, path: str) -> str:
        """Give the body of a GET on the metrics port."""
        return text_of(self.url(component, path))

    def served(self) -> str:
        """Give the certificate that the webhook serves, as PEM."""
        return ssl.get_server_certificate((own_address(), self._port), timeout=10)

    def configuration(self) -> dict[str, Any]:
        """Give the live MutatingWebhookConfiguration."""
        found: dict[str, Any] = self.api.expect("GET", f"{CONFIGURATIONS}/zz-fabric-injector")
        return found

    def ca_bundle(self) -> bytes:
        """Give what all entries of the configuration trust, empty where one trusts nothing or another."""
        bundles = {
            entry["clientConfig"].get("caBundle", "") for entry in self.configuration()["webhooks"]
        }
        return base64.b64decode(bundles.pop()) if len(bundles) == 1 else b""

    def _mount_config_maps(self, deployment: dict[str, Any]) -> None:
        """Write the files of each ConfigMap that the pod mounts, as a kubelet does; one that is optional need not be there."""
        spec = deployment["spec"]["template"]["spec"]
        mounts = {each["name"]: each["mountPath"] for each in spec["containers"][0]["volumeMounts"]}
        for volume in spec["volumes"]:
            if "configMap" not in volume:
                continue
            folder = self.folder / "mounted" / mounts[volume["name"]].removeprefix(f"{MOUNTED}/")
            folder.mkdir(parents=True, exist_ok=True)
            found = self.api.request(
                "GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{volume['configMap']['name']}"
            )
            assert found.status == 200 or volume["configMap"].get("optional"), found.message
            for name, content in (
                (found.json.get("data") or {}).items() if found.status == 200 else ()
            ):
                (folder / name).write_text(content)

    def _start(self, component: str, *options: str) -> None:
        (deployment,) = shipped("Deployment", f"fabric-injector-{component}", self._install)
        spec = deployment["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        folder = self.folder / component
        folder.mkdir(exist_ok=True)
        token = self._control_plane.service_account_token(NAMESPACE, spec["serviceAccountName"])
        config = self._control_plane.kubeconfig(folder / "kubeconfig", token)
        mounted = [
            argument.replace(MOUNTED, str(self.folder / "mounted"))
            for argument in container["args"]
        ]
        port = free_port()
        command = [*self._command, *mounted, *options, f"--metrics-listen=127.0.0.1:{port}"]
        server = Server(command, folder / "log", own_environment(config))
        self._servers[component] = server, f"http://127.0.0.1:{port}"
        server.wait_ready(lambda: self.status(component, "/livez") == 200, 60)

    def _set_endpoint(self, port: int) -> None:
        """Do what the EndpointSlice controller does for the pods that the Service selects."""
        (service,) = shipped("Service", "fabric-injector")
        labels = {"kubernetes.io/service-name": service["metadata"]["name"]}
        port_name = service["spec"]["ports"][0]["name"]
        slices = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "fabric-injector-test",
                "namespace": NAMESPACE,
                "labels": labels,
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [own_address()], "conditions": {"ready": True}}],
            "ports": [{"name": port_name, "port": port, "protocol": "TCP"}],
        }
        path = self.api.path(slices)
        if self.api.request("PUT", f"{path}/fabric-injector-test", slices).status == 404:
            self.api.expect("POST", path, slices)
