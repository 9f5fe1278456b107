"""Clusters of jobs as training systems make them: pods of tests/fixtures, as many of a job as a test wants."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tests.pods import load
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.profiles import Profiles, parse_profiles
from webhook.diagnose.listing import Listing
from webhook.diagnose.survey.pod import PodReader
from webhook.diagnose.survey.reading import ClusterReading
from webhook.diagnose.survey.survey import ClusterSurvey, survey


class Kind(NamedTuple):
    """Say how the fixtures of a training system name a job, and what the second pod has that numbers it."""

    fixture: str
    job: str
    uid: str
    numbered: str


KINDS: Mapping[str, Kind] = {
    "TorchX app": Kind("torchx-volcano", "trainer-d4q9zxk1tw", "3f0c7f2e", "trainer-{}-0"),
    "PyTorchJob": Kind("kubeflow-pytorchjob", "bert", "3f0c7f2e", "worker-{}"),
    "JobSet": Kind("jobset", "ddp", "3f0c7f2e", "workers-0-{}"),
    "LeaderWorkerSet": Kind("lws", "mnmt", "9c1d2e3f", "0-{}"),
    "Job": Kind("indexed-job", "ddp", "9c1d2e3f", "{}"),
}
PROFILES = """
profiles:
  rdma:
    networks: [{network: default/rdma-net, resource: rdma/hca}]
"""
NETWORK = NetworkDefinition("default", "rdma-net", has_ipam=True)
NODE = NodeOffer("node-1", {}, {"rdma/hca": "64", "nvidia.com/gpu": "8"})


def job(kind: str, name: str, namespace: str = "research", pods: int = 2, **changes: Any) -> Iterator[Object]:
    """Yield the pods of a job; *changes* are fields of each pod's spec."""
    of = KINDS[kind]
    uid = uuid.uuid5(uuid.NAMESPACE_DNS, f"{kind}/{namespace}/{name}").hex[:8]
    for number in range(pods):
        text = json.dumps(load(f"pods/{of.fixture}-{min(number, 1)}.yaml"))
        pod: Object = json.loads(text.replace(of.job, name).replace(of.uid, uid))
        last = number - 1 if kind == "PyTorchJob" else number
        own = f"{name}-master-0" if kind == "PyTorchJob" and not number else f"{name}-{of.numbered.format(last)}"
        if kind == "LeaderWorkerSet" and not number:
            own = f"{name}-0"
        pod["metadata"] |= {"name": own, "namespace": namespace, "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, own))}
        if pod["spec"].get("hostname"):
            pod["spec"]["hostname"] = own
        pod["spec"] |= {"nodeName": "node-1", **changes}
        yield {**pod, "status": {"phase": "Running"}}


def reading(pods: Iterable[Object], profiles: str | None = PROFILES, **more: Any) -> ClusterReading:
    """Return what is read of a cluster that has these pods, the network and a node with devices."""
    reader = PodReader()
    found = tuple(filter(None, map(reader.read, pods)))
    parsed: Profiles | None = parse_profiles(profiles) if profiles is not None else None
    base = ClusterReading(
        Listing(found),
        reader.templates,
        reader.oversized,
        namespaces=Listing(tuple(Namespace(name) for name in sorted({pod.namespace for pod in found}))),
        networks=Listing((NETWORK,)),
        nodes=Listing((NODE,)),
        profiles=parsed,
        profile=next(iter(parsed.profiles)) if parsed else "",
    )
    return base._replace(**more)


def surveyed(*pods: Iterable[Object], profiles: str | None = PROFILES, **more: Any) -> ClusterSurvey:
    """Survey a cluster of these jobs."""
    return survey(reading((pod for each in pods for pod in each), profiles, **more))
