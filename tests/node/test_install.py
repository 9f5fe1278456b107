"""install.yaml as shipped, with the image from the Dockerfile, on a cluster that knows nothing of the injector yet."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.client import Client
from tests.cluster.installation import NAMESPACE
from tests.cluster.node import jobs
from tests.cluster.node.cni import copy_network
from tests.cluster.node.images import NO_SHELL
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod
from tests.cluster.node.product import install, save_image
from tests.cluster.webhook import installed_command
from tests.image import builder as images
from tests.installed import not_installed
from tests.waiting import NotReady, wait_until
from webhook import __version__
from webhook.core import names

from .conftest import PROFILES, SHARED_MEMORY_BYTES, start_node, unavailable
from .test_jobs import assert_on_the_fabric

DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the file of the image, under the name that install.yaml gives it."""
    if reason := images.not_possible():
        pytest.skip(reason)
    if reason := not_installed("test-node"):
        unavailable(reason)
    archive = save_image(tmp_path_factory.mktemp("image"))
    yield archive
    archive.unlink()


@pytest.fixture(scope="module")
def cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, archive: Path
) -> Iterator[Node]:
    """A node of its own, which has the image."""
    with start_node(pytestconfig, tmp_path_factory) as node:
        node.containerd.import_images(archive.read_bytes())
        yield node


@pytest.fixture(scope="module")
def installed(cluster: Node) -> Client:
    """Install install.yaml, then the profiles, then wait for the two Deployments."""
    install(cluster.control_plane, PROFILES)
    try:
        wait_until(lambda: is_available(cluster.api), "all replicas to be available", 180)
    except NotReady as problem:
        described = "\n".join(pod.describe() for pod in own_pods(cluster.api))
        raise AssertionError(f"{problem}\n{described}") from None
    return cluster.api


def is_available(api: Client) -> bool:
    """Tell whether all replicas of both deployments are ready."""
    deployments = api.expect("GET", DEPLOYMENTS)["items"]
    ready = [
        one["status"].get("availableReplicas") == one["spec"]["replicas"] for one in deployments
    ]
    return len(ready) == 2 and all(ready)


def own_pods(api: Client) -> list[Pod]:
    """Give the pods of the injector."""
    found = api.expect("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    return [Pod(api, pod, 0) for pod in found]


def test_two_replicas_of_each_program_run_as_shipped(installed: Client) -> None:
    """No container was ever restarted, and each says which version it is."""
    pods = own_pods(installed)
    assert len(pods) == 4
    for pod in pods:
        (status,) = pod.get()["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0), pod.describe()
        assert status["image"].endswith(f"fabric-injector:{__version__}")


@pytest.mark.parametrize("system", ["torchx", "pytorchjob"])
def test_a_job_of_a_labelled_namespace_is_injected_and_meets_on_the_fabric(
    installed: Client, cluster: Node, system: str
) -> None:
    """Admitted by way of the Service, under certificates of the controller's own."""
    name = cluster.control_plane.create_namespace(f"train-{system}", {names.PROFILE: "rdma-shared"})
    pods = jobs.start(installed, system, name)
    reports = [pod.report() for pod in pods]
    address = pods[0].fabric_address()
    for rank, report in enumerate(reports):
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == address
        assert report.train["shared_memory"] == ["tmpfs", SHARED_MEMORY_BYTES]
        assert_on_the_fabric(report)


def test_a_job_of_an_image_without_a_shell_waits_in_the_image_that_is_installed(
    installed: Client, cluster: Node
) -> None:
    name = cluster.control_plane.create_namespace("no-shell", {names.PROFILE: "no-shell"})
    pods = jobs.start_pods(installed, [*jobs.pytorchjob(image=NO_SHELL)], name)
    own_images = {pod.created["spec"]["containers"][0]["image"] for pod in own_pods(installed)}
    for report in [pod.report() for pod in pods]:
        (wait,) = report.pod.created["spec"]["initContainers"]
        assert {wait["image"]} == own_images
        assert report.train["environment"]["MASTER_ADDR"] == pods[0].fabric_address()
        assert_on_the_fabric(report)


@pytest.mark.parametrize(
    ("preset", "network"),
    [("nvidia-macvlan", "default/rdma-net-ipam"), ("openshift-roce", "{namespace}/example-net")],
)
def test_a_preset_as_it_is_printed_and_applied_makes_a_job_meet_on_a_macvlan_network(
    installed: Client, cluster: Node, preset: str, network: str
) -> None:
    """Nothing of the preset is changed: the network has the name that stands there. No operator made it, and no card is under it."""
    plane = cluster.control_plane
    name = plane.create_namespace(f"research-{preset}")
    copy_network(installed, network.format(namespace=name))
    command = installed_command()
    assert command is not None
    printed = subprocess.run(
        [*command, "presets", preset], check=True, capture_output=True, text=True
    ).stdout
    plane.kubectl("apply", "--filename=-", input=printed)
    plane.kubectl("label", "namespace", name, f"{names.PROFILE}={preset}")
    plane.kubectl("wait", "--for=condition=Ready", f"fabricprofile/{preset}", "--timeout=30s")
    wait_until(
        lambda: is_known_to_all(installed, name),
        "both replicas of the webhook to have read the profile",
        60,
    )
    pods = jobs.start(installed, "pytorchjob", name)
    resources = {
        network["resource"]: "1" for network in yaml.safe_load(printed)["spec"]["networks"]
    }
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == pods[0].fabric_address()
        assert_on_the_fabric(report)
        allocated = report.pod.get()["status"]["containerStatuses"][0]["allocatedResources"]
        assert allocated == {"nvidia.com/gpu": "8", **resources}
        for variable, value in yaml.safe_load(printed)["spec"].get("env", {}).items():
            assert report.environment[variable] == value


def is_known_to_all(api: Client, namespace: str) -> bool:
    """Ask for a pod several times: the API server takes one of both replicas each time, and either reads a new profile by itself."""
    manifest = jobs.pytorchjob()[0]
    return all(api.create(manifest, namespace, dry_run=True).status == 201 for _ in range(12))


def test_pods_of_other_namespaces_stay_as_they_are(installed: Client, cluster: Node) -> None:
    name = cluster.control_plane.create_namespace("unlabelled")
    (master, _) = jobs.start(installed, "pytorchjob", name)
    assert names.NETWORKS not in master.created["metadata"].get("annotations", {})


def test_a_replica_that_is_deleted_is_not_missed(installed: Client, cluster: Node) -> None:
    """It answers until no request comes to it any more, and another takes its place."""
    name = cluster.control_plane.create_namespace("rollout", {names.PROFILE: "rdma-shared"})
    webhooks = [
        pod for pod in own_pods(installed) if pod.name.startswith("fabric-injector-webhook")
    ]
    installed.expect("DELETE", webhooks[0].path)
    manifest = jobs.pytorchjob()[0]

    def gone() -> bool:
        answer = installed.create(manifest, name, dry_run=True)
        assert answer.status == 201, answer.message
        return not installed.answers(webhooks[0].path)

    wait_until(gone, "the replica to end", 60)
    wait_until(lambda: is_available(installed), "another to take its place", 60)
