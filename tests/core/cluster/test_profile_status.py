"""The status of a FabricProfile: what its conditions rest on, and when it is written again."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tests import ROOT
from tests.profiles import profiles
from tests.tables import table
from tests.worlds import network
from webhook.core import names
from webhook.core.claim_templates import template_name
from webhook.core.cluster.networks import Obstacle
from webhook.core.cluster.profile_status import (
    ClaimsSeen,
    Condition,
    ConditionReason,
    NetworksSeen,
    conditions_of,
    look_at_networks,
    network_names,
    next_status,
)
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.core.profiles import ClaimRequest, Content, Profile, ProfileClaim, ProfileObject

RAILS = "{networks: [{network: rails/rail-0}, {network: rails/rail-1}]}"
OWN = "{networks: [{network: rdma}]}"
DEFAULT = f"{{pod: {{metadata: {{annotations: {{{names.DEFAULT_NETWORK}: fabric/primary}}}}}}}}"
MANY = (
    f"{{networks: [{', '.join(f'{{network: r/n-{number}@x{number}}}' for number in range(64))}]}}"
)
BOTH = [network("rails/rail-0"), network("rails/rail-1")]
CLAIM = ProfileClaim("nic", (ClaimRequest("r", "a"), ClaimRequest("s", "b")))
ISOLATED = "{namespaceIsolation: true}"
CLASSES = frozenset({"a", "b"})
NO_CLAIMS = ClaimsSeen()


def shown(conditions: Sequence[Condition]) -> dict[str, str]:
    return {each.type: f"{each.status} {each.reason}: {each.message}" for each in conditions}


def judge(
    spec: str,
    networks: Sequence[Object] = (),
    users: Sequence[str] = (),
    seen: NetworksSeen | None = None,
    multus: str = "{}",
) -> dict[str, str]:
    """Judge profile ``a``; return each condition as ``status reason: message``."""
    read = profiles(f"{{a: {spec}}}", multus=multus)
    defined = [define_network(each) for each in networks]
    seen = seen or NetworksSeen({(each.namespace, each.name): each for each in defined})
    looks = look_at_networks(read.profiles["a"], read.settings, users, seen.definitions or {})
    return shown(conditions_of(Content(read.profiles["a"]), looks, seen, NO_CLAIMS))


@table(
    "how, told",
    {
        "nothing named": ({"spec": "{}"}, "True NoneNamed: the profile names no network"),
        "all found": (
            {"spec": RAILS, "networks": BOTH},
            "True AllFound: found: network rails/rail-0, network rails/rail-1",
        ),
        "in no namespace": (
            {"spec": OWN},
            "Unknown NoNamespace: network rdma: looked for in each namespace that names the "
            "profile, and none does",
        ),
        "in each namespace": (
            {"spec": OWN, "networks": [network(f"{x}/rdma") for x in "abc"], "users": "abc"},
            "True AllFound: found: network rdma",
        ),
        "in one of six": (
            {"spec": OWN, "networks": [network("b/rdma")], "users": "abcdef"},
            "False NetworkMissing: network rdma does not exist (for pods of a, c, d and 2 more); "
            "create it, or correct the profile",
        ),
        "one missing": (
            {"spec": RAILS, "networks": BOTH[:1]},
            "False NetworkMissing: network rails/rail-1 does not exist; create it, or correct the "
            "profile",
        ),
        "both missing": (
            {"spec": RAILS},
            "False NetworkMissing: network rails/rail-0 does not exist; network rails/rail-1 does "
            "not exist; create it, or correct the profile",
        ),
        "no resource name": (
            {"spec": RAILS, "networks": [network("rails/rail-0", "not a name"), BOTH[1]]},
            "False NetworkUnusable: network rails/rail-0 has an annotation "
            "k8s.v1.cni.cncf.io/resourceName is 'not a name': ",
        ),
        "no JSON": (
            {"spec": RAILS, "networks": [BOTH[0], {**BOTH[1], "spec": {"config": "no JSON"}}]},
            "False NetworkUnusable: network rails/rail-1 has an unusable spec.config, which is not "
            "JSON: Expecting value",
        ),
        "isolated": (
            {"spec": RAILS, "networks": BOTH, "users": ["ml"], "multus": ISOLATED},
            "False NetworkIsolated: network rails/rail-0 is in another namespace than the pods",
        ),
        "default network missing": (
            {"spec": DEFAULT},
            "False NetworkMissing: default network fabric/primary does not exist",
        ),
        "default network": (
            {"spec": DEFAULT, "networks": [network("fabric/primary")]},
            "True AllFound",
        ),
        "not read": (
            {"spec": RAILS, "seen": NetworksSeen(None, "answered 403")},
            "Unknown NotRead: NetworkAttachmentDefinitions cannot be read: answered 403",
        ),
        "no Multus": (
            {"spec": RAILS, "seen": NetworksSeen({}, is_installed=False)},
            "False MultusMissing: NetworkAttachmentDefinitions are not installed",
        ),
    },
)  # fmt: skip
def test_says_whether_the_networks_are_found(how: Mapping[str, Any], told: str) -> None:
    found = judge(**how)
    assert found["NetworksFound"].startswith(told)
    is_wrong = told.startswith("False")
    assert found["Ready"] == (
        found["NetworksFound"] if is_wrong else "True Usable: its content can be used"
    )


@table("allowed, shown", {"the default": ("[default]", "default"), "none": ("[]", "none")})
def test_names_the_namespaces_whose_networks_all_may_have(allowed: str, shown: str) -> None:
    isolation = f"{{namespaceIsolation: true, globalNamespaces: {allowed}}}"
    found = judge(RAILS, BOTH[:1], users=["ml"], multus=isolation)["NetworksFound"]
    assert f"; move it to one of multus.globalNamespaces ({shown}) or to the pods' own" in found


@table(
    "seen, told",
    {
        "all": (ClaimsSeen(CLASSES), "True AllFound: DeviceClass a, b"),
        "no class": (ClaimsSeen(), "False DeviceClassMissing: DeviceClass a, b do not exist; "),
        "refused": (
            ClaimsSeen(CLASSES, {template_name(CLAIM): "bad CEL"}),
            "False ClaimRefused: claim nic is refused by the API server: bad CEL",
        ),
        "no claims": (
            ClaimsSeen(is_served=False),
            "False ClaimsUnserved: the cluster does not serve",
        ),
        "no answer": (ClaimsSeen(problem="x"), "Unknown NotRead: DeviceClasses cannot be read: x"),
    },
)
def test_says_of_claims_what_only_the_cluster_knows(seen: ClaimsSeen, told: str) -> None:
    content = Content(Profile(name="a", claims=(CLAIM,)))
    found = shown(conditions_of(content, (), NetworksSeen({}), seen))
    assert found["ClaimsUsable"].startswith(told)
    assert found["Ready"].startswith("False") is told.startswith("False")


def test_looks_for_no_template_that_a_claim_names() -> None:
    named = ProfileClaim("nic", resource_claim_template_name="cards")
    found = shown(
        conditions_of(Content(Profile(name="a", claims=(named,))), (), NetworksSeen({}), NO_CLAIMS)
    )
    assert found["ClaimsUsable"].startswith("True NoneNamed: no claim names a DeviceClass")


def test_content_that_is_refused_is_told_and_nothing_else_is_claimed() -> None:
    refused = Content(None, "spec.networks[0].resource: found a,a")
    assert shown(conditions_of(refused, (), NetworksSeen({}), NO_CLAIMS)) == {
        "Ready": "False ContentRefused: spec.networks[0].resource: found a,a; correct it: until "
        "then a webhook keeps the last one that it could use",
        "NetworksFound": "Unknown ContentRefused: not looked for, since the profile's content is "
        "not known",
    }


def test_messages_stay_short() -> None:
    long = Content(None, "spec.env: no\n" * 1000)
    message = conditions_of(long, (), NetworksSeen({}), NO_CLAIMS)[0].message
    assert 900 < len(message) <= 1024
    assert message.endswith(
        "…; correct it: until then a webhook keeps the last one that it could use"
    )
    assert message.isprintable()
    assert len(judge(MANY)["NetworksFound"]) < 300


def test_the_reference_explains_every_reason() -> None:
    reference = (ROOT / "docs/profiles.md").read_text()
    section = reference.partition("### The status of profiles")[2].partition("\n## ")[0]
    for reason in (*ConditionReason, *Obstacle):
        assert re.fullmatch(r"[A-Z][A-Za-z]{1,62}", reason)
        assert f"`{reason}`" in section


def test_knows_which_networks_to_look_for() -> None:
    rails = "networks: [{network: a/b@x0}, {network: c}]"
    found = profiles(f"{{a: {{{rails}, {DEFAULT[1:]}}}").profiles["a"]
    assert network_names(found) == {"b", "c", "primary"}
    assert network_names(replace(found, pod={})) == {"b", "c"}


READY = Condition("Ready", "True", ConditionReason.USABLE, "its content can be used")
NEW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
FIRST = {
    "observedGeneration": 3,
    "namespaces": 2,
    "networks": "r/n-0@x0, r/n-1@x1, r/n-2@x2 and 61 more",
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "observedGeneration": 3,
            "lastTransitionTime": NEW,
            "reason": "Usable",
            "message": "its content can be used",
        }
    ],
}


def made(before: Any, condition: Condition = READY, now: str = LATER) -> Object | None:
    content = Content(profiles(f"{{a: {MANY}}}").profiles["a"])
    obj = ProfileObject("a", "uid", "1", 3, content, before)
    return next_status(obj, [condition], namespaces=2, now=now)


@table(
    "before",
    {
        "none": {},
        "no conditions": {"conditions": None},
        "conditions as text": {"conditions": "x"},
        "broken conditions": {"conditions": [1, {"type": []}]},
        "another's": {"conditions": [{"type": "Other", "status": "True"}]},
    },
)
def test_replaces_any_status_that_was_there(before: Any) -> None:
    assert made(before, now=NEW) == FIRST


def test_writes_a_status_once_and_moves_a_time_only_with_its_status() -> None:
    assert made(FIRST) is None
    assert made({**FIRST, "of-somebody-else": 1}) is None
    told = made(FIRST, READY._replace(message="other"))
    assert told is not None
    assert told["conditions"][0]["message"] == "other"
    assert told["conditions"][0]["lastTransitionTime"] == NEW
    changed = made(told, READY._replace(status="False"))
    assert changed is not None
    assert changed["conditions"][0]["lastTransitionTime"] == LATER
