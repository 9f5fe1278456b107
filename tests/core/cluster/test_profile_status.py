"""The status of a FabricProfile: what its conditions rest on, and when it is written again."""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import convert

from tests import ROOT
from tests.profiles import read_profile
from tests.tables import read, table
from tests.worlds import network
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
from webhook.core.model import NetworkDefinition, Object
from webhook.core.networks import define_network
from webhook.core.profiles import (
    ClaimRequest,
    ClusterSettings,
    Content,
    Multus,
    Profile,
    ProfileClaim,
    ProfileObject,
)

ROWS = read(__file__, "profile_status.yaml")
MANY = {"networks": [{"network": f"r/n-{number}@x{number}"} for number in range(64)]}
CLAIM = ProfileClaim("nic", (ClaimRequest("r", "a"), ClaimRequest("s", "b")))
CLASSES = frozenset({"a", "b"})
NO_CLAIMS = ClaimsSeen()


def shown(conditions: Sequence[Condition]) -> dict[str, str]:
    return {each.type: f"{each.status} {each.reason}: {each.message}" for each in conditions}


def defined(name: str, written: Any) -> NetworkDefinition:
    obj = network(name, written if isinstance(written, str) else "")
    return define_network(obj if isinstance(written, str) else {**obj, "spec": written})


def judge(row: Object) -> dict[str, str]:
    """Judge the profile of a row; return each condition as ``status reason: message``."""
    profile = read_profile("a", row["spec"])
    there = [defined(*each) for each in row.get("networks", {}).items()]
    definitions = {(each.namespace, each.name): each for each in there}
    seen = NetworksSeen(None if "unread" in row else definitions, row.get("unread", ""))
    seen = seen._replace(is_installed="absent" not in row)
    settings = ClusterSettings(multus=convert(row.get("multus", {}), Multus))
    looks = look_at_networks(profile, settings, row.get("users", ()), definitions)
    return shown(conditions_of(Content(profile), looks, seen, NO_CLAIMS))


@table("row", ROWS)
def test_says_whether_the_networks_are_found(row: Object) -> None:
    found = judge(row)
    assert found["NetworksFound"].startswith(row["is"])
    is_wrong = row["is"].startswith("False")
    assert found["Ready"] == (
        found["NetworksFound"] if is_wrong else "True Usable: its content can be used"
    )


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
    assert len(judge({"spec": MANY})["NetworksFound"]) < 300


def test_the_reference_explains_every_reason() -> None:
    reference = (ROOT / "docs/profiles.md").read_text()
    section = reference.partition("### The status of profiles")[2].partition("\n## ")[0]
    for reason in (*ConditionReason, *Obstacle):
        assert re.fullmatch(r"[A-Z][A-Za-z]{1,62}", reason)
        assert f"`{reason}`" in section


def test_knows_which_networks_to_look_for() -> None:
    names_of = {title: network_names(read_profile("a", ROWS[title]["spec"])) for title in ROWS}
    assert names_of["all found"] == {"rail-0", "rail-1"}
    assert names_of["default network"] == {"primary"}
    assert names_of["default network that cannot be read"] == set()


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
    content = Content(read_profile("a", MANY))
    obj = ProfileObject("a", "uid", "1", 3, content, before)
    return next_status(obj, [condition], namespaces=2, now=now)


@table(
    "before",
    {
        "none": {},
        "no conditions": {"conditions": None},
        "another's": {
            "conditions": [{"type": "Other", "status": "True", "lastTransitionTime": LATER}]
        },
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
