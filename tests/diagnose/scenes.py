"""Make what `explain` reads of a PyTorchJob that trains well; a test breaks one thing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from tests.diagnose.connection import NOW, HostileConnection
from tests.pods import load
from tests.profiles import as_objects, profiles
from tests.worlds import network
from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.core.review import decide
from webhook.diagnose.explain.job import observe
from webhook.diagnose.explain.judge import Explanation, explain
from webhook.diagnose.explain.nccl_log import PodLog
from webhook.diagnose.jobs import Job
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.catalogue import NETWORKS

SPACE = "research"
PROFILES = """
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  sharedMemory: {sizeLimit: 16Gi}
"""


def ago(**units: float) -> str:
    """Write a time before NOW, as the API does."""
    return (NOW - timedelta(**units)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(
    name: str = "node-1", offered: Mapping[str, str] = MappingProxyType({"rdma/hca": "64"})
) -> Object:
    """Return a Ready node with GPUs that offers these devices besides."""
    ready = {"type": "Ready", "status": "True"}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {
        "metadata": metadata,
        "status": {"allocatable": {"nvidia.com/gpu": "64", **offered}, "conditions": [ready]},
    }


def event(
    kind: str,
    name: str,
    reason: str,
    message: str,
    *,
    count: int = 1,
    source: str = "",
    at: str = "",
) -> Object:
    """Return a Warning."""
    when = at or ago(minutes=1)
    metadata = {"name": f"{name}.1", "namespace": SPACE, "creationTimestamp": when}
    return {
        "metadata": metadata,
        "involvedObject": {"kind": kind, "name": name, "namespace": SPACE},
        "reason": reason,
        "message": message,
        "type": "Warning",
        "count": count,
        "lastTimestamp": when,
        "source": {"component": source},
        "reportingComponent": source,
    }


def workload(
    *conditions: tuple[str, str, str, str],
    owner: tuple[str, str] = ("PyTorchJob", "bert"),
    **spec: Any,
) -> Object:
    """Return what Kueue makes of a job, with these conditions: type, status, reason, message."""
    kind, name = owner
    keys = ("type", "status", "reason", "message")
    told = [{**dict(zip(keys, each, strict=True)), **_SINCE} for each in conditions]
    by = {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": name, "controller": True}
    metadata = {
        "name": f"{kind.lower()}-{name}-a1b2c",
        "namespace": SPACE,
        "uid": "uid-workload",
        "creationTimestamp": ago(minutes=6),
        "labels": {"kueue.x-k8s.io/job-uid": "uid-owner"},
        "ownerReferences": [{**by, "uid": "uid-owner"}],
    }
    asked = {"queueName": "team", "active": True, "podSets": [{"name": "worker"}], **spec}
    return {"metadata": metadata, "spec": asked, "status": {"conditions": told}}


_SINCE = {"lastTransitionTime": ago(minutes=5)}
_ADMITTED: dict[tuple[type, int], str] = {}
"""The pods of each kind and size of scene as JSON: to admit them takes most of the time."""


def patched(value: Any, patch: Any) -> Any:
    """Return *value* with a JSON merge patch; a number is a place of a list, its end among them."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if any(isinstance(key, int) for key in patch):
        found = list(value or ())
        for place, inner in patch.items():
            old = found[place] if place < len(found) else {}
            found[place : place + 1] = [] if inner is None else [patched(old, inner)]
        return found
    merged = dict(value) if isinstance(value, dict) else {}
    for key, inner in patch.items():
        merged[key] = patched(merged.get(key), inner)
    return {key: inner for key, inner in merged.items() if patch.get(key, inner) is not None}


class Scene:
    """A job of rank 0 and workers that trains well, and the cluster that it is in.

    *not_ready*: what the controller says of profiles by name. *claim_templates*: their names.
    *device_offers*: the drivers that run of DeviceClass nic, None where it does not exist.
    *refused*: the resources that may not be read, ``events``.
    """

    written = PROFILES
    """The profiles: the spec of each by its name."""

    def __init__(self, workers: int = 3, *, before: Callable[[Object], None] | None = None) -> None:
        """Create the job; *before* may change each pod before it is admitted."""
        self.labels = {names.PROFILE: "shared"}
        self.networks: dict[tuple[str, str], Object | None] = {
            ("default", "rdma-net"): network("default/rdma-net")
        }
        self.nodes = [node("node-1"), node("node-2")]
        self.events: list[Object] = []
        self.workloads: list[Object] = []
        self.policies: list[Object] = []
        held = {"holderIdentity": "c-1", "renewTime": ago(seconds=2)}
        self.lease: Object | None = {"spec": {"leaseDurationSeconds": 15, **held}}
        self.owner = "bert"
        self.focus = ""
        self.not_ready: Mapping[str, str] = {}
        self.claim_templates: Sequence[str] = ()
        self.device_offers: Sequence[str] | None = None
        self.refused: set[str] = set()
        self.logs: dict[str, PodLog] | None = None
        self.size = workers + 1
        self.pods: dict[str, Object] = {}
        if before is None and (type(self), workers) in _ADMITTED:
            self.pods = json.loads(_ADMITTED[type(self), workers])
        else:
            self.admit_all(before)
        for number, pod in enumerate(self.pods.values()):
            self.run(pod, f"192.168.{number // 250}.{number % 250 + 1}")

    def admit_all(self, before: Callable[[Object], None] | None) -> None:
        """Create each pod, and let the webhook change it."""
        for number in range(self.size):
            pod = self.created(number)
            if before:
                before(pod)
            self.pods[pod["metadata"]["name"]] = self.admitted(pod)
        if before is None:
            _ADMITTED[type(self), self.size - 1] = json.dumps(self.pods)

    @property
    def master(self) -> Object:
        return self.pods["bert-master-0"]

    @property
    def workers(self) -> list[Object]:
        return [pod for name, pod in self.pods.items() if name != "bert-master-0"]

    def created(self, number: int) -> Object:
        """Return a pod as the training operator creates it; number 0 is rank 0."""
        pod = load(f"pods/kubeflow-pytorchjob-{min(number, 1)}.yaml")
        name = f"bert-worker-{number - 1}" if number else "bert-master-0"
        pod["metadata"] |= {"name": name, "namespace": SPACE, "uid": f"uid-{number}"}
        pod["metadata"]["creationTimestamp"] = ago(minutes=20)
        pod["spec"].pop("nodeName", None)
        pod["status"] = {"phase": "Pending"}
        for entry in pod["spec"]["containers"][0]["env"]:
            if entry["name"] == "PET_NNODES":
                entry["value"] = str(max(2, self.size))  # one node alone would need no rendezvous
        return pod

    def admitted(self, pod: Object) -> Object:
        """Return the pod as the webhook lets it pass."""
        verdict = decide(pod, SPACE, self.profiles, self.snapshot.world)
        assert verdict.allowed, verdict.message
        result: Object = copy.deepcopy(verdict.pod)
        return result

    def run(self, pod: Object, address: str) -> None:
        """Let it run on a node, with this address on net1, as long as the job does."""
        self.bind(pod)
        self.attach(pod, address)
        self.tell(pod, "192.168.0.1")
        self.start(pod, ago(minutes=18))

    def bind(self, pod: Object, at: str = "") -> None:
        """Put it on a node."""
        pod["spec"]["nodeName"] = "node-1"
        since = {"lastTransitionTime": at or ago(minutes=19)}
        scheduled = {"type": "PodScheduled", "status": "True", **since}
        conditions = [{"type": "Initialized", "status": "False"}, scheduled]
        pod["status"] = {"phase": "Pending", "conditions": conditions}

    def attach(self, pod: Object, *addresses: str, interface: str = "net1") -> None:
        """Write network-status as Multus does."""
        entries = [
            {"name": "cbr0", "interface": "eth0", "ips": ["10.244.0.7"], "default": True},
            {"name": "default/rdma-net", "interface": interface, "ips": list(addresses)},
        ]
        pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(entries)

    def tell(self, pod: Object, address: str) -> None:
        """Publish an address as the controller does."""
        told = pod["metadata"]["annotations"]
        told |= {names.MASTER_ADDR: address, names.MASTER_HOST: address}
        if pod["metadata"]["labels"].get(names.RENDEZVOUS) == "master":
            told[names.LOCAL_ADDR] = address

    def start(self, pod: Object, at: str) -> None:
        """Let the wait be over, and the training container run."""
        over = {"terminated": {"exitCode": 0, "startedAt": at, "finishedAt": at}}
        self.states(pod, "Running", over, {"running": {"startedAt": at}})

    def wait(self, pod: Object, since: str) -> None:
        """Let its wait step run, and take back what was published."""
        for key in (names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR):
            pod["metadata"]["annotations"].pop(key, None)
        waiting = {"waiting": {"reason": "PodInitializing"}}
        self.states(pod, "Pending", {"running": {"startedAt": since}}, waiting)

    def states(self, pod: Object, phase: str, wait: Object, training: Object) -> None:
        """Set the phase, and the states of the wait step and the training container."""
        pod["status"]["phase"] = phase
        pod["status"]["initContainerStatuses"] = [{"name": names.WAIT_CONTAINER, "state": wait}]
        pod["status"]["containerStatuses"] = [{"name": "pytorch", "state": training}]

    def unschedule(self, pod: Object, message: str) -> None:
        """Take it off its node again, for this reason."""
        pod["spec"].pop("nodeName", None)
        for key in (names.NETWORK_STATUS, names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR):
            pod["metadata"]["annotations"].pop(key, None)
        why = {"reason": "Unschedulable", "message": message}
        scheduled = {"type": "PodScheduled", "status": "False", **why}
        pod["status"] = {"phase": "Pending", "conditions": [scheduled]}

    @property
    def profiles(self) -> Profiles:
        """Return the profiles of today."""
        return profiles(self.written)

    @property
    def snapshot(self) -> Snapshot:
        """Return what is read of the cluster."""
        return Snapshot(cluster_of(self), SPACE)

    @property
    def job(self) -> Job:
        """Return its pods as one job."""
        return Job(SPACE, self.owner, self.owner, "", tuple(getattr(self, "pods", {}).values()))

    @property
    def explained(self) -> Explanation:
        """Return what `explain` finds."""
        snapshot = self.snapshot
        job = observe(snapshot, self.job, focus=self.focus)
        return explain(snapshot, replace(job, logs=self.logs))


def cluster_of(scene: Scene) -> HostileConnection:
    """Return the API server of the scene."""
    space = "/api/v1/namespaces/research"
    pods = list(getattr(scene, "pods", {}).values())
    labelled = {"metadata": {"name": "research", "labels": dict(scene.labels)}}
    lease = {"metadata": {"name": "fabric-injector"}, **scene.lease} if scene.lease else None
    lists = {
        "/api/v1/pods": pods,
        "/api/v1/events": scene.events,
        "/apis/kueue.x-k8s.io/v1beta2/workloads": scene.workloads,
        "/apis/networking.k8s.io/v1/networkpolicies": scene.policies,
        f"{_CLAIMS}/resourceclaims": list(getattr(scene, "claims", {}).values()),
        f"{_CLAIMS}/resourceclaimtemplates": [
            {"metadata": {"name": name, "namespace": SPACE}} for name in scene.claim_templates
        ],
    }
    objects: dict[str, Any] = {
        space: labelled,
        "/api/v1/namespaces": [labelled],
        "/api/v1/nodes": list(scene.nodes),
        "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector": lease,
        "/apis/resource.k8s.io": {"versions": [{"version": "v1"}]},
        "/apis/fabric-injector.io": {"preferredVersion": {"groupVersion": "x/v1alpha1"}},
        "/apis/kueue.x-k8s.io": {"preferredVersion": {"groupVersion": "kueue.x-k8s.io/v1beta2"}},
        "/apis/fabric-injector.io/v1alpha1/fabricprofiles": _profiles(scene),
    }
    if scene.device_offers is not None:
        selector = {"cel": {"expression": 'device.driver == "dra.net"'}}
        spec = {"extendedResourceName": "rdma/hca", "selectors": [selector]}
        objects[f"{_CLAIMS}/deviceclasses"] = [{"metadata": {"name": "nic"}, "spec": spec}]
        objects[f"{_CLAIMS}/resourceslices"] = [
            {"metadata": {"name": driver}, "spec": {"driver": driver}}
            for driver in scene.device_offers
        ]
    for path, found in lists.items():
        group, _, plural = path.rpartition("/")
        objects[path] = objects[f"{group}/namespaces/research/{plural}"] = list(found)
    for pod in pods:
        objects[f"{space}/pods/{pod['metadata']['name']}"] = pod
    for key, network_found in scene.networks.items():
        objects[NETWORKS.object_path(key)] = network_found
    connection = HostileConnection(objects, "research")
    connection.spoil = lambda request, *answer: (
        (403, b'{"message": "no"}') if scene.refused & {*request.split("/")[-2:]} else answer
    )
    return connection


_CLAIMS = "/apis/resource.k8s.io/v1"


def _profiles(scene: Scene) -> list[Object]:
    """Return the FabricProfiles, with what the controller says of them."""
    found = as_objects(scene.written)
    for each in found:
        if message := scene.not_ready.get(each["metadata"]["name"]):
            ready = {"type": "Ready", "status": "False", "message": message}
            each["status"] = {"conditions": [ready]}
    return found


class GkeScene(Scene):
    """The same on GKE: its multi-network in place of Multus, addresses in pod-ips."""

    written = """
shared:
  pod:
    metadata:
      annotations:
        networking.gke.io/default-interface: eth0
        networking.gke.io/interfaces: >-
          [{"interfaceName":"eth0","network":"default"},
          {"interfaceName":"eth1","network":"rdma-0"}]
  container: {resources: {limits: {networking.gke.io.networks/rdma-0: 1}}}
  sharedMemory: {sizeLimit: 16Gi}
  rendezvous: {addressSource: gke}
"""

    def __init__(self, workers: int = 3, *, before: Callable[[Object], None] | None = None) -> None:
        """Create the job."""
        super().__init__(workers, before=before)
        self.networks = {}
        self.nodes = [
            node(name, {"networking.gke.io.networks/rdma-0": "64"}) for name in ("node-1", "node-2")
        ]

    def attach(self, pod: Object, *addresses: str, interface: str = "eth1") -> None:
        """Write pod-ips as GKE does; it names no interface."""
        entries = [{"networkName": "rdma-0", "ip": address} for address in addresses]
        pod["metadata"]["annotations"][names.GKE_POD_IPS] = json.dumps(entries)


class ClaimScene(Scene):
    """The same with cards by claim: addresses in the status of each pod's ResourceClaim."""

    written = """
shared:
  sharedMemory: {sizeLimit: 16Gi}
  rendezvous: {addressSource: claim, network: rails@net1}
"""

    def __init__(self, workers: int = 3, *, before: Callable[[Object], None] | None = None) -> None:
        """Create the job."""
        self.claims: dict[tuple[str, str], Object] = {}
        super().__init__(workers, before=before)
        self.networks = {}
        self.claim_templates = ["rails"]

    def created(self, number: int) -> Object:
        """Return a pod that names a template."""
        pod = super().created(number)
        pod["spec"]["resourceClaims"] = [{"name": "rails", "resourceClaimTemplateName": "rails"}]
        return pod

    def attach(self, pod: Object, *addresses: str, interface: str = "net1") -> None:
        """Let the claim be made and allocated, and the driver tell these addresses, if any."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        pod["status"]["resourceClaimStatuses"] = [
            {"name": "rails", "resourceClaimName": f"{name}-rails-x"}
        ]
        device = {"driver": "dra.net", "pool": "node-1", "device": "card"}
        ips = [f"{ip}/16" for ip in addresses]
        told = [{**device, "networkData": {"interfaceName": interface, "ips": ips}}]
        requests = [{"name": "nic", "exactly": {"deviceClassName": "nic"}}]
        annotations = {"resource.kubernetes.io/pod-claim-name": "rails"}
        metadata = {"name": f"{name}-rails-x", "namespace": SPACE, "annotations": annotations}
        status = {
            "allocation": {"devices": {"results": [{**device, "request": "nic"}]}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
            "devices": told if addresses else [],
        }
        claim = {"metadata": metadata, "spec": {"devices": {"requests": requests}}}
        self.claims[SPACE, f"{name}-rails-x"] = {**claim, "status": status}


class PodNetworkScene(Scene):
    """A job whose profile leaves it on the pod network."""

    written = PROFILES.replace(
        "sharedMemory:", "rendezvous: {addressSource: none}\n  sharedMemory:"
    )

    def tell(self, pod: Object, address: str) -> None:
        """Publish nothing."""

    def start(self, pod: Object, at: str) -> None:
        """Let the training container run, which nothing has held back."""
        pod["status"]["phase"] = "Running"
        pod["status"]["containerStatuses"] = [
            {"name": "pytorch", "state": {"running": {"startedAt": at}}}
        ]
