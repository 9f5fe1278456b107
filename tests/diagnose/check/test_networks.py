"""What ``check`` says of the networks of profiles."""

import json

import pytest

from tests.diagnose.check.findings import brief
from tests.profiles import profiles
from tests.worlds import network
from webhook.core import names
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.diagnose.check.networks import check_networks, check_sources


def look(specs: str, users: dict[str, list[str]], *networks: Object, multus: str = "") -> list[str]:
    defined = [define_network(each) for each in networks]
    definitions = {(each.namespace, each.name): each for each in defined}
    return brief(check_networks(profiles(specs, multus), users, definitions))


SHARED = "shared: {networks: [{network: default/rdma, resource: rdma/hca}]}"
OWN = "own: {networks: [{network: rdma, resource: rdma/hca, count: 2}]}"
RAIL = "rail: {networks: [{network: rails/rail-0}]}"
ISOLATED = "{namespaceIsolation: true}"
RAIL_AND_DEVICE = "rail: {networks: [{network: rails/rail-0, resource: a/b}]}"


def test_finds_a_network_and_its_device() -> None:
    assert look(SHARED, {}, network("default/rdma")) == [
        "ok profile shared: network default/rdma: exists; asks for rdma/hca x1"
    ]
    assert look(RAIL, {}, network("rails/rail-0", "nvidia.com/rail_0")) == [
        "ok profile rail: network rails/rail-0: exists; asks for nvidia.com/rail_0 x1"
    ]


def test_misses_a_network() -> None:
    assert look(SHARED, {}, network("default/other")) == [
        "fail profile shared: network default/rdma: does not exist"
    ]
    assert look(SHARED, {"shared": ["a", "b"]}) == [
        "fail profile shared: network default/rdma: does not exist"
    ]


def test_finds_a_configuration_that_multus_cannot_read() -> None:
    broken = network("default/rdma")
    broken["spec"]["config"] = "type: macvlan"
    assert look(SHARED, {}, broken) == [
        "fail profile shared: network default/rdma: has an unusable spec.config, which is not JSON: Expecting value: line 1 column 1 "
        "(char 0)"
    ]


def test_looks_in_each_namespace_for_a_network_without_one() -> None:
    assert look(OWN, {}) == [
        "ok profile own: network rdma: is looked for in each namespace that uses the profile; none does yet"
    ]
    users = {"own": ["a", "b", "c"]}
    assert look(OWN, users, *(network(f"{space}/rdma") for space in "abc")) == [
        "ok profile own: network rdma: exists; asks for rdma/hca x2"
    ]
    assert look(OWN, users, network("b/rdma")) == [
        "fail profile own: network rdma: does not exist (for pods of a, c)"
    ]


def test_keeps_its_lines_short_however_many_namespaces_there_are() -> None:
    (line,) = look(OWN, {"own": [f"team-{number:03}" for number in range(1000)]})
    assert line.endswith(
        "does not exist (for pods of team-000, team-001, team-002, team-003, team-004 and 995 more)"
    )


def test_knows_the_isolation_of_multus() -> None:
    exists = network("rails/rail-0")
    assert look(RAIL_AND_DEVICE, {"rail": ["rails"]}, exists, multus=ISOLATED) == [
        "ok profile rail: network rails/rail-0: exists; asks for a/b x1"
    ]
    assert look(RAIL_AND_DEVICE, {"rail": ["a", "rails", "b"]}, exists, multus=ISOLATED) == [
        "fail profile rail: network rails/rail-0: is in another namespace than the pods, which multus.namespaceIsolation forbids "
        "(for pods of a, b)"
    ]


def test_warns_of_a_network_without_a_device() -> None:
    (line,) = look(RAIL, {}, network("rails/rail-0"))
    assert line.startswith(
        "warn profile rail: network rails/rail-0: exists, but neither it nor the profile names a device"
    )
    text = "rail: {networks: [{network: rails/rail-0}], container: {resources: {limits: {rdma/hca: 1}}}}"
    assert look(text, {}, network("rails/rail-0")) == [
        "ok profile rail: network rails/rail-0: exists; the profile asks for rdma/hca"
    ]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(names.NODE_SELECTOR, "a=b,c=d"), (names.RESOURCE_NAME, "not a name")],
    ids=["selector", "device"],
)
def test_tells_annotations_that_cannot_be_used(annotation: str, value: str) -> None:
    broken = network("rails/rail-0")
    broken["metadata"]["annotations"][annotation] = value
    (line,) = look(RAIL, {}, broken)
    assert line.startswith(
        f"fail profile rail: network rails/rail-0: has an annotation {annotation} is {value!r}"
    )


def test_warns_where_the_ranks_can_meet_nowhere() -> None:
    bare = network("default/rdma")
    bare["spec"]["config"] = json.dumps({"type": "macvlan"})
    assert look(SHARED, {}, bare) == [
        "ok profile shared: network default/rdma: exists; asks for rdma/hca x1",
        "warn profile shared: none of its networks gives addresses (no ipam): ranks meet on the pod network",
    ]
    quiet = "shared: {networks: [{network: default/rdma, resource: rdma/hca}], rendezvous: {enabled: false}}"
    assert look(quiet, {}, bare) == [
        "ok profile shared: network default/rdma: exists; asks for rdma/hca x1"
    ]


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("flat", "ok profile own: default network flat: exists"),
        ("gone", "fail profile own: default network gone: does not exist"),
        (
            "flat, gone",
            "fail profile own: default network flat, gone: annotation v1.multus-cni.io/default-network names 2 networks; "
            "name exactly one, or remove the annotation",
        ),
    ],
    ids=["there", "absent", "two"],
)
def test_looks_for_the_default_network_that_a_profile_gives_its_pods(
    default: str, expected: str
) -> None:
    text = f'''own: {{pod: {{metadata: {{annotations: {{{names.DEFAULT_NETWORK}: "{default}"}}}}}}, networks: [{{network: rdma, resource: rdma/hca}}]}}'''
    exist = [network("kube-system/flat"), network("a/rdma"), network("b/rdma")]
    assert look(text, {"own": ["a", "b"]}, *exist, multus=ISOLATED) == [
        expected,
        "ok profile own: network rdma: exists; asks for rdma/hca x1",
    ]


GKE = "{rendezvous: {addressSource: gke}, pod: {metadata: {annotations: {networking.gke.io/interfaces: '%s', networking.gke.io/default-interface: eth0}}}}"
ETH1 = '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"rdma-0"}]'


def test_looks_at_the_interfaces_that_a_profile_asks_of_gke() -> None:
    plain = "n: {rendezvous: {addressSource: none}}, own: {rendezvous: {addressSource: gke}}, m: {networks: [{network: a/b}]}"
    assert brief(check_sources(profiles(f"{{g: {GKE % ETH1}, {plain}}}"))) == [
        "ok profile g: its ranks meet on eth1 of network rdma-0, which GKE makes"
    ]
    unnamed = '[{"interfaceName":"eth0"}]'
    assert brief(check_sources(profiles(f"{{g: {GKE % unnamed}}}"))) == [
        "warn profile g: annotation networking.gke.io/interfaces is not a list of interfaces (interface 'eth0' names not one "
        "network): ranks meet on the pod network"
    ]


def test_demands_no_addresses_of_networks_on_which_nobody_meets() -> None:
    text = "a: {networks: [{network: default/rdma, resource: rdma/hca}], rendezvous: {addressSource: none}}"
    assert look(text, {}, network("default/rdma", ipam={})) == [
        "ok profile a: network default/rdma: exists; asks for rdma/hca x1"
    ]
