"""Claims by profile on a real API server: templates made, known again, removed, held by policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.client import Client
from tests.cluster.controller import own_token
from tests.cluster.controlplane import ControlPlane
from tests.profiles import as_text
from tests.waiting import wait_until
from webhook.control import claim_templates
from webhook.control.claim_templates import ClaimTemplates, apply_template
from webhook.core import names
from webhook.core.claim_templates import make_template, template_name, template_spec
from webhook.core.profiles import ClaimRequest, Profile, ProfileClaim, parse_profiles
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.kube.catalogue import CLAIMS_V1
from webhook.kube.connection import Connection

LABEL = "fabric-injector.io/profile"
PROFILES = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
TEXT = as_text("""
cards:
  claims:
    - name: nic
      requests:
        - name: nic
          deviceClassName: dranet.net
          count: 2
          selectors: ['device.attributes["dra.net"].rdma']
        - {name: all, deviceClassName: other.example.com, allocationMode: All}
      constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot, requests: [nic, all]}]
      config:
        - driver: dra.net
          requests: [nic]
          parameters: {interface: {name: rail0, mtu: 9000, ratio: 1.0}, ok: true}
""")
CARDS: Profile = parse_profiles(TEXT).profiles["cards"]
[CLAIM] = CARDS.claims
NAME = template_name(CLAIM)
PLAIN = ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),))


@pytest.fixture
def plane(control_plane: ControlPlane) -> ControlPlane:
    return control_plane


def templates(api: Client, namespace: str) -> list[str]:
    items = api.expect("GET", f"{CLAIMS_V1}/namespaces/{namespace}/resourceclaimtemplates")["items"]
    return [each["metadata"]["name"] for each in items]


class Keeper(ClaimTemplates):
    """A keeper with the controller's account; the test gives namespaces and their profiles."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.named: dict[str, str] = {}
        super().__init__(connection, lambda: True, lambda: self.named)
        self.put({"cards": CARDS})


@pytest.fixture
def kept(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    monkeypatch.setattr(claim_templates, "FOLLOWER_SECONDS", 0.05)
    with plane.connection(own_token(plane)) as connection:
        kept = Keeper(connection)
        kept.start()
        yield kept
        kept.stop()


def test_what_is_stored_is_what_the_name_says(plane: ControlPlane, kept: Keeper) -> None:
    space = plane.create_namespace("stored")
    kept.named = {space: "cards"}
    kept.wake()
    wait_until(lambda: templates(plane.api, space) == [NAME], "the template")
    found = plane.api.expect("GET", f"{CLAIMS_V1}/namespaces/{space}/resourceclaimtemplates/{NAME}")
    assert found["spec"]["spec"] == template_spec(CLAIM)["spec"], "the API server fills nothing in"
    assert found["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "fabric-injector",
        "fabric-injector.io/claim": "nic",
    }
    again = apply_template(kept.connection, space, CLAIM)
    assert again.json() == found, "applied again, it stays as it is"


def test_the_policy_holds_the_account_to_our_names(plane: ControlPlane) -> None:
    space = plane.create_namespace("policy")
    account = plane.client(own_token(plane))
    where = f"{CLAIMS_V1}/namespaces/{space}/resourceclaimtemplates"
    good = {"apiVersion": CLAIMS_V1.removeprefix("/apis/"), **make_template(space, PLAIN)}

    def changed(**metadata: Any) -> dict[str, Any]:
        return {**good, "metadata": {**good["metadata"], **metadata}}

    def refused() -> bool:  # a new policy counts a moment after it was made
        answer = account.request("POST", f"{where}?dryRun=All", changed(name="mine"))
        return (
            answer.status == 403 and "no ResourceClaimTemplate but those" in answer.json["message"]
        )

    wait_until(refused, "the policy to count")
    foreign = [
        changed(name="fabric-nic"),
        changed(labels={}),
        changed(labels={"app.kubernetes.io/managed-by": "fabric-injector"}),
        changed(labels={"app.kubernetes.io/managed-by": "helm", "fabric-injector.io/claim": "nic"}),
    ]
    for template in foreign:
        assert account.request("POST", where, template).status == 403, template["metadata"]
        plane.api.expect("POST", where, template)
        one = f"{where}/{template['metadata']['name']}"
        assert account.request("DELETE", one).status == 403
        plane.api.expect("DELETE", one)
    account.expect("POST", where, good)
    one = f"{where}/{template_name(PLAIN)}"
    unlabelled = {"metadata": {"labels": {names.CLAIM: None}}}
    assert account.request("PATCH", one, unlabelled).status == 403
    plane.api.expect("PATCH", one, unlabelled)
    labelled = {"metadata": {"labels": {names.CLAIM: "nic"}}}
    assert account.request("PATCH", one, labelled).status == 403, (
        "none of anybody else becomes ours"
    )


def test_who_may_edit_a_namespace_may_not_write_what_is_trusted_of_a_claim(
    plane: ControlPlane,
) -> None:
    """Kubernetes' own roles: a claim's status is the scheduler's and the drivers'."""
    for role in ("view", "edit", "admin"):
        path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}"
        rules = plane.api.expect("GET", path).get("rules") or []
        status = [rule for rule in rules if "resourceclaims/status" in rule.get("resources", ())]
        assert all(set(rule["verbs"]) <= {"get", "list", "watch"} for rule in status), role
