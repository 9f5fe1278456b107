"""The node itself: a claim that a user wrote becomes an interface of the pod, and its status tells the address."""

from tests import pods as fixtures
from tests.cluster.claims.cards import Cards
from tests.cluster.claims.claims import create_template, give, network_data, template
from tests.cluster.claims.drivers import Driver
from tests.cluster.client import Client
from tests.cluster.node.images import DASH
from tests.cluster.node.pods import create
from tests.node.conftest import NamespaceFactory
from tests.waiting import wait_until
from webhook.core.model import Object


def pod(name: str, command: list[str]) -> Object:
    """Give a pod that runs the command."""
    container = {"name": "main", "image": DASH, "command": command}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
        },
    }


def test_the_drivers_devices_are_the_cards(dranet: Driver, cards: Cards) -> None:
    """Each card that no pod has tells its name as an attribute, which a template may select by; nothing else of the machine is one."""
    names = {device["attributes"]["dra.net/ifName"]["string"] for device in dranet.devices()}
    assert names
    assert names <= set(cards.addresses)


def test_a_pod_has_the_card_of_its_claim_as_an_interface(
    api: Client, namespace: NamespaceFactory, dranet: Driver, cards: Cards
) -> None:
    """And the claim's status says which interface it is, and its address; so it is for the next pod."""
    name = namespace(None)
    create_template(api, template("one-card", "net1"), name)
    for number in range(2):
        manifest = fixtures.add_env(
            pod(f"pod-{number}", ["python", "/app/train.py"]), "HOLD_SECONDS", "600"
        )
        told = create(api, give(manifest, "one-card"), name)
        addresses = told.wait_until_trained().train["addresses"]
        (data,) = network_data(told)
        assert data["interfaceName"] == "net1"
        (address,) = data["ips"]
        assert address in cards.addresses.values()
        assert addresses["net1"] == [address.partition("/")[0]]
        told.delete_gracefully()
        wait_until(lambda told=told: not api.answers(told.path), "the pod to be gone", 60)  # type: ignore[misc]
