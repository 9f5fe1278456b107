"""Complete the pods of KubeDL's jobs.

Source: kubedl-io/kubedl pkg/job_controller/pod.go, controllers/pytorch/pytorchjob_controller.go SetClusterSpec.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import Object
from webhook.core.workloads.systems import KUBEDL
from webhook.dry_run.templates.pod_parts import append_env, variable
from webhook.dry_run.templates.replica_types import Replicas, expand_roles, port_of, replica_types
from webhook.dry_run.templates.workload import Expand, Found, Workload

_KINDS = ("PyTorchJob", "TFJob", "XGBoostJob", "MPIJob", "XDLJob", "MarsJob", "ElasticDLJob")


def expand(workload: Workload) -> Found:
    """Complete the first pod of each role of a KubeDL job."""
    types = replica_types(workload)

    def finish(pod: Object, replicas: Replicas, index: int) -> None:
        if workload.kind == "PyTorchJob":
            port = port_of(types, "master", "pytorch", "pytorchjob-port")
            set_cluster_spec(pod, workload.name, types, replicas, index, port)
        use_host_network(pod, workload, "kubedl.io/" + "network-mode")

    yield from expand_roles(workload, types, KUBEDL, "replica", "job-role", finish)


def set_cluster_spec(
    pod: Object, job: str, types: list[Replicas], replicas: Replicas, index: int, port: str
) -> None:
    """Append the rendezvous variables; the master itself gets ``localhost``."""
    is_master = replicas.kind == "master"
    append_env(
        pod["spec"]["containers"],
        [
            variable("MASTER_PORT", port),
            variable("MASTER_ADDR", "localhost" if is_master else f"{job}-master-0"),
            variable("RANK", str(index if is_master else index + 1)),
            variable("PYTHONUNBUFFERED", "0"),
            variable(
                "WORLD_SIZE", str(sum(other.count for other in types if other.kind != "aimaster"))
            ),
        ],
    )


def use_host_network(pod: Object, workload: Workload, annotation: str) -> None:
    """Put the pod on the node's network where the job's annotation asks for it."""
    if workload.annotations.get(annotation) == "host":
        pod["spec"] |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}


KINDS: Mapping[tuple[str, str], Expand] = {(KUBEDL, kind): expand for kind in _KINDS}
