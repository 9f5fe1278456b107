"""What ``check`` says of the devices that nodes offer."""

import pytest
import yaml

from tests.diagnose.check.findings import brief, expect
from tests.profiles import profiles
from tests.tables import cases
from tests.worlds import network
from webhook.core import names
from webhook.core.cluster.demand import Demand, find_demands, profile_users
from webhook.core.cluster.device_classes import DeviceOffers, read_device_class, read_device_slice
from webhook.core.cluster.nodes import NodeOffer, read_node
from webhook.core.networks import define_network
from webhook.diagnose.check.devices import check_devices
from webhook.diagnose.finding import Finding

PROFILES = """
shared:
  networks: [{network: default/rdma, resource: rdma/hca, count: 2}, {network: default/rdma, resource: rdma/hca, count: 2}]
large: {container: {resources: {limits: {hugepages-2Mi: 1Gi}}}}
"""


def node(name: str, *, labels: dict[str, str] | None = None, **offered: str) -> NodeOffer:
    allocatable = {
        key.replace("__", "/").replace("_", "-"): value for key, value in offered.items()
    }
    return NodeOffer(name, labels or {}, allocatable)


def found(*nodes: NodeOffer, text: str = PROFILES, selector: str = "") -> list[Finding]:
    rdma = network("default/rdma")
    rdma["metadata"]["annotations"] |= {names.NODE_SELECTOR: selector} if selector else {}
    definition = define_network(rdma)
    demands = find_demands(profiles(text), {}, {("default", "rdma"): definition})
    return list(check_devices(demands, nodes))


def look(*nodes: NodeOffer, selector: str = "") -> list[str]:
    return brief(found(*nodes, selector=selector))


ONE = "shared: {networks: [{network: default/rdma, resource: rdma/hca}]}"


def test_counts_what_the_nodes_offer() -> None:
    assert look(
        node("a", rdma__hca="8", hugepages_2Mi="2Gi"),
        node("b", rdma__hca="4"),
        node("c", rdma__hca="0"),
    ) == [
        "ok profile shared: rdma/hca: 2 nodes (a, b) offer 12 in all; a pod takes 4",
        "ok profile large: hugepages-2Mi: 1 node (a) offers 2147483648 in all; a pod takes 1073741824",
    ]


@pytest.mark.parametrize(
    ("nodes", "selector", "head", "words"),
    cases("""
no nodes | [] | | fail resource-nowhere | a pod takes 1, and none of 0 nodes offers it
none offers | [{}, {rdma/hca: "0"}] | | fail resource-nowhere | none of 2 nodes offers it
no quantity | [{rdma/hca: garbage}] | | fail resource-nowhere | none of 1 node offers it
no label | [{rdma/hca: "1"}] | rail=fast | fail resource-unlabelled | of 1 node with enough of it none has rail=fast
the label | [{rdma/hca: "1", rail: fast}, {rdma/hca: "9"}] | rail=fast | ok resource-offered | 1 node (a) offers 1 in all
cordoned | [{rdma/hca: "1", cordoned: true}] | | warn nodes-unusable | 1 node (a) offers 1 in all; a pod takes 1; none of them is ready and schedulable
one cordoned | [{rdma/hca: "1", cordoned: true}, {rdma/hca: "1"}] | | ok resource-offered | 2 nodes (a, b) offer 2 in all; a pod takes 1; 1 of them not ready or cordoned
"""),
)
def test_judges(nodes: str, selector: str, head: str, words: str) -> None:
    offers = [
        NodeOffer(
            name,
            {"rail": each.pop("rail", "")},
            cordoned=each.pop("cordoned", False),
            allocatable=each,
        )
        for name, each in zip("ab", yaml.safe_load(nodes), strict=False)
    ]
    expect(
        found(*offers, text=ONE, selector=selector), f"{head} profile shared: rdma/hca | {words}"
    )


def by_claim(
    expression: str, devices: int, parts: int = 1, driver: str = "dra.net"
) -> DeviceOffers:
    selectors = [{"cel": {"expression": expression}}]
    nic = {
        "metadata": {"name": "nic"},
        "spec": {"extendedResourceName": "rdma/hca", "selectors": selectors},
    }
    pool = {"name": "p", "generation": 1, "resourceSliceCount": parts}
    listed = [{"name": f"d-{number}"} for number in range(devices)]
    each = {"spec": {"driver": driver, "nodeName": "a", "pool": pool, "devices": listed}}
    return DeviceOffers((read_device_class(nic),), (read_device_slice(each),))


HERE = 'device.driver == "dra.net"'


@pytest.mark.parametrize(
    ("offers", "rows"),
    [
        (by_claim(HERE, 4), ["ok resource-offered PROFILE 1 node (a) offers 4, DeviceClass nic (DRA) counted, in all"]),
        (
            by_claim("device.attributes['dra.net'].rdma", 4),
            ["ok resource-uncounted PROFILE DeviceClass nic may give it by claim (DRA), not counted: its selectors are CEL"],
        ),
        (by_claim(HERE, 0), ["fail resource-nowhere PROFILE none of 1 node offers it, nor does DeviceClass nic (DRA)"]),
        (
            by_claim(HERE, 4, driver="other"),
            [
                "fail resource-nowhere PROFILE none of 1 node offers it, nor does DeviceClass nic (DRA)",
                "fail driver-silent DeviceClass nic | names dra.net, of which there is no ResourceSlice",
            ],
        ),
        (
            by_claim(HERE, 4, parts=2),
            [
                "ok resource-uncounted PROFILE not counted: 1 pool of its driver is not complete; a pod takes 1",
                "warn pool-incomplete driver dra.net | pool p has 1 of its 2 ResourceSlices",
            ],
        ),
        (
            DeviceOffers(None, None, "403"),
            ["ok resource-uncounted PROFILE not counted: DeviceClasses cannot be read: 403; a pod takes 1"],
        ),
    ],
    ids=["counted", "CEL", "none", "silent", "incomplete", "refused"],
)  # fmt: skip
def test_judges_what_claims_give(offers: DeviceOffers, rows: list[str]) -> None:
    definition = define_network(network("default/rdma"))
    demands = find_demands(profiles(ONE), {}, {("default", "rdma"): definition})
    expected = [each.replace("PROFILE", "profile shared: rdma/hca |") for each in rows]
    expect(check_devices(demands, [node("a")], offers), *expected)


def test_knows_that_a_pod_is_on_one_node() -> None:
    lines = look(node("a", rdma__hca="3"), node("b", rdma__hca="3"))
    assert (
        lines[0] == "fail profile shared: rdma/hca: a pod takes 4, and no node offers more than 3"
    )


def test_says_that_the_nodes_with_enough_lack_the_label_though_others_carry_it() -> None:
    """`explain` says so too, by the same judgement."""
    nodes = node("small", rdma__hca="1", labels={"rail": "fast"}), node("large", rdma__hca="8")
    assert look(*nodes, selector="rail=fast")[0] == (
        "fail profile shared: rdma/hca: a pod takes 4, and of 1 node with enough of it none has rail=fast"
    )


def test_reads_a_node() -> None:
    conditions = [
        {"type": "MemoryPressure", "status": "False"},
        {"type": "Ready", "status": "True"},
    ]
    obj = {
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "status": {"allocatable": {"rdma/hca": "1"}, "conditions": conditions},
    }
    assert read_node(obj) == NodeOffer("a", {"x": "y"}, {"rdma/hca": "1"})
    assert read_node(obj).usable
    assert not read_node({**obj, "spec": {"unschedulable": True}}).usable
    assert not read_node({"metadata": {"name": "a"}}).usable


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


def test_tells_a_device_that_namespaces_with_different_networks_share_once() -> None:
    demands = [Demand("own", {"rdma/nic": 1, f"rdma/{space}": 1}, {}, (space,)) for space in "ab"]
    assert brief(check_devices(demands, [node("n", rdma__nic="1", rdma__a="1")])) == [
        "ok profile own: rdma/nic: 1 node (n) offers 1 in all; a pod takes 1",
        "ok profile own: rdma/a: 1 node (n) offers 1 in all; a pod takes 1",
        "fail profile own: rdma/b: a pod takes 1, and none of 1 node offers it",
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
    assert brief(check_devices([demand], [node("n", vpc__efa="4", vpc__nic="16", vpc__other="9")]))[
        1
    ] == ("fail profile efa: vpc/efa: a pod takes at least 32, and no node offers more than 4")
