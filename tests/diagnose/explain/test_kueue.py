"""What `explain` tells of a job that Kueue holds back, by the conditions of its Workload."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import first
from tests.diagnose.hostile import cluster_of
from tests.diagnose.scenes import SPACE, Scene, ago, event, workload
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.collect.job import Target, read_job
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.explain.kueue import keep_workload, workloads_of
from webhook.diagnose.finding import Finding
from webhook.diagnose.job_kinds import find_kind

UNUSED = "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor a100, 8 more needed"
TOO_MUCH = (
    "couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu in flavor a100, "
    "previously considered podsets requests (0) + current podset request (24) > maximum capacity (16)"
)
UNCOVERED = (
    "couldn't assign flavors to pod set worker: resource rdma/hca unavailable in ClusterQueue"
)
PREEMPTED = "Preempted to accommodate a workload (UID: u, JobUID: j) due to prioritization in the ClusterQueue"
LATE = "Exceeded the PodsReady timeout research/pytorchjob-bert-a1b2c"
BERT = "PyTorchJob bert (LocalQueue team)"
RESERVED = ("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue team")


def suspended(held: Object) -> Scene:
    """Return a job without a pod, as Kueue suspends it when it is created."""
    scene = Scene()
    scene.pods.clear()
    scene.workloads.append(held)
    return scene


def told(held: Object) -> Finding:
    return first(suspended(held))


@pytest.mark.parametrize(
    ("conditions", "code", "message", "action"),
    [
        ([("QuotaReserved", "False", "Pending", UNUSED)], Code.KUEUE_WAITING, f"does not admit {BERT} yet: {UNUSED}", "wait until"),
        (
            [("QuotaReserved", "False", "Pending", TOO_MUCH)],
            Code.KUEUE_INADMISSIBLE,
            f"cannot admit {BERT}: {TOO_MUCH}",
            "ask for less of what is named",
        ),
        (
            [("QuotaReserved", "False", "Pending", f"{TOO_MUCH}, {UNUSED}")],
            Code.KUEUE_WAITING,
            f"does not admit {BERT} yet: {TOO_MUCH}, {UNUSED}",
            "wait until",
        ),
        (
            [("QuotaReserved", "False", "Pending", UNCOVERED)],
            Code.KUEUE_INADMISSIBLE,
            f"cannot admit {BERT}: {UNCOVERED}",
            "ask for less of what is named",
        ),
        (
            [("QuotaReserved", "False", "Inadmissible", "LocalQueue team doesn't exist")],
            Code.KUEUE_INADMISSIBLE,
            f"cannot admit {BERT}: LocalQueue team doesn't exist",
            "correct what is named",
        ),
        (
            [("QuotaReserved", "False", "Suspended", "ClusterQueue team is stopped")],
            Code.KUEUE_INADMISSIBLE,
            f"cannot admit {BERT}: ClusterQueue team is stopped",
            "correct what is named",
        ),
        (
            [("QuotaReserved", "False", "WaitingForQuota", UNUSED)],
            Code.KUEUE_WAITING,
            f"does not admit {BERT} yet: {UNUSED}",
            "wait until",
        ),
        (
            [("QuotaReserved", "False", "Pending", PREEMPTED), ("Evicted", "True", "Preempted", PREEMPTED)],
            Code.KUEUE_EVICTED,
            f"has evicted {BERT}: {PREEMPTED}",
            "it waits in its queue again",
        ),
        (
            [RESERVED, ("Admitted", "True", "Admitted", ""), ("Evicted", "True", "Preempted", PREEMPTED)],
            Code.KUEUE_EVICTED,
            f"has evicted {BERT}: {PREEMPTED}",
            "it waits in its queue again",
        ),
        (
            [("QuotaReserved", "False", "Pending", UNUSED), ("Evicted", "True", "PodsReadyTimeout", LATE)],
            Code.KUEUE_WAITING,
            f"does not admit {BERT} yet: {UNUSED}; it was evicted before (PodsReadyTimeout): {LATE}",
            "wait until",
        ),
        (
            [("QuotaReserved", "False", "Pending", LATE), ("Evicted", "True", "PodsReadyTimeout", LATE)],
            Code.KUEUE_EVICTED,
            f"has evicted {BERT}: {LATE}",
            "see what else is said of the job",
        ),
        (
            [RESERVED, ("Admitted", "False", "UnsatisfiedChecks", "The workload has not all checks ready")],
            Code.KUEUE_CHECK_WAITING,
            f"has quota for {BERT}, and waits for admission checks: The workload has not all checks ready",
            "look at the AdmissionCheck",
        ),
        ([], Code.KUEUE_SILENT, f"has not looked at {BERT}", "is Kueue's controller running"),
    ],
)  # fmt: skip
def test_what_kueue_says_is_the_cause(
    conditions: list[tuple[str, str, str, str]], code: Code, message: str, action: str
) -> None:
    found = told(workload(*conditions))
    assert (found.code, found.subject, found.message) == (
        code,
        "Workload pytorchjob-bert-a1b2c",
        f"Kueue {message}",
    )
    assert found.level == ("warn" if code is Code.KUEUE_SILENT else "fail")
    assert found.action.startswith(action)


def test_one_that_was_taken_out_of_the_queue() -> None:
    limit = (
        "Evicted",
        "True",
        "DeactivatedDueToRequeuingLimitExceeded",
        "The workload exceeded the limit of requeues",
    )
    found = told(workload(limit, active=False))
    assert found.code is Code.KUEUE_DEACTIVATED
    assert found.message.endswith("The workload exceeded the limit of requeues")
    assert (
        told(workload(active=False)).message
        == f"Kueue passes over {BERT}, since its Workload has spec.active: false"
    )


def test_names_the_checks_that_are_not_ready() -> None:
    held = workload(RESERVED)
    held["status"]["admissionChecks"] = [
        {"name": "budget", "state": "Ready", "message": "paid"},
        {
            "name": "nodes",
            "state": "Pending",
            "message": "Waiting for ProvisioningRequest\nno capacity",
        },
        {"name": "other", "state": "Retry"},
    ]
    assert told(held).message.endswith(
        ": nodes is Pending (Waiting for ProvisioningRequest no capacity), other is Retry"
    )


@pytest.mark.parametrize(
    "held",
    [
        workload(RESERVED, ("Admitted", "True", "Admitted", "")),
        {**workload(), "metadata": {**workload()["metadata"], "creationTimestamp": ago(seconds=3)}},
    ],
    ids=["admitted", "new"],
)
def test_nothing_is_told_of_one_that_is_admitted_or_has_just_been_made(held: Object) -> None:
    assert told(held).code is Code.JOB_WITHOUT_PODS


def test_one_that_has_finished_is_not_kept_and_templates_are_not() -> None:
    assert keep_workload(workload(("Finished", "True", "Succeeded", ""))) is None
    held = workload(("QuotaReserved", "False", "Pending", UNUSED))
    held["spec"]["podSets"] = [{"name": "worker", "template": {"spec": {}}}]
    kept = keep_workload(held)
    assert kept is not None
    assert kept["spec"]["podSets"] == [{"name": "worker"}]
    assert told(kept) == told(held)


def test_pods_that_wait_at_its_gate_tell_it_themselves() -> None:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    scene.events.append(
        event("Workload", "pytorchjob-bert-a1b2c", "Pending", "what was said before")
    )
    scene.workloads.append(workload(("QuotaReserved", "False", "Pending", UNUSED)))
    [found] = [each for each in explain(scene.reading).findings if each.topic == "scheduling"]
    assert found.message == f"is held back by scheduling gate kueue.x-k8s.io/admission: {UNUSED}"
    assert found.action == Code.KUEUE_WAITING.action
    scene.workloads[:] = [workload(("QuotaReserved", "False", "Pending", UNCOVERED))]
    assert first(scene).action.startswith(
        "give the queue or quota the resources that the pods ask for since they are injected"
    )


def test_pods_that_were_refused_come_before_that_kueue_did_not_see_them_ready() -> None:
    scene = suspended(workload(("Evicted", "True", "PodsReadyTimeout", LATE)))
    scene.events.append(event("PyTorchJob", "bert", "FailedCreatePod", "exceeded quota: team"))
    assert [each.code for each in explain(scene.reading).findings[:2]] == [
        Code.QUOTA_REFUSED,
        Code.KUEUE_EVICTED,
    ]
    scene.workloads[:] = [workload(("QuotaReserved", "False", "Pending", UNUSED))]
    assert first(scene).code is Code.KUEUE_WAITING


def test_which_workload_is_of_the_job() -> None:
    pod = Scene(0).master
    controller = next(each for each in pod["metadata"]["ownerReferences"] if each.get("controller"))
    by_label = workload(owner=("AppWrapper", "wrapped"))
    by_label["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] = controller["uid"]
    by_name = workload()
    by_reference = workload(owner=("Pod", "x"))
    by_reference["metadata"]["ownerReferences"][0]["uid"] = pod["metadata"]["uid"]
    other = workload(owner=("PyTorchJob", "roberta"))
    every = [by_label, by_name, by_reference, other]
    assert workloads_of(every, [pod], "bert") == (by_label, by_name, by_reference)
    assert workloads_of(every, [], "roberta") == (other,)
    group = workload(owner=("Pod", "y"))
    group["metadata"]["name"] = "ddp"
    pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = "ddp"
    assert group in workloads_of([group], [pod], "")
    assert workloads_of([group], [], "ddp") == (group,)


def test_the_workload_is_read_where_no_pod_is_there_or_one_is_on_no_node() -> None:
    scene = suspended(workload(("QuotaReserved", "False", "Pending", UNUSED)))
    connection = cluster_of(scene)
    read = read_job(connection, Target("job", "bert"), SPACE)
    assert explain(read).findings[0].message.endswith(UNUSED)
    for kind, code in (("pytorchjob", Code.KUEUE_WAITING), ("statefulset", None)):
        asked = Target("job", "bert", find_kind(kind), kind)
        if code is None:
            with pytest.raises(InputError, match="has no such pod"):
                read_job(connection, asked, SPACE)
        else:
            assert explain(read_job(connection, asked, SPACE)).findings[0].code is code
    well = Scene()
    well.workloads = scene.workloads
    connection = cluster_of(well)
    assert read_job(connection, Target("job", "bert"), SPACE).workloads == ()
    assert not [request for request in connection.asked if "kueue" in request], (
        "its pods are on nodes: nothing holds them"
    )


def test_who_may_not_read_workloads_is_told_so_and_the_rest_is_judged() -> None:
    scene = suspended(workload(("QuotaReserved", "False", "Pending", UNUSED)))
    scene.events.append(event("Workload", "pytorchjob-bert-a1b2c", "Pending", UNUSED))
    connection = cluster_of(scene)
    connection.spoil = lambda request, *answer: (
        (403, b'{"message": "no"}') if request.endswith("/workloads") else answer
    )
    read = read_job(connection, Target("job", "bert"), SPACE)
    assert read.workloads is None
    [lack] = [each for each in read.unread if each.what == "Kueue's Workloads"]
    assert "answered 403" in lack.problem
    assert explain(read).findings[0].code is Code.JOB_WITHOUT_PODS
    scene.events.clear()
    connection = cluster_of(scene)
    connection.spoil = lambda request, *answer: (
        (403, b'{"message": "no"}') if request.endswith("/workloads") else answer
    )
    with pytest.raises(
        InputError, match="no Event of an owner of that name, nor may Kueue's Workloads be read"
    ):
        read_job(connection, Target("job", "bert"), SPACE)
