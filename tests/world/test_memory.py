"""What the cluster's objects cost while they are held."""

import gc
import json
import tracemalloc
from multiprocessing import get_context

from tests.fake_apiserver import NAMESPACES, NETWORKS, FakeApiServer
from tests.waiting import wait_until
from webhook.core import names
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials
from webhook.world.cluster import Cluster

CONFIG = json.dumps({"type": "macvlan", "master": "ens1f0", "ipam": {"type": "whereabouts", "range": "192.168.2.0/24"}})
MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:labels": {f"f:{n}": {} for n in range(20)}}}}]
LEVELS = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}


def test_holds_a_thousand_namespaces_and_networks_in_two_megabytes() -> None:
    """In a process of its own: where other tests have interned many names, the next one may double Python's table of them."""
    with get_context("spawn").Pool(1) as process:
        assert process.apply(held_bytes) < 2_000_000


def held_bytes() -> int:
    with FakeApiServer() as server:
        for number in range(1000):
            name = f"team-{number}"
            labels = {"kubernetes.io/metadata.name": name, names.PROFILE: "hostdev", **LEVELS}
            annotations = {names.RESOURCE_NAME: "nvidia.com/hostdev", names.NODE_SELECTOR: "rail=fast"}
            server.put(NAMESPACES, name, labels=labels, managedFields=MANAGED)
            server.put(NETWORKS, "net", name, annotations=annotations, spec={"config": CONFIG}, managedFields=MANAGED)
        cluster = Cluster(Connection(Credentials("test", server.url)))
        gc.collect()
        tracemalloc.start()
        try:
            cluster.start()
            wait_until(lambda: len(server.asked("watch")) == 3, "three watches", 30)
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            cluster.stop()
        assert cluster.namespace("team-999")
        assert cluster.network("team-999", "net")
    return held
