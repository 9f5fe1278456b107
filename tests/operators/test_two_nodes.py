"""The example that tests the fabric, as it is shipped, with torch and gloo on two nodes."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT
from tests.cluster.assets import AssetsUnavailable
from tests.cluster.client import Client
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod, container_state
from tests.cluster.operators.cluster import NEWEST
from tests.cluster.operators.torch_image import NoWheel, torch_archive, torch_installed
from tests.cluster.webhook import installed_command
from tests.waiting import wait_until
from webhook.core.model import Object

from .conftest import NamespaceFactory, unavailable

pytestmark = pytest.mark.usefixtures("webhook", "controller", "second")
EXAMPLE = ROOT / "manifests" / "examples" / "fabric-test"
IMAGE = f"fabric-injector.test/torch:{NEWEST}"
SECOND = "fabric-test-2"


@pytest.fixture(scope="module")
def second(node: Node) -> Iterator[None]:
    """Run a second node, and bring torch to both; afterwards the cluster forgets it, so that no later pod is placed there."""
    try:
        image = torch_archive(IMAGE, torch_installed(NEWEST))
    except NoWheel as problem:
        pytest.skip(str(problem))
    except AssetsUnavailable as problem:
        unavailable(str(problem))
    node.containerd.import_images(image)
    with node.another(SECOND) as containerd:
        containerd.import_images(image)
        yield
    node.api.expect("DELETE", f"/api/v1/nodes/{SECOND}")


def test_of_an_injected_job_the_bytes_go_over_the_fabric(
    node: Node, api: Client, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    space = namespace("rdma-shared")
    job, pods = run(node, api, space)
    logs = [pod.log("pytorch") for pod in pods]
    assert job["status"].get("succeeded") == 2, logs
    assert {pod.get()["spec"]["nodeName"] for pod in pods} == {NAME, SECOND}
    for rank, text in enumerate(logs):
        assert f"rank {rank} of 2 by gloo: 640 MiB to send" in text
        assert "mean 1\n" in text
        assert "\nok: 100 % over the second network" in text
    command = installed_command()
    assert command is not None
    kubeconfig = node.control_plane.kubeconfig(tmp_path / "kubeconfig")
    words = ["explain", "job/fabric-test", "-n", space, "--logs", f"--kubeconfig={kubeconfig}"]
    done = subprocess.run(
        [*command, *words, "-o", "json"], capture_output=True, text=True, timeout=60
    )
    codes = {each["code"] for each in json.loads(done.stdout)["findings"]}
    assert done.returncode == 0, done.stdout
    assert "transport-untold" in codes, "gloo names no network in its log"


def test_of_a_job_that_is_not_injected_they_do_not_and_it_fails(
    node: Node, api: Client, namespace: NamespaceFactory
) -> None:
    job, pods = run(node, api, namespace(None))
    assert job["status"]["failed"] >= 1
    for pod in pods:
        assert "\nFAILED: 0 % over the second network" in pod.log("pytorch")
        assert container_state(pod.get(), "pytorch")["terminated"]["exitCode"] == 1


def run(node: Node, api: Client, space: str) -> tuple[Object, list[Pod]]:
    """Apply the folder with the image that is here, wait until the Job is over, and give it with its pods, by rank."""
    rendered = node.control_plane.kubectl("kustomize", str(EXAMPLE)).stdout.replace(
        "pytorch/pytorch", IMAGE
    )
    node.control_plane.kubectl("apply", f"--namespace={space}", "--filename=-", input=rendered)
    path = f"/apis/batch/v1/namespaces/{space}/jobs/fabric-test"

    def is_over() -> bool:
        conditions = api.expect("GET", path)["status"].get("conditions", [])
        return bool({"Complete", "Failed"} & {each["type"] for each in conditions})

    wait_until(is_over, "the Job to be over", 240)
    items = api.expect("GET", f"/api/v1/namespaces/{space}/pods")["items"]
    pods = [
        Pod(api, each, 0) for each in sorted(items, key=lambda each: str(each["metadata"]["name"]))
    ]
    return api.expect("GET", path), pods
