"""Jobs whose templates differ, and jobs on one node: a table of texts and systems.

Run as a program, it prints the drawn jobs as manifests: `python -m tests.core.workloads.pairs`.
"""

import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import yaml

from tests import pods
from tests.core.test_jobs import c, job, kind, lws, pytorchjob, spec, statefulset, volcano
from webhook.core.model import Object

TEXTS: dict[str, Object] = {
    "torchrun": c("torchrun --nnodes=3 --node_rank=$RANK --master_addr=$HEAD t.py"),
    "a script": c("bash /scripts/worker.sh"),
    "mpirun": c("mpirun -np 24 python t.py"),
    "a sleep": c("sleep infinity"),
    "Ray's head": c("ray start --head --block"),
    "Ray's start": c("/opt/start-worker.sh"),
    "SGLang": c("python3 -m sglang.launch_server --dist-init-addr $HEAD:5000 --nnodes 3"),
    "the image's entrypoint": c(""),
    "python": c("python t.py"),
    "python with an address": c("python t.py", MASTER_ADDR="ddp-head-0.ddp"),
    "python on localhost": c("python t.py", MASTER_ADDR="localhost", WORLD_SIZE="1"),
    "sshd": c("/usr/sbin/sshd -De"),
    "deepspeed": c("deepspeed --hostfile /etc/hosts.txt t.py"),
    "torchrun, standalone": c("torchrun --standalone t.py"),
    "torchrun, told one node": c("torchrun t.py", PET_NNODES="1"),
    "JAX": c("python t.py", JAX_COORDINATOR_ADDRESS="ddp-head-0.ddp:1234"),
}
"""Containers with the same accelerators; c() gives a new text its name."""


def jobset(first: Object, second: Object, replicas: int = 2) -> Object:
    """Return a JobSet of two roles."""
    roles = [("head", first, 1), ("workers", second, replicas)]
    size = {role: {"completions": count, "parallelism": count} for role, _, count in roles}
    jobs = [
        {"name": role, "template": {"spec": job(one)["spec"] | size[role]}}
        for role, one, _ in roles
    ]
    return kind("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=jobs)


def volcano_plugin(first: Object, second: Object) -> Object:
    """Return a Volcano Job with the pytorch plugin."""
    found = volcano(master=first, worker=second)
    found["spec"]["plugins"] = {"pytorch": ["--master=master", "--worker=worker"]}
    return found


def grove(first: Object, second: Object, *, grouped: bool = True) -> Object:
    """Return a PodCliqueSet of two cliques, in a scaling group."""
    roles = (("head", first, 1), ("workers", second, 2))
    cliques = [
        {"name": role, "spec": {"replicas": count, "podSpec": spec(one)["spec"]}}
        for role, one, count in roles
    ]
    groups = [{"name": "model", "cliqueNames": ["head", "workers"]}] if grouped else []
    template = {"cliques": cliques, "podCliqueScalingGroups": groups}
    return kind("grove.io/v1alpha1", "PodCliqueSet", replicas=1, template=template)


def stormservice(first: Object, second: Object, size: int = 2) -> Object:
    """Return a StormService of two roles, each of one group."""
    roles = [
        {"name": role, "replicas": 1, "podGroupSize": size, "stateful": True, "template": spec(one)}
        for role, one in (("head", first), ("workers", second))
    ]
    template = {"spec": {"roles": roles}}
    return kind("orchestration.aibrix.ai/v1alpha1", "StormService", replicas=1, template=template)


def saved(fixtures: str) -> Callable[..., Object]:
    """Return what runs containers in the pods that an operator made, which no dry run makes."""

    def make(*containers: Object) -> Object:
        found = [pods.load(fixtures.format(number)) for number in range(len(containers))]
        for pod, one in zip(found, containers, strict=True):
            given = [*one["env"], *pod["spec"]["containers"][0]["env"]]
            pod["spec"]["containers"] = [{**one, "env": given}]
            pods.add_env(pod, "WORLD_SIZE", str(len(containers)))
        return {"apiVersion": "v1", "kind": "List", "items": found}

    return make


def kueue(*containers: Object) -> Object:
    """Return a group of plain pods."""
    found = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"ddp-{role}-0",
                "labels": {"kueue.x-k8s.io/pod-group-name": "ddp"},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": str(len(containers))},
            },
            **spec(one),
        }
        for role, one in zip(("head", "workers"), containers, strict=False)
    ]
    return {"apiVersion": "v1", "kind": "List", "items": found}


KUBEDL = saved("pods/kubedl-pytorchjob-{}.yaml")
TORCHJOB = saved("pods/torch-on-k8s-{}.yaml")
SEVERAL: dict[str, Callable[[Object, Object], Object]] = {
    "JobSet": jobset,
    "Volcano": lambda first, second: volcano(head=first, workers=second),
    "Volcano's pytorch plugin": volcano_plugin,
    "Grove's scaling group": grove,
    "LeaderWorkerSet": lws,
    "StormService": stormservice,
    "PyTorchJob": pytorchjob,
    "KubeDL": KUBEDL,
    "TorchJob": TORCHJOB,
    "Kueue's pod group": kueue,
}
"""Systems whose pods show that there are several nodes."""


def draw(number: int = 80, seed: int = 37) -> dict[str, Object]:
    """Return jobs whose two templates differ, drawn from all systems and all pairs of texts."""
    table = list(itertools.product(SEVERAL, itertools.permutations(TEXTS, 2)))
    drawn = random.Random(seed).sample(table, number)  # not for secrets
    return {
        f"{system}: {first} beside {second}": SEVERAL[system](_of(first), _of(second))
        for system, (first, second) in drawn
    }


def _of(text: str) -> Object:
    container: Object = TEXTS[text] | {"name": "pytorch"}
    return container


def without_svc(first: Object, second: Object) -> Object:
    """Return a Volcano Job whose pods do not show its tasks."""
    found = volcano(head=first, workers=second)
    found["spec"]["plugins"] = {}
    return found


def _roles_of_one(first: Object, second: Object) -> Object:
    return stormservice(first, second, size=1)


def _ungrouped(first: Object, second: Object) -> Object:
    return grove(first, second, grouped=False)


BY_TEXT: dict[str, Object] = {
    name: make(_of("torchrun"), _of("a script"))
    for name, make in {
        "Volcano without the svc plugin": without_svc,
        "Grove's cliques outside a scaling group": _ungrouped,
        "StormService without podGroupSize": _roles_of_one,
    }.items()
}
"""Systems whose pods show no size: each is decided by its own text, with a warning."""


def trainjob(nodes: int, runtime: str) -> Object:
    """Return a TrainJob of a runtime that Trainer ships."""
    trainer = {
        "numNodes": nodes,
        "command": ["python", "t.py"],
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}},
    }
    reference = {"name": runtime}
    return kind("trainer.kubeflow.org/v1alpha1", "TrainJob", runtimeRef=reference, trainer=trainer)


def _master(one: Object) -> Object:
    found = pytorchjob(one, one)
    del found["spec"]["pytorchReplicaSpecs"]["Worker"]
    return found


def elastic(workers: int) -> Object:
    """Return an elastic PyTorchJob without a Master."""
    worker = {"Worker": {"replicas": workers, "template": spec(c("torchrun t.py", "pytorch"))}}
    return kind(
        "kubeflow.org/v1",
        "PyTorchJob",
        elasticPolicy={"rdzvBackend": "c10d"},
        pytorchReplicaSpecs=worker,
    )


def of_text(make: Callable[..., Object], text: str, **env: Any) -> Object:
    """Return a job of one template."""
    return make(c(text, **env))


def _lws(size: int) -> Object:
    found = lws(c("vllm serve m"), c("vllm serve m"))
    found["spec"]["leaderWorkerTemplate"]["size"] = size
    return found


def _role(one: Object) -> Object:
    found = jobset(one, one)
    del found["spec"]["replicatedJobs"][0]
    return found


def _plugin(*, with_worker: bool) -> Object:
    found = volcano_plugin(c("python t.py"), c("python t.py"))
    del found["spec"]["tasks"][1 + with_worker :]
    return found


def _task(one: Object, **plugins: Any) -> Object:
    found = volcano(head=one)
    found["spec"]["plugins"] = plugins
    return found


def _sweep(one: Object) -> Object:
    found = job(one)
    found["spec"]["completions"] = 64
    return found


_ONE = c("python t.py", "pytorch")
_OF_ONE_TEMPLATE: dict[str, Callable[..., Object]] = {
    "a Volcano task": partial(_task, svc=[]),
    "a Volcano task without svc": _task,
    "a JobSet's role": _role,
    "an indexed Job": job,
    "a sweep": _sweep,
    "a StatefulSet": statefulset,
}
ONE_AND_TWO: dict[str, tuple[Object, Object]] = {
    "a PyTorchJob with a Master": (_master(_ONE), pytorchjob(_ONE, _ONE)),
    "an elastic PyTorchJob": (elastic(1), elastic(2)),
    "KubeDL's with a Master": (KUBEDL(_ONE), KUBEDL(_ONE, _ONE)),
    "a TorchJob with a Master": (TORCHJOB(_ONE), TORCHJOB(_ONE, _ONE)),
    "a TrainJob": (trainjob(1, "torch-distributed"), trainjob(2, "torch-distributed")),
    "a TrainJob of JAX": (trainjob(1, "jax-distributed"), trainjob(2, "jax-distributed")),
    "a LeaderWorkerSet": (_lws(1), _lws(2)),
    "Volcano's pytorch plugin": (_plugin(with_worker=False), _plugin(with_worker=True)),
    "Kueue's pod group": (kueue(_ONE), kueue(_ONE, _ONE)),
    **{
        f"{name}: {one}": (of_text(make, one), of_text(make, two))
        for name, make in _OF_ONE_TEMPLATE.items()
        for one, two in (
            ("torchrun --standalone t.py", "torchrun --nnodes=2 t.py"),
            ("accelerate launch --num_processes 8 t.py", "accelerate launch --num_machines 2 t.py"),
            ("python -m torch.distributed.run t.py", "torchrun --rdzv_endpoint=$HEAD t.py"),
            ("python prepare.py && torchrun t.py", "bash prepare.sh && torchrun t.py"),
        )
    },
    "a Job whose variables say one": (
        of_text(job, "python t.py", WORLD_SIZE="1", MASTER_ADDR="localhost"),
        of_text(job, "python t.py", WORLD_SIZE="2", MASTER_ADDR="ddp-0.ddp"),
    ),
    "a Job whose text says one": (
        of_text(job, "export MASTER_ADDR=localhost RANK=0; torchrun t.py"),
        of_text(job, "export MASTER_ADDR=localhost; MASTER_ADDR=$HEAD torchrun t.py"),
    ),
    "a Job that chooses its Python": (
        of_text(job, ". /venv/bin/activate && torchrun t.py"),
        of_text(job, ". /venv/bin/settings && torchrun t.py"),
    ),
    "a Job that names itself": (
        of_text(job, "torchrun --master_addr=localhost --master_port=29501 t.py"),
        of_text(job, "torchrun --master_addr=localhost $ARGS t.py"),
    ),
    "a Job that meets itself": (
        of_text(job, "torchrun --standalone t.py", MASTER_ADDR="localhost", RANK="0"),
        of_text(job, "torchrun --nnodes=2 t.py", MASTER_ADDR="ddp-0.ddp", RANK="0"),
    ),
}
"""Jobs on one node, which keep what they are, and the same on two."""


if __name__ == "__main__":
    print(yaml.safe_dump_all(draw().values()))
