"""A real Kubernetes control plane on loopback: etcd, kube-apiserver and, on request, kube-controller-manager and kube-scheduler."""

import secrets
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import yaml

from tests.waiting import wait_until
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.validate.definition import definition

from .assets import binary
from .client import Client
from .objects import account
from .pki import Authority, new_key_pem, write_private
from .processes import Server, free_port, sum_of

MANIFESTS = Path(__file__).parent / "manifests"
BASE = Path(__file__).parents[2] / "manifests" / "base"
ACCESS = tuple(
    BASE / f"{name}.yaml"
    for name in ("namespace", "rbac-webhook", "rbac-controller", "admission-policy")
)
"""The shipped accounts, privileges and policies, without what runs under them."""
NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
PROFILES = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
RBAC = "rbac.authorization.k8s.io"
ROUTED = "--enable-aggregator-routing=true"
"""Flag of an API server that calls a Service's endpoints itself, as nothing routes Services here."""
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class ControlPlane:
    """A control plane that lives as long as the `with` block, with the NetworkAttachmentDefinition CRD installed.

    Without a controller manager a new namespace has no ServiceAccount, and pods need one: make it
    (`create_namespace` does). Nothing schedules or runs pods. `api` is the administrator's client.
    """

    def __init__(self, folder: Path, *apiserver_flags: str, addresses: Sequence[str] = ()) -> None:
        """Prepare one that keeps data, keys and logs in the folder.

        The flags are added to kube-apiserver's; *addresses* are those, beside 127.0.0.1, at which clients reach it.
        """
        self.folder = folder
        self.ca = folder / "pki" / "ca.crt"
        self.token = secrets.token_urlsafe(16)
        self._flags = apiserver_flags
        self._names = (*SERVER_NAMES, *addresses)
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd_url = ""
        self._stack = ExitStack()
        self._apiserver: Server | None = None
        self._controller_manager: Server | None = None

    def __enter__(self) -> Self:
        """Start etcd and kube-apiserver, and return once requests and custom resources are served."""
        with self._stack:
            self._write_keys()
            self.api = self.client(self.token)
            self._start_etcd()
            self._stack.callback(self.stop_apiserver)
            self.start_apiserver()
            self._stack.callback(self.stop_controller_manager)
            self._install_networks()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all that was started, the API server before etcd."""
        self._stack.close()

    def start_apiserver(self) -> None:
        """Start kube-apiserver and wait until it is ready; after `stop_apiserver` it has its old port and data."""
        keys = self.folder / "pki"
        flags = {
            "etcd-servers": self.etcd_url,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self.port,
            "cert-dir": keys,
            "tls-cert-file": keys / "tls.crt",
            "tls-private-key-file": keys / "tls.key",
            "token-auth-file": keys / "tokens.csv",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": keys / "sa.key",
            "service-account-signing-key-file": keys / "sa.key",
            "service-cluster-ip-range": "10.96.0.0/16",
            "authorization-mode": "RBAC",
            "allow-privileged": "true",
        }
        command = [str(binary("kube-apiserver")), *_as_flags(flags), *self._flags]
        self._apiserver = Server(command, self.folder / "kube-apiserver.log")
        self._apiserver.wait_ready(lambda: self.api.answers("/readyz"), 90)

    def stop_apiserver(self, *, force: bool = False) -> None:
        """Stop kube-apiserver, with force as a crash would; etcd keeps the data."""
        if self._apiserver is not None:
            self._apiserver.kill() if force else self._apiserver.stop()
            self._apiserver = None

    def start_controller_manager(self, *flags: str) -> None:
        """Start kube-controller-manager unless it runs: Jobs, StatefulSets, ServiceAccounts, garbage collection."""
        if self._controller_manager is not None:
            return
        settings = {
            "kubeconfig": self.kubeconfig(self.folder / "controller-manager.kubeconfig"),
            "leader-elect": "false",
            "secure-port": 0,
            "service-account-private-key-file": self.folder / "pki" / "sa.key",
            "root-ca-file": self.ca,
            "kube-api-qps": 1000,
            "kube-api-burst": 1000,
        }
        command = [str(binary("kube-controller-manager")), *_as_flags(settings), *flags]
        self._controller_manager = Server(command, self.folder / "kube-controller-manager.log")
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._controller_manager.wait_ready(lambda: self.api.answers(account), 60)

    def stop_controller_manager(self) -> None:
        """Stop kube-controller-manager if it runs."""
        if self._controller_manager is not None:
            self._controller_manager.stop()
            self._controller_manager = None

    def start_scheduler(self) -> None:
        """Start kube-scheduler; it is stopped when the block is left."""
        command = [
            str(binary("kube-scheduler")),
            f"--kubeconfig={self.kubeconfig(self.folder / 'scheduler.kubeconfig')}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
        ]
        self._stack.callback(Server(command, self.folder / "kube-scheduler.log").stop)

    def client(self, token: str | None) -> Client:
        """Give a client for the bearer of the token; without a token, an anonymous one."""
        return Client(self.url, self.ca, token)

    def kubeconfig(self, path: Path, token: str | None = None, *, server: str = "") -> Path:
        """Write a kubeconfig for the bearer of the token, or for the administrator; give its path back.

        *server*: the URL of the API server where it is not to be that on this machine.
        """
        cluster = {"server": server or self.url, "certificate-authority": str(self.ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token or self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        return write_private(path, yaml.safe_dump(config).encode())

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002 named as in subprocess.run
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator, with its output captured; unless check is off, a failure raises."""
        config = self.kubeconfig(self.folder / "admin.kubeconfig")
        command = [
            str(binary("kubectl")),
            f"--kubeconfig={config}",
            f"--cache-dir={self.folder / 'kubectl'}",
            *arguments,
        ]
        done = subprocess.run(command, input=input, capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError(
                f"kubectl {' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    def create_namespace(self, name: str, labels: dict[str, str] | None = None) -> str:
        """Create the namespace with the labels, and its `default` ServiceAccount; give its name back."""
        metadata = {"name": name, "labels": labels or {}}
        self.api.expect("POST", "/api/v1/namespaces", {"metadata": metadata})
        self.api.ensure(account(), name)
        return name

    def ensure_shipped(self, *files: str) -> None:
        """Create the objects of these files of manifests/base, but those that exist."""
        for file in files:
            for manifest in yaml.safe_load_all((BASE / f"{file}.yaml").read_text()):
                self.api.ensure(manifest)

    def service_account_token(self, namespace: str, name: str, seconds: int = 7200) -> str:
        """Give a token for the ServiceAccount by TokenRequest, as the kubelet would."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        return str(
            self.api.expect("POST", path, {"spec": {"expirationSeconds": seconds}})["status"][
                "token"
            ]
        )

    def allow(self, namespace: str, *rules: str, role: str = "", everywhere: bool = False) -> str:
        """Let the namespace's `default` account do what rules say, or a ClusterRole; give its token.

        A rule as ``apps:deployments,replicasets get list``. *everywhere*: in all namespaces.
        """
        group = {"apiVersion": f"{RBAC}/v1"}
        kind, bound = ("ClusterRole" if role or everywhere else "Role"), {"name": role or namespace}
        if rules:
            self.api.ensure(
                {**group, "kind": kind, "metadata": bound, "rules": [*map(_rule, rules)]}, namespace
            )
        binding = {
            **group,
            "kind": "ClusterRoleBinding" if everywhere else "RoleBinding",
            "metadata": {"name": f"of-{namespace}"},
            "roleRef": {"apiGroup": RBAC, "kind": kind, **bound},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
        }
        self.api.ensure(binding, namespace)
        return self.service_account_token(namespace, "default")

    def define_profiles(self, profiles: str = "") -> None:
        """Install the kind FabricProfile, and those that the text of a profiles file describes."""
        self.api.ensure(definition())
        wait_until(lambda: self.api.answers(PROFILES), "the CRD to be served")
        for manifest in yaml.safe_load_all(profiles):
            self.api.ensure(manifest)

    def metric(self, name: str, /, **labels: str) -> float:
        """Give the sum of one of the API server's own metrics over the series that carry these labels."""
        return sum_of(self.api.expect("GET", "/metrics"), name, labels)

    def _write_keys(self) -> None:
        keys = Authority("control plane of the tests").write(self.folder / "pki", self._names)
        write_private(keys / "sa.key", new_key_pem())
        (keys / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')

    def _start_etcd(self) -> None:
        self.etcd_url, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        flags = {
            "data-dir": self.folder / "etcd",
            "listen-client-urls": self.etcd_url,
            "advertise-client-urls": self.etcd_url,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "log-level": "warn",
        }
        server = Server(
            [str(binary("etcd")), *_as_flags(flags), "--unsafe-no-fsync"], self.folder / "etcd.log"
        )
        self._stack.callback(server.stop)
        client = Client(self.etcd_url, self.ca, None)
        server.wait_ready(lambda: client.answers("/health"), 30)

    def _install_networks(self) -> None:
        self.api.ensure(
            yaml.safe_load((MANIFESTS / "network-attachment-definition.yaml").read_text())
        )
        wait_until(lambda: self.api.answers(NETWORKS), "the networks' CRD")


def _rule(text: str) -> dict[str, list[str]]:
    what, *verbs = text.split()
    group, _, resources = what.partition(":")
    return {"apiGroups": [group], "resources": resources.split(","), "verbs": verbs}


def _as_flags(settings: dict[str, Any]) -> list[str]:
    return [f"--{name}={value}" for name, value in settings.items()]
