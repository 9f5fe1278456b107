"""The status of a FabricProfile: what its conditions rest on, and when it is written anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from tests import ROOT
from tests.profiles import profiles
from tests.tables import table
from tests.worlds import network
from webhook.core import names
from webhook.core.claim_templates import template_name
from webhook.core.cluster.device_classes import DeviceClass, DeviceOffers, DeviceSlice
from webhook.core.cluster.networks import Obstacle
from webhook.core.cluster.nodes import NodeOffer, Shortage, Supply
from webhook.core.cluster.profile_status import (
    MOST_CONDITIONS,
    ClaimsSeen,
    Condition,
    ConditionReason,
    Examined,
    NetworksSeen,
    NodesSeen,
    Wish,
    conditions_of,
    examine_profile,
    network_names,
    networks_in_short,
    next_status,
)
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.core.profiles import ClaimRequest, Content, Profile, ProfileClaim

SHARED = "{networks: [{network: default/rdma, resource: rdma/hca, count: 2}]}"
RAILS = "{networks: [{network: rails/rail-0}, {network: rails/rail-1}]}"
OWN = "{networks: [{network: rdma}]}"
OWN_DEVICE = (
    "{networks: [{network: rdma, resource: rdma/hca}], pod: {spec: {nodeSelector: {rail: fast}}}}"
)
HUGE = "{container: {resources: {limits: {hugepages-2Mi: 1Gi}}}, networks: []}"
CLAIM = ProfileClaim("nic", (ClaimRequest("r", "a"), ClaimRequest("s", "b")))
NODE = NodeOffer(
    "a", {"rail": "fast"}, {"rdma/hca": "8", "nvidia.com/rail": "1", "hugepages-2Mi": "2Gi"}
)


def judge(
    spec: str,
    *networks: Object,
    users: Sequence[str] = (),
    nodes: Sequence[NodeOffer] | None = (NODE,),
    offers: DeviceOffers = DeviceOffers(),  # noqa: B008  # it cannot be changed
    seen: NetworksSeen | None = None,
    multus: str = "{}",
) -> dict[str, str]:
    """Judge profile ``a``; return each condition as ``status reason: message``."""
    read = profiles(f"{{a: {spec}}}", multus=multus)
    defined = [define_network(each) for each in networks]
    seen = seen or NetworksSeen({(each.namespace, each.name): each for each in defined})
    examined = examine_profile(read.profiles["a"], read.settings, users, seen.definitions or {})
    supplies = (
        {} if nodes is None else {wish: supply(wish, nodes, offers) for wish in examined.wishes}
    )
    found = conditions_of(
        Content(read.profiles["a"]), examined, seen, NodesSeen(supplies, "no answer")
    )
    return {each.type: f"{each.status} {each.reason}: {each.message}" for each in found}


def supply(wish: Wish, nodes: Sequence[NodeOffer], offers: DeviceOffers) -> Supply:
    search = wish.search(offers.given(wish.resource))
    for node in nodes:
        search.look_at(node)
    return search.supply()


@table(
    "seen, told",
    {
        "all": (ClaimsSeen(frozenset({"a", "b"})), "True AllFound: DeviceClass a, b"),
        "no class": (ClaimsSeen(), "False DeviceClassMissing: DeviceClass a, b do not exist; "),
        "refused": (
            ClaimsSeen(frozenset({"a", "b"}), {template_name(CLAIM): "bad CEL"}),
            "False ClaimRefused: claim nic is refused by the API server: bad CEL",
        ),
        "no claims": (ClaimsSeen(is_served=False), "False ClaimsUnserved: the cluster serves"),
        "no answer": (ClaimsSeen(problem="x"), "Unknown NotRead: DeviceClasses cannot be read: x"),
    },
)
def test_says_of_claims_what_only_the_cluster_knows(seen: ClaimsSeen, told: str) -> None:
    content = Content(Profile(name="a", claims=(CLAIM,)))
    found = {
        each.type: f"{each.status} {each.reason}: {each.message}"
        for each in conditions_of(
            content, Examined((), ()), NetworksSeen({}), NodesSeen({}), claims=seen
        )
    }
    assert found["ClaimsUsable"].startswith(told)
    assert found["Ready"].startswith("False") is told.startswith("False")


def test_says_that_all_is_there() -> None:
    assert judge(SHARED, network("default/rdma")) == {
        "Ready": "True Usable: its content can be used",
        "NetworksFound": "True AllFound: found: network default/rdma",
        "DevicesOffered": "True AllOffered: a node offers what a pod takes: 2 rdma/hca",
    }


def test_a_profile_that_names_nothing_is_ready() -> None:
    assert judge("{}", nodes=None) == {
        "Ready": "True Usable: its content can be used",
        "NetworksFound": "True NoneNamed: the profile names no network",
        "DevicesOffered": "True NoneNamed: neither the profile nor its networks name a resource; check looks at claims",
    }


def test_a_network_of_the_pods_own_namespace_is_looked_for_in_each_that_names_the_profile() -> None:
    assert judge(OWN) == {
        "Ready": "True Usable: its content can be used",
        "NetworksFound": "Unknown NoNamespace: network rdma: looked for in each namespace that names the profile, and none does",
        "DevicesOffered": "Unknown NoNamespace: the devices of network rdma are known from its NetworkAttachmentDefinition alone, "
        "and no namespace to look for it in names the profile",
    }
    everywhere = [network(f"{space}/rdma", "rdma/hca") for space in "abc"]
    assert (
        judge(OWN, *everywhere, users="abc")["NetworksFound"]
        == "True AllFound: found: network rdma"
    )
    some = judge(OWN, everywhere[1], users=["a", "b", "c", "d", "e", "f"])
    assert some["NetworksFound"] == (
        "False NetworkMissing: network rdma does not exist (for pods of a, c, d and 2 more); create it, or correct the profile"
    )
    assert some["DevicesOffered"] == "True AllOffered: a node offers what a pod takes: 1 rdma/hca"


@pytest.mark.parametrize(
    ("networks", "told"),
    [
        (
            [network("rails/rail-0", "nvidia.com/rail")],
            "False NetworkMissing: network rails/rail-1 does not exist; create it, or correct the profile",
        ),
        (
            [],
            "False NetworkMissing: network rails/rail-0 does not exist; network rails/rail-1 does not exist; create it, or correct "
            "the profile",
        ),
        (
            [network("rails/rail-0", "not a name"), network("rails/rail-1")],
            "False NetworkUnusable: network rails/rail-0 has an annotation k8s.v1.cni.cncf.io/resourceName is 'not a name': "
            "'not a name' ",
        ),
        (
            [network("rails/rail-0"), {**network("rails/rail-1"), "spec": {"config": "no JSON"}}],
            "False NetworkUnusable: network rails/rail-1 has an unusable spec.config, which is not JSON: Expecting value",
        ),
    ],
)
def test_names_the_networks_that_are_missing_or_cannot_be_used(
    networks: list[Object], told: str
) -> None:
    found = judge(RAILS, *networks)
    assert found["NetworksFound"].startswith(told)
    assert found["Ready"] == found["NetworksFound"]


def test_knows_the_isolation_of_multus() -> None:
    found = judge(
        RAILS,
        network("rails/rail-0"),
        network("rails/rail-1"),
        users=["ml"],
        multus="{namespaceIsolation: true}",
    )
    assert found["NetworksFound"].startswith(
        "False NetworkIsolated: network rails/rail-0 is in another namespace than the pods"
    )
    action = "; move it to one of multus.globalNamespaces ({}) or to the pods' own, or correct both settings"
    assert found["NetworksFound"].endswith(action.format("default"))
    nowhere = judge(
        RAILS,
        network("rails/rail-0"),
        users=["ml"],
        multus="{namespaceIsolation: true, globalNamespaces: []}",
    )
    assert action.format("none") in nowhere["NetworksFound"]


def test_a_default_network_counts_too() -> None:
    spec = f"{{pod: {{metadata: {{annotations: {{{names.DEFAULT_NETWORK}: fabric/primary}}}}}}}}"
    assert judge(spec)["NetworksFound"].startswith(
        "False NetworkMissing: default network fabric/primary does not exist"
    )
    assert judge(spec, network("fabric/primary"))["NetworksFound"].startswith("True AllFound")


def test_says_what_could_not_be_read() -> None:
    unread = judge(RAILS, seen=NetworksSeen(None, "answered 403"))
    assert (
        unread["NetworksFound"]
        == "Unknown NotRead: NetworkAttachmentDefinitions cannot be read: answered 403"
    )
    assert unread["DevicesOffered"].startswith(
        "Unknown NotRead: the devices of network rails/rail-0 are known from its"
    )
    assert unread["Ready"].startswith("True")
    absent = judge(RAILS, seen=NetworksSeen({}, is_installed=False))
    assert absent["NetworksFound"].startswith(
        "False MultusMissing: NetworkAttachmentDefinitions are not installed"
    )
    assert (
        judge(SHARED, network("default/rdma"), nodes=None)["DevicesOffered"]
        == "Unknown NotRead: nodes cannot be read: no answer"
    )


@pytest.mark.parametrize(
    ("spec", "nodes", "told"),
    [
        (
            SHARED,
            [],
            "False NoNodeOffers: a pod takes 2 rdma/hca, and no node offers rdma/hca: look at its device plugin, or correct the name",
        ),
        (
            SHARED,
            [NodeOffer("a", {}, {"rdma/hca": "0"})],
            "False NoNodeOffers: a pod takes 2 rdma/hca",
        ),
        (
            SHARED,
            [NodeOffer(name, {}, {"rdma/hca": "1"}) for name in "ab"],
            "False NodesTooSmall: a pod takes 2 rdma/hca, and no node offers more than 1",
        ),
        (
            OWN_DEVICE,
            [NodeOffer("a", {"rail": "slow"}, {"rdma/hca": "1"})],
            "False NodeLabelsMissing: a pod takes 1 rdma/hca, and no node that offers it has rail=fast: label the nodes, or correct "
            "the node selector",
        ),
        (
            HUGE,
            [NodeOffer("a", {}, {"hugepages-2Mi": "512Mi"})],
            "False NodesTooSmall: a pod takes 1073741824 hugepages-2Mi",
        ),
        (HUGE, [NODE], "True AllOffered: a node offers what a pod takes: 1073741824 hugepages-2Mi"),
    ],
)
def test_says_what_no_node_offers(spec: str, nodes: list[NodeOffer], told: str) -> None:
    found = judge(spec, network("default/rdma"), nodes=nodes)
    assert found["DevicesOffered"].startswith(told)
    assert found["Ready"].partition(" ")[0] == told.partition(" ")[0]


def test_devices_that_drivers_give_out_for_claims_are_unknown_and_not_missing() -> None:
    uncounted = DeviceOffers((DeviceClass("nic", "rdma/hca", None, ()),))
    for offers, by in (
        (uncounted, "DeviceClass nic"),
        (DeviceOffers(None, None, "403"), "a DeviceClass"),
    ):
        found = judge(SHARED, network("default/rdma"), nodes=[], offers=offers)
        told = f"Unknown DeviceClassOffers: no node offers 2 rdma/hca, but {by} may give it by claim (DRA), not counted: "
        assert found["DevicesOffered"].startswith(told)
        assert found["Ready"].startswith("True")
    small = [NodeOffer("a", {}, {"rdma/hca": "1"})]
    found = judge(
        SHARED, network("default/rdma"), nodes=small, offers=DeviceOffers(None, None, "403")
    )
    assert found["DevicesOffered"].startswith("False NodesTooSmall")


@pytest.mark.parametrize(
    ("devices", "told"), [(2, "True AllOffered"), (1, "False NodesTooSmall"), (0, "False NoNode")]
)
def test_devices_that_claims_give_for_certain_are_counted(devices: int, told: str) -> None:
    nic = DeviceClass("nic", "rdma/hca", "dra.net", ("dra.net",))
    offers = DeviceOffers((nic,), (DeviceSlice("dra.net", "a", 1, 1, "a", devices, 0),))
    found = judge(SHARED, network("default/rdma"), nodes=[NodeOffer("a")], offers=offers)
    assert found["DevicesOffered"].startswith(told)


def test_devices_that_only_a_missing_network_names_are_unknown() -> None:
    assert judge(RAILS, network("rails/rail-0", "nvidia.com/rail"))["DevicesOffered"] == (
        "Unknown NetworksNotFound: the devices of network rails/rail-1 are known from its NetworkAttachmentDefinition alone, which "
        "was not found"
    )
    assert judge(SHARED, nodes=[])["DevicesOffered"].startswith("False NoNodeOffers"), (
        "the profile itself names this one"
    )


def test_content_that_is_refused_is_told_and_nothing_else_is_claimed() -> None:
    refused = Content(None, "spec.networks[0].resource: found a,a")
    told = conditions_of(refused, Examined((), ()), NetworksSeen({}), NodesSeen({}))
    assert [(each.type, each.status, str(each.reason)) for each in told] == [
        ("Ready", "False", "ContentRefused"),
        ("NetworksFound", "Unknown", "ContentRefused"),
        ("DevicesOffered", "Unknown", "ContentRefused"),
    ]
    assert told[0].message == (
        "spec.networks[0].resource: found a,a; correct it: until then a webhook keeps the last one that it could use"
    )


def test_messages_stay_short() -> None:
    long = Content(None, "spec.env: no\n" * 1000)
    message = conditions_of(long, Examined((), ()), NetworksSeen({}), NodesSeen({}))[0].message
    assert 900 < len(message) <= 1024
    assert message.endswith(
        "…; correct it: until then a webhook keeps the last one that it could use"
    )
    assert message.isprintable()
    many = f"{{networks: [{', '.join(f'{{network: r/n-{number}}}' for number in range(64))}]}}"
    assert len(judge(many)["NetworksFound"]) < 300


REASONS: list[str] = [*ConditionReason, *Obstacle, *Shortage]


def test_reasons_are_as_the_api_has_them() -> None:
    for reason in REASONS:
        assert re.fullmatch(r"[A-Z][A-Za-z]{1,62}", reason)


def test_the_reference_explains_every_reason() -> None:
    section = (
        (ROOT / "docs/profiles.md")
        .read_text()
        .partition("### The status of profiles")[2]
        .partition("\n## ")[0]
    )
    assert {reason for reason in REASONS if f"`{reason}`" not in section} == set()


def test_knows_which_networks_to_look_for() -> None:
    spec = f"{{networks: [{{network: a/b@x0}}, {{network: c}}], pod: {{metadata: {{annotations: {{{names.DEFAULT_NETWORK}: d/e}}}}}}}}"
    read = profiles(f"{{a: {spec}}}")
    assert network_names(read.profiles["a"]) == {"b", "c", "e"}
    assert network_names(replace(read.profiles["a"], pod={})) == {"b", "c"}


def test_names_the_first_few_networks() -> None:
    spec = f"{{networks: [{', '.join(f'{{network: r/n-{number}@x{number}}}' for number in range(8))}]}}"
    read = profiles(f"{{a: {spec}, b: {{}}}}")
    assert (
        networks_in_short(Content(read.profiles["a"])) == "r/n-0@x0, r/n-1@x1, r/n-2@x2 and 5 more"
    )
    assert networks_in_short(Content(read.profiles["b"])) == ""
    assert networks_in_short(Content(None, "a fault")) == ""


READY = Condition("Ready", "True", ConditionReason.USABLE, "its content can be used")


def status(
    condition: Condition = READY, before: Any = None, now: str = "2026-01-01T00:00:00Z"
) -> Object | None:
    return next_status(before, [condition], generation=3, namespaces=2, networks="a/b, c", now=now)


def test_writes_a_status_once() -> None:
    first = status()
    assert first == {
        "observedGeneration": 3,
        "namespaces": 2,
        "networks": "a/b, c",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "Usable",
                "message": "its content can be used",
            }
        ],
    }
    assert status(before=first, now="2026-01-02T00:00:00Z") is None
    assert status(before={**first, "of-somebody-else": 1}) is None


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    first = status()
    message = status(READY._replace(message="other"), first, "2026-01-02T00:00:00Z")
    assert message is not None
    assert message["conditions"][0]["message"] == "other"
    assert message["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    changed = status(READY._replace(status="False"), message, "2026-01-02T00:00:00Z")
    assert changed is not None
    assert changed["conditions"][0]["lastTransitionTime"] == "2026-01-02T00:00:00Z"


def test_conditions_of_others_are_kept_as_far_as_there_is_room() -> None:
    foreign = [{"type": f"Other{number}", "status": "True"} for number in range(20)]
    made = status(before={"conditions": foreign})
    assert made is not None
    assert [each["type"] for each in made["conditions"]] == [
        "Ready",
        *(f"Other{number}" for number in range(7)),
    ]
    assert len(made["conditions"]) == MOST_CONDITIONS


@pytest.mark.parametrize(
    "before",
    [
        None,
        "text",
        [],
        {"conditions": None},
        {"conditions": "x"},
        {"conditions": [1, {"type": []}]},
    ],
)
def test_takes_any_status_that_was_there(before: Any) -> None:
    made = status(before=before)
    assert made is not None
    assert made["conditions"][0]["status"] == "True"


def test_wishes_are_alike_where_namespaces_are() -> None:
    read = profiles(
        "{a: {networks: [{network: rdma, resource: rdma/hca}, {network: rdma, resource: rdma/hca}]}}"
    )
    defined = [define_network(network(f"{space}/rdma")) for space in "abc"]
    definitions = {(each.namespace, each.name): each for each in defined}
    examined = examine_profile(read.profiles["a"], read.settings, ["a", "b", "c"], definitions)
    assert examined.wishes == (Wish("rdma/hca", Fraction(2), frozenset()),)
