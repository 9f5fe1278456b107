"""What `explain` tells of a job that Kueue holds back, by the conditions of its Workload."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import first
from tests.diagnose.hostile import cluster_of
from tests.diagnose.scenes import SPACE, Scene, ago, event, workload
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.diagnose.collect.jobs import Asked, Target, read_job
from webhook.diagnose.explain import queues
from webhook.diagnose.explain.judge import explain
from webhook.diagnose.explain.queues import keep_workload, objects_of
from webhook.diagnose.finding import Finding
from webhook.diagnose.jobs import find_kind

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
        ([("QuotaReserved", "False", "Pending", UNUSED)], "kueue-waiting", f"does not admit {BERT} yet: {UNUSED}", "wait until"),
        (
            [("QuotaReserved", "False", "Pending", TOO_MUCH)],
            "kueue-inadmissible",
            f"cannot admit {BERT}: {TOO_MUCH}",
            "ask for less, or let an administrator add it",
        ),
        (
            [("QuotaReserved", "False", "Pending", f"{TOO_MUCH}, {UNUSED}")],
            "kueue-waiting",
            f"does not admit {BERT} yet: {TOO_MUCH}, {UNUSED}",
            "wait until",
        ),
        (
            [("QuotaReserved", "False", "Pending", UNCOVERED)],
            "kueue-inadmissible",
            f"cannot admit {BERT}: {UNCOVERED}",
            "ask for less, or let an administrator add it",
        ),
        (
            [("QuotaReserved", "False", "Inadmissible", "LocalQueue team doesn't exist")],
            "kueue-inadmissible",
            f"cannot admit {BERT}: LocalQueue team doesn't exist",
            "correct what is named",
        ),
        (
            [("QuotaReserved", "False", "Suspended", "ClusterQueue team is stopped")],
            "kueue-inadmissible",
            f"cannot admit {BERT}: ClusterQueue team is stopped",
            "correct what is named",
        ),
        (
            [("QuotaReserved", "False", "WaitingForQuota", UNUSED)],
            "kueue-waiting",
            f"does not admit {BERT} yet: {UNUSED}",
            "wait until",
        ),
        (
            [("QuotaReserved", "False", "Pending", PREEMPTED), ("Evicted", "True", "Preempted", PREEMPTED)],
            "kueue-evicted",
            f"has evicted {BERT}: {PREEMPTED}",
            "it waits in its queue again",
        ),
        (
            [RESERVED, ("Admitted", "True", "Admitted", ""), ("Evicted", "True", "Preempted", PREEMPTED)],
            "kueue-evicted",
            f"has evicted {BERT}: {PREEMPTED}",
            "it waits in its queue again",
        ),
        (
            [("QuotaReserved", "False", "Pending", UNUSED), ("Evicted", "True", "PodsReadyTimeout", LATE)],
            "kueue-waiting",
            f"does not admit {BERT} yet: {UNUSED}; it was evicted before (PodsReadyTimeout): {LATE}",
            "wait until",
        ),
        (
            [("QuotaReserved", "False", "Pending", LATE), ("Evicted", "True", "PodsReadyTimeout", LATE)],
            "kueue-evicted",
            f"has evicted {BERT}: {LATE}",
            "correct what the other findings say",
        ),
        (
            [RESERVED, ("Admitted", "False", "UnsatisfiedChecks", "The workload has not all checks ready")],
            "kueue-check-waiting",
            f"has quota for {BERT}, and waits for admission checks: The workload has not all checks ready",
            "look at the AdmissionCheck",
        ),
        ([], "kueue-silent", f"has not looked at {BERT}", "is Kueue's controller running"),
    ],
)  # fmt: skip
def test_what_kueue_says_is_the_cause(
    conditions: list[tuple[str, str, str, str]], code: str, message: str, action: str
) -> None:
    found = told(workload(*conditions))
    assert (str(found.code), found.subject, found.message) == (
        code,
        "Workload pytorchjob-bert-a1b2c",
        f"Kueue {message}",
    )
    assert found.level == ("warn" if code == "kueue-silent" else "fail")
    assert found.action.startswith(action)


def test_one_that_was_taken_out_of_the_queue() -> None:
    limit = (
        "Evicted",
        "True",
        "DeactivatedDueToRequeuingLimitExceeded",
        "The workload exceeded the limit of requeues",
    )
    found = told(workload(limit, active=False))
    assert str(found.code) == "kueue-deactivated"
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
    assert told(held).code.name == "job-without-pods"


def test_one_that_has_finished_is_not_kept() -> None:
    assert keep_workload(workload(("Finished", "True", "Succeeded", ""))) is None


def test_pods_that_wait_at_its_gate_tell_it_themselves() -> None:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    scene.events.append(
        event("Workload", "pytorchjob-bert-a1b2c", "Pending", "what was said before")
    )
    scene.workloads.append(workload(("QuotaReserved", "False", "Pending", UNUSED)))
    [found] = [each for each in scene.explained.findings if each.topic == "scheduling"]
    assert found.message == f"is held back by scheduling gate kueue.x-k8s.io/admission: {UNUSED}"
    assert found.action == queues.KUEUE_WAITING.action
    scene.workloads[:] = [workload(("QuotaReserved", "False", "Pending", UNCOVERED))]
    assert first(scene).action.startswith(
        "give the queue or quota the resources that the pods ask for since they are injected"
    )


def test_pods_that_were_refused_come_before_that_kueue_did_not_see_them_ready() -> None:
    scene = suspended(workload(("Evicted", "True", "PodsReadyTimeout", LATE)))
    scene.events.append(event("PyTorchJob", "bert", "FailedCreatePod", "exceeded quota: team"))
    assert [str(each.code) for each in scene.explained.findings[:2]] == [
        "quota-refused",
        "kueue-evicted",
    ]
    scene.workloads[:] = [workload(("QuotaReserved", "False", "Pending", UNUSED))]
    assert first(scene).code.name == "kueue-waiting"


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
    assert objects_of(every, [pod], "bert") == (by_label, by_name, by_reference)
    assert objects_of(every, [], "roberta") == (other,)
    group = workload(owner=("Pod", "y"))
    group["metadata"]["name"] = "ddp"
    pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = "ddp"
    assert group in objects_of([group], [pod], "")
    assert objects_of([group], [], "ddp") == (group,)


def test_the_workload_is_read_where_no_pod_is_there_or_one_is_on_no_node() -> None:
    scene = suspended(workload(("QuotaReserved", "False", "Pending", UNUSED)))
    connection = cluster_of(scene)
    read = read_job(connection, Target("job", "bert"), Asked(SPACE))
    assert explain(*read).findings[0].message.endswith(UNUSED)
    for kind, code in (("pytorchjob", "kueue-waiting"), ("statefulset", None)):
        asked = Target("job", "bert", find_kind(kind), kind)
        if code is None:
            with pytest.raises(InputError, match="has no such pod"):
                read_job(connection, asked, Asked(SPACE))
        else:
            assert explain(*read_job(connection, asked, Asked(SPACE))).findings[0].code.name == code
    well = Scene()
    well.workloads = scene.workloads
    connection = cluster_of(well)
    assert read_job(connection, Target("job", "bert"), Asked(SPACE))[1].workloads == ()
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
    read = read_job(connection, Target("job", "bert"), Asked(SPACE))
    assert read[1].workloads is None
    [lack] = [each for each in read[0].unread if each.what == "Kueue's Workloads"]
    assert "answered 403" in lack.problem
    assert explain(*read).findings[0].code.name == "job-without-pods"
    scene.events.clear()
    connection = cluster_of(scene)
    connection.spoil = lambda request, *answer: (
        (403, b'{"message": "no"}') if request.endswith("/workloads") else answer
    )
    with pytest.raises(
        InputError, match="no Event of an owner of that name, nor may Kueue's Workloads be read"
    ):
        read_job(connection, Target("job", "bert"), Asked(SPACE))
