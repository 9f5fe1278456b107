"""A dry run says of each workload who is in it, where they meet and train, and who waits.

What it says of each of the cases is in summaries.txt; `python -m tests.dry_run.test_summary` rewrites
the file, to be read before it is kept.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.dry_run.runs import OBJECTS, TORCHX, run
from tests.dry_run.templates.cases import workload
from tests.dry_run.templates.test_kinds import SHOWN
from tests.pods import FIXTURES
from tests.profiles import profiles
from webhook.core import names
from webhook.core.model import Object
from webhook.dry_run import DryRun, PodResult, dry_run
from webhook.dry_run.summary import Summary
from webhook.world.objects import ObjectsWorld

GOLDEN = Path(__file__).with_name("summaries.txt")
GPUS = {"limits": {"nvidia.com/gpu": "8"}}
LEADER = "--master_addr=$(LWS_LEADER_ADDRESS)"
C10D, ENDPOINT = "--rdzv_backend=c10d", "--rdzv_endpoint=$(MASTER_ADDR):29500"
ABSENT = {"annotations": {names.CONTAINER: "absent"}}
"""Metadata of a pod that is denied."""
SCRIPT: Object = {"command": ["/scripts/start.sh"], "env": {}}
NONE = {"labels": {names.PROFILE: names.PROFILE_NONE}}
NCCL = "NCCL_SOCKET_IFNAME"
Summaries = tuple[Summary, ...]


def template(
    metadata: Object | None = None, env: Mapping[str, str] | None = None, **fields: Any
) -> Object:
    """Return a template of one container with these fields; hostNetwork is the pod's."""
    spec = {"hostNetwork": True} if fields.pop("hostNetwork", False) else {}
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    own = {"name": "pytorch", "image": "i", "command": ["torchrun", "t.py"], "resources": GPUS}
    container = {**own, **({"env": variables} if variables else {}), **fields}
    return {"metadata": metadata or {}, "spec": {**spec, "containers": [container]}}


def pytorch_job(
    master: Object | None = None, worker: Object | None = None, namespace: str = "train"
) -> Object:
    """Return a PyTorchJob of a master and three workers of these templates."""
    roles = {"Master": (1, master or template()), "Worker": (3, worker or template())}
    specs = {name: {"replicas": count, "template": each} for name, (count, each) in roles.items()}
    spec = {"pytorchReplicaSpecs": specs}
    return workload("kubeflow.org/v1", "PyTorchJob", "bert", spec, namespace)


def alike(env: Mapping[str, str] | None = None, *command: str) -> Object:
    """Return a PyTorchJob all of whose pods have these variables and this command."""
    fields: Object = {"command": [*command]} if command else {}
    own = template(env=env, **fields)
    return pytorch_job(own, own)


def lws(own: Object, size: int = 2, **spec: Any) -> Object:
    spec["leaderWorkerTemplate"] = {"size": size, "workerTemplate": own}
    return workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l", spec)


def ray(namespace: str = "train", **fields: Any) -> Object:
    """Return a RayCluster of a head and four workers, all of one template."""
    own = template(**fields)
    group = {"groupName": "gpu", "replicas": 4, "template": own}
    spec = {"headGroupSpec": {"template": own}, "workerGroupSpecs": [group]}
    return workload("ray.io/v1", "RayCluster", "rc", spec, namespace)


def mpi_job(launcher: Object) -> Object:
    worker = {"replicas": 4, "template": template()}
    roles = {"Launcher": {"replicas": 1, "template": launcher}, "Worker": worker}
    return workload("kubeflow.org/v2beta1", "MPIJob", "hvd", {"mpiReplicaSpecs": roles})


def half(namespace: str = "train", **leader: Any) -> Object:
    """Return a Volcano Job whose two workers name their master, which has these fields."""
    command = ["torchrun", "--nnodes=3", "--master_addr=$(HEAD)", "t.py"]
    worker: Object = {"command": command, "env": {"HEAD": "bert-master-0.bert"}}
    tasks = [{"name": "master", "replicas": 1, "template": template(**{**worker, **leader})}]
    tasks.append({"name": "worker", "replicas": 2, "template": template(**worker)})
    return workload("batch.volcano.sh/v1alpha1", "Job", "bert", {"tasks": tasks}, namespace)


def one_host(command: str) -> Object:
    """Return such a Job whose master meets itself, with workers of this command."""
    job = half(command=["torchrun", "--nnodes=3", "--master_addr=localhost", "t.py"])
    job["spec"]["tasks"][0]["template"]["spec"]["hostNetwork"] = True
    worker = job["spec"]["tasks"][1]["template"]["spec"]["containers"][0]
    worker["command"] = ["torchrun", "--nnodes=3", command, "t.py"]
    return job


def torchx(replicas: int, **metadata: Any) -> Object:
    job: Object = yaml.safe_load(TORCHX)
    first, second = job["spec"]["tasks"]
    first["template"]["metadata"].update(metadata)
    job["spec"]["tasks"] = [first] + [second] * (replicas - 1)
    return job


def indexed(**spec: Any) -> Object:
    own = template(command=["python", "t.py"], env={"MASTER_ADDR": "localhost"})
    spec |= {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "template": own}
    return workload("batch/v1", "Job", "sweep", spec)


def of(*manifests: Object, **options: Any) -> Summaries:
    return run(yaml.safe_dump_all(manifests), **{"profile": "rdma-shared", **options}).workloads


def labelled(*manifests: Object) -> Summaries:
    """Judge by the labels of the namespace."""
    return of(*manifests, profile=None)


def by_profile(spec: Object) -> Summaries:
    world = ObjectsWorld(OBJECTS)
    return dry_run(
        yaml.safe_dump(pytorch_job()),
        namespace="research",
        profile="p",
        profiles=profiles(json.dumps({"p": spec})),
        world=world,
    ).workloads


def on_gke() -> Summaries:
    interfaces = [{"interfaceName": f"eth{n}", "network": f"rdma-{n}"} for n in range(2)]
    asked = {"interfaces": json.dumps(interfaces), "default-interface": "eth0"}
    annotations = {f"networking.gke.io/{key}": value for key, value in asked.items()}
    pod = {"metadata": {"annotations": annotations}}
    return by_profile({"pod": pod, "rendezvous": {"addressSource": "gke"}})


def made(name: str, **changes: Any) -> PodResult:
    """Return a result that the cluster would send, of a pod that publishes on net1."""
    own = {"name": "m", "env": [{"name": NCCL, "value": "=net1"}]}
    annotations = {names.CONTAINER: "m", names.STATUS: "{}"}
    if changes.get("rendezvous", "master") == "master":
        annotations[names.RENDEZVOUS_NETWORK] = "default/rdma-net@net1/any"
    after = {"metadata": {"name": name, "annotations": annotations}, "spec": {"containers": [own]}}
    before = {"metadata": {"name": name}, "spec": {"containers": [{"name": "m"}]}}
    fixed = {"rendezvous": "master", "profile": "p", "workload": "Job/j", "system": "volcano"}
    return PodResult("Job/j spec", "ml", before, after, True, **{**fixed, **changes})


def limits(**own: str) -> Object:
    found = {"nvidia.com/gpu": "8"}
    keys = {"amd": "amd.com/gpu", "hca": "rdma/hca", "licence": "example.com/licence"}
    return {"limits": {**found, **{keys[key]: value for key, value in own.items()}}}


def script(text: str) -> Object:
    return template(command=["sh", "-c", text])


MANY = {"replicas": 10**9, "inner": {"replicas": 10**9, "podSpec": template()["spec"]}}
SET = {"replicas": 4, "serviceName": "d", "template": template(env={"MASTER_ADDR": "ddp-3.d"})}
RANK = "--node_rank=$(LWS_WORKER_INDEX)"
LOOP = f"while true; do torchrun --nnodes=2 {LEADER} t.py; done"
EFA = {"rendezvous": {"addressSource": "none"}}
SURE = {"container": {"env": [{"name": NCCL, "value": "^lo,veth"}]}, **EFA}
VALUES = ("=net1", "net1", "net", "net7,net1", "^=lo,eth0", "", "eth0", "=eth0", "=net7")


def cases() -> dict[str, Summaries]:
    """Return what is said of each input."""
    return {
        "a PyTorchJob": of(pytorch_job()),
        "an absurd number of replicas": of(workload("x.io/v1", "Set", "g", MANY)),
        "rank 0 only, trains on the fabric": DryRun((made("p"),), ()).workloads,
        "members of a system": (
            DryRun((made("p"), made("q", rendezvous="", replicas=3)), ()).workloads
        ),
        "two ranks 0": DryRun((made("p"), made("q", job="another")), ()).workloads,
        "addresses of GKE": on_gke(),
        "no source of addresses": by_profile(EFA),
        "an own address in a command": of(
            lws(template(command=["torchrun", "--nnodes=2", LEADER, RANK, "t.py"]))
        ),
        "an own address in a script": of(lws(script(LOOP))),
        "each group of a LeaderWorkerSet is a job": of(
            lws(
                template(
                    command=["torchrun", "--nnodes=4", LEADER, "t.py"],
                    env={"MASTER_ADDR": "$(LWS_LEADER_ADDRESS)"},
                ),
                size=4,
                replicas=2,
            )
        ),
        "injected, or left alone": of(ray(), SHOWN["Deployment"][0]),
        "no profile is for it": run(json.dumps(SHOWN["Pod"][0]), namespace="plain").workloads,
        "a namespace that observes": labelled(pytorch_job(template(ABSENT), namespace="watched")),
        "one that observes a RayCluster": of(ray(), profile=None, namespace="watched"),
        **{f"NCCL's interface is {value!r}": of(ray(env={NCCL: value})) for value in VALUES},
        **{
            f"NCCL may choose by {value!r}": of(alike({NCCL: value}))
            for value in ("^lo", "^docker", "net,eth")
        },
        "a pattern that leaves one interface": by_profile(SURE),
        "pods name different interfaces": of(pytorch_job(template(env={NCCL: "eth0"}))),
        **{
            f"a worker runs {text!r}": of(pytorch_job(worker=script(text)))
            for text in (
                "export NCCL_SOCKET_IFNAME=eth0; torchrun t.py",
                "mpirun -x NCCL_SOCKET_IFNAME=^lo,docker -np 16 all_reduce_perf",
                "echo $NCCL_SOCKET_IFNAME ${NCCL_SOCKET_IFNAME}; torchrun t.py",
            )
        },
        "an MPIJob": of(mpi_job(template())),
        "an MPIJob whose launcher sets the interface": of(
            mpi_job(template(command=["mpirun", "-x", f"{NCCL}=eth0", "a"], resources={}))
        ),
        **{
            f"all run {' '.join(command)}": of(alike(None, *command))
            for command in (
                ("torchrun", "--nnodes=4", C10D, ENDPOINT, "t.py"),
                ("torchrun", "--nnodes=4", C10D, ENDPOINT, "--local_addr=10.1.2.3", "t.py"),
                ("torchrun", "--nnodes=4", "--rdzv_backend=etcd", ENDPOINT, "t.py"),
                ("torchrun", "--rdzv_endpoint=bert-master-0:29500", "t.py"),
                ("torchrun", ENDPOINT, "t.py"),
                ("python", "t.py"),
            )
        },
        "c10d by a variable": of(alike({"PET_RDZV_BACKEND": "c10d"}, "/start.sh")),
        "TorchX": of(torchx(3)),
        "a worker of TorchX": run(json.dumps(run().pods[1].before)).workloads,
        "the pods of one job": of(*(pod.before for pod in run().pods)),
        "TorchX with a static endpoint": of(
            yaml.safe_load((FIXTURES / "torchx/nightly-volcano-static.yaml").read_text())
        ),
        "the node's network": of(ray(hostNetwork=True)),
        "workers on the node's network": of(
            pytorch_job(worker=template(hostNetwork=True, resources={}))
        ),
        "rank 0 is denied": of(pytorch_job(template(ABSENT))),
        "rank 0 has no name and may be denied": of(torchx(2, **ABSENT)),
        "rank 0 may be a pod that is not shown": of(workload("apps/v1", "StatefulSet", "ddp", SET)),
        "rank 0 is left alone": of(half(**SCRIPT)),
        "rank 0 is on the node's network": of(half(hostNetwork=True)),
        "waits for nobody, yet half injected": of(one_host("--master_addr=bert-master-0.bert")),
        "devices differ": of(half(resources=limits(amd="0", hca="2", licence="1"))),
        "a licence differs": of(half(resources=limits(licence="1"))),
        "accelerators differ": of(half(**SCRIPT, resources={"limits": {"nvidia.com/gpu": "1"}})),
        "injected as one": of(half(command=["torchrun", "--nnodes=3", "t.py"])),
        "a label leaves rank 0 alone": labelled(half("research", metadata=NONE, **SCRIPT)),
        "a label leaves workers alone": labelled(pytorch_job(None, template(NONE), "research")),
        "a label leaves workers without GPUs alone": labelled(
            pytorch_job(None, template(NONE, resources={}), "research")
        ),
        "pods of one template that meet nobody": of(indexed()),
    }


def golden() -> str:
    """Return what the dry run says now."""
    parts = []
    for title, found in cases().items():
        lines = [f"{each.source}: {each.text}" for each in found]
        warnings = [f"  {short(warning)}" for each in found for warning in each.warnings]
        parts.append("\n".join([f"# {title}", *lines, *warnings]))
    return "\n\n".join(parts) + "\n"


def short(warning: str) -> str:
    """Leave out what admission says."""
    first, publishes, _ = warning.partition("publishes no address: ")
    return f"{first}{publishes}…" if publishes else warning


def test_says_of_each_workload_what_it_is_together() -> None:
    assert golden() == GOLDEN.read_text()


def test_writes_the_entry_of_the_document() -> None:
    [summary] = of(pytorch_job())
    assert summary.as_json() == {
        "source": "PyTorchJob/bert",
        "namespace": "train",
        "pods": 4,
        "roles": {"rank 0": 1, "worker": 3},
        "agents": "",
        "meets": "net1 of default/rdma-net",
        "trains": "net1 of default/rdma-net",
        "problem": "",
        "summary": summary.text,
        "warnings": [],
    }


if __name__ == "__main__":
    GOLDEN.write_text(golden())
