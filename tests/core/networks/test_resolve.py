"""What Multus attaches to a pod once a profile's networks are added: the rows of ``resolve.yaml``.

A row's *pod* and *default* are the pod's annotations. The profile's networks are *wants*, each with
a resource of its own, ``rdma/0``, or stand in *profile*, a spec. *multus* is of the Configuration.
*attached* is each interface with its devices, ``=`` the default network's, ``+`` what is added;
*value* the new annotation; *meets* the interface on which the job meets, or why there is none;
*denied* the reason and the message of a denial.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from tests.core.builders import network
from tests.pods import minimal_pod
from tests.profiles import read_profile
from tests.tables import read
from webhook.core import names
from webhook.core.errors import Denied, Unavailable
from webhook.core.model import NetworkDefinition, Object
from webhook.core.networks import ResolvedNetworks, resolve_networks
from webhook.core.profiles import Multus

ROWS = read(__file__, "resolve.yaml")
BAD = "annotation k8s.v1.cni.cncf.io/resourceName is 'x': 'x' is no extended resource"
KNOWN = {
    f"{one.namespace}/{one.name}": one
    for one in (
        network("rails/rail-0", resources=("nvidia.com/rail_0",)),
        network("rails/rail-1", resources=("nvidia.com/rail_1", "rdma/shared")),
        network("rails/rail.2"),
        network("rails/six", ipv6_only=True),
        network("rails/layer-2", has_ipam=False),
        network("research/own"),
        network("research/rail-0"),
        network("research/bridged", annotations={"example.com/bridge": "ovs.io/br0"}),
        network("research/layer-2", has_ipam=False),
        network("default/global"),
        network("kube-system/calico", resources=("example.com/nic",)),
        network("rails/undevised", resource_problem=BAD),
        network("rails/broken", problem=BAD),
    )
}


def lookup(namespace: str, name: str) -> NetworkDefinition | None:
    """Find a network; each of one letter exists, without devices."""
    plain = network(f"{namespace}/{name}") if len(name) == 1 else None
    return KNOWN.get(f"{namespace}/{name}", plain)


def resolve(row: Object, find: Any = lookup) -> ResolvedNetworks:
    annotations = {names.NETWORKS: row.get("pod"), names.DEFAULT_NETWORK: row.get("default")}
    given = {key: text for key, text in annotations.items() if text is not None}
    wanted = enumerate(row.get("wants", "").split())
    networks = [{"network": name, "resource": f"rdma/{index}"} for index, name in wanted]
    profile = read_profile("rdma", {"networks": networks, **row.get("profile", {})})
    a_pod = minimal_pod(annotations=given or None, **row.get("spec", {}))
    multus = convert(row.get("multus", {}), Multus)
    return resolve_networks(a_pod, profile, multus, "research", find)


def told(row: Object) -> Object:
    """Return what a row says of itself, as far as something was found."""
    try:
        found = resolve(row)
    except Denied as denied:
        return {"denied": f"{denied.reason}: {denied.message}"}
    attached = [
        " ".join(
            [
                f"{'=' if each.default else '+' if each.added else ''}{each.place}",
                *(f"{name}={count}" for name, count in each.resources),
            ]
        )
        for each in found.attachments
    ]
    meeting = found.rendezvous_network
    meets = meeting.interface if meeting else found.problem
    return {"attached": attached, "value": found.value, "meets": meets}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_is_as_it_says(row: Object) -> None:
    expected = {key: row.get(key) for key in ("attached", "value", "meets", "denied")}
    assert {**dict.fromkeys(expected), **told(row)} == expected


def test_passes_on_that_the_cluster_cannot_be_asked() -> None:
    def cannot(namespace: str, name: str) -> NetworkDefinition | None:
        raise Unavailable(f"{namespace}/{name}")

    with pytest.raises(Unavailable, match="rails/rail-0"):
        resolve({"wants": "rails/rail-0"}, cannot)


@pytest.mark.parametrize("spec", [{"pod": "a//b", "default": "", "spec": {"hostNetwork": True}}])
def test_never_asks_for_the_networks_of_a_pod_on_the_host_network(spec: Object) -> None:
    found = resolve({**spec, "wants": "a"}, lambda *_: pytest.fail("asked"))
    why = "the pod uses the node's network, where Multus attaches nothing"
    assert found == ResolvedNetworks(problem=why)


IMPOSSIBLE = ["rails ../rail-0", "rails a/b", "Rails a", "a.b a", "rails a?x=y", "rails a%2fb"]


@pytest.mark.parametrize("key", [*IMPOSSIBLE, f"{'n' * 64} a", f"rails {'a' * 254}", "rails a."])
def test_asks_only_for_names_that_objects_may_have(key: str) -> None:
    namespace, _, name = key.partition(" ")
    text = f'[{{"name":"{name}","namespace":"{namespace}"}}]'
    with pytest.raises(Denied):
        resolve({"pod": text}, lambda *_: pytest.fail("asked"))


def some(words: str, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(words.split()), max_size=most)


OWN = "own a a@x a@net2 b b@net1 rails/rail-0 rails/rail-1@x layer-2"
WANTED = "a a@net1 a@y b b@net3 rails/rail-0 rails/rail.2@x research/own rails/rail-1@net2"


@settings(deadline=None)
@given(some(OWN, 5), some(WANTED, 4), st.integers(0, 2), st.booleans())
def test_holds_all_and_changes_nothing_the_second_time(
    own: list[str], wanted: list[str], default_networks: int, has_default: bool
) -> None:
    multus = {"multus": {"defaultNetworks": default_networks}}
    row = {"pod": ",".join(own), "wants": " ".join(wanted), **multus}
    if has_default:
        row["default"] = "calico"
    first = told(row)
    if "denied" in first:
        assert first["denied"].startswith("interface-conflict: ")
        return
    again = told({**row, "pod": first["value"] or row["pod"]})
    assert again == {
        "attached": [each.removeprefix("+") for each in first["attached"]],
        "value": None,
        "meets": first["meets"],
    }
    added = [each.split()[0] for each in first["attached"] if each.startswith("+")]
    assert len(set(added)) == len(added)
