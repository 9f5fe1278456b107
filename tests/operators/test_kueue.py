"""Jobs in a queue of Kueue, by its own controller and webhooks: they wait whole, are admitted whole, and meet on the fabric."""

from collections.abc import Callable

import pytest

from tests.cluster.operators import programs
from tests.cluster.operators.cluster import NEWEST, Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.cluster.operators.figures import Figures
from tests.cluster.operators.manifests import GPU, container, jobset, pytorchjob
from tests.cluster.operators.rows import NAME, torchrun
from tests.node.conftest import NamespaceFactory
from tests.waiting import wait_until
from webhook.core.model import Object
from webhook.diagnose.codes import Code

from .test_rows import with_image

GROUP = "kueue.x-k8s.io"
VERSION = f"{GROUP}/v1beta2"
QUEUE = f"{GROUP}/queue-name"
DEVICE = "rdma/rdma_shared_device_a"
(CARD,) = GPU
SECONDS = 120


def _pytorchjob() -> Object:
    one = container("torchrun train.py", "pytorch")
    return pytorchjob(Master=one, Worker=one)


def _jobset() -> Object:
    leader = container(torchrun("0"), MASTER_ADDR="ddp-leader-0-0.ddp")
    worker = container(torchrun("1"), MASTER_ADDR="ddp-leader-0-0.ddp")
    return jobset(leader=leader, workers=worker)


def _is_pytorchjob_suspended(job: Object) -> bool:
    return bool(job["spec"].get("runPolicy", {}).get("suspend"))


def _is_jobset_suspended(job: Object) -> bool:
    return bool(job["spec"].get("suspend"))


@pytest.mark.parametrize(
    ("make", "is_suspended", "quotas"),
    [
        (_pytorchjob, _is_pytorchjob_suspended, {CARD: "3", DEVICE: "1"}),
        (_jobset, _is_jobset_suspended, {CARD: "3"}),
    ],
    ids=["PyTorchJob", "JobSet"],
)
def test_a_job_waits_for_quota_with_no_pod_and_then_meets(
    cluster: Cluster,
    namespace: NamespaceFactory,
    figures: Figures,
    make: Callable[[], Object],
    is_suspended: Callable[[Object], bool],
    quotas: dict[str, str],
) -> None:
    """Cards for one job and a half: the second waits until the first is gone.

    The injected devices are not counted: two are in use where the quota has one, or knows none.
    """
    install(cluster)
    first, second = namespace("rdma-shared"), namespace("rdma-shared")
    queue = make_queue(cluster, first, quotas, first, second)
    job = labelled(with_image(make(), cluster.torch(NEWEST)))

    asked = create(cluster, job, first)
    assert is_suspended(asked), "Kueue's webhook suspends it at once"
    reports = cluster.reports(first, 2)
    figures.append(f"Kueue, {job['kind']}: {assert_met_on_the_fabric(reports)}")
    for report in reports:
        limits = report.pod.get()["spec"]["containers"][0]["resources"]["limits"]
        assert (limits[CARD], limits[DEVICE]) == ("1", "1")
    wait_until(
        lambda: condition(cluster, first, "PodsReady") == "True",
        "Kueue to see the pods ready",
        SECONDS,
    )
    assert counted(cluster, first) == {CARD: 2}
    assert used(cluster, queue) == dict.fromkeys(quotas, "0") | {CARD: "2"}

    waiting = create(cluster, job, second)
    assert is_suspended(waiting)
    wait_until(
        lambda: condition(cluster, second, "QuotaReserved") == "False",
        "Kueue to look at the second",
        SECONDS,
    )
    (workload,) = workloads(cluster, second)
    (said,) = (
        one["message"] for one in workload["status"]["conditions"] if one["type"] == "QuotaReserved"
    )
    assert f"insufficient unused quota for {CARD} in flavor {queue}" in said
    found = cluster.explained("job/ddp", second)["findings"][0]
    assert (found["code"], found["subject"]) == (
        str(Code.KUEUE_WAITING),
        f"Workload {workload['metadata']['name']}",
    )
    assert f"{job['kind']} ddp (LocalQueue training) yet: " in found["message"]
    assert f"insufficient unused quota for {CARD} in flavor {queue}" in found["message"]
    assert is_suspended(cluster.api.expect("GET", path(cluster, job, second)))
    assert not cluster.api.expect("GET", f"/api/v1/namespaces/{second}/pods")["items"], (
        "not even one of its pods"
    )

    cluster.api.expect("DELETE", path(cluster, job, first))
    reports = cluster.reports(second, 2)
    figures.append(f"Kueue, {job['kind']} that waited: {assert_met_on_the_fabric(reports)}")
    assert condition(cluster, second, "Admitted") == "True"


def test_devices_that_the_template_asks_for_are_counted_and_injected_once(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """What administrators do who want Kueue to share out the devices."""
    install(cluster)
    name = namespace("rdma-shared")
    queue = make_queue(cluster, name, {CARD: "2", DEVICE: "2"}, name)
    job = labelled(with_image(_pytorchjob(), cluster.torch(NEWEST)))
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][0]["resources"] = {
            "limits": {CARD: "1", DEVICE: "1"}
        }
    create(cluster, job, name)
    reports = cluster.reports(name, 2)
    figures.append(
        f"Kueue, PyTorchJob that asks for the device itself: {assert_met_on_the_fabric(reports)}"
    )
    for report in reports:
        assert report.pod.get()["spec"]["containers"][0]["resources"]["limits"] == {
            CARD: "1",
            DEVICE: "1",
        }
    assert used(cluster, queue) == {CARD: "2", DEVICE: "2"}


def test_a_pod_group_waits_until_its_queue_covers_the_injected_devices(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """Kueue reads what plain pods ask for from the pods, which are injected by then."""
    install(cluster)
    name = namespace("rdma-shared")
    queue = make_queue(cluster, name, {CARD: "2"}, name)
    for rank in range(2):
        create(cluster, with_image(member(rank), cluster.torch(NEWEST)), name)
    wait_until(
        lambda: condition(cluster, name, "QuotaReserved") == "False",
        "Kueue to look at the group",
        SECONDS,
    )
    (workload,) = workloads(cluster, name)
    (said,) = (
        one["message"] for one in workload["status"]["conditions"] if one["type"] == "QuotaReserved"
    )
    assert f"resource {DEVICE} unavailable in ClusterQueue" in said
    for pod in cluster.pods(name, 2):
        assert f"{GROUP}/admission" in [
            gate["name"] for gate in pod.get()["spec"]["schedulingGates"]
        ]
    finding = cluster.explained("job/ddp", name)["findings"][0]
    assert finding["code"] == str(Code.SCHEDULING_GATED)
    assert f"resource {DEVICE} unavailable in ClusterQueue" in finding["message"]
    assert checked(cluster, name, queue) == [Code.CLUSTER_QUEUE_LACKS]

    groups = resource_groups(queue, {CARD: "2", DEVICE: "2"})
    cluster.api.expect(
        "PATCH", f"/apis/{VERSION}/clusterqueues/{queue}", {"spec": {"resourceGroups": groups}}
    )
    reports = cluster.reports(name, 2)
    figures.append(f"Kueue, pod group: {assert_met_on_the_fabric(reports)}")
    assert checked(cluster, name, queue) == [Code.CLUSTER_QUEUE_COVERS]
    assert counted(cluster, name) == {CARD: 2, DEVICE: 2}
    assert used(cluster, queue) == {CARD: "2", DEVICE: "2"}


def install(cluster: Cluster) -> None:
    """Install Kueue, and before it those whose jobs it shall know."""
    for operator in (programs.TRAINING_OPERATOR, programs.JOBSET, programs.KUEUE):
        cluster.install(operator)


def make_queue(cluster: Cluster, name: str, quotas: dict[str, str], *namespaces: str) -> str:
    """Make a ClusterQueue with these quotas, and a LocalQueue of it in each namespace; give the name of queue and flavor."""
    spec = {"namespaceSelector": {}, "resourceGroups": resource_groups(name, quotas)}
    for manifest in (_kind("ResourceFlavor", name, {}), _kind("ClusterQueue", name, spec)):
        cluster.api.ensure(manifest)
    for namespace in namespaces:
        cluster.api.ensure(_kind("LocalQueue", "training", {"clusterQueue": name}), namespace)
    return name


def resource_groups(flavor: str, quotas: dict[str, str]) -> list[Object]:
    """Give the quotas of one flavor."""
    resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quotas.items()]
    return [{"coveredResources": [*quotas], "flavors": [{"name": flavor, "resources": resources}]}]


def member(rank: int) -> Object:
    """Give a pod of a group of two."""
    labels = {QUEUE: "training", f"{GROUP}/pod-group-name": "ddp"}
    metadata = {
        "name": f"ddp-{rank}",
        "labels": labels,
        "annotations": {f"{GROUP}/pod-group-total-count": "2"},
    }
    spec = {
        "restartPolicy": "Never",
        "containers": [container(torchrun(str(rank)), MASTER_ADDR=NAME)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def labelled(job: Object) -> Object:
    """Let the job wait in the queue of its namespace."""
    return {**job, "metadata": {**job["metadata"], "labels": {QUEUE: "training"}}}


def create(cluster: Cluster, manifest: Object, namespace: str) -> Object:
    """Create the object; give what was made of it."""
    made: Object = cluster.api.expect("POST", cluster.api.path(manifest, namespace), manifest)
    return made


def path(cluster: Cluster, job: Object, namespace: str) -> str:
    """Give the path of the job."""
    return f"{cluster.api.path(job, namespace)}/{job['metadata']['name']}"


def workloads(cluster: Cluster, namespace: str) -> list[Object]:
    """Give what Kueue made of the namespace's jobs."""
    found: list[Object] = cluster.api.expect(
        "GET", f"/apis/{VERSION}/namespaces/{namespace}/workloads"
    )["items"]
    return found


def condition(cluster: Cluster, namespace: str, kind: str) -> str:
    """Give the status of a condition of the namespace's one Workload; empty where there is none yet."""
    conditions = [
        one
        for each in workloads(cluster, namespace)
        for one in each.get("status", {}).get("conditions", ())
    ]
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")


def counted(cluster: Cluster, namespace: str) -> dict[str, int]:
    """Give what Kueue counts for the namespace's one Workload."""
    (workload,) = workloads(cluster, namespace)
    found: dict[str, int] = {}
    for each in workload["status"]["admission"]["podSetAssignments"]:
        for resource, amount in each["resourceUsage"].items():
            found[resource] = found.get(resource, 0) + int(amount)
    return found


def used(cluster: Cluster, queue: str) -> dict[str, str]:
    """Give how much of each resource the ClusterQueue says to be in use."""
    (flavor,) = cluster.api.expect("GET", f"/apis/{VERSION}/clusterqueues/{queue}")["status"][
        "flavorsUsage"
    ]
    return {one["name"]: one["total"] for one in flavor["resources"]}


def checked(cluster: Cluster, namespace: str, queue: str) -> list[Code]:
    """Give what `fabric-injector check` finds of the ClusterQueue."""
    found = [
        one["code"]
        for one in cluster.checked(namespace)
        if one["subject"] == f"ClusterQueue {queue}"
    ]
    return [code for code in Code if str(code) in found]


def _kind(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
