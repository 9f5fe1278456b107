"""A dry run says of each workload who is in it, where they meet and train, and who waits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.dry_run.runs import OBJECTS, TORCHX, run, shown
from tests.dry_run.templates.cases import workload
from tests.dry_run.templates.test_kinds import SHOWN
from tests.pods import FIXTURES
from tests.profiles import profiles
from webhook.core import names
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.dry_run import DryRun, PodResult, dry_run, render_page
from webhook.dry_run.summary import Summary
from webhook.world.objects import ObjectsWorld

NET1 = "net1 of default/rdma-net"
GPUS = {"limits": {"nvidia.com/gpu": "8"}}


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
    """Return a PyTorchJob of a master and three workers; what is given replaces their templates."""
    roles = {"Master": (1, master or template()), "Worker": (3, worker or template())}
    specs = {name: {"replicas": count, "template": each} for name, (count, each) in roles.items()}
    spec = {"pytorchReplicaSpecs": specs}
    return workload("kubeflow.org/v1", "PyTorchJob", "bert", spec, namespace)


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


def summaries(*manifests: Object, **options: Any) -> tuple[Summary, ...]:
    return run(yaml.safe_dump_all(manifests), **{"profile": "rdma-shared", **options}).workloads


def with_profiles(specs: str, profile: str) -> Summary:
    """Return what becomes of a PyTorchJob with one of these profiles."""
    known, job = profiles(specs), yaml.safe_dump(pytorch_job())
    world = ObjectsWorld(OBJECTS)
    [found] = dry_run(
        job, namespace="research", profile=profile, profiles=known, world=world
    ).workloads
    return found


def torchx(replicas: int) -> Object:
    job: Object = yaml.safe_load(TORCHX)
    first, second = job["spec"]["tasks"]
    job["spec"]["tasks"] = [first] + [second] * (replicas - 1)
    return job


def test_an_absurd_number_of_replicas_is_written_all_the_same() -> None:
    many = {"replicas": 10**9, "inner": {"replicas": 10**9, "podSpec": template()["spec"]}}
    [summary] = summaries(workload("x.io/v1", "Set", "g", many))
    assert summary.text.startswith("2147483647 pods")


def test_tells_roles_with_their_replicas_and_where_the_job_meets_and_trains() -> None:
    [summary] = summaries(pytorch_job())
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; meets and trains on {NET1}"
    assert summary.as_json() == {
        "source": "PyTorchJob/bert",
        "namespace": "train",
        "pods": 4,
        "roles": {"rank 0": 1, "worker": 3},
        "jobs": 1,
        "agents": "",
        "meets": NET1,
        "trains": NET1,
        "problem": "",
        "summary": summary.text,
        "warnings": [],
    }


def test_tells_a_job_that_meets_on_the_pod_network_and_trains_on_the_fabric() -> None:
    told = {names.CONTAINER: "m", names.STATUS: "{}"}
    own = {"name": "m", "env": [{"name": "NCCL_SOCKET_IFNAME", "value": "=net1"}]}
    spec = {"containers": [own]}
    network = {names.RENDEZVOUS_NETWORK: "default/rdma-net@net1/any"}
    after = {"metadata": {"name": "p", "annotations": {**told, **network}}, "spec": spec}
    before = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m"}]}}
    role = {"rendezvous": "master", "profile": "p", "workload": "Job/j"}
    pod = PodResult("Job/j spec.template", "ml", before, after, True, **role)  # type: ignore[arg-type]  # texts all
    after = {"metadata": {"annotations": told}, "spec": spec}
    worker = replace(pod, rendezvous="", system="volcano", after=after, replicas=3)
    meets = f"meets on the pod network, trains on {NET1}"
    for pods, text in (
        ((pod,), "1 pod: 1 rank 0"),
        ((pod, worker), "4 pods: 1 rank 0, 3 workers"),
        ((pod, replace(pod, job="another")), "2 pods: 2 candidates for rank 0"),
    ):
        [summary] = DryRun(pods, ()).workloads
        assert summary.text == f"{text}; {meets}"


def test_tells_where_a_job_meets_whose_profile_names_another_source() -> None:
    interfaces = [
        {"interfaceName": "eth0", "network": "default"},
        {"interfaceName": "eth1", "network": "rdma-0"},
    ]
    asked = {
        "networking.gke.io/interfaces": json.dumps(interfaces),
        "networking.gke.io/default-interface": "eth0",
    }
    gke = {"pod": {"metadata": {"annotations": asked}}, "rendezvous": {"addressSource": "gke"}}
    specs = json.dumps({"gke": gke, "efa": {"rendezvous": {"addressSource": "none"}}})
    found = [with_profiles(specs, name) for name in ("gke", "efa")]
    assert [(each.meets, each.trains) for each in found] == [
        ("eth1 of rdma-0", "eth1 of rdma-0"),
        ("the pod network", ""),
    ]


LEADER = "--master_addr=$(LWS_LEADER_ADDRESS)"


@pytest.mark.parametrize(
    ("command", "meets"),
    [
        (["torchrun", "--nnodes=2", LEADER, "--node_rank=$(LWS_WORKER_INDEX)", "t.py"], NET1),
        (
            ["bash", "-c", f"while true; do torchrun --nnodes=2 {LEADER} t.py; done"],
            "the pod network",
        ),
    ],
    ids=["command", "script"],
)
def test_an_address_of_rank_zeros_own_moves_no_meeting(command: list[str], meets: str) -> None:
    """Rank 0 waits for what torchrun is told as its own address; all find it by a name."""
    [found] = summaries(lws(template(command=command)))
    assert (found.meets, found.trains) == (meets, NET1)


def test_tells_pods_that_are_injected_or_left_alone() -> None:
    ray_cluster, web = summaries(ray(), SHOWN["Deployment"][0])
    assert ray_cluster.text == "5 pods, all injected; trains on net1"
    assert web.text == "5 pods, all left alone"


ABSENT = {"annotations": {names.CONTAINER: "absent"}}
"""Metadata of a pod that is denied."""


def test_tells_what_an_observed_namespace_would_get() -> None:
    [observed], [injected] = run(namespace="watched").workloads, run().workloads
    assert observed == replace(injected, namespace="watched")
    [summary] = summaries(pytorch_job(template(ABSENT), namespace="watched"), profile=None)
    assert summary.roles == {"denied": 1, "worker": 3}
    [summary] = summaries(ray(), profile=None, namespace="watched")
    assert summary.roles == {"denied": 5}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        *((value, "net1") for value in ("=net1", "net1", "net", "net7,net1", "^=lo,eth0")),
        *((value, "") for value in ("", "eth0", "=eth0", "=net7")),
    ],
)
def test_tells_where_a_container_that_chooses_itself_trains(value: str, told: str) -> None:
    [summary] = summaries(ray(env={"NCCL_SOCKET_IFNAME": value}))
    assert (summary.trains, summary.warnings) == (told, ())


@pytest.mark.parametrize(
    ("value", "among"),
    [("^lo", "eth0 and net1"), ("^docker", "lo, eth0 and net1"), ("net,eth", "eth0 and net1")],
)
def test_a_pattern_is_no_place_and_nccl_may_choose_another_interface(
    value: str, among: str
) -> None:
    own = template(env={"NCCL_SOCKET_IFNAME": value})
    [summary] = summaries(pytorch_job(own, own))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; meets on {NET1}"
    assert summary.warnings == (
        f"NCCL_SOCKET_IFNAME={value} lets NCCL choose among {among} in 4 pods from bert-master-0 on: "
        "it may not use net1; name one interface, or remove the variable",
    )


def test_a_pattern_that_leaves_one_interface_needs_no_warning() -> None:
    env = "[{name: NCCL_SOCKET_IFNAME, value: '^lo,veth'}]"
    efa = f"efa: {{container: {{env: {env}}}, rendezvous: {{addressSource: none}}}}"
    found = with_profiles(efa, "efa")
    assert (found.trains, found.warnings) == ("", ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("export NCCL_SOCKET_IFNAME=eth0; torchrun t.py", ""),
        ("mpirun -x NCCL_SOCKET_IFNAME=^lo,docker -np 16 all_reduce_perf", ""),
        ("echo $NCCL_SOCKET_IFNAME ${NCCL_SOCKET_IFNAME}; torchrun t.py", NET1),
    ],
)
def test_names_no_place_to_train_where_a_command_sets_the_interface_itself(
    text: str, told: str
) -> None:
    [summary] = summaries(pytorch_job(worker=template(command=["sh", "-c", text])))
    assert (summary.trains, summary.warnings) == (told, ())


def test_the_launcher_of_mpi_sets_the_interface_for_the_workers() -> None:
    command = ["mpirun", "-x", "NCCL_SOCKET_IFNAME=eth0", "all_reduce_perf"]
    plain, setting = template(), template(command=command, resources={})
    assert [summaries(mpi_job(each))[0].trains for each in (plain, setting)] == ["net1", ""]


def test_names_no_place_to_train_where_pods_name_different_interfaces() -> None:
    [summary] = summaries(pytorch_job(template(env={"NCCL_SOCKET_IFNAME": "eth0"})))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; meets on {NET1}"
    assert summary.warnings == (
        "NCCL uses different interfaces: eth0 in bert-master-0, net1 in 3 pods from bert-worker-0 on; "
        "set NCCL_SOCKET_IFNAME alike in all pods, or remove it",
    )


C10D, ENDPOINT = "--rdzv_backend=c10d", "--rdzv_endpoint=$(MASTER_ADDR):29500"
AGENTS = "torchrun meets on the pod network, its ranks"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["torchrun", "--nnodes=4", C10D, ENDPOINT, "t.py"], f"{AGENTS} meet and train on {NET1}"),
        (
            ["torchrun", "--nnodes=4", C10D, ENDPOINT, "--local_addr=10.1.2.3", "t.py"],
            f"{AGENTS} train on {NET1}",
        ),
        (["torchrun", "--nnodes=4", "--rdzv_backend=etcd", ENDPOINT, "t.py"], f"trains on {NET1}"),
        (
            ["torchrun", "--rdzv_endpoint=bert-master-0:29500", "t.py"],
            f"meets on the pod network, trains on {NET1}",
        ),
        (["torchrun", ENDPOINT, "t.py"], f"meets and trains on {NET1}"),
        (["python", "t.py"], f"meets and trains on {NET1}"),
        (["/start.sh"], f"{AGENTS} meet and train on {NET1}"),
    ],
)
def test_tells_where_agents_and_ranks_meet_by_the_backend_of_the_command(
    command: list[str], told: str
) -> None:
    """With c10d the store is at the name of rank 0, which tells the ranks its address."""
    env = {"PET_RDZV_BACKEND": "c10d"} if command == ["/start.sh"] else {}
    own = template(command=command, env=env)
    [summary] = summaries(pytorch_job(own, own))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; {told}"


def test_tells_of_torchx_that_its_agents_meet_at_a_name() -> None:
    [summary] = summaries(torchx(3))
    assert summary.text == f"3 pods: 1 rank 0, 2 workers; {AGENTS} meet and train on {NET1}"
    [worker] = run(json.dumps(run().pods[1].before)).workloads
    assert worker.text == f"1 pod: 1 worker; {AGENTS} train on {NET1}"


def test_tells_of_torchx_where_a_static_endpoint_is() -> None:
    job = yaml.safe_load((FIXTURES / "torchx/nightly-volcano-static.yaml").read_text())
    [summary] = summaries(job)
    assert summary.text == f"2 pods: 1 rank 0, 1 worker; meets on the pod network, trains on {NET1}"


def test_tells_that_pods_on_the_nodes_network_train_there() -> None:
    [summary] = summaries(ray(hostNetwork=True))
    assert summary.text == "5 pods, all injected; trains on the node's network"


def test_counts_each_group_of_a_leader_worker_set_as_a_job() -> None:
    command = ["torchrun", "--nnodes=4", LEADER, "t.py"]
    own = template(command=command, env={"MASTER_ADDR": "$(LWS_LEADER_ADDRESS)"})
    [summary] = summaries(lws(own, size=4, replicas=2))
    assert summary.text.startswith("8 pods in 2 jobs: 2 rank 0, 6 workers; ")


def test_takes_the_pods_of_one_job_together() -> None:
    [summary] = summaries(*(pod.before for pod in run().pods))
    assert summary.source.startswith("Pods of job train-t4rcs9x6sv1m-")
    assert summary.roles == {"rank 0": 1, "worker": 1}


def test_warns_of_members_that_wait_for_a_rank_zero_that_no_pod_is() -> None:
    result = run(json.dumps(run().pods[1].before))
    [summary] = result.workloads
    expected = (
        f"1 pod waits for the address of role 0 replica 0, rank 0 of job {result.pods[0].job}, "
        "which is not in this input"
    )
    assert summary.warnings == (expected,)
    assert f"warning: {expected}" in shown(result)
    [entry] = json.loads(render_page(result))["workloads"]
    assert (entry["summary"], entry["warnings"]) == (summary.text, [expected])


def test_warns_of_members_whose_rank_zero_is_denied() -> None:
    [summary] = summaries(pytorch_job(template(ABSENT)))
    assert summary.text == f"4 pods: 1 denied, 3 workers; meets and trains on {NET1}"
    [warning] = summary.warnings
    assert warning.startswith("3 pods wait for the address of bert-master-0, rank 0 of job bert-")
    assert warning.endswith(", which is denied")


def test_warns_of_members_whose_rank_zero_has_no_name_and_may_be_denied() -> None:
    job = torchx(2)
    job["spec"]["tasks"][0]["template"]["metadata"].update(ABSENT)
    [warning] = summaries(job)[0].warnings
    assert warning.endswith(", which may be a denied pod")


def half(namespace: str = "train", **leader: Any) -> Object:
    """Return a Volcano Job whose two workers name their master; its master has these fields."""
    command = ["torchrun", "--nnodes=3", "--master_addr=$(HEAD)", "t.py"]
    worker: Object = {"command": command, "env": {"HEAD": "bert-master-0.bert"}}
    tasks = [{"name": "master", "replicas": 1, "template": template(**{**worker, **leader})}]
    tasks.append({"name": "worker", "replicas": 2, "template": template(**worker)})
    return workload("batch.volcano.sh/v1alpha1", "Job", "bert", {"tasks": tasks}, namespace)


SCRIPT: Object = {"command": ["/scripts/start.sh"], "env": {}}
NONE = {"labels": {names.PROFILE: names.PROFILE_NONE}}
SAME = "pods that ask for the same accelerators"
ALIKE = "make them alike if they train together"


def test_a_job_whose_rank_zero_is_left_alone_cannot_meet() -> None:
    [summary] = summaries(half(**SCRIPT))
    assert summary.text == "3 pods: 1 left alone, 2 workers; cannot meet"
    lonely, alone = summary.warnings
    assert lonely.startswith("2 pods wait for the address of bert-master-0, rank 0 of job bert-")
    assert (
        ", which publishes none: this pod of Volcano Job bert asks for an accelerator, but shows no "
        "launcher" in lonely
    )
    assert alone == (
        "2 pods from bert-worker-0 on and bert-master-0 ask for the same accelerators, and only the "
        "first get the profile: give all of them the same label fabric-injector.io/profile"
    )


def test_a_job_of_which_a_pod_says_that_it_never_meets_cannot_meet() -> None:
    first, second = run().pods
    told = Decision("rendezvous", Outcome.WARNED, Reason.DISAGREES, "never")
    second = replace(second, decisions=(*second.decisions, told))
    [summary] = DryRun((first, second), ()).workloads
    assert summary.text == "2 pods: 1 rank 0, 1 worker; cannot meet"


def test_a_job_whose_rank_zero_is_on_the_nodes_network_cannot_meet() -> None:
    [summary] = summaries(half(hostNetwork=True))
    assert summary.text == "3 pods: 1 injected, 2 workers; cannot meet"
    lonely, differing = summary.warnings
    assert lonely.endswith(
        ", which publishes none: the pod uses the node's network: Multus gives it no secondary address"
    )
    assert differing == (
        f"{SAME} differ in networks: none (bert-master-0) and default/rdma-net (bert-worker-0): {ALIKE}"
    )


def test_workers_on_the_nodes_network_look_for_rank_zero_by_its_name() -> None:
    [summary] = summaries(pytorch_job(worker=template(hostNetwork=True, resources={})))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; meets on {NET1} and the pod network"


def test_a_job_that_waits_for_nobody_may_still_be_half_injected() -> None:
    command = ["torchrun", "--nnodes=3", "--master_addr=localhost", "t.py"]
    job = half(command=command, hostNetwork=True)
    worker = job["spec"]["tasks"][1]["template"]["spec"]["containers"][0]
    worker["command"] = ["torchrun", "--nnodes=3", "--master_addr=bert-master-0.bert", "t.py"]
    [summary] = summaries(job)
    assert summary.text.endswith("; half injected")
    assert summary.as_json()["problem"] == "half injected"


def test_tells_in_what_pods_of_the_same_accelerators_differ() -> None:
    own = {"nvidia.com/gpu": "8", "amd.com/gpu": "0", "rdma/hca": "2", "example.com/licence": "1"}
    [summary] = summaries(half(resources={"limits": own}))
    assert summary.problem == "half injected"
    assert summary.warnings[-1] == (
        "pods that ask for the same accelerators differ in devices: rdma/hca: 2 (bert-master-0) and "
        "rdma/hca: 1 (bert-worker-0): make them alike if they train together"
    )


def test_what_a_role_asks_for_besides_the_fabric_makes_no_job_half_injected() -> None:
    own = {"nvidia.com/gpu": "8", "example.com/licence": "1"}
    [summary] = summaries(half(resources={"limits": own}))
    assert summary.problem == ""


def test_pods_of_other_accelerators_may_differ() -> None:
    [summary] = summaries(half(**SCRIPT, resources={"limits": {"nvidia.com/gpu": "1"}}))
    assert len(summary.warnings) == 1  # that bert-master-0 publishes no address


def test_does_not_warn_of_a_job_that_is_injected_as_one() -> None:
    [summary] = summaries(half(command=["torchrun", "--nnodes=3", "t.py"]))
    assert (summary.problem, summary.warnings) == ("", ())


def test_a_pod_whose_label_says_none_makes_no_job_half_injected_but_publishes_no_address() -> None:
    [summary] = summaries(half("research", metadata=NONE, **SCRIPT), profile=None)
    assert summary.text == "3 pods: 1 left alone, 2 workers; cannot meet"
    [lonely] = summary.warnings
    assert lonely.endswith(
        f", which publishes none: pod bert-master-0: label {names.PROFILE} is none"
    )


def test_names_no_place_where_a_label_leaves_pods_of_the_same_accelerators_alone() -> None:
    [summary] = summaries(pytorch_job(None, template(NONE), "research"), profile=None)
    assert summary.text == "4 pods: 1 rank 0, 3 left alone"
    assert summary.warnings == (
        f"label {names.PROFILE}={names.PROFILE_NONE} leaves 3 pods from bert-worker-0 on alone beside "
        "injected pods that ask for the same accelerators: if they train together, label all of them "
        "alike",
    )
    worker = template(NONE, resources={})
    [summary] = summaries(pytorch_job(None, worker, "research"), profile=None)
    assert summary.text == f"4 pods: 1 rank 0, 3 left alone; meets and trains on {NET1}"


def test_pods_of_one_template_that_meet_nobody_are_no_half_of_a_job() -> None:
    """With MASTER_ADDR=localhost each pod is a group of its own; the first one publishes anyhow."""
    own = template(command=["python", "t.py"], env={"MASTER_ADDR": "localhost"})
    spec = {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "template": own}
    [summary] = summaries(workload("batch/v1", "Job", "sweep", spec))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; trains on {NET1}"
    assert summary.warnings == ()


def test_does_not_warn_where_a_pod_that_is_not_shown_may_be_rank_zero() -> None:
    own = template(env={"MASTER_ADDR": "ddp-3.ddp"})
    spec = {"replicas": 4, "serviceName": "ddp", "template": own}
    [summary] = summaries(workload("apps/v1", "StatefulSet", "ddp", spec))
    assert summary.warnings == ()


def test_says_nothing_of_workloads_that_no_profile_is_for() -> None:
    assert run(json.dumps(SHOWN["Pod"][0]), namespace="plain").workloads == ()
