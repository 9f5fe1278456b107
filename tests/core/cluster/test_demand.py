"""What one pod of a profile takes, by its networks and quantities, in each namespace."""

import pytest

from tests.profiles import profiles
from tests.worlds import network
from webhook.core import names
from webhook.core.cluster.demand import find_demands, profile_users
from webhook.core.networks import define_network


def test_tells_namespaces_with_different_networks_apart() -> None:
    text = "own: {networks: [{network: rdma}]}"
    spaces = {"a": "rdma/a", "b": "rdma/b", "d": "rdma/a"}
    defined = [
        define_network(network(f"{space}/rdma", resource)) for space, resource in spaces.items()
    ]
    definitions = {(each.namespace, each.name): each for each in defined}
    demands = find_demands(profiles(text), {"own": ["a", "b", "c", "d"]}, definitions)
    assert [(dict(each.resources), each.namespaces) for each in demands] == [
        ({"rdma/a": 1}, ("a", "d")),
        ({"rdma/b": 1}, ("b",)),
        ({}, ("c",)),
    ]


def test_counts_the_default_network_of_a_profile_once() -> None:
    text = """
own:
  pod: {metadata: {annotations: {v1.multus-cni.io/default-network: flat}}}
  networks: [{network: default/a, resource: rdma/a}, {network: default/b, resource: rdma/b}]
"""
    defined = [
        define_network(network(*each))
        for each in (("default/a",), ("default/b",), ("kube-system/flat", "eth/vf"))
    ]
    [demand] = find_demands(
        profiles(text), {}, {(each.namespace, each.name): each for each in defined}
    )
    assert demand.resources == {"eth/vf": 1, "rdma/a": 1, "rdma/b": 1}


def test_a_namespace_without_a_profile_uses_none() -> None:
    labels = {
        "a": {names.PROFILE: "own"},
        "b": {},
        "c": {names.PROFILE: names.PROFILE_NONE},
        "d": {names.PROFILE: "own"},
    }
    assert profile_users(labels.items()) == {"own": ["a", "d"]}


@pytest.mark.parametrize(
    ("said", "least"),
    [
        ("byNodeType: {p5: 32, p4: 4, none: 0}", 4),
        ("byNodeType: {p5: 32, p4: 4}, perAccelerator: 1", 1),
        ("perAccelerator: 2", 2),
        ("perAccelerator: 0", 0),
    ],
)
def test_counts_what_a_pod_takes_at_least_where_the_number_depends_on_its_node(
    said: str, least: int
) -> None:
    text = f"efa: {{quantities: [{{resource: vpc/efa, {said}}}]}}"
    [demand] = find_demands(profiles(text), {"efa": ["a"]}, {})
    assert demand.resources == ({"vpc/efa": least} if least else {})
    assert demand.at_least == ({"vpc/efa"} if least else set())


def test_counts_quantities_by_what_the_profile_says_of_nodes_and_accelerators() -> None:
    text = """
efa:
  accelerators: 8
  networks: [{network: default/rdma, resource: vpc/other, count: 9}]
  pod: {spec: {nodeSelector: {node.kubernetes.io/instance-type: p5}}}
  quantities:
    - {resource: vpc/efa, byNodeType: {p5: 32, p4: 4}}
    - {resource: vpc/nic, perAccelerator: 2}
    - {resource: vpc/none, byNodeType: {p4: 4}}
    - {resource: vpc/other, perAccelerator: 1}
"""
    rdma = define_network(network("default/rdma"))
    [demand] = find_demands(profiles(text), {"efa": ["a"]}, {("default", "rdma"): rdma})
    assert demand.resources == {"vpc/other": 9, "vpc/efa": 32, "vpc/nic": 16}
