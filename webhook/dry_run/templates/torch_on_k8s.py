"""Complete the pods of torch-on-k8s' TorchJobs.

Source: hliangzhao/torch-on-k8s controllers/common/pod.go, controllers/train/torchjob_controller.go SetClusterSpec.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import Object
from webhook.core.workloads.systems import TORCH_ON_K8S
from webhook.dry_run.templates.kubedl import set_cluster_spec, use_host_network
from webhook.dry_run.templates.replica_types import Replicas, expand_roles, port_of, replica_types
from webhook.dry_run.templates.workload import Expand, Found, Workload


def expand(workload: Workload) -> Found:
    """Complete the first pod of each role of a TorchJob."""
    types = replica_types(workload, "taskspecs", "numTasks")

    def finish(pod: Object, replicas: Replicas, index: int) -> None:
        set_cluster_spec(
            pod,
            workload.name,
            types,
            replicas,
            index,
            port_of(types, "master", "torch", "torchjob-port"),
        )
        if workload.spec.flag("enableTorchElastic"):
            arguments = _elastic_arguments(workload, types)
            for container in pod["spec"]["containers"]:
                container["args"] = [*arguments, *(container.get("args") or ())]
        use_host_network(pod, workload, "distributed.io/" + "network-mode")

    yield from expand_roles(workload, types, TORCH_ON_K8S, "task", "task-role", finish)


def _elastic_arguments(workload: Workload, types: list[Replicas]) -> list[str]:
    policy = workload.spec.node("torchElasticPolicy")
    masters = sum(replicas.count for replicas in types if replicas.kind == "master")
    low, high = policy.number("numMinReplicas", masters), policy.number("numMaxReplicas", masters)
    return [
        f"--rdzv_backend={policy.text('rendezvousBackend')}",
        f"--rdzv_endpoint={policy.text('rendezvousEndpoint')}",
        f"--rdzv_id={workload.name}",
        f"--nproc_per_node={policy.number('numWorkersPerNodePolicy', 1)}",
        f"--nnodes={low}:{high}",
    ]


KINDS: Mapping[tuple[str, str], Expand] = {(TORCH_ON_K8S, "TorchJob"): expand}
