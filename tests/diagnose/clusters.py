"""Clusters of jobs as training systems make them: pods of tests/fixtures, as many as wanted."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.pods import load
from tests.profiles import as_text
from webhook.core.model import Object


class Kind(NamedTuple):
    """Say how the fixtures of a training system name a job, and how its second pod is numbered."""

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
PROFILES = as_text("""
rdma:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
""")


def job(
    kind: str, name: str, namespace: str = "research", pods: int = 2, **changes: Any
) -> Iterator[Object]:
    """Yield the pods of a job; *changes* are fields of each pod's spec."""
    of = KINDS[kind]
    uid = uuid.uuid5(uuid.NAMESPACE_DNS, f"{kind}/{namespace}/{name}").hex[:8]
    for number in range(pods):
        text = json.dumps(load(f"pods/{of.fixture}-{min(number, 1)}.yaml"))
        pod: Object = json.loads(text.replace(of.job, name).replace(of.uid, uid))
        last = number - 1 if kind == "PyTorchJob" else number
        own = (
            f"{name}-master-0"
            if kind == "PyTorchJob" and not number
            else f"{name}-{of.numbered.format(last)}"
        )
        if kind == "LeaderWorkerSet" and not number:
            own = f"{name}-0"
        pod["metadata"] |= {
            "name": own,
            "namespace": namespace,
            "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, own)),
        }
        if pod["spec"].get("hostname"):
            pod["spec"]["hostname"] = own
        pod["spec"] |= {"nodeName": "node-1", **changes}
        yield {**pod, "status": {"phase": "Running"}}
