"""NetworkAttachmentDefinitions, as operators write them and as nobody should."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import ROOT
from tests.tables import cases, read
from webhook.core import names
from webhook.core.model import NetworkDefinition, Object
from webhook.core.networks import define_network
from webhook.core.networks.definition import with_resource_name_keys

FIXTURES = ROOT / "tests/fixtures" / "networking" / "nad"
TABLES = read(__file__, "definition.yaml")
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


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_reads_what_operators_write(path: Path) -> None:
    found = from_fixture(path.name)
    assert all(one.has_ipam for one in found)
    told = [" ".join([f"{one.namespace}/{one.name}", *one.resources]) for one in found]
    assert told == TABLES["fixtures"][path.name]


@pytest.mark.parametrize(("annotation", "resources"), TABLES["resources"])
def test_splits_the_resource_name(annotation: str | None, resources: list[str]) -> None:
    found = define_network(nad({RESOURCE_NAME: annotation}))
    assert ([*found.resources], found.resource_problem) == (resources, "")


@pytest.mark.parametrize("annotation", TABLES["no_resources"])
def test_names_a_resource_that_no_container_may_ask_for(annotation: str) -> None:
    found = define_network(nad({RESOURCE_NAME: annotation}))
    assert found.resources == ()
    told = f"annotation {RESOURCE_NAME} is {annotation!r}: {TABLES['no_resources'][annotation]!r} "
    assert told in found.resource_problem


def test_a_resource_that_is_none_is_named_in_short() -> None:
    found = define_network(nad({RESOURCE_NAME: "a" * 100}))
    assert f": {'a' * 60!r} is no extended resource" in found.resource_problem


BRIDGE, SECOND = "k8s.v1.cni.cncf.io/bridgeName", "example.com/second"


@pytest.mark.parametrize(("keys", "resources"), TABLES["keys"])
def test_reads_the_resources_of_other_keys(keys: list[str], resources: list[str]) -> None:
    annotations = {RESOURCE_NAME: "rdma/ib", BRIDGE: "ovs.io/br0, ovs.io/br1", SECOND: "x y"}
    standard = define_network(nad(annotations))
    found = with_resource_name_keys(standard, keys)
    assert ([*found.resources], found.resource_problem) == (resources, "")
    assert replace(found, resources=standard.resources) == standard


def test_names_each_key_whose_resource_no_container_may_ask_for() -> None:
    found = define_network(nad({RESOURCE_NAME: "a b", SECOND: "x y"}))
    assert with_resource_name_keys(found, [SECOND]).resource_problem.startswith(
        f"annotation {SECOND} is 'x y': "
    )
    both = with_resource_name_keys(found, [RESOURCE_NAME, SECOND]).resource_problem
    assert both.index(RESOURCE_NAME) < both.index("; ") < both.index(SECOND)


def test_keeps_no_copy_of_the_applied_manifest() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}", NODE_SELECTOR: "a=b"}
    found = define_network(nad({**applied, RESOURCE_NAME: "rdma/ib", BRIDGE: "ovs.io/br0"}))
    assert found.annotations == {BRIDGE: "ovs.io/br0"}


@pytest.mark.parametrize(("annotation", "labels"), TABLES["selectors"])
def test_reads_the_node_selector_as_network_resources_injector_does(
    annotation: str | None, labels: dict[str, str]
) -> None:
    found = define_network(nad({NODE_SELECTOR: annotation}))
    assert (found.node_selector, found.problem) == (labels, "")


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
        *cases((Path(__file__).parent / "ipam.txt").read_text("utf-8")),
        pytest.param("no", "[" * 100_000, id="too deep"),
    ],
)
def test_tells_which_network_gives_addresses(gives: str, config: str) -> None:
    found = define_network(nad(config=config))
    assert (found.has_ipam, found.ipv6_only) == (gives != "no", gives == "IPv6")


@pytest.mark.parametrize("spec", [None, {}, {"config": {"type": "macvlan"}}], ids=str)
def test_takes_a_network_without_a_configuration_as_one_without_addresses(spec: Any) -> None:
    """With none Multus reads a file on the node."""
    assert define_network({**nad(), "spec": spec}) == NetworkDefinition("rails", "rail-0")


NO_JSON = (
    "unusable spec.config, which is not JSON: unexpected end of data: line 1 column 10 (char 9)"
)
PROBLEMS = {
    **dict.fromkeys(("", "{}", '{"plugins": []}'), ""),
    '{"type": ': NO_JSON,
    "[]": "unusable spec.config, which is not a JSON object",
}


@pytest.mark.parametrize("config", PROBLEMS, ids=lambda config: config[:20])
def test_says_why_multus_cannot_read_the_configuration(config: str) -> None:
    assert define_network(nad(config=config)).config_problem == PROBLEMS[config]


def test_reads_an_object_without_metadata() -> None:
    assert define_network({}) == NetworkDefinition("", "")


WORDS = st.sampled_from(["type", "x", "fd00::/64", "a=b", "rdma/ib"])
KEYS = st.sampled_from(
    ["type", "ipam", "plugins", "range", "ranges", "addresses", "address", "subnets", "ipRanges"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda child: st.lists(child, max_size=3) | st.dictionaries(KEYS, child),
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
