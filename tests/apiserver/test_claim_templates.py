"""Claims by profile on a real API server: their templates are made, known again, removed, narrowed by the policy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import Client
from tests.cluster.controller import Controller, own_token
from tests.cluster.controlplane import ControlPlane
from tests.waiting import wait_until
from webhook.control import claim_templates
from webhook.control.claim_templates import ClaimTemplates
from webhook.core import names
from webhook.core.claim_templates import make_template, stored_spec, template_name, template_spec
from webhook.core.profiles import ClaimRequest, Profile, ProfileClaim, parse_profiles
from webhook.core.profiles.custom_resource import custom_resource_definition
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION, PROFILE_KIND
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

LABEL = "fabric-injector.io/profile"
PROFILES = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
TEXT = """
profiles:
  cards:
    claims:
      - name: nic
        requests:
          - {name: nic, deviceClassName: dranet.net, count: 2, selectors: ['device.attributes["dra.net"].rdma']}
          - {name: all, deviceClassName: other.example.com, allocationMode: All}
        constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot, requests: [nic, all]}]
        config: [{driver: dra.net, requests: [nic], parameters: {interface: {name: rail0, mtu: 9000, ratio: 1.0}, ok: true}}]
"""
CARDS: Profile = parse_profiles(TEXT).profiles["cards"]
[CLAIM] = CARDS.claims
NAME = template_name(CLAIM)
PLAIN = ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),))


@pytest.fixture(scope="module", params=["v1", "v1beta2"])
def plane(
    request: pytest.FixtureRequest, programs: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Run a control plane that serves claims in one version alone."""
    version = request.param
    served = (
        "resource.k8s.io/v1=true"
        if version == "v1"
        else "resource.k8s.io/v1=false,resource.k8s.io/v1beta2=true"
    )
    with ControlPlane(tmp_path_factory.mktemp("claims"), f"--runtime-config={served}") as plane:
        groups = plane.api.expect("GET", "/apis/resource.k8s.io")["versions"]
        assert [each["version"] for each in groups] == [version]
        yield plane


@pytest.fixture
def path(plane: ControlPlane) -> str:
    [served] = plane.api.expect("GET", "/apis/resource.k8s.io")["versions"]
    return f"/apis/{served['groupVersion']}"


def templates(api: Client, path: str, namespace: str) -> list[str]:
    items = api.expect("GET", f"{path}/namespaces/{namespace}/resourceclaimtemplates")["items"]
    return [each["metadata"]["name"] for each in items]


class Keeper:
    """A keeper of templates with the controller's account, whose profiles and namespaces the test gives."""

    def __init__(self, plane: ControlPlane) -> None:
        self.named: dict[str, str] = {}
        token = own_token(plane)
        credentials = Credentials("test", plane.url, lambda: f"Bearer {token}", ca=plane.ca)
        self.connection = Connection(credentials)
        self.keeper = ClaimTemplates(self.connection, lambda: True, lambda: self.named)
        self.keeper.put({"cards": CARDS})


@pytest.fixture
def kept(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    monkeypatch.setattr(claim_templates, "FOLLOWER_SECONDS", 0.05)
    kept = Keeper(plane)
    kept.keeper.start()
    yield kept
    kept.keeper.stop()
    kept.connection.close()


def test_what_is_stored_is_what_the_name_says(plane: ControlPlane, path: str, kept: Keeper) -> None:
    space = plane.create_namespace(f"stored-{path[-2:]}")
    kept.named = {space: "cards"}
    kept.keeper.wake()
    wait_until(lambda: templates(plane.api, path, space) == [NAME], "the template")
    found = plane.api.expect("GET", f"{path}/namespaces/{space}/resourceclaimtemplates/{NAME}")
    assert stored_spec(found["spec"]) == template_spec(CLAIM), "the API server fills nothing in"
    assert found["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "fabric-injector",
        "fabric-injector.io/claim": "nic",
    }
    watched = kept.keeper._watched
    assert watched is not None
    assert kept.keeper._apply(watched, (space, NAME), CLAIM) == "", (
        "applied again, it stays as it is"
    )


def test_the_policy_holds_the_account_to_our_names(plane: ControlPlane, path: str) -> None:
    space = plane.create_namespace(f"policy-{path[-2:]}")
    account = plane.client(own_token(plane))
    where = f"{path}/namespaces/{space}/resourceclaimtemplates"
    good = {"apiVersion": path.removeprefix("/apis/"), **make_template(space, PLAIN)}

    def changed(**metadata: Any) -> dict[str, Any]:
        return {**good, "metadata": {**good["metadata"], **metadata}}

    def refused() -> bool:  # a new policy counts a moment after it was made
        answer = account.request("POST", f"{where}?dryRun=All", changed(name="mine"))
        return (
            answer.status == 403 and "no ResourceClaimTemplate but those" in answer.json["message"]
        )

    wait_until(refused, "the policy to count", 30)
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


def test_the_controller_keeps_them_by_objects_and_labels(
    programs: None, tmp_path: Path, webhook_command: list[str]
) -> None:
    """Run the process itself: Kubernetes makes a waiting pod's claim."""
    with ControlPlane(tmp_path / "plane") as plane:
        plane.start_controller_manager()
        plane.api.ensure(custom_resource_definition())
        spec = {
            "claims": [
                {"name": "nic", "requests": [{"name": "r", "deviceClassName": "dranet.net"}]}
            ]
        }
        body = {
            "apiVersion": PROFILE_API_VERSION,
            "kind": PROFILE_KIND,
            "metadata": {"name": "cards"},
            "spec": spec,
        }
        wait_until(
            lambda: plane.api.request("POST", PROFILES, body).status in (201, 409),
            "the definition",
            30,
        )
        space, leases = (
            plane.create_namespace("ml", {LABEL: "cards"}),
            plane.create_namespace("leases"),
        )
        with Controller(plane, tmp_path / "controller", webhook_command, leases) as controller:
            wait_until(
                lambda: len(templates(plane.api, "/apis/resource.k8s.io/v1", space)) == 1,
                "the template",
                60,
            )
            [name] = templates(plane.api, "/apis/resource.k8s.io/v1", space)
            pod: dict[str, Any] = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "train-0",
                    "labels": {"fabric-injector.io/claims": "referenced"},
                },
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "a/b",
                            "resources": {"claims": [{"name": "fabric-nic"}]},
                        }
                    ],
                    "resourceClaims": [{"name": "fabric-nic", "resourceClaimTemplateName": name}],
                },
            }
            late = plane.create_namespace("late")
            plane.api.expect("POST", f"/api/v1/namespaces/{late}/pods", pod)
            claims = f"/apis/resource.k8s.io/v1/namespaces/{late}/resourceclaims"
            wait_until(
                lambda: len(plane.api.expect("GET", claims)["items"]) == 1,
                "the claim of the pod",
                60,
            )
            assert "Traceback" not in controller.output()


def test_a_cluster_without_claims_keeps_working(programs: None, tmp_path: Path) -> None:
    with ControlPlane(tmp_path / "plane", "--runtime-config=resource.k8s.io/v1=false") as plane:
        assert plane.api.request("GET", "/apis/resource.k8s.io").status == 404
        space = plane.create_namespace("ml")
        kept = Keeper(plane)
        kept.named = {space: "cards"}
        assert kept.keeper.turn() == claim_templates.PERIOD_SECONDS
        kept.connection.close()
