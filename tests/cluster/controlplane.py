"""A real Kubernetes control plane on loopback: etcd, kube-apiserver and, on request, the others."""

import secrets
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Self

import yaml

from tests.tables import read
from tests.waiting import wait_until
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials
from webhook.validate.definition import definition

from .assets import binary
from .client import Client
from .objects import account, made, write_kubeconfig
from .pki import Authority
from .processes import Server, free_port, run_command, sum_of

MANIFESTS = Path(__file__).parent / "manifests"
BASE = Path(__file__).parents[2] / "manifests" / "base"
ACCESS = ("namespace", "rbac-webhook", "rbac-controller", "admission-policy")
"""Files of the shipped accounts, privileges and policies, without what runs under them."""
NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
PROFILES = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
ROUTED = "--enable-aggregator-routing=true"
"""Flag of an API server that calls a Service's endpoints itself: nothing routes Services here."""
API_ADDRESS = "198.18.0.241"
"""The API server's address as a Service, where pods run."""
SERVER_NAMES = ("localhost", "kubernetes.default.svc", API_ADDRESS)
FLAGS: dict[str, dict[str, str]] = read(__file__, "controlplane.yaml")


class ControlPlane:
    """A control plane that lives as long as the `with` block, with the definition of networks.

    `api` is the administrator's client, `admin` the file of the administrator's kubeconfig. Nothing
    schedules or runs pods.
    """

    def __init__(self, folder: Path, *apiserver_flags: str) -> None:
        """Prepare one that keeps data, keys and logs in the folder."""
        self.folder, self._apiserver_flags = folder, apiserver_flags
        self.ca = folder / "pki" / "ca.crt"
        self.token = secrets.token_urlsafe(16)
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd_url, self.peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._running: dict[str, Server] = {}

    def __enter__(self) -> Self:
        """Start etcd and kube-apiserver, and return once custom resources are served."""
        with ExitStack() as unless_served:
            unless_served.callback(self.__exit__)
            keys = Authority().write(self.folder / "pki", SERVER_NAMES)
            (keys / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')
            self.api = self.client(self.token)
            self.admin = self.kubeconfig(self.folder / "admin.kubeconfig", self.token)
            client = Client(self.etcd_url, self.ca, None)
            self._start("etcd", lambda: client.answers("/health"))
            self.start_apiserver()
            networks = MANIFESTS / "network-attachment-definition.yaml"
            self.api.ensure(yaml.safe_load(networks.read_text()))
            wait_until(lambda: self.api.answers(NETWORKS), "the networks' definition")
            unless_served.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for program in reversed([*self._running]):
            self.stop(program)

    def start_apiserver(self) -> None:
        """Start kube-apiserver and wait until it is ready; it always has its port and data."""
        ready = partial(self.api.answers, "/readyz")
        self._start("kube-apiserver", ready, *self._apiserver_flags)

    def start_controller_manager(self, *flags: str) -> None:
        """Start kube-controller-manager: Jobs, ServiceAccounts, garbage collection."""
        ready = partial(self.api.answers, "/api/v1/namespaces/default/serviceaccounts/default")
        self._start("kube-controller-manager", ready, *flags)

    def start_scheduler(self) -> None:
        """Start kube-scheduler."""
        self._start("kube-scheduler", lambda: True)

    def stop(self, program: str, *, force: bool = False) -> None:
        """Stop one of the programs if it runs, with force as a crash would; etcd keeps the data."""
        if server := self._running.pop(program, None):
            server.stop(force=force)

    def client(self, token: str) -> Client:
        """Give a client for the bearer of the token."""
        return Client(self.url, self.ca, token)

    def connection(self, token: str) -> closing[Connection]:
        """Give a connection of the product's own."""
        bearer = f"Bearer {token}"
        return closing(Connection(Credentials(self.url, self.url, lambda: bearer, ca=self.ca)))

    def kubeconfig(self, path: Path, token: str, *, server: str = "") -> Path:
        """Write a kubeconfig for the bearer of the token, of another URL if any; give its path."""
        return write_kubeconfig(path, server or self.url, token, ca=self.ca)

    def kubectl(self, *arguments: str, input: str = "") -> CompletedProcess[str]:  # noqa: A002
        """Run kubectl as the administrator; a failure raises RuntimeError with what it printed."""
        cache = f"--cache-dir={self.folder / 'kubectl'}"
        done = run_command([binary("kubectl"), cache, *arguments], self.admin, input)
        if done.returncode != 0:
            told = f"kubectl {' '.join(arguments)}: status {done.returncode}"
            raise RuntimeError(f"{told}\n{done.stdout}{done.stderr}")
        return done

    def create_namespace(self, name: str, labels: dict[str, str] | None = None) -> str:
        """Ensure the namespace, and the ServiceAccount that its pods need; give its name."""
        namespace = made("v1 Namespace", name)
        namespace["metadata"]["labels"] = labels or {}
        self.api.ensure(namespace)
        self.api.ensure(account(), name)
        return name

    def ensure_shipped(self, *files: str) -> None:
        """Create the objects of these files of manifests/base, but those that exist."""
        for file in files:
            for manifest in yaml.safe_load_all((BASE / f"{file}.yaml").read_text()):
                self.api.ensure(manifest)

    def service_account_token(self, namespace: str, name: str) -> str:
        """Give a token for the ServiceAccount by TokenRequest, as the kubelet would."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = self.api.expect("POST", path, {"spec": {"expirationSeconds": 7200}})
        return str(answer["status"]["token"])

    def allow(self, namespace: str, role: str) -> str:
        """Let the namespace's `default` account do what a ClusterRole says; give its token."""
        who = (f"--clusterrole={role}", f"--serviceaccount={namespace}:default")
        self.kubectl("create", "rolebinding", "default", *who, f"--namespace={namespace}")
        return self.service_account_token(namespace, "default")

    def define_profiles(self, profiles: str) -> None:
        """Install the kind FabricProfile, and those that the text of a profiles file describes."""
        self.api.ensure(definition())
        wait_until(lambda: self.api.answers(PROFILES), "the CRD to be served")
        for manifest in filter(None, yaml.safe_load_all(profiles)):
            self.api.ensure(manifest)

    def metric(self, name: str, /, **labels: str) -> float:
        """Give the sum of one of the API server's metrics over the series with these labels."""
        return sum_of(self.api.expect("GET", "/metrics"), name, labels)

    def _start(self, program: str, ready: Callable[[], object], *flags: str) -> None:
        own = [f"--{flag}={value.format(**vars(self))}" for flag, value in FLAGS[program].items()]
        command, log = [binary(program), *own, *flags], self.folder / f"{program}.log"
        self._running[program] = Server(command, log, ready)
        self._running[program].start()
