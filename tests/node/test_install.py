"""install.yaml as shipped, with the Dockerfile's image, on a cluster that knows nothing of it."""

from collections.abc import Callable, Iterator

import pytest
import yaml

from tests.cluster.installation import NAMESPACE
from tests.cluster.node import jobs
from tests.cluster.node.cni import copy_network
from tests.cluster.node.expectations import assert_on_the_fabric
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.images import NO_SHELL
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod
from tests.cluster.processes import COMMAND, run_command
from tests.profiles import as_text
from webhook import __version__
from webhook.core import names
from webhook.core.model import Object

from .product import install, is_available, uninstall

PROFILES = as_text("""
rdma-shared:
  networks: [{network: default/rdma-net, resource: rdma/rdma_shared_device_a}]
  sharedMemory: {sizeLimit: 192Mi}
no-shell:
  networks: [{network: default/rdma-net, resource: rdma/rdma_shared_device_a}]
  rendezvous: {waitImage: installed}
""")
PRESETS = {"nvidia-macvlan": "default/rdma-net-ipam", "openshift-roce": "{namespace}/example-net"}
"""The network that each preset names."""


@pytest.fixture(scope="module")
def product(node: Node) -> Iterator[Namespace]:
    """Install it, with the profiles; give the namespace of the Deployments.

    Other modules run programs of this checkout in its place.
    """
    install(node, PROFILES)
    yield Namespace(node, NAMESPACE)
    uninstall(node)


def test_two_replicas_of_each_program_run_as_shipped(product: Namespace) -> None:
    """No container was ever restarted, and each says which version it is."""
    pods = product.wait_for_pods(4)
    for pod in pods:
        (status,) = pod.get()["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0), pod.describe()
        assert status["image"].endswith(f"fabric-injector:{__version__}")


@pytest.fixture(scope="module")
def begun(product: Namespace, lasting_namespace: NamespaceFactory) -> dict[str, list[Pod]]:
    """Start the jobs of this module, each in a namespace of its own."""
    (without_shell, _) = jobs.pytorchjob(image=NO_SHELL)
    started = {
        "torchx": jobs.start(lasting_namespace("rdma-shared"), "torchx"),
        "no shell": lasting_namespace("no-shell").start(without_shell),
    }
    for preset, network in PRESETS.items():
        space = lasting_namespace(None)
        copy_network(product.api, network.format(namespace=space.name))
        apply_preset(space, preset)
        started[preset] = jobs.start(space, "pytorchjob")
    return started


def apply_preset(space: Namespace, preset: str) -> None:
    """Give the namespace a preset as it is printed, and wait until both webhooks know it.

    The API server takes one of both each time, and either reads a new profile by itself.
    """
    kubectl: Callable[..., object] = space.node.control_plane.kubectl
    kubectl("apply", "--filename=-", input=printed(space, preset))
    kubectl("label", "namespace", space.name, f"{names.PROFILE}={preset}")
    kubectl("wait", "--for=condition=Ready", f"fabricprofile/{preset}", "--timeout=110s")
    (manifest, _) = jobs.pytorchjob()

    def is_known() -> bool:
        asked = (space.api.create(manifest, space.name, dry_run=True) for _ in range(12))
        return all(answer.status == 201 for answer in asked)

    space.wait(is_known, "both replicas of the webhook to have read the profile")


def printed(space: Namespace, preset: str) -> str:
    """Give what `fabric-injector presets` prints."""
    return run_command([*COMMAND, "presets", "show", preset], space.kubeconfig).stdout


def test_a_job_of_a_labelled_namespace_is_injected_and_meets_on_the_fabric(
    begun: dict[str, list[Pod]],
) -> None:
    """Admitted by way of the Service, under certificates of the controller's own."""
    pods = begun["torchx"]
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.master_addr == pods[0].fabric_address()
        assert report.train["shared_memory"][0] == "tmpfs", "TorchX's own"
        assert_on_the_fabric(report)


def test_a_pod_of_an_image_without_a_shell_waits_in_the_image_that_is_installed(
    product: Namespace, begun: dict[str, list[Pod]]
) -> None:
    (pod,) = begun["no shell"]
    assert pod.environment()["MASTER_ADDR"] == pod.fabric_address()
    (wait,) = pod.created["spec"]["initContainers"]
    own = {each.created["spec"]["containers"][0]["image"] for each in product.pods()}
    assert {wait["image"]} == own


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_as_it_is_printed_and_applied_makes_a_job_meet_on_a_macvlan_network(
    product: Namespace, begun: dict[str, list[Pod]], preset: str
) -> None:
    """Nothing of the preset is changed; no operator made its network, and no card is under it."""
    pods = begun[preset]
    spec: Object = yaml.safe_load(printed(product, preset))["spec"]
    resources = {network["resource"]: "1" for network in spec["networks"]}
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.master_addr == pods[0].fabric_address()
        assert_on_the_fabric(report)
        assert report.pod.allocated() == {"nvidia.com/gpu": "8", **resources}
        assert spec.get("env", {}).items() <= report.environment.items()


def test_a_replica_that_is_deleted_is_not_missed(
    product: Namespace, namespace: NamespaceFactory
) -> None:
    """It answers until no request comes to it any more, and another takes its place."""
    name, api = namespace("rdma-shared").name, product.api
    webhook = next(pod for pod in product.pods() if pod.name.startswith(f"{NAMESPACE}-webhook"))
    api.expect("DELETE", webhook.path)
    (manifest, _) = jobs.pytorchjob()

    def gone() -> bool:
        answer = api.create(manifest, name, dry_run=True)
        assert answer.status == 201, answer.message
        return not api.answers(webhook.path)

    product.wait(gone, "the replica to end")
    product.wait(lambda: is_available(product), "another to take its place")
