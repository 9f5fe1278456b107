"""A network of a profile is looked at once for all namespaces in which it is the same."""

import pytest

from tests.profiles import profiles
from tests.worlds import network
from webhook.core.cluster.networks import look_at_network
from webhook.core.networks import define_network

SPACES = ("research", "train", "vision")


@pytest.mark.parametrize(
    ("name", "multus", "count"),
    [
        ("default/rdma", "{}", 1),
        ("rdma", "{}", 3),
        ("default/rdma", "{namespaceIsolation: true, globalNamespaces: [default]}", 3),
    ],
    ids=["one for all", "each namespace's own", "isolated"],
)
def test_a_network_is_looked_at_as_often_as_it_differs(name: str, multus: str, count: int) -> None:
    read = profiles(
        f"{{a: {{networks: [{{network: {name}, resource: rdma/hca}}]}}}}", multus=multus
    )
    profile = read.profiles["a"]
    defined = [define_network(network(f"{space}/rdma")) for space in ("default", *SPACES)]
    definitions = {(each.namespace, each.name): each for each in defined}
    look = look_at_network(profile, profile.networks[0], read.settings.multus, SPACES, definitions)
    assert len(look.attached) == count
    assert not look.faults
