"""NetworkAttachmentDefinitions, as operators write them and as nobody should."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import ROOT
from tests.tables import cases
from webhook.core import names
from webhook.core.model import NetworkDefinition, Object
from webhook.core.networks import define_network
from webhook.core.networks.definition import with_resource_name_keys

FIXTURES = ROOT / "tests/fixtures" / "networking" / "nad"
RESOURCE_NAME, NODE_SELECTOR = names.RESOURCE_NAME, names.NODE_SELECTOR


def nad(annotations: Object | None = None, config: Any = None) -> Object:
    """Return a definition ``rails/rail-0``."""
    obj: Object = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "rail-0", "namespace": "rails"},
    }
    if annotations is not None:
        obj["metadata"]["annotations"] = annotations
    if config is not None:
        obj["spec"] = {"config": config if isinstance(config, str) else json.dumps(config)}
    return obj


def from_fixture(file: str) -> list[NetworkDefinition]:
    documents = yaml.safe_load_all((FIXTURES / file).read_text())
    return [
        define_network(one) for one in documents if one["kind"] == "NetworkAttachmentDefinition"
    ]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("macvlan.yaml", [("default", "rdma-net-ipam", ())]),
        ("ipoib.yaml", [("default", "aks-infiniband", ())]),
        ("hostdevice.yaml", [("default", "example-hostdevice-network", ("nvidia.com/hostdev",))]),
        (
            "sriov.yaml",
            [("training", "sriov-network-rail-0", ("nvidia.com/sriov_resource_rail_0",))],
        ),
        (
            "sriov-ib-with-rdma-metaplugin.yaml",
            [("default", "example-sriov-ib-network", ("nvidia.com/mlnxnics",))],
        ),
        ("oci-repeated-with-tuning.yaml", [("default", "rdma-vf", ("nvidia.com/rdma-vf",))]),
        (
            "eight-rails.yaml",
            [("training", f"eth-rail{n}", (f"openshift.io/eth_rail{n}",)) for n in range(8)],
        ),
        ("nicclusterpolicy.yaml", []),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_reads_what_operators_write(
    file: str, expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    found = [replace(one, annotations={}) for one in from_fixture(file)]
    assert found == [
        NetworkDefinition(space, name, res, has_ipam=True) for space, name, res in expected
    ]


def test_knows_every_fixture() -> None:
    assert sum(len(from_fixture(path.name)) for path in FIXTURES.iterdir()) == 14


@pytest.mark.parametrize(
    ("annotation", "resources"),
    [
        ("rdma/ib", ("rdma/ib",)),
        (" rdma/ib ,\tnvidia.com/hostdev\n", ("rdma/ib", "nvidia.com/hostdev")),
        (",rdma/ib,,", ("rdma/ib",)),
        ("rdma/ib,rdma/ib", ("rdma/ib", "rdma/ib")),
        ("", ()),
        (" , ", ()),
        (None, ()),
    ],
)
def test_splits_the_resource_name(annotation: str | None, resources: tuple[str, ...]) -> None:
    found = define_network(nad({RESOURCE_NAME: annotation}))
    assert (found.resources, found.resource_problem) == (resources, "")


@pytest.mark.parametrize(
    ("annotation", "piece"),
    [
        ("hostdev", "hostdev"),
        ("rdma/ib, rdma/a b", "rdma/a b"),
        ("a/b/c", "a/b/c"),
        ("RDMA/ib", "RDMA/ib"),
        ("kubernetes.io/ib", "kubernetes.io/ib"),
        ("requests.rdma/ib", "requests.rdma/ib"),
        (7, "7"),
    ],
)
def test_names_a_resource_that_no_container_may_ask_for(annotation: Any, piece: str) -> None:
    found = define_network(nad({RESOURCE_NAME: annotation}))
    assert found.resources == ()
    assert (
        f"annotation {RESOURCE_NAME} is {str(annotation)!r}: {piece!r} " in found.resource_problem
    )


BRIDGE, SECOND = "k8s.v1.cni.cncf.io/bridgeName", "example.com/second"


@pytest.mark.parametrize(
    ("keys", "resources"),
    [
        ([RESOURCE_NAME], ("rdma/ib",)),
        ([BRIDGE], ("ovs.io/br0", "ovs.io/br1")),
        ([RESOURCE_NAME, BRIDGE], ("rdma/ib", "ovs.io/br0", "ovs.io/br1")),
        ([BRIDGE, "example.com/absent", RESOURCE_NAME], ("ovs.io/br0", "ovs.io/br1", "rdma/ib")),
        (["example.com/absent"], ()),
    ],
)
def test_reads_the_resources_of_other_keys(keys: list[str], resources: tuple[str, ...]) -> None:
    standard = define_network(
        nad({RESOURCE_NAME: "rdma/ib", BRIDGE: "ovs.io/br0, ovs.io/br1", SECOND: "x y"})
    )
    found = with_resource_name_keys(standard, keys)
    assert (found.resources, found.resource_problem) == (resources, "")
    assert replace(found, resources=standard.resources) == standard


def test_names_each_key_whose_resource_no_container_may_ask_for() -> None:
    found = define_network(nad({RESOURCE_NAME: "a b", SECOND: "x y"}))
    assert with_resource_name_keys(found, [SECOND]).resource_problem.startswith(
        f"annotation {SECOND} is 'x y': "
    )
    both = with_resource_name_keys(found, [RESOURCE_NAME, SECOND]).resource_problem
    assert both.index(RESOURCE_NAME) < both.index("; ") < both.index(SECOND)


def test_keeps_no_copy_of_the_applied_manifest() -> None:
    applied = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        RESOURCE_NAME: "rdma/ib",
        NODE_SELECTOR: "a=b",
    }
    assert define_network(nad({**applied, BRIDGE: "ovs.io/br0"})).annotations == {
        BRIDGE: "ovs.io/br0"
    }


@pytest.mark.parametrize(
    ("annotation", "selector"),
    [
        ("rail=fast", {"rail": "fast"}),
        (" topology.kubernetes.io/zone = a ", {"topology.kubernetes.io/zone": "a"}),
        ("rail", {"rail": ""}),
        ("rail=", {"rail": ""}),
        ("", {}),
        (None, {}),
    ],
)
def test_reads_the_node_selector_as_network_resources_injector_does(
    annotation: str | None, selector: dict[str, str]
) -> None:
    found = define_network(nad({NODE_SELECTOR: annotation}))
    assert (found.node_selector, found.problem) == (selector, "")


@pytest.mark.parametrize("annotation", ["a=b=c", "a=b,c=d", "=b", "a b=c", "a=b c", "a==b"])
def test_names_a_node_selector_that_is_no_label(annotation: str) -> None:
    found = define_network(nad({NODE_SELECTOR: annotation}))
    assert found.node_selector == {}
    assert (
        found.problem
        == f"annotation {NODE_SELECTOR} is {annotation!r}: write one label, as rail=fast"
    )


@pytest.mark.parametrize(
    ("gives", "config"),
    [
        *cases(r"""
pool | yes | {"type": "macvlan", "ipam": {"type": "nv-ipam", "poolName": "p"}}
dhcp | yes | {"type": "macvlan", "ipam": {"type": "dhcp"}}
static without addresses | yes | {"type": "macvlan", "ipam": {"type": "static"}}
empty ipam | no | {"type": "macvlan", "ipam": {}}
ipam without a type | no | {"type": "macvlan", "ipam": {"type": ""}}
ipam null | no | {"type": "macvlan", "ipam": null}
ipam is text | no | {"type": "macvlan", "ipam": "dhcp"}
no ipam | no | {"type": "macvlan"}
first plugin | yes | {"plugins": [{"type": "macvlan", "ipam": {"type": "x"}}, {"type": "rdma"}]}
second plugin | yes | {"plugins": [{"type": "rdma"}, {"type": "macvlan", "ipam": {"type": "x"}}]}
no plugin has ipam | no | {"plugins": [{"type": "macvlan"}, {"type": "rdma"}]}
no plugins | no | {"plugins": []}
plugins of wrong types | no | {"plugins": [null, 7, "x"]}
a type makes it one plugin | no | {"type": "macvlan", "plugins": [{"ipam": {"type": "x"}}]}
OVN-Kubernetes with subnets | yes | {"type": "ovn-k8s-cni-overlay", "subnets": "10.1.0.0/16"}
OVN-Kubernetes, IPv6 | IPv6 | {"type": "ovn-k8s-cni-overlay", "subnets": "fd00::/64"}
OVN-Kubernetes, both | yes | {"type": "ovn-k8s-cni-overlay", "subnets": "fd00::/64, 10.1.0.0/16"}
OVN-Kubernetes without subnets | no | {"type": "ovn-k8s-cni-overlay"}
kube-ovn | yes | {"type": "kube-ovn", "provider": "a.b.ovn"}
range | IPv6 | {"ipam": {"type": "whereabouts", "range": "fd00::/64"}}
range, IPv4 | yes | {"ipam": {"type": "whereabouts", "range": "10.1.0.0/16"}}
subnet | IPv6 | {"ipam": {"type": "host-local", "subnet": "fd00::/64"}}
host-local | IPv6 | {"ipam": {"type": "host-local", "ranges": [[{"subnet": "fd00::/64"}]]}}
addresses | IPv6 | {"ipam": {"type": "static", "addresses": [{"address": "fd00::7/64"}]}}
no text | no |
broken | no | {
a list | no | []
null | no | null
"""),
        pytest.param(
            "IPv6",
            {
                "ipam": {
                    "type": "whereabouts",
                    "ipRanges": [{"range": "fd00::/64"}, {"range": "fd01::/64"}],
                }
            },
            id="ranges",
        ),
        pytest.param(
            "yes",
            {
                "ipam": {
                    "type": "whereabouts",
                    "range": "fd00::/64",
                    "ipRanges": [{"range": "10.1.0.0/16"}],
                }
            },
            id="range and ranges",
        ),
        pytest.param(
            "yes",
            {
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": "fd00::/64"}], [{"subnet": "10.1.0.0/16"}]],
                }
            },
            id="host-local, both",
        ),
        pytest.param(
            "yes",
            {
                "ipam": {
                    "type": "x",
                    "ranges": [None, 7],
                    "addresses": [None, {"address": 7}],
                    "ipRanges": {},
                    "range": " ",
                }
            },
            id="ranges of wrong types",
        ),
        pytest.param("no", "[" * 100_000, id="too deep"),
    ],
)
def test_tells_which_network_gives_addresses(gives: str, config: str) -> None:
    found = define_network(nad(config=config))
    assert (found.has_ipam, found.ipv6_only) == (gives != "no", gives == "IPv6")


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(nad(), id="no spec"),
        pytest.param({**nad(), "spec": None}, id="spec null"),
        pytest.param({**nad(), "spec": {}}, id="no config: Multus reads a file on the node"),
        pytest.param(
            {**nad(), "spec": {"config": {"type": "macvlan"}}}, id="config is not a string"
        ),
    ],
)
def test_takes_a_network_without_a_configuration_as_one_without_addresses(obj: Object) -> None:
    assert define_network(obj) == NetworkDefinition("rails", "rail-0")


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (None, ""),
        ("", ""),
        ("{}", ""),
        ({"plugins": []}, ""),
        ("[" * 100_000, ""),
        (
            '{"type": ',
            "unusable spec.config, which is not JSON: Expecting value: line 1 column 10 (char 9)",
        ),
        ("[]", "unusable spec.config, which is not a JSON object"),
    ],
)
def test_says_why_multus_cannot_read_the_configuration(config: Any, problem: str) -> None:
    assert define_network(nad(config=config)).config_problem == problem


def test_reads_an_object_without_metadata() -> None:
    assert define_network({}) == NetworkDefinition("", "")


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["type", "x", "fd00::/64", "a=b", "rdma/ib"]),
    lambda child: (
        st.lists(child, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "ipam",
                    "plugins",
                    "range",
                    "ranges",
                    "addresses",
                    "address",
                    "subnets",
                    "ipRanges",
                ]
            ),
            child,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(ANYTHING, ANYTHING, ANYTHING)
def test_never_fails(resource_name: Any, node_selector: Any, config: Any) -> None:
    obj = nad({RESOURCE_NAME: resource_name, NODE_SELECTOR: node_selector}, config)
    found = define_network(obj)
    assert found.has_ipam or not found.ipv6_only
    assert not define_network({"spec": {"config": config}}).has_ipam or isinstance(config, str)


def test_keeps_a_bounded_part_of_what_users_may_write() -> None:
    annotations = {f"example.com/{number}": "x" * 100 for number in range(5000)} | {
        "long": "x" * 200_000
    }
    found = define_network(
        {"metadata": {"namespace": "ml", "name": "net", "annotations": annotations}}
    )
    assert len(repr(found)) < 20_000
    many = {names.RESOURCE_NAME: ",".join(f"rdma/r{number}" for number in range(10_000))}
    found = define_network({"metadata": {"namespace": "ml", "name": "net", "annotations": many}})
    assert found.resources == ()
    assert "it names 10000 resources; 64 are the most" in found.resource_problem
    assert len(repr(found)) < 1000
