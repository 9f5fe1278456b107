"""How the pods of a cluster become jobs, and which pods are alike."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from tests.diagnose.survey.clusters import KINDS, job
from tests.pods import add_env, drop_env, load, minimal_container, minimal_pod
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.survey.fabric import Transport
from webhook.diagnose.survey.jobs import MOST_ROLES, FoundJobs, find_jobs
from webhook.diagnose.survey.pod import PodReader, as_created

GPU = {"limits": {"nvidia.com/gpu": "8"}}


def found(pods: Iterable[Object], reader: PodReader | None = None) -> FoundJobs:
    read = reader or PodReader()
    return find_jobs(filter(None, map(read.read, pods)))


def replica(number: int, kind: str = "ReplicaSet", **container: object) -> Object:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "chat", "uid": "u-1", "controller": True}
    metadata = {"name": f"chat-{number}", "ownerReferences": [owner]}
    return minimal_pod(minimal_container(resources=GPU, **container), metadata=metadata)


@pytest.mark.parametrize("kind", KINDS)
def test_each_system_makes_one_job(kind: str) -> None:
    [one] = found(job(kind, "train", pods=5)).training
    assert (one.kind, one.workload, one.pods, one.accelerators) == (kind, "train", 5, {"nvidia.com/gpu": 40})
    assert (one.transport, one.why, one.unjudged) == (Transport.POD_NETWORK, "", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_its_workers_are_alike_and_so_are_those_of_other_jobs(kind: str) -> None:
    reader = PodReader()
    jobs = found((pod for name in ("gpt", "other-77", "x9k2") for pod in job(kind, name, pods=40)), reader).training
    assert [[(role.name, role.pods) for role in one.roles] for one in jobs] == [[("master", 1), ("worker", 39)]] * 3
    assert len(reader.templates) == 2


def test_jobs_of_one_name_in_two_namespaces_are_two() -> None:
    pods = [pod for space in ("a", "b") for pod in job("PyTorchJob", "bert", space)]
    assert [(one.namespace, one.name, one.pods) for one in found(pods).training] == [("a", "bert", 2), ("b", "bert", 2)]


def test_each_group_of_a_leaderworkerset_is_a_job() -> None:
    pods = [load("pods/lws-0.yaml"), load("pods/lws-1.yaml")]
    for pod in (load("pods/lws-0.yaml"), load("pods/lws-1.yaml")):
        pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"] = "1"
        pod["metadata"]["name"] = pod["metadata"]["name"].replace("mnmt-0", "mnmt-1")
        pods.append(pod)
    assert [one.name for one in found(pods).training] == ["mnmt-0", "mnmt-1"]


def test_process_groups_of_one_owner_are_jobs_of_their_own() -> None:
    pods = list(job("JobSet", "ddp", pods=4))
    for pod in pods[2:]:
        text = json.dumps(pod["spec"]).replace("ddp-workers-0-0", "ddp-workers-1-0")
        pod["spec"] = json.loads(text)
        pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] = "1"
    pods[2]["spec"]["hostname"] = "ddp-workers-1-0"
    one, other = found(pods).training
    assert (one.pods, other.pods, one.workload, other.workload) == (2, 2, "ddp", "ddp")
    assert one.name.startswith("ddp-")
    assert one.name != other.name


def test_roles_that_do_not_say_where_they_meet_are_one_job() -> None:
    pods = list(job("JobSet", "ddp", pods=4))
    for number, pod in enumerate(pods):
        pod["spec"]["containers"][0] |= {"env": [], "command": ["torchrun"], "args": ["--nnodes=4", "train.py"]}
        pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] = "a" if number < 2 else "b"
    assert [(each.name, each.pods) for each in found(pods).training] == [("ddp", 4)]


@pytest.mark.parametrize(("pods", "trains", "single"), [(1, 0, 1), (2, 1, 0)])
def test_jobs_of_one_pod_are_counted_alone(pods: int, trains: int, single: int) -> None:
    jobs = found(job("Job", "ddp", pods=pods))
    assert (len(jobs.training), jobs.single) == (trains, single)


def test_a_pod_that_is_told_of_others_is_not_alone() -> None:
    [pod] = job("Job", "ddp", pods=1)
    assert [one.size for one in found([add_env(pod, "PET_NNODES", "4")]).training] == [4]
    [worker] = list(job("Job", "ddp"))[1:]
    assert [one.size for one in found([worker]).training] == [2], "a worker has a rank 0 somewhere"


def test_pods_that_run_on_one_node_each_are_no_job_of_several() -> None:
    pods = [add_env(pod, "PET_NNODES", "1") for pod in job("Job", "ddp", pods=4)]
    jobs = found(pods)
    assert (jobs.training, jobs.others, jobs.single) == ((), (), 1)


def test_a_job_without_accelerators_does_not_count() -> None:
    pods = list(job("PyTorchJob", "bert"))
    for pod in pods:
        del pod["spec"]["containers"][0]["resources"]
    assert found(pods) == FoundJobs()


def test_accelerators_may_come_by_claims() -> None:
    pods = list(job("PyTorchJob", "bert"))
    for pod in pods:
        pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpu"}]}
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    [one] = found(pods).training
    assert (one.transport, one.accelerators) == (Transport.CLAIMS, {})
    for pod in pods:
        pod["metadata"]["annotations"] = {names.NETWORKS: "rdma-net"}
    assert [one.transport for one in found(pods).training] == [Transport.OWN_FABRIC]


def test_ended_pods_do_not_count() -> None:
    done = [{**pod, "status": {"phase": "Succeeded"}} for pod in job("PyTorchJob", "bert")]
    assert found(done) == FoundJobs()


def test_services_are_no_jobs_and_what_may_be_one_is_named() -> None:
    assert found(map(replica, range(4))) == FoundJobs()
    [one] = found(replica(number, env=[{"name": "NNODES", "value": "4"}]) for number in range(4)).others
    assert (one.kind, one.name, one.pods) == ("ReplicaSet", "chat", 4)
    assert one.why == "a pod of a ReplicaSet, of no training system that is known"
    [one] = found(replica(number, kind="MyTrainJob") for number in range(4)).others
    assert (one.kind, one.resource) == ("MyTrainJob", "MyTrainJob.v1.apps")


def test_what_any_pod_with_an_accelerator_uses_the_job_uses() -> None:
    first, *rest = job("PyTorchJob", "bert", pods=3)
    rest[0]["metadata"].setdefault("annotations", {})[names.STATUS] = "{}"
    assert [one.transport for one in found([first, *rest]).training] == [Transport.INJECTED]


def test_of_a_job_of_many_kinds_of_pods_a_few_are_judged() -> None:
    pods = list(job("PyTorchJob", "bert", pods=2 * MOST_ROLES))
    for number, pod in enumerate(pods):
        pod["spec"]["containers"][0]["image"] = f"registry.example.com/train:{number}"
    [one] = found(pods).training
    assert (len(one.roles), one.unjudged, one.pods) == (MOST_ROLES, MOST_ROLES, 2 * MOST_ROLES)


@pytest.mark.parametrize(
    "change",
    [
        {"hostIPC": True},
        {"nodeSelector": {"pool": "a"}},
        {"securityContext": {"runAsUser": 1000}},
        {"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]},
    ],
    ids=str,
)
def test_pods_that_differ_in_what_is_decided_by_are_not_alike(change: Object) -> None:
    reader = PodReader()
    for pod in (*job("Job", "ddp"), *job("Job", "ddp", **change)):
        reader.read(pod)
    assert len(reader.templates) == 4


def test_labels_by_which_profiles_choose_tell_pods_apart() -> None:
    pods = list(job("Job", "ddp"))
    for number, pod in enumerate(pods):
        pod["metadata"]["labels"]["team"] = f"team-{number}"
    one, other = PodReader(), PodReader(["team"])
    assert len({read.likeness for pod in pods[:1] * 2 if (read := one.read(pod))}) == 1
    for reader, kinds in ((one, 2), (other, 4)):
        for number in range(2):
            for pod in pods:
                pod["metadata"]["labels"]["team"] = f"team-{number}"
                reader.read(pod)
        assert len(reader.templates) == kinds


def test_an_oversized_pod_is_named_and_left_out() -> None:
    [pod, _] = job("PyTorchJob", "bert")
    pod["metadata"]["labels"] |= {f"l{number}": "x" for number in range(130_000)}
    reader = PodReader()
    assert reader.read(pod) is None
    assert "130" in reader.oversized["research", "bert-master-0"]


def test_a_live_pod_is_taken_back_to_its_creation() -> None:
    [pod, _] = job("PyTorchJob", "bert")
    pod["metadata"] |= {"resourceVersion": "7", "annotations": {names.NETWORK_STATUS: "[]", "own": "kept"}}
    before = as_created(pod)
    assert before["metadata"]["annotations"] == {"own": "kept"}
    assert not {"uid", "resourceVersion"} & before["metadata"].keys()
    assert "nodeName" not in before["spec"]
    assert "status" not in before
    assert pod["spec"]["nodeName"] == "node-1", "the pod itself stays as it is"


def test_pods_without_an_accelerator_of_no_job_that_is_known_are_not_kept() -> None:
    assert PodReader().read(minimal_pod()) is None


def test_a_pod_that_only_may_be_rank_zero_is_of_the_job_of_its_owner() -> None:
    first, second = (load(f"pods/statefulset-{number}.yaml") for number in range(2))
    add_env(drop_env(first, "MASTER_ADDR"), "MASTER_ADDR", "other-0.other")
    assert [one.pods for one in found([first, second]).training] == [2]


def test_a_pod_of_nobody_is_named_itself() -> None:
    pod = minimal_pod(minimal_container(resources=GPU, env=[{"name": "NNODES", "value": "4"}]))
    pod["metadata"] |= {"name": "alone", "ownerReferences": []}
    assert [(one.kind, one.resource, one.name) for one in found([pod]).others] == [("Pod", "pods", "alone")]


def test_a_torchx_app_of_another_scheduler_is_named_by_its_owner() -> None:
    owner = {"apiVersion": "mcad.ibm.com/v1", "kind": "AppWrapper", "name": "w", "uid": "u", "controller": True}
    pods = list(job("TorchX app", "train"))
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    assert [(one.kind, one.resource) for one in found(pods).training] == [("TorchX app", "AppWrapper.v1.mcad.ibm.com")]


def test_a_job_whose_label_is_empty_is_named_by_its_owner() -> None:
    pods = list(job("JobSet", "ddp"))
    for pod in pods:
        pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] = ""
    [owner] = {each["name"] for pod in pods for each in pod["metadata"]["ownerReferences"]}
    jobs = found(pods)
    assert [(one.kind, one.workload) for one in jobs.training + jobs.others] == [("Job", owner)]
