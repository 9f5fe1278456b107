"""What ``check`` says of the claims of profiles: DeviceClasses, templates, quotas and Kueue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.core.builders import profile
from tests.diagnose.check.findings import brief
from webhook.core.claim_templates import CLAIMS_UNSERVED, template_name, template_spec
from webhook.core.cluster.device_classes import DeviceClass, DeviceOffers
from webhook.core.profiles import ClaimRequest, ProfileClaim, Profiles
from webhook.diagnose.check.claims import (
    KueueMappings,
    check_claim_quotas,
    check_claims,
    check_kueue_claims,
    check_templates,
    needed_templates,
)
from webhook.diagnose.check.quotas import Quota

NIC = ProfileClaim(
    "nic", (ClaimRequest("a", "dranet.net", count=2), ClaimRequest("b", "dranet.net"))
)
EVERY = ProfileClaim("every", (ClaimRequest("a", "all.example.com", allocation_mode="All"),))
PROFILES = Profiles(
    profiles={"cards": profile(name="cards", claims=(NIC, EVERY)), "plain": profile(name="plain")}
)
USERS = {"cards": ["ml", "team"], "plain": ["web"]}
CLASSES = DeviceOffers(
    (DeviceClass("dranet.net", "", "", ()), DeviceClass("all.example.com", "", "", ()))
)
KEYS = [("ml", template_name(EVERY)), ("ml", template_name(NIC))]


def test_a_device_class_that_is_missing_is_named() -> None:
    offers = DeviceOffers((DeviceClass("dranet.net", "", "", ()),))
    assert brief(check_claims(PROFILES, USERS, offers)) == [
        "fail profile cards: claim every: names DeviceClass all.example.com, which does not exist: "
        "pods that get the claim stay Pending",
        "ok DeviceClass dranet.net: is there, for the claims of profiles",
    ]
    assert brief(check_claims(PROFILES, USERS, CLASSES)) == [
        "ok DeviceClasses dranet.net, all.example.com: are there, for the claims of profiles"
    ]
    assert brief(check_claims(PROFILES, USERS, DeviceOffers(None, None, "403"))) == [], (
        "what is unread is not judged"
    )


def test_a_cluster_without_claims_is_told() -> None:
    unserved = replace(PROFILES, claims_problem=CLAIMS_UNSERVED)
    assert brief(check_claims(unserved, USERS, DeviceOffers())) == [
        f"warn profile cards: no pod gets its claims: {CLAIMS_UNSERVED}"
    ]


def test_templates_are_those_of_labelled_namespaces_that_may_use_the_profile() -> None:
    few = profile(name="cards", claims=(NIC,), allowed_namespaces=frozenset({"ml"}))
    assert list(needed_templates(Profiles(profiles={"cards": few}), USERS)) == [
        ("ml", template_name(NIC))
    ]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (
            dict.fromkeys(KEYS[:1]),
            [
                f"warn ResourceClaimTemplate ml/{KEYS[0][1]}: is not there: pods that name it stay Pending"
            ],
        ),
        (
            {KEYS[0]: template_spec(NIC)},
            [
                f"fail ResourceClaimTemplate ml/{KEYS[0][1]}: has another content than the profile says: "
                "pods get other devices"
            ],
        ),
        (
            {KEYS[1]: template_spec(NIC)},
            [
                "ok ResourceClaimTemplates: 1 template of claims as the profiles say; 3 more were not looked at"
            ],
        ),
        (
            {("ml", template_name(claim)): template_spec(claim) for claim in (NIC, EVERY)}
            | {("team", template_name(claim)): template_spec(claim) for claim in (NIC, EVERY)},
            ["ok ResourceClaimTemplates: 4 templates of claims as the profiles say"],
        ),
        ({}, []),
    ],
)
def test_templates_are_compared_with_the_profile(
    there: dict[tuple[str, str], Any], expected: list[str]
) -> None:
    assert brief(check_templates(needed_templates(PROFILES, USERS), there)) == expected


def test_quotas_count_claims_by_their_class() -> None:
    key, every = (
        "dranet.net.deviceclass.resource.k8s.io/devices",
        "all.example.com.deviceclass.resource.k8s.io/devices",
    )
    quotas = [
        Quota("ml", "q", {key: "8", "pods": "3"}, {key: "6"}),
        Quota("team", "q", {every: "16"}),
        Quota("web", "q", {key: "0"}),
    ]
    assert brief(check_claim_quotas(quotas, PROFILES, USERS)) == [
        f"warn ResourceQuota ml/q: {key} is 8, 6 of it used, and a pod takes 3: the next pod is refused",
        f"fail ResourceQuota team/q: {every} is 16, 0 of it used, and a pod takes 32: every training pod is refused",
    ]


def test_kueue_sees_claims_of_plain_pods_alone() -> None:
    queues = [{"metadata": {"name": "q", "namespace": "ml"}}]
    where = "in ml Kueue counts the claims of plain pods and pod groups, not those of Jobs, whose templates have none"
    [unmapped] = brief(
        check_kueue_claims(queues, KueueMappings(frozenset({"dranet.net"}), True), PROFILES, USERS)
    )
    assert unmapped.startswith(
        f"warn profile cards: {where}; its configuration maps no resource to DeviceClass all.example.com"
    )
    both = KueueMappings(frozenset({"dranet.net", "all.example.com"}), True)
    counted = f"ok profile cards: {where}, and may count a template that several pods name less often than they do"
    assert brief(check_kueue_claims(queues, both, PROFILES, USERS)) == [counted]
    unknown = "; whether its configuration maps the DeviceClasses cannot be read"
    assert brief(check_kueue_claims(queues, KueueMappings(), PROFILES, USERS)) == [
        counted + unknown
    ]
    assert brief(check_kueue_claims([], both, PROFILES, USERS)) == []
