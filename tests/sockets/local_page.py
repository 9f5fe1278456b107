"""Start the real ``fabric-injector page`` beside a small API server, and ask as its page does."""

import http.client
import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.diagnose.connection import NOW
from tests.diagnose.scenes import PROFILES, SPACE, Scene
from tests.fake_apiserver import EVENTS, NAMESPACES, NETWORKS, NODES, PODS, FakeApiServer
from tests.profiles import as_text
from tests.sockets.server import Program, Reply, ask_at, write_kubeconfig
from tests.waiting import wait_until
from webhook.core.model import Object

CONFIG = json.dumps({"cniVersion": "0.3.1", "type": "macvlan", "ipam": {"type": "whereabouts"}})
LEASES = "/apis/coordination.k8s.io/v1/leases"


def hold(server: FakeApiServer, *scenes: Scene) -> None:
    """Put jobs into the cluster, with what they need there."""
    server.clock = lambda: NOW
    for scene in scenes:
        server.put(NAMESPACES, SPACE, labels=scene.labels)
        for node in scene.nodes:
            server.put(
                NODES,
                node["metadata"]["name"],
                labels=node["metadata"]["labels"],
                status=node["status"],
            )
        if scene.lease:
            server.put(LEASES, "fabric-injector", "fabric-injector", spec=scene.lease["spec"])
        server.put(NETWORKS, "rdma-net", "default", spec={"config": CONFIG})
        for pod in scene.pods.values():
            put_pod(server, pod)
        for number, event in enumerate(scene.events):
            kept = server.put(EVENTS, f"event-{number}", SPACE)
            kept |= {key: value for key, value in event.items() if key != "metadata"}


def put_pod(server: FakeApiServer, pod: Object) -> None:
    metadata = {
        key: value for key, value in pod["metadata"].items() if key not in ("name", "namespace")
    }
    server.put(
        PODS, pod["metadata"]["name"], SPACE, spec=pod["spec"], status=pod["status"], **metadata
    )


class LocalPage(Program):
    """Run ``fabric-injector page`` for the cluster at *url* during the ``with`` block."""

    seconds_to_end = 20.0

    def __init__(
        self, folder: Path, url: str, *options: str, profiles: str | None = PROFILES
    ) -> None:
        self.kubeconfig = write_kubeconfig(folder / "kubeconfig", url, namespace=SPACE)
        given = ["--kubeconfig", str(self.kubeconfig), *options]
        if profiles is not None:
            self.profiles = folder / "profiles.yaml"
            self.profiles.write_text(as_text(profiles))
            given += ["--profiles", str(self.profiles)]
        command = [sys.executable, "-m", "webhook", "page", *given]
        super().__init__(command, folder / "output", lambda: self.addresses)
        self.key = ""

    @property
    def addresses(self) -> list[str]:
        """The addresses that were printed so far, with their keys."""
        return re.findall(r"http://\S+#key=\S+(?=\n)", self.log.read_text())

    @property
    def url(self) -> str:
        return self.addresses[0].partition("/#")[0]

    @property
    def printed_key(self) -> str:
        """The key of the address that was printed last."""
        return self.addresses[-1].partition("#key=")[2]

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        /,
        *,
        method: str = "",
        key: str = "",
        **headers: str,
    ) -> Reply:
        """Send one request without what the page sends by itself."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            sent["Authorization"] = f"Bearer {key}"
        verb = method or ("GET" if body is None else "POST")
        try:
            return ask_at(self.url, verb, path, body, sent)
        except http.client.RemoteDisconnected as error:
            ended = f"the page closed the connection; its exit status is {self.process.poll()}"
            raise AssertionError(f"{ended}:\n{self.log.read_text()}") from error

    def open(self) -> str:
        """Exchange the address that was printed last for a key, as the page does."""
        printed = len(self.addresses)
        reply = self.ask("/session", b"", key=self.printed_key)
        assert reply.status == 200, reply.body
        wait_until(lambda: len(self.addresses) > printed, "the next address")
        self.key = str(reply.json()["key"])
        return self.key

    def get(self, path: str) -> Any:
        """Ask as the page does once it is open."""
        reply = self.ask(path, key=self.key)
        assert reply.status == 200, reply.body
        return reply.json()
