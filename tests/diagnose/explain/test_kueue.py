"""What `explain` tells of a job that Kueue holds back, by the conditions of its Workload."""

from __future__ import annotations

from collections.abc import Sequence

from tests.diagnose.scenes import SPACE, Scene, cluster_of, workload
from webhook.core.model import Object
from webhook.diagnose.explain.job import Target, read_job
from webhook.diagnose.explain.judge import explain
from webhook.diagnose.jobs import Job
from webhook.diagnose.snapshot import Snapshot

UNUSED = "insufficient unused quota for nvidia.com/gpu in flavor a100, 8 more needed"


def suspended(held: Object) -> Scene:
    """Return a job without a pod, as Kueue suspends it when it is created."""
    scene = Scene()
    scene.pods.clear()
    scene.workloads.append(held)
    return scene


def objects_of(
    workloads: Sequence[Object], pods: Sequence[Object], owner: str
) -> tuple[Object, ...]:
    return Job(SPACE, owner, owner, "", tuple(pods)).held_by(workloads)


def test_which_workload_is_of_the_job() -> None:
    pod = Scene(0).master
    del pod["spec"]["nodeName"]
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
    snapshot = Snapshot(cluster_of(scene), SPACE)
    job = read_job(snapshot, Target("job", "bert"))
    assert explain(snapshot, job).findings[0].message.endswith(UNUSED)
    well = Scene()
    well.workloads = scene.workloads
    connection = cluster_of(well)
    assert read_job(Snapshot(connection, SPACE), Target("job", "bert")).workloads == ()
    assert not [request for request in connection.asked if "kueue" in request], (
        "its pods are on nodes: nothing holds them"
    )
