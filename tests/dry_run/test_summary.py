"""A dry run says of each workload how many pods of each role there are, where they meet and train, and who waits for nobody."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.dry_run.runs import OBJECTS, TORCHX, run
from tests.dry_run.templates.kinds import (
    PLAIN,
    container,
    find,
    grove,
    jobset,
    mpi_job,
    pytorch_job,
    ray,
    storm_service,
    template,
    volcano_job,
    workload,
    wrapped,
)
from tests.dry_run.templates.test_kinds import SHOWN
from tests.pods import FIXTURES
from webhook.core import names
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.profiles import parse_profiles
from webhook.dry_run import DryRun, PodResult, dry_run, render_diff, render_page
from webhook.dry_run.summary import Summary
from webhook.world.objects import ObjectsWorld

NET1 = "net1 of default/rdma-net"


def role(replicas: int, **env: str) -> Object:
    own = container("pytorch", env=[{"name": name, "value": value} for name, value in env.items()])
    return {"replicas": replicas, "template": template(own)}


def roles(workers: int, **env: str) -> Object:
    return {"Master": role(1, **env), "Worker": role(workers, **env)}


def summaries(*manifests: Object, **options: Any) -> tuple[Summary, ...]:
    return run(yaml.safe_dump_all(manifests), **{"profile": "rdma-shared", **options}).workloads


def torchx(replicas: int) -> Object:
    job: Object = yaml.safe_load(TORCHX)
    job["spec"]["tasks"] = [job["spec"]["tasks"][0]] + [job["spec"]["tasks"][1]] * (replicas - 1)
    return job


def lws(**spec: Any) -> Object:
    return workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l", spec)


COUNTED: dict[str, tuple[Object, list[int]]] = {
    "Pod": (SHOWN["Pod"][0], [1]),
    "Deployment": (
        workload("apps/v1", "Deployment", "web", {"replicas": 5, "template": PLAIN}),
        [5],
    ),
    "StatefulSet": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": 4, "template": PLAIN}),
        [1, 3],
    ),
    "Job": (workload("batch/v1", "Job", "j", {"parallelism": 3, "template": PLAIN}), [3]),
    "indexed Job": (
        workload(
            "batch/v1",
            "Job",
            "j",
            {"completionMode": "Indexed", "completions": 8, "template": PLAIN},
        ),
        [1, 7],
    ),
    "PyTorchJob": (pytorch_job(pytorchReplicaSpecs=roles(7)), [1, 7]),
    "MPIJob": (mpi_job("v2beta1"), [1, 1, 3]),
    "Volcano Job": (volcano_job(("master", 1), ("worker", 5)), [1, 1, 4]),
    "Volcano Job with the pytorch plugin": (
        volcano_job(("master", 1), ("worker", 5), plugins={"pytorch": []}),
        [1, 5],
    ),
    "TorchX": (torchx(6), [1, 5]),
    "JobSet of one Job": (jobset(("w", 1, 4)), [1, 3]),
    "JobSet of several Jobs": (jobset(("w", 4, 1)), [1, 3]),
    "JobSet of several Jobs of several pods": (jobset(("lead", 1, 1), ("w", 3, 2)), [1, 1, 5]),
    "LeaderWorkerSet": (
        lws(replicas=2, leaderWorkerTemplate={"size": 4, "workerTemplate": PLAIN}),
        [2, 6],
    ),
    "PodCliqueSet": (grove(("l", 1), ("w", 3), group=2, replicas=5), [10, 10, 20]),
    "StormService": (storm_service(replicas=3, podGroupSize=4), [3, 9]),
    "RayCluster": (ray("RayCluster", None), [1, 4]),
    "AppWrapper of TorchX": (
        workload(
            "mcad.ibm.com/v1",
            "AppWrapper",
            "aw",
            {
                "resources": {
                    "GenericItems": [
                        {
                            "generictemplate": {
                                "apiVersion": "v1",
                                "kind": "Pod",
                                "metadata": {
                                    "name": f"p{i}",
                                    "labels": {"torchx.pytorch.org/role-index": "0"},
                                },
                                **PLAIN,
                            }
                        }
                        for i in range(5)
                    ]
                }
            },
        ),
        [1, 4],
    ),
    "AppWrapper": (wrapped("v1beta2", pytorch_job(pytorchReplicaSpecs=roles(2))), [1, 2]),
    "unknown kind": (
        workload(
            "grove.io/v1",
            "Set",
            "g",
            {"replicas": 2, "cliques": [{"spec": {"replicas": 3, "podSpec": PLAIN["spec"]}}]},
        ),
        [6],
    ),
}


@pytest.mark.parametrize(("manifest", "expected"), COUNTED.values(), ids=COUNTED)
def test_counts_the_pods_that_a_shown_pod_stands_for(manifest: Object, expected: list[int]) -> None:
    assert [each.replicas for each in find(manifest).pods] == expected


def test_an_absurd_number_of_replicas_is_written_all_the_same() -> None:
    own = {"replicas": 10**9, "inner": {"replicas": 10**9, "podSpec": PLAIN["spec"]}}
    [summary] = summaries(workload("x.io/v1", "Set", "g", own), profile="rdma-shared")
    assert summary.text.startswith("2147483647 pods")


def test_tells_roles_with_their_replicas_and_where_the_job_meets_and_trains() -> None:
    [summary] = summaries(pytorch_job(pytorchReplicaSpecs=roles(3)))
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
    annotations = {
        names.CONTAINER: "m",
        names.STATUS: "{}",
        names.RENDEZVOUS_NETWORK: "default/rdma-net@net1/any",
    }
    own = {"name": "m", "env": [{"name": "NCCL_SOCKET_IFNAME", "value": "=net1"}]}
    after = {"metadata": {"name": "p", "annotations": annotations}, "spec": {"containers": [own]}}
    before = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m"}]}}
    pod = PodResult(
        "Job/j spec.template",
        "ml",
        before,
        after,
        True,
        rendezvous="master",
        profile="p",
        workload="Job/j",
    )
    [summary] = DryRun((pod,), ()).workloads
    assert summary.text == f"1 pod: 1 rank 0; meets on the pod network, trains on {NET1}"
    metadata = {"annotations": {names.CONTAINER: "m", names.STATUS: "{}"}}
    worker = replace(
        pod,
        rendezvous="",
        system="volcano",
        after={"metadata": metadata, "spec": {"containers": [own]}},
        replicas=3,
    )
    [both] = DryRun((pod, worker), ()).workloads
    assert both.text == f"4 pods: 1 rank 0, 3 workers; meets on the pod network, trains on {NET1}"
    [other] = DryRun((pod, replace(pod, job="another")), ()).workloads
    assert (
        other.text == f"2 pods: 2 candidates for rank 0; meets on the pod network, trains on {NET1}"
    )


def test_tells_where_a_job_meets_whose_profile_names_another_source() -> None:
    interfaces = (
        '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"rdma-0"}]'
    )
    asked = f"{{networking.gke.io/interfaces: '{interfaces}', networking.gke.io/default-interface: eth0}}"
    known = parse_profiles(
        f"profiles: {{gke: {{annotations: {asked}, rendezvous: {{addressSource: gke}}}}, efa: {{rendezvous: {{addressSource: none}}}}}}"
    )
    job = yaml.safe_dump(pytorch_job(pytorchReplicaSpecs=roles(3)))
    [gke], [efa] = (
        dry_run(
            job, namespace="research", profile=name, profiles=known, world=ObjectsWorld(OBJECTS)
        ).workloads
        for name in ("gke", "efa")
    )
    assert (gke.meets, gke.trains) == ("eth1 of rdma-0", "eth1 of rdma-0")
    assert (efa.meets, efa.trains) == ("the pod network", "")


def test_an_address_of_rank_zeros_own_moves_no_meeting() -> None:
    """Rank 0 waits for what torchrun is told as its own address; all find it by a name all the same."""
    command = [
        "torchrun",
        "--nnodes=2",
        "--master_addr=$(LWS_LEADER_ADDRESS)",
        "--node_rank=$(LWS_WORKER_INDEX)",
        "t.py",
    ]
    again = [
        "bash",
        "-c",
        "while true; do torchrun --nnodes=2 --master_addr=$LWS_LEADER_ADDRESS t.py; done",
    ]
    moved, kept = (
        summaries(
            lws(
                leaderWorkerTemplate={
                    "size": 2,
                    "workerTemplate": template({**container("c"), "command": each}),
                }
            )
        )
        for each in (command, again)
    )
    assert (moved[0].meets, moved[0].trains) == (NET1, NET1)
    assert (kept[0].meets, kept[0].trains) == ("the pod network", NET1)


def test_tells_pods_that_are_injected_or_left_alone() -> None:
    ray_cluster, web = summaries(ray("RayCluster", None), COUNTED["Deployment"][0])
    assert ray_cluster.text == "5 pods, all injected; trains on net1"
    assert web.text == "5 pods, all left alone"


def test_tells_what_an_observed_namespace_would_get() -> None:
    [observed], [injected] = run(namespace="watched").workloads, run().workloads
    assert observed == replace(injected, namespace="watched")
    denied = pytorch_job(pytorchReplicaSpecs=roles(3))
    denied["metadata"]["namespace"] = "watched"
    denied["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["metadata"] = {
        "annotations": {names.CONTAINER: "absent"}
    }
    [summary] = summaries(denied, profile=None)
    assert summary.roles == {"denied": 1, "worker": 3}
    [summary] = summaries(ray("RayCluster", None), profile=None, namespace="watched")
    assert summary.roles == {"denied": 5}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("=net1", "net1"),
        ("net1", "net1"),
        ("net", "net1"),
        ("net7,net1", "net1"),
        ("^=lo,eth0", "net1"),
        ("", ""),
        ("eth0", ""),
        ("=eth0", ""),
        ("=net7", ""),
    ],
)
def test_tells_where_a_container_that_chooses_itself_trains(value: str, told: str) -> None:
    manifest = ray("RayCluster", None)
    for group in (manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]):
        own = group["template"]["spec"]["containers"][0]
        group["template"] = template(
            {**own, "env": [{"name": "NCCL_SOCKET_IFNAME", "value": value}]}
        )
    [summary] = summaries(manifest)
    assert (summary.trains, summary.warnings) == (told, ())


@pytest.mark.parametrize(
    ("value", "among"),
    [("^lo", "eth0 and net1"), ("^docker", "lo, eth0 and net1"), ("net,eth", "eth0 and net1")],
)
def test_a_pattern_is_no_place_and_nccl_may_choose_another_interface(
    value: str, among: str
) -> None:
    [summary] = summaries(pytorch_job(pytorchReplicaSpecs=roles(3, NCCL_SOCKET_IFNAME=value)))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; meets on {NET1}"
    assert summary.warnings == (
        f"NCCL_SOCKET_IFNAME={value} lets NCCL choose among {among} in 4 pods from bert-master-0 on: it may not use net1; name one "
        "interface, or remove the variable",
    )


def test_a_pattern_that_leaves_one_interface_needs_no_warning() -> None:
    known = parse_profiles(
        "profiles: {efa: {env: {NCCL_SOCKET_IFNAME: '^lo,veth'}, rendezvous: {addressSource: none}}}"
    )
    job = yaml.safe_dump(pytorch_job(pytorchReplicaSpecs=roles(3)))
    [efa] = dry_run(
        job, namespace="x", profile="efa", profiles=known, world=ObjectsWorld(OBJECTS)
    ).workloads
    assert (efa.trains, efa.warnings) == ("", ())


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
    own = template(container("pytorch", command=["sh", "-c", text]))
    [summary] = summaries(
        pytorch_job(pytorchReplicaSpecs=roles(3) | {"Worker": {"replicas": 3, "template": own}})
    )
    assert (summary.trains, summary.warnings) == (told, ())


def test_the_launcher_of_mpi_sets_the_interface_for_the_workers() -> None:
    job = mpi_job("v2beta1")
    launcher = container(
        "mpi", command=["mpirun", "-x", "NCCL_SOCKET_IFNAME=eth0", "all_reduce_perf"], resources={}
    )
    assert summaries(job)[0].trains == "net1"
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"] = template(launcher)
    assert summaries(job)[0].trains == ""


def test_names_no_place_to_train_where_pods_name_different_interfaces() -> None:
    [summary] = summaries(
        pytorch_job(pytorchReplicaSpecs=roles(3) | {"Master": role(1, NCCL_SOCKET_IFNAME="eth0")})
    )
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; meets on {NET1}"
    assert summary.warnings == (
        "NCCL uses different interfaces: eth0 in bert-master-0, net1 in 3 pods from bert-worker-0 on; set NCCL_SOCKET_IFNAME alike in "
        "all pods, or remove it",
    )


C10D = [
    "torchrun",
    "--nnodes=4",
    "--rdzv_backend=c10d",
    "--rdzv_endpoint=$(MASTER_ADDR):29500",
    "t.py",
]
SAYS_OWN = [*C10D[:-1], "--local_addr=10.1.2.3", "t.py"]
AGENTS = "torchrun meets on the pod network, its ranks"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"command": C10D}, f"{AGENTS} meet and train on {NET1}"),
        ({"command": SAYS_OWN}, f"{AGENTS} train on {NET1}"),
        (
            {"command": ["/start.sh"], "env": [{"name": "PET_RDZV_BACKEND", "value": "c10d"}]},
            f"{AGENTS} meet and train on {NET1}",
        ),
        ({"command": [*C10D[:2], "--rdzv_backend=etcd", *C10D[3:]]}, f"trains on {NET1}"),
        (
            {"command": ["torchrun", "--rdzv_endpoint=bert-master-0:29500", "t.py"]},
            f"meets on the pod network, trains on {NET1}",
        ),
        (
            {"command": ["torchrun", "--rdzv_endpoint=$(MASTER_ADDR):29500", "t.py"]},
            f"meets and trains on {NET1}",
        ),
        ({"command": ["python", "t.py"]}, f"meets and trains on {NET1}"),
    ],
)
def test_tells_where_agents_and_ranks_meet_by_the_backend_of_the_command(
    fields: Object, told: str
) -> None:
    """With c10d the store is at the name of rank 0, which tells the ranks its address on the fabric."""
    each = {"template": template(container("pytorch", **fields))}
    [summary] = summaries(
        pytorch_job(
            pytorchReplicaSpecs={"Master": each | {"replicas": 1}, "Worker": each | {"replicas": 3}}
        )
    )
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
    manifest = ray("RayCluster", None)
    for group in (manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]):
        group["template"]["spec"]["hostNetwork"] = True
    [summary] = summaries(manifest)
    assert summary.text == "5 pods, all injected; trains on the node's network"


def test_counts_each_group_of_a_leader_worker_set_as_a_job() -> None:
    env = [{"name": "MASTER_ADDR", "value": "$(LWS_LEADER_ADDRESS)"}]
    own = template(
        container(
            "m",
            command=["torchrun", "--nnodes=4", "--master_addr=$(LWS_LEADER_ADDRESS)", "t.py"],
            env=env,
        )
    )
    [summary] = summaries(lws(replicas=2, leaderWorkerTemplate={"size": 4, "workerTemplate": own}))
    assert summary.text.startswith("8 pods in 2 jobs: 2 rank 0, 6 workers; ")


def test_takes_the_pods_of_one_job_together() -> None:
    pods = [pod.before for pod in run().pods]
    [summary] = summaries(*pods)
    assert summary.source.startswith("Pods of job train-t4rcs9x6sv1m-")
    assert summary.roles == {"rank 0": 1, "worker": 1}


def test_warns_of_members_that_wait_for_a_rank_zero_that_no_pod_is() -> None:
    worker = run().pods[1].before
    result = run(json.dumps(worker))
    [summary] = result.workloads
    job = result.pods[0].job
    expected = f"1 pod waits for the address of role 0 replica 0, rank 0 of job {job}, which is not in this input"
    assert summary.warnings == (expected,)
    assert f"warning: {expected}" in render_diff(result)
    [entry] = json.loads(render_page(result))["workloads"]
    assert (entry["summary"], entry["warnings"]) == (summary.text, [expected])


def test_warns_of_members_whose_rank_zero_is_denied() -> None:
    manifest = pytorch_job(pytorchReplicaSpecs=roles(3))
    master = manifest["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    manifest["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = {
        "metadata": {"annotations": {names.CONTAINER: "absent"}},
        **master,
    }
    [summary] = summaries(manifest)
    assert summary.text == f"4 pods: 1 denied, 3 workers; meets and trains on {NET1}"
    [warning] = summary.warnings
    assert warning.startswith("3 pods wait for the address of bert-master-0, rank 0 of job bert-")
    assert warning.endswith(", which is denied")


def half(leader: Object, labels: Object | None = None, **spec: Any) -> Object:
    """Return a Volcano Job whose master is *leader*, and whose workers show that they are of several nodes and name the master."""
    env = [{"name": "HEAD", "value": "bert-master-0.bert"}]
    worker = container(
        "w", command=["torchrun", "--nnodes=3", "--master_addr=$(HEAD)", "t.py"], env=env
    )
    master = {"metadata": {"labels": labels or {}}, **template({**worker, **leader}, **spec)}
    tasks = [{"name": "master", "replicas": 1, "template": master}]
    tasks.append({"name": "worker", "replicas": 2, "template": template(worker)})
    return volcano_job(tasks=tasks)


SCRIPT = {"command": ["/scripts/start.sh"], "env": []}


def test_a_job_whose_rank_zero_is_left_alone_cannot_meet() -> None:
    [summary] = summaries(half(SCRIPT))
    assert summary.text == "3 pods: 1 left alone, 2 workers; cannot meet"
    lonely, alone = summary.warnings
    assert lonely.startswith("2 pods wait for the address of bert-master-0, rank 0 of job bert-")
    assert (
        ", which publishes none: this pod of Volcano Job bert asks for an accelerator, but shows no launcher"
        in lonely
    )
    assert alone == (
        "pods that ask for the same accelerators are injected (2 pods from bert-worker-0 on) and left alone (bert-master-0): if they "
        "train together, give all of them the label fabric-injector.io/profile, or all fabric-injector.io/profile=none"
    )


def test_a_job_of_which_a_pod_says_that_it_never_meets_cannot_meet() -> None:
    pods = run().pods
    told = Decision("rendezvous", Outcome.WARNED, Reason.DISAGREES, "never")
    [summary] = DryRun(
        (pods[0], replace(pods[1], decisions=(*pods[1].decisions, told))), ()
    ).workloads
    assert summary.text == "2 pods: 1 rank 0, 1 worker; cannot meet"


def test_a_job_whose_rank_zero_is_on_the_nodes_network_cannot_meet() -> None:
    [summary] = summaries(half({}, hostNetwork=True))
    assert summary.text == "3 pods: 1 injected, 2 workers; cannot meet"
    lonely, differing = summary.warnings
    assert lonely.endswith(
        ", which publishes none: the pod uses the node's network: Multus gives it no secondary address"
    )
    assert differing == (
        "pods that ask for the same accelerators differ in networks: none (bert-master-0) and default/rdma-net (bert-worker-0); if "
        "they train together, make them alike"
    )


def test_workers_on_the_nodes_network_look_for_rank_zero_by_its_name() -> None:
    own = role(3)
    own["template"]["spec"] |= {"hostNetwork": True}
    own["template"]["spec"]["containers"][0]["resources"] = {}
    [summary] = summaries(pytorch_job(pytorchReplicaSpecs=roles(3) | {"Worker": own}))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; meets on {NET1} and the pod network"


def test_a_job_that_waits_for_nobody_may_still_be_half_injected() -> None:
    job = half(
        {"command": ["torchrun", "--nnodes=3", "--master_addr=localhost", "t.py"]}, hostNetwork=True
    )
    worker = job["spec"]["tasks"][1]["template"]["spec"]["containers"][0]
    worker["command"] = ["torchrun", "--nnodes=3", "--master_addr=bert-master-0.bert", "t.py"]
    [summary] = summaries(job)
    assert summary.text.endswith("; half injected")
    assert summary.as_json()["problem"] == "half injected"


def test_tells_in_what_pods_of_the_same_accelerators_differ() -> None:
    own = {"nvidia.com/gpu": "8", "rdma/hca": "2", "example.com/licence": "1"}
    [summary] = summaries(half({"resources": {"limits": own}}))
    assert summary.problem == "half injected"
    assert summary.warnings[-1] == (
        "pods that ask for the same accelerators differ in devices: rdma/hca: 2 (bert-master-0) and "
        "rdma/hca: 1 (bert-worker-0); if they train together, make them alike"
    )


def test_what_a_role_asks_for_besides_the_fabric_makes_no_job_half_injected() -> None:
    own = {"nvidia.com/gpu": "8", "example.com/licence": "1"}
    [summary] = summaries(half({"resources": {"limits": own}}))
    assert summary.problem == ""


def test_pods_of_other_accelerators_may_differ() -> None:
    [summary] = summaries(half({**SCRIPT, "resources": {"limits": {"nvidia.com/gpu": "1"}}}))
    assert len(summary.warnings) == 1  # that bert-master-0 publishes no address


def test_does_not_warn_of_a_job_that_is_injected_as_one() -> None:
    [summary] = summaries(half({"command": ["torchrun", "--nnodes=3", "t.py"]}))
    assert (summary.problem, summary.warnings) == ("", ())


def test_a_pod_whose_label_says_none_makes_no_job_half_injected_but_publishes_no_address() -> None:
    job = half(SCRIPT, {names.PROFILE: names.PROFILE_NONE})
    job["metadata"]["namespace"] = "research"
    [summary] = summaries(job, profile=None)
    assert summary.text == "3 pods: 1 left alone, 2 workers; cannot meet"
    [lonely] = summary.warnings
    assert lonely.endswith(
        f", which publishes none: pod bert-master-0: label {names.PROFILE} is none"
    )


def test_names_no_place_where_a_label_leaves_pods_of_the_same_accelerators_alone() -> None:
    job = pytorch_job(pytorchReplicaSpecs=roles(3))
    job["metadata"]["namespace"] = "research"
    worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    worker["metadata"] = {"labels": {names.PROFILE: names.PROFILE_NONE}}
    [summary] = summaries(job, profile=None)
    assert summary.text == "4 pods: 1 rank 0, 3 left alone"
    assert summary.warnings == (
        f"label {names.PROFILE}={names.PROFILE_NONE} leaves 3 pods from bert-worker-0 on alone beside injected pods that ask for the "
        "same accelerators: if they train together, label all of them alike",
    )
    worker["spec"]["containers"][0]["resources"] = {}
    [summary] = summaries(job, profile=None)
    assert summary.text == f"4 pods: 1 rank 0, 3 left alone; meets and trains on {NET1}"


def test_pods_of_one_template_that_meet_nobody_are_no_half_of_a_job() -> None:
    """With MASTER_ADDR=localhost each pod is a process group of its own; the first one publishes its address all the same."""
    env = [{"name": "MASTER_ADDR", "value": "localhost"}]
    own = template(container("m", command=["python", "t.py"], env=env))
    spec = {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "template": own}
    [summary] = summaries(workload("batch/v1", "Job", "sweep", spec))
    assert summary.text == f"4 pods: 1 rank 0, 3 workers; trains on {NET1}"
    assert summary.warnings == ()


def test_does_not_warn_where_a_pod_that_is_not_shown_may_be_rank_zero() -> None:
    env = [{"name": "MASTER_ADDR", "value": "ddp-3.ddp"}]
    own = template(container("m", env=env))
    spec = {"replicas": 4, "serviceName": "ddp", "template": own}
    [summary] = summaries(workload("apps/v1", "StatefulSet", "ddp", spec))
    assert summary.warnings == ()


def test_says_nothing_of_workloads_that_no_profile_is_for() -> None:
    assert run(json.dumps(SHOWN["Pod"][0]), namespace="plain").workloads == ()
