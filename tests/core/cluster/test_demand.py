"""What one pod of a profile takes, by its networks and quantities, in each namespace."""

import pytest

from tests.profiles import profiles, read_profile
from tests.tables import read, table
from tests.worlds import network
from webhook.core import names
from webhook.core.cluster.demand import Definitions, find_demands, profile_users
from webhook.core.cluster.networks import look_at_network
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.core.profiles import Profiles

SPACES = ("research", "train", "vision")


def defined(**devices: str) -> Definitions:
    """Return network ``rdma`` in each of these namespaces, with its device."""
    found = [define_network(network(f"{space}/rdma", each)) for space, each in devices.items()]
    return {(each.namespace, each.name): each for each in found}


def test_tells_namespaces_with_different_networks_apart() -> None:
    read = profiles("own: {networks: [{network: rdma}]}")
    there = defined(a="rdma/a", b="rdma/b", d="rdma/a")
    demands = find_demands(read, {"own": ["a", "b", "c", "d"]}, there)
    assert [(dict(each.resources), each.namespaces) for each in demands] == [
        ({"rdma/a": 1}, ("a", "d")),
        ({"rdma/b": 1}, ("b",)),
        ({}, ("c",)),
    ]


def test_counts_the_default_network_of_a_profile_once() -> None:
    text = """
own:
  pod: {metadata: {annotations: {v1.multus-cni.io/default-network: flat/rdma}}}
  networks: [{network: a/rdma, resource: rdma/a}, {network: b/rdma, resource: rdma/b}]
"""
    [demand] = find_demands(profiles(text), {}, defined(a="", b="", flat="eth/vf"))
    assert demand.resources == {"eth/vf": 1, "rdma/a": 1, "rdma/b": 1}


def test_a_namespace_without_a_profile_uses_none() -> None:
    own, none = {names.PROFILE: "own"}, {names.PROFILE: names.PROFILE_NONE}
    labels = {"a": own, "b": {}, "c": none, "d": own}
    assert profile_users(labels.items()) == {"own": ["a", "d"]}


@table("row", read(__file__, "nodes.yaml")["quantities"])
def test_counts_what_a_pod_takes_at_least_where_the_number_depends_on_its_node(row: Object) -> None:
    profile = read_profile("efa", {"quantities": row["of"], **row.get("more", {})})
    known = Profiles(profiles={"efa": profile})
    [demand] = find_demands(known, {"efa": ["a"]}, defined(default=""))
    assert demand.resources == {**row["least"], **row.get("networks", {})}
    assert demand.at_least == row["least"].keys()


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
    known = profiles(f"{{a: {{networks: [{{network: {name}}}]}}}}", multus=multus)
    profile = known.profiles["a"]
    there = defined(**dict.fromkeys(("default", *SPACES), ""))
    look = look_at_network(profile, profile.networks[0], known.settings.multus, SPACES, there)
    assert len(look.attached) == count
    assert not look.faults
