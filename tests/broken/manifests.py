"""Jobs as people write them, for the situations: of kube-controller-manager, of Volcano, and the pods of a PyTorchJob."""

from typing import Any

from tests.cluster.node import jobs
from tests.cluster.node.images import DASH
from webhook.core.model import Object

TEXT = "torchrun --nnodes=2 --node-rank=${RANK_HERE:-0} --master-addr=$MASTER_ADDR --master-port=29500 train.py"
GPU = {"nvidia.com/gpu": "1"}
HOLD = {"HOLD_SECONDS": "600"}


def batch_job(size: int = 2, **pod: Any) -> Object:
    """Give an indexed Job ddp; *pod*: more fields of its pods' spec."""
    spec = {
        "subdomain": "ddp",
        "restartPolicy": "Never",
        "containers": [_container("ddp-0.ddp")],
        **pod,
    }
    job = {
        "completions": size,
        "parallelism": size,
        "completionMode": "Indexed",
        "template": {"spec": spec},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "ddp"}, "spec": job}


def volcano_job(size: int = 2) -> Object:
    """Give a Volcano Job ddp of as many pods of one task, which starts when all of them can."""
    pod = {"restartPolicy": "Never", "containers": [_container("ddp-trainer-0.ddp")]}
    task = {"name": "trainer", "replicas": size, "template": {"spec": pod}}
    plugins: dict[str, Any] = {"svc": [], "env": []}
    spec = {
        "schedulerName": "volcano",
        "queue": "default",
        "minAvailable": size,
        "plugins": plugins,
        "tasks": [task],
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "ddp"},
        "spec": spec,
    }


def _container(rank_zero: str) -> Object:
    written = {"MASTER_ADDR": rank_zero, **HOLD}
    env: list[Object] = [{"name": name, "value": value} for name, value in written.items()]
    index = {
        "fieldRef": {
            "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"
        }
    }
    env.append({"name": "RANK_HERE", "valueFrom": index})
    return {
        "name": "trainer",
        "image": DASH,
        "command": ["bash", "-c", TEXT],
        "env": env,
        "resources": {"limits": GPU},
    }


def pytorchjob(**changes: Any) -> tuple[Object, Object]:
    """Give Master and Worker of PyTorchJob bert, which run on once they have met; *changes* are fields of their containers."""
    return jobs.pytorchjob(**{**changes, "env": {**HOLD, **changes.get("env", {})}})
