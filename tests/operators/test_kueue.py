"""Jobs in a queue of Kueue: they wait whole, are admitted whole, and meet on the fabric."""

import pytest

from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.namespace import Namespace
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.cluster.operators.manifests import (
    GPU,
    container,
    job,
    torchrun,
    with_image,
)
from tests.cluster.operators.rows import NAME
from webhook.core.model import Object

GROUP = "kueue.x-k8s.io"
VERSION = f"{GROUP}/v1beta2"
QUEUE = f"{GROUP}/queue-name"
DEVICE = "rdma/rdma_shared_device_a"
(CARD,) = GPU
TRAINER = container("torchrun train.py", "pytorch")
PYTORCHJOB = job("pytorchjob", Master=TRAINER, Worker=TRAINER)
HEAD = "ddp-leader-0-0.ddp"
JOBSET = job(
    "jobset",
    leader=container(torchrun("0"), MASTER_ADDR=HEAD),
    workers=container(torchrun("1"), MASTER_ADDR=HEAD),
)


@pytest.mark.parametrize(
    ("made", "quotas"),
    [(PYTORCHJOB, {CARD: "3", DEVICE: "1"}), (JOBSET, {CARD: "3"})],
    ids=["PyTorchJob", "JobSet"],
)
def test_a_job_waits_for_quota_with_no_pod_and_then_meets(
    cluster: Cluster, namespace: NamespaceFactory, made: Object, quotas: dict[str, str]
) -> None:
    """Cards for one job and a half: the second waits until the first is gone.

    The injected devices are not counted: two are in use where the quota has one, or knows none.
    """
    install(cluster)
    first, second = namespace("rdma-shared"), namespace("rdma-shared")
    queue = make_queue(quotas, first, second)
    queued = labelled(with_image(made, cluster.torch()))

    assert is_suspended(first.submit(queued)), "Kueue's webhook suspends it at once"
    reports = first.reports(2)
    assert_met_on_the_fabric(reports)
    for report in reports:
        limits = report.pod.get()["spec"]["containers"][0]["resources"]["limits"]
        assert (limits[CARD], limits[DEVICE]) == ("1", "1")
    first.wait(lambda: condition(first, "PodsReady")["status"] == "True", "PodsReady of Kueue")
    assert counted(first) == {CARD: 2}
    assert used(first, queue) == dict.fromkeys(quotas, "0") | {CARD: "2"}

    lacks = f"insufficient unused quota for {CARD} in flavor {queue}"
    assert is_suspended(second.submit(queued))
    assert lacks in quota_that_lacks(second)
    found = second.explain("job/ddp")[0]
    (workload,) = workloads(second)
    subject = f"Workload {workload['metadata']['name']}"
    assert (found["code"], found["subject"]) == ("kueue-waiting", subject)
    assert f"{queued['kind']} ddp (LocalQueue training): " in found["message"]
    assert lacks in found["message"]
    path = f"{second.api.path(queued, second.name)}/{queued['metadata']['name']}"
    assert is_suspended(second.api.expect("GET", path))
    assert not second.items("pods"), "not even one of its pods"

    first.api.expect("DELETE", f"{first.api.path(queued, first.name)}/{queued['metadata']['name']}")
    assert_met_on_the_fabric(second.reports(2))
    assert condition(second, "Admitted")["status"] == "True"


def test_devices_that_the_template_asks_for_are_counted_and_injected_once(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """What administrators do who want Kueue to share out the devices."""
    install(cluster)
    space, limits = namespace("rdma-shared"), {CARD: "1", DEVICE: "1"}
    queue = make_queue({CARD: "2", DEVICE: "2"}, space)
    queued = labelled(with_image(PYTORCHJOB, cluster.torch()))
    for role in queued["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][0]["resources"] = {"limits": limits}
    space.submit(queued)
    reports = space.reports(2)
    assert_met_on_the_fabric(reports)
    for report in reports:
        assert report.pod.get()["spec"]["containers"][0]["resources"]["limits"] == limits
    assert used(space, queue) == {CARD: "2", DEVICE: "2"}


def test_a_pod_group_waits_until_its_queue_covers_the_injected_devices(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """Kueue reads what plain pods ask for from the pods, which are injected by then."""
    install(cluster)
    space = namespace("rdma-shared")
    queue = make_queue({CARD: "2"}, space)
    for rank in range(2):
        space.submit(with_image(member(rank), cluster.torch()))
    lacks = f"resource {DEVICE} unavailable in ClusterQueue"
    assert lacks in quota_that_lacks(space)
    for pod in space.wait_for_pods(2):
        gates = [gate["name"] for gate in pod.get()["spec"]["schedulingGates"]]
        assert f"{GROUP}/admission" in gates
    finding = space.explain("job/ddp")[0]
    assert finding["code"] == "scheduling-gated"
    assert lacks in finding["message"]

    spec = {"resourceGroups": resource_groups(queue, {CARD: "2", DEVICE: "2"})}
    space.api.expect("PATCH", f"/apis/{VERSION}/clusterqueues/{queue}", {"spec": spec})
    assert_met_on_the_fabric(space.reports(2))
    assert counted(space) == {CARD: 2, DEVICE: 2}
    assert used(space, queue) == {CARD: "2", DEVICE: "2"}


def is_suspended(job: Object) -> bool:
    """Tell whether a JobSet, or a PyTorchJob by its policy, is to wait."""
    spec = job["spec"]
    return bool(spec.get("suspend") or spec.get("runPolicy", {}).get("suspend"))


def install(cluster: Cluster) -> None:
    """Install Kueue, and before it those whose jobs it shall know."""
    for operator in ("training-operator", "jobset", "kueue"):
        cluster.install(operator)


def make_queue(quotas: dict[str, str], *spaces: Namespace) -> str:
    """Make a ClusterQueue with these quotas and its LocalQueues; give the name of queue and flavor."""
    name = spaces[0].name
    spec = {"namespaceSelector": {}, "resourceGroups": resource_groups(name, quotas)}
    for manifest in (_kind("ResourceFlavor", name, {}), _kind("ClusterQueue", name, spec)):
        spaces[0].submit(manifest)
    for space in spaces:
        space.submit(_kind("LocalQueue", "training", {"clusterQueue": name}))
    return name


def resource_groups(flavor: str, quotas: dict[str, str]) -> list[Object]:
    """Give the quotas of one flavor."""
    resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quotas.items()]
    return [{"coveredResources": [*quotas], "flavors": [{"name": flavor, "resources": resources}]}]


def member(rank: int) -> Object:
    """Give a pod of a group of two."""
    labels = {QUEUE: "training", f"{GROUP}/pod-group-name": "ddp"}
    size = {f"{GROUP}/pod-group-total-count": "2"}
    metadata = {"name": f"ddp-{rank}", "labels": labels, "annotations": size}
    one = container(torchrun(str(rank)), MASTER_ADDR=NAME)
    spec = {"restartPolicy": "Never", "containers": [one]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def labelled(job: Object) -> Object:
    """Let the job wait in the queue of its namespace."""
    return {**job, "metadata": {**job["metadata"], "labels": {QUEUE: "training"}}}


def workloads(space: Namespace) -> list[Object]:
    """Give what Kueue made of the namespace's jobs."""
    return space.items("workloads", f"apis/{VERSION}")


def condition(space: Namespace, kind: str) -> Object:
    """Give a condition of the namespace's one Workload, without status where there is none yet."""
    found = (
        one for each in workloads(space) for one in each.get("status", {}).get("conditions", ())
    )
    return next((one for one in found if one["type"] == kind), {"status": ""})


def quota_that_lacks(space: Namespace) -> str:
    """Wait until Kueue has no quota for the namespace's one Workload; give what it says."""
    space.wait(lambda: condition(space, "QuotaReserved")["status"] == "False", "Kueue's answer")
    return str(condition(space, "QuotaReserved")["message"])


def counted(space: Namespace) -> dict[str, int]:
    """Give what Kueue counts for the namespace's one Workload."""
    (workload,) = workloads(space)
    found: dict[str, int] = {}
    for each in workload["status"]["admission"]["podSetAssignments"]:
        for resource, amount in each["resourceUsage"].items():
            found[resource] = found.get(resource, 0) + int(amount)
    return found


def used(space: Namespace, queue: str) -> dict[str, str]:
    """Give how much of each resource the ClusterQueue says to be in use."""
    status = space.api.expect("GET", f"/apis/{VERSION}/clusterqueues/{queue}")["status"]
    (flavor,) = status["flavorsUsage"]
    return {one["name"]: one["total"] for one in flavor["resources"]}


def _kind(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
