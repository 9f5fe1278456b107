"""Jobs on two nodes: the example that tests the fabric; `torchx run` with Volcano."""

import re
from collections.abc import Iterator

import pytest

from tests import ROOT
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.pods import Pod, container_state
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.operators import torchx
from webhook.core import names
from webhook.core.model import Object

SECOND = "another-node2"
EXAMPLE = ROOT / "manifests" / "examples" / "fabric-test"
pytestmark = pytest.mark.usefixtures("second")


@pytest.fixture(scope="module")
def second(cluster: Cluster) -> Iterator[None]:
    """Run a second node; afterwards the cluster forgets it."""
    with cluster.node.another(SECOND) as containerd:
        cluster.torch(containerd=containerd)
        yield
    cluster.node.api.expect("DELETE", f"/api/v1/nodes/{SECOND}")


def test_of_an_injected_fabric_test_the_bytes_go_over_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    space = namespace("rdma-shared")
    job, pods = run_example(cluster, space)
    logs = [pod.log("pytorch") for pod in pods]
    assert job["status"].get("succeeded") == 2, logs
    assert {pod.get()["spec"]["nodeName"] for pod in pods} == {NAME, SECOND}
    for rank, text in enumerate(logs):
        assert f"rank {rank} of 2 by gloo: 640 MiB to send" in text
        assert "mean 1\n" in text
        assert "\nok: 100 % over the second network" in text
    codes = {each["code"]: each["level"] for each in space.explain("job/fabric-test", "--logs")}
    assert "fail" not in codes.values(), codes
    assert "transport-untold" in codes, "gloo names no network in its log"


def test_of_a_fabric_test_that_is_not_injected_they_do_not_and_it_fails(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    job, pods = run_example(cluster, namespace(None))
    assert job["status"]["failed"] >= 1
    for pod in pods:
        assert "\nFAILED: 0 % over the second network" in pod.log("pytorch")
        assert container_state(pod.get(), "pytorch")["terminated"]["exitCode"] == 1


def run_example(cluster: Cluster, space: Namespace) -> tuple[Object, list[Pod]]:
    """Run the example with the image that is here; give its Job and its pods, by rank."""
    plane, image = cluster.node.control_plane, cluster.torch()
    rendered = plane.kubectl("kustomize", str(EXAMPLE)).stdout.replace("pytorch/pytorch", image)
    plane.kubectl("apply", f"--namespace={space.name}", "--filename=-", input=rendered)

    def is_over() -> bool:
        (job,) = space.items("jobs", "apis/batch/v1")
        conditions = job["status"].get("conditions", [])
        return bool({"Complete", "Failed"} & {each["type"] for each in conditions})

    space.wait(is_over, "the Job to be over")
    pods = sorted(space.items("pods"), key=lambda each: str(each["metadata"]["name"]))
    (job,) = space.items("jobs", "apis/batch/v1")
    return job, [Pod(space.api, each) for each in pods]


def test_a_job_meets_across_nodes_and_ends_well(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """No node has enough devices for both ranks: the scheduler parts them."""
    cluster.install("volcano")
    space = namespace("sixty")
    printed = torchx.run(space, cluster.torch())
    reports = space.reports(2)
    assert_met_on_the_fabric(reports)
    (group,) = space.items("podgroups", "apis/scheduling.volcano.sh/v1beta1")
    counted = group["spec"].get("minResources", {})
    assert not [each for each in counted if "rdma" in each], "read from the template"
    pods = [report.pod.get() for report in reports]
    assert {pod["spec"]["nodeName"] for pod in pods} == {NAME, SECOND}
    for pod in pods:
        assert pod["spec"]["schedulerName"] == "volcano"
        assert pod["metadata"]["annotations"][names.STATUS]
    (handle,) = re.findall(r"kubernetes://torchx/\S+", printed)
    space.wait(lambda: "SUCCEEDED" in torchx.status(space, handle), "the job to end well")
