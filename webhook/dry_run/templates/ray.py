"""Complete the pods of KubeRay's clusters, jobs and services, and of the clusters that AIBrix makes.

Source: ray-project/kuberay ray-operator/controllers/ray/common/pod.go, utils/constant.go; vllm-project/aibrix
pkg/controller/rayclusterfleet, pkg/controller/rayclusterreplicaset.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.systems import RAY
from webhook.dry_run.templates.builtin import job_pod
from webhook.dry_run.templates.pod_parts import UNKNOWN_SUFFIX, append_to, owner_reference
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Workload

_RAY = "ray.io/v1"
_SHARED_MEMORY = "shared-mem"


def expand_cluster(workload: Workload) -> Found:
    """Complete the head and one worker of each group of a RayCluster."""
    yield from _nodes(workload, workload.spec, workload.name)


def expand_service(workload: Workload) -> Found:
    """Complete the pods of the RayCluster that a RayService makes."""
    yield from _nodes(
        workload, workload.spec.node("rayClusterConfig"), f"{workload.name}-{UNKNOWN_SUFFIX}"
    )


def expand_fleet(workload: Workload) -> Found:
    """Complete the pods of one of the RayClusters that AIBrix makes of a RayClusterFleet or a RayClusterReplicaSet."""
    spec = workload.spec
    clusters = spec.number("replicas", 1)
    if clusters == 0:
        yield workload.ignore(spec.at("replicas"), "is 0: no RayCluster is created")
        return
    made = workload.part(workload.root, copies=clusters)
    yield from _nodes(made, spec.node("template").node("spec"), f"{workload.name}-{UNKNOWN_SUFFIX}")


def expand_job(workload: Workload) -> Found:
    """Complete the pods of the RayCluster that a RayJob makes, and its submitter where the RayJob describes it."""
    spec = workload.spec
    if spec.has("rayClusterSpec"):
        yield from _nodes(
            workload, spec.node("rayClusterSpec"), f"{workload.name}-{UNKNOWN_SUFFIX}"
        )
    if spec.has("submitterPodTemplate"):
        template = spec.node("submitterPodTemplate")
        labels = {
            RAY + "originated-from-cr-name": workload.name,
            "ray.io/originated-from-crd": "RayJob",
        }
        yield workload.template(template, job_pod(workload, template, workload.name, None, labels))
    elif spec.has("clusterSelector"):
        message = (
            "chooses a RayCluster that exists: this RayJob makes no pod but the one that submits it"
        )
        yield workload.ignore(spec.at("clusterSelector"), message)


def _nodes(workload: Workload, spec: Section, cluster: str) -> Found:
    if spec.has("headGroupSpec"):
        group = spec.node("headGroupSpec")
        template = group.node("template")
        yield workload.template(template, _pod(workload, group, cluster, "head", "headgroup"))
    for group in spec.nodes("workerGroupSpecs"):
        replicas = max(group.number("replicas", 0), group.number("minReplicas", 0))
        if replicas == 0 and group.number("maxReplicas", 1) == 0:
            yield workload.ignore(group.at("replicas"), "is 0: no pod is created")
            continue
        pod = _pod(workload, group, cluster, "worker", group.text("groupName"))
        hosts = group.number("numOfHosts", 1)
        yield workload.template(group.node("template"), pod, max(replicas, 1) * max(hosts, 1))


def _pod(
    workload: Workload, group: Section, cluster: str, node_type: str, group_name: str
) -> Object:
    prefix = f"{cluster}-head-" if node_type == "head" else f"{cluster}-{group_name}-worker-"
    version = workload.root.text("apiVersion", _RAY)
    owner = owner_reference(
        version if version.startswith("ray.io/") else _RAY, "RayCluster", cluster
    )
    pod = workload.pod(
        group.node("template"),
        generate_name=prefix,
        owner=owner,
        labels={
            "app.kubernetes.io/created-by": "kuberay-operator",
            "app.kubernetes.io/name": "kuberay",
            RAY + "cluster": cluster,
            "ray.io/group": group_name,
            "ray.io/identifier": f"{cluster}-{node_type}",
            "ray.io/is-ray-node": "yes",
            RAY + "node-type": node_type,
        },
    )
    if "plasma-directory" not in group.node("rayStartParams").value:
        _add_shared_memory(pod)
    return pod


def _add_shared_memory(pod: Object) -> None:
    """Mount memory at /dev/shm of the Ray container, as large as its memory, unless it is mounted already."""
    container = pod["spec"]["containers"][0]
    if any(mount.get("mountPath") == "/dev/shm" for mount in podspec.mounts(container)):
        return
    size = podspec.requests(container).get("memory") or podspec.limits(container).get("memory")
    volume: Object = {"medium": "Memory", "sizeLimit": size} if size else {"medium": "Memory"}
    append_to(pod["spec"], "volumes", {"name": _SHARED_MEMORY, "emptyDir": volume})
    append_to(container, "volumeMounts", {"name": _SHARED_MEMORY, "mountPath": "/dev/shm"})


KINDS: Mapping[tuple[str, str], Expand] = {
    ("ray.io", "RayCluster"): expand_cluster,
    ("ray.io", "RayJob"): expand_job,
    ("ray.io", "RayService"): expand_service,
    ("orchestration.aibrix.ai", "RayClusterFleet"): expand_fleet,
    ("orchestration.aibrix.ai", "RayClusterReplicaSet"): expand_fleet,
}
