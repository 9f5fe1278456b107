"""Replicas of the webhook behind a balancer, as a Deployment and a Service keep them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.profiles import as_text
from tests.waiting import wait_until

from .balancer import Balancer
from .controlplane import ControlPlane
from .pki import Authority
from .webhook import ACCOUNT, CONFIGURATIONS, Webhook, calling, default_configuration

PROFILES = as_text("train: {pods: all}")
IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}
"""Makes a server end as it does in a pod, where requests come for a moment longer; its kubeconfig is used all the same."""


class Replica(Webhook):
    """One server of a Service: it has ports and a log of its own, and shares certificate and registration."""

    def __init__(
        self,
        plane: ControlPlane,
        folder: Path,
        profiles: Path,
        command: Sequence[str],
        tls_dir: Path,
    ) -> None:
        super().__init__(plane, folder, profiles, command, environment=IN_CLUSTER)
        folder.mkdir()
        self.tls_dir.symlink_to(tls_dir)
        plane.kubeconfig(folder / "kubeconfig", plane.service_account_token(*ACCOUNT))
        self.port = urlsplit(self.url).port or 0

    def is_ready(self) -> bool:
        """Tell whether requests should come here."""
        return self.status("/readyz") == 200


class Service:
    """The replicas, their balancer and the registration, from entering the `with` block until it is left."""

    def __init__(
        self, plane: ControlPlane, folder: Path, command: Sequence[str], replicas: int = 2
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.plane, self.balancer = plane, Balancer()
        self.tls_dir = folder / "tls"
        self.replicas: list[Replica] = []
        self._folder, self._command, self._wanted, self._made = folder, command, replicas, 0
        self._profiles = folder / "profiles.yaml"
        self._ending: list[Replica] = []

    def __enter__(self) -> Self:
        """Register, start the replicas, and return once all are served."""
        authority = Authority("service of the tests")
        authority.write(self.tls_dir)
        self._profiles.write_text(PROFILES)
        self.plane.ensure_shipped("namespace", "rbac-webhook")
        url = f"{self.balancer.url}/mutate"
        body = calling(default_configuration(), url, authority)
        self.plane.api.expect("POST", CONFIGURATIONS, body)
        try:
            for _ in range(self._wanted):
                self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the registration, and stop all."""
        self.plane.api.request(
            "DELETE", f"{CONFIGURATIONS}/{default_configuration()['metadata']['name']}"
        )
        for replica in (*self.replicas, *self._ending):
            replica.stop(force=True)
        self.balancer.close()

    def start(self) -> Replica:
        """Add a replica, and wait until the balancer sends connections to it."""
        self._made += 1
        folder = self._folder / f"replica-{self._made}"
        replica = Replica(self.plane, folder, self._profiles, self._command, self.tls_dir)
        self.replicas.append(replica)
        replica.start()
        self.balancer.add(replica.port, replica.is_ready)
        wait_until(lambda: self.balancer.serves(replica.port), "the new replica's endpoint")
        return replica

    def terminate(self, replica: Replica) -> int | None:
        """End a replica as a kubelet does, SIGTERM first; give its exit status."""
        self.replicas.remove(replica)
        self._ending.append(replica)
        status = replica.stop()
        self.balancer.remove(replica.port)
        self._ending.remove(replica)
        return status

    def roll(self) -> list[int | None]:
        """Replace every replica, one after the other, the new one first; give the exit statuses of the old ones."""
        old = list(self.replicas)
        statuses = []
        for replica in old:
            self.start()
            statuses.append(self.terminate(replica))
        return statuses
