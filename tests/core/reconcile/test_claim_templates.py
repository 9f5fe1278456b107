"""Templates of claims: made where a label or a pod needs them, removed a while after nobody does, known by their content."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.core.builders import profile
from webhook.core.claim_templates import claim_of, is_ours, is_true, make_template, template_name, template_spec
from webhook.core.profiles import ClaimConfig, ClaimConstraint, ClaimRequest, Profile, ProfileClaim, parse_profiles
from webhook.core.reconcile import claim_templates as module
from webhook.core.reconcile.claim_templates import UNNEEDED_SECONDS, TemplateUpkeep, Work

NIC = ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),))
RAIL = ProfileClaim("rail", (ClaimRequest("r", "rail.example.com", count=2),))
NAME, RAIL_NAME = template_name(NIC), template_name(RAIL)


def test_a_template_may_have_no_owner() -> None:
    assert make_template("ml", NAME, "nic", template_spec(NIC)) == {
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "namespace": "ml",
            "name": NAME,
            "labels": {"app.kubernetes.io/managed-by": "fabric-injector", "fabric-injector.io/claim": "nic"},
        },
        "spec": template_spec(NIC),
    }


def upkeep(*profiles: Profile) -> TemplateUpkeep:
    found = TemplateUpkeep()
    found.put({each.name: each for each in profiles})
    return found


def test_the_content_is_a_claims_with_what_the_api_server_fills_in() -> None:
    claim = ProfileClaim(
        "pair",
        (
            ClaimRequest("gpu", "gpu.nvidia.com", allocation_mode="All", selectors=("true",)),
            ClaimRequest("nic", "dranet.net"),
        ),
        (ClaimConstraint("resource.kubernetes.io/pcieRoot", ("gpu", "nic")), ClaimConstraint("a/b")),
        (ClaimConfig("dra.net", '{"interface":{"name":"rail0"}}', ("nic",)),),
    )
    assert template_spec(claim) == {
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {
                            "deviceClassName": "gpu.nvidia.com",
                            "allocationMode": "All",
                            "selectors": [{"cel": {"expression": "true"}}],
                        },
                    },
                    {
                        "name": "nic",
                        "exactly": {"deviceClassName": "dranet.net", "allocationMode": "ExactCount", "count": 1},
                    },
                ],
                "constraints": [
                    {"matchAttribute": "resource.kubernetes.io/pcieRoot", "requests": ["gpu", "nic"]},
                    {"matchAttribute": "a/b"},
                ],
                "config": [
                    {
                        "opaque": {"driver": "dra.net", "parameters": {"interface": {"name": "rail0"}}},
                        "requests": ["nic"],
                    }
                ],
            }
        }
    }


def test_the_name_carries_what_the_template_says() -> None:
    assert NAME.startswith("fabric-injector-nic-")
    assert claim_of(NAME) == "nic"
    assert template_name(replace(NIC, requests=(ClaimRequest("r", "dranet.net", count=1),))) == NAME
    assert template_name(replace(NIC, requests=(ClaimRequest("r", "dranet.net", count=2),))) != NAME
    assert is_true(NAME, json.loads(json.dumps(template_spec(NIC))))
    assert is_true(NAME, {"metadata": {}, **template_spec(NIC)})
    assert is_true(NAME, {"metadata": {"creationTimestamp": None}, **template_spec(NIC)})
    assert not is_true(NAME, {"metadata": {"labels": {"a": "b"}}, **template_spec(NIC)})
    assert not is_true(NAME, {"metadata": "a", **template_spec(NIC)})
    assert not is_true(NAME, template_spec(RAIL))
    assert not is_true(RAIL_NAME, template_spec(NIC))
    assert not is_true("fabric-injector-nic", template_spec(NIC))
    assert claim_of("mine") == ""


def test_parameters_as_deep_as_they_like_are_not_ours() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert not is_true(NAME, deep)
    while deep:
        deep = deep["a"]


def test_names_stay_the_same_in_every_version() -> None:
    text = """
profiles:
  a:
    claims:
      - name: nic
        requests: [{name: r, deviceClassName: dranet.net, count: 2, selectors: ["device.driver == 'dra.net'"]}]
        constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
        config: [{driver: dra.net, parameters: {b: 1.0, a: ["é"]}}]
"""
    [claim] = parse_profiles(text).profiles["a"].claims
    assert template_name(claim) == "fabric-injector-nic-67b97b43334f0c6d"


def test_the_object_carries_our_labels_and_its_owner() -> None:
    owner = {"kind": "MutatingWebhookConfiguration", "uid": "u"}
    assert make_template("ml", NAME, "nic", template_spec(NIC), owner) == {
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "namespace": "ml",
            "name": NAME,
            "labels": {"app.kubernetes.io/managed-by": "fabric-injector", "fabric-injector.io/claim": "nic"},
            "ownerReferences": [owner],
        },
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


def test_makes_one_in_each_namespace_whose_profile_has_claims() -> None:
    kept = upkeep(
        profile(name="cards", claims=(NIC, RAIL)),
        profile(name="few", claims=(NIC,), allowed_namespaces=frozenset({"a"})),
        profile(name="plain"),
    )
    namespaces = {"ml": "cards", "a": "few", "b": "few", "c": "plain", "d": "unknown", "e": "none"}
    assert kept.next(namespaces, [], [("ml", NAME)], 0.0) == Work(sorted([("ml", RAIL_NAME), ("a", NAME)]), [], None)


def test_makes_what_a_pod_names_and_its_namespace_may_use() -> None:
    kept = upkeep(profile(name="few", claims=(NIC,), allowed_namespaces=frozenset({"a"})))
    named = [("a", NAME), ("b", NAME), ("a", "fabric-injector-nic-0000000000000000")]
    assert kept.next({}, named, [], 0.0).make == [("a", NAME)]


@pytest.mark.parametrize("order", [1, -1])
def test_makes_what_a_pod_names_where_one_of_several_profiles_of_the_claim_is_for_its_namespace(order: int) -> None:
    ours = profile(name="ours", claims=(NIC,), allowed_namespaces=frozenset({"ml"}))
    theirs = profile(name="theirs", claims=(NIC,), allowed_namespaces=frozenset({"web"}))
    found = upkeep(*(ours, theirs)[::order])
    named = [("ml", NAME), ("web", NAME), ("far", NAME)]
    assert found.next({}, named, [], 0.0).make == [("ml", NAME), ("web", NAME)]


def test_makes_an_earlier_one_again_that_a_pod_names(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = upkeep(profile(name="cards", claims=(NIC,)))
    kept.put({"cards": profile(name="cards", claims=(RAIL,))})
    work = kept.next({"ml": "cards"}, [("ml", NAME)], [], 0.0)
    assert work.make == sorted([("ml", NAME), ("ml", RAIL_NAME)])
    monkeypatch.setattr(module, "MOST_PAST", 0)
    kept.put({"cards": profile(name="cards", claims=(RAIL,))})
    assert kept.next({"ml": "cards"}, [("ml", NAME)], [], 0.0).make == [("ml", RAIL_NAME)]


def test_removes_one_that_nobody_has_needed_for_a_while() -> None:
    kept = upkeep(profile(name="cards", claims=(NIC,)))
    key = ("ml", NAME)
    assert kept.next({"ml": "cards"}, [], [key], 0.0) == Work([], [], None)
    assert kept.next({}, [key], [key], 10.0) == Work([], [], None)
    assert kept.next({}, [], [key], 20.0) == Work([], [], UNNEEDED_SECONDS)
    assert kept.next({}, [], [key], 120.0) == Work([], [], UNNEEDED_SECONDS - 100)
    assert kept.next({}, [key], [key], 130.0) == Work([], [], None), "a pod needs it again"
    assert kept.next({}, [], [key], 200.0).remove == []
    assert kept.next({}, [], [key], 200.0 + UNNEEDED_SECONDS) == Work([], [key], None)
    assert kept.next({}, [], [], 201.0 + UNNEEDED_SECONDS) == Work([], [], None)


def test_a_changed_profile_leaves_the_earlier_template_to_running_jobs() -> None:
    kept = upkeep(profile(name="cards", claims=(NIC,)))
    kept.put({"cards": profile(name="cards", claims=(RAIL,))})
    key = ("ml", NAME)
    assert kept.next({"ml": "cards"}, [key], [key, ("ml", RAIL_NAME)], 0.0) == Work([], [], None)
    assert kept.next({"ml": "cards"}, [], [key, ("ml", RAIL_NAME)], 1.0) == Work([], [], UNNEEDED_SECONDS)


def test_keeps_all_of_a_namespace_whose_profile_is_not_known() -> None:
    kept = upkeep()
    key = ("ml", NAME)
    assert kept.next({"ml": "cards"}, [], [key], 0.0).remove == []
    assert kept.next({"ml": "cards"}, [], [key], 2 * UNNEEDED_SECONDS) == Work([], [], None)
    assert kept.next({"ml": "none"}, [], [key], 2 * UNNEEDED_SECONDS).seconds == UNNEEDED_SECONDS


def test_a_profile_that_cannot_be_used_counts_as_it_was_last() -> None:
    kept = upkeep(profile(name="cards", claims=(NIC,)))
    kept.put({"cards": None, "other": None})
    assert kept.next({"ml": "cards", "x": "other"}, [], [], 0.0).make == [("ml", NAME)]
    kept.put({})
    assert kept.next({"ml": "cards"}, [], [], 0.0).make == []
