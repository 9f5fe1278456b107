"""The node itself: a user's claim becomes an interface of the pod, and tells the address."""

from tests.cluster.node import jobs
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.pods import HOLD

from .claims import create_template, give, network_data
from .drivers import CARDS, Driver


def test_the_drivers_devices_are_the_cards(dranet: Driver) -> None:
    """Each card that no pod has tells its name; nothing else of the machine is a device."""
    names = {device["attributes"]["dra.net/ifName"]["string"] for device in dranet.devices()}
    assert names
    assert names <= set(CARDS)


def test_a_pod_has_the_card_of_its_claim_as_an_interface(
    namespace: NamespaceFactory, dranet: Driver
) -> None:
    """And the claim's status says which interface it is, and its address; so for the next pod."""
    space = namespace(None)
    create_template(space, "one-card")
    for number in range(2):
        env = [{"name": HOLD, "value": "600"}]
        manifest = jobs.pod(f"pod-{number}", ["python", "/app/train.py"], env=env)
        (pod,) = space.start(give(manifest, "one-card"))
        addresses = pod.report().train["addresses"]
        (data,) = network_data(pod)
        assert data["interfaceName"] == "net1"
        (address,) = data["ips"]
        assert address in CARDS.values()
        assert addresses["net1"] == [address.partition("/")[0]]
        pod.delete(1)
