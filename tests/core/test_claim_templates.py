"""Templates of claims: which are wanted, and that their names carry what they say."""

from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from tests.core.builders import profile
from tests.profiles import as_text
from webhook.core.claim_templates import (
    is_ours,
    make_template,
    template_name,
    template_spec,
    wanted_templates,
)
from webhook.core.profiles import (
    ClaimConfig,
    ClaimConstraint,
    ClaimRequest,
    Profile,
    ProfileClaim,
    parse_profiles,
)
from webhook.core.profiles.grammar import Parameters

NIC = ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),))
NAMED = ProfileClaim("admins", resource_claim_template_name="cards")
RAIL = ProfileClaim("rail", (ClaimRequest("r", "rail.example.com", count=2),))
NAME, RAIL_NAME = template_name(NIC), template_name(RAIL)


def test_the_content_is_a_claims_with_what_the_api_server_fills_in() -> None:
    claim = ProfileClaim(
        "pair",
        (
            ClaimRequest("gpu", "gpu.nvidia.com", allocation_mode="All", selectors=("true",)),
            ClaimRequest("nic", "dranet.net"),
        ),
        (
            ClaimConstraint("resource.kubernetes.io/pcieRoot", ("gpu", "nic")),
            ClaimConstraint("a/b"),
        ),
        (ClaimConfig("dra.net", Parameters('{"interface":{"name":"rail0"}}'), ("nic",)),),
    )
    assert template_spec(claim) == yaml.safe_load("""
spec:
  devices:
    requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          allocationMode: All
          selectors: [{cel: {expression: "true"}}]
      - {name: nic, exactly: {deviceClassName: dranet.net, allocationMode: ExactCount, count: 1}}
    constraints:
      - {matchAttribute: resource.kubernetes.io/pcieRoot, requests: [gpu, nic]}
      - {matchAttribute: a/b}
    config:
      - {opaque: {driver: dra.net, parameters: {interface: {name: rail0}}}, requests: [nic]}
""")


def test_the_name_carries_what_the_template_says() -> None:
    assert NAME.startswith("fabric-injector-nic-")
    assert template_name(replace(NIC, requests=(ClaimRequest("r", "dranet.net", count=1),))) == NAME
    assert template_name(replace(NIC, requests=(ClaimRequest("r", "dranet.net", count=2),))) != NAME


def test_names_stay_the_same_in_every_version() -> None:
    text = as_text("""
a:
  claims:
    - name: nic
      requests:
      - {name: r, deviceClassName: dranet.net, count: 2, selectors: ["device.driver == 'dra.net'"]}
      constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
      config: [{driver: dra.net, parameters: {b: 1.0, a: ["é"]}}]
""")
    [claim] = parse_profiles(text).profiles["a"].claims
    assert template_name(claim) == "fabric-injector-nic-67b97b43334f0c6d"


def test_the_object_carries_our_labels() -> None:
    kept = {"app.kubernetes.io/managed-by": "fabric-injector", "fabric-injector.io/claim": "nic"}
    assert make_template("ml", NIC) == {
        "kind": "ResourceClaimTemplate",
        "metadata": {"namespace": "ml", "name": NAME, "labels": kept},
        "spec": template_spec(NIC),
    }


@pytest.mark.parametrize(
    ("claim", "ours"),
    [
        ({"name": "fabric-nic", "resourceClaimTemplateName": NAME}, True),
        ({"name": "nic", "resourceClaimTemplateName": NAME}, False),
        ({"name": "fabric-nic", "resourceClaimTemplateName": "fabric-injector-nic"}, False),
        ({"name": "fabric-nic", "resourceClaimName": NAME}, False),
        ({}, False),
    ],
)
def test_knows_a_reference_again(claim: Any, ours: bool) -> None:
    assert is_ours(claim) is ours


def wanted(*profiles: Profile, namespaces: Any = None, named: Any = ()) -> set[tuple[str, str]]:
    found = wanted_templates(profiles, namespaces or {}, named)
    assert all(template_name(claim) == name for (_, name), claim in found.items())
    return set(found)


def test_wants_one_in_each_namespace_whose_profile_has_claims() -> None:
    profiles = (
        profile(name="cards", claims=(NIC, NAMED, RAIL)),
        profile(name="few", claims=(NIC,), allowed_namespaces=frozenset({"a"})),
        profile(name="plain"),
    )
    namespaces = {"ml": "cards", "a": "few", "b": "few", "c": "plain", "d": "unknown", "e": "none"}
    assert wanted(*profiles, namespaces=namespaces) == {
        ("ml", NAME),
        ("ml", RAIL_NAME),
        ("a", NAME),
    }


def test_wants_what_a_pod_names_and_its_namespace_may_use() -> None:
    few = profile(name="few", claims=(NIC, NAMED), allowed_namespaces=frozenset({"a"}))
    named = [
        ("a", NAME),
        ("b", NAME),
        ("a", "fabric-injector-nic-0000000000000000"),
        ("a", "cards"),
    ]
    assert wanted(few, named=named) == {("a", NAME)}


@pytest.mark.parametrize("order", [1, -1])
def test_wants_what_a_pod_names_where_one_of_several_profiles_of_the_claim_is_for_its_namespace(
    order: int,
) -> None:
    ours = profile(name="ours", claims=(NIC,), allowed_namespaces=frozenset({"ml"}))
    theirs = profile(name="theirs", claims=(NIC,), allowed_namespaces=frozenset({"web"}))
    named = [("ml", NAME), ("web", NAME), ("far", NAME)]
    assert wanted(*(ours, theirs)[::order], named=named) == {("ml", NAME), ("web", NAME)}
