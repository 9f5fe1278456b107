"""What ``check`` makes of whole inventories, and of what could not be read."""

import copy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.certs.simulation import NOW
from tests.diagnose.check.findings import brief
from tests.profiles import profiles
from webhook.core import names
from webhook.core.claim_templates import template_name
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.profiles import Profiles
from webhook.diagnose.check import examine
from webhook.diagnose.check.deployments import Deployment
from webhook.diagnose.check.examine import OF_INSTALLATION
from webhook.diagnose.check.inventory import Installation, Inventory, Subject, Surroundings
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.check.privileges import Access
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import exit_status
from webhook.diagnose.listing import Found, Listing, Unread
from webhook.world.profiles_read import ProfileFault, ProfilesRead

HERE = ProfilesRead("profiles.yaml", profiles("{plain: {}}"))
NONE = ProfilesRead("ConfigMap ns/p, profiles.yaml", missing="does not exist")
REFUSED = "GET /x answered 403: no"


def inventory(
    read: ProfilesRead = HERE,
    ours: Installation | None = None,
    around: Surroundings | None = None,
    ahead: timedelta = timedelta(),
) -> Inventory:
    return Inventory(
        Subject(), NOW + ahead, NOW, read, ours or Installation(), around or Surroundings()
    )


def test_says_kindly_that_nothing_is_installed() -> None:
    found = examine(
        inventory(ours=Installation(installer={Access("create", "", "namespaces"): "yes"}))
    )
    assert exit_status(found) == 0
    lines = brief(found)
    assert any(
        line.startswith("ok fabric-injector: is not installed yet (no MutatingWebhookConfiguration")
        for line in lines
    )
    assert "ok you: may do all 1 things that installation takes" in lines
    assert {each.topic for each in found}.isdisjoint(
        {"certificates", "deployments", "lease", "reachability"}
    )


def test_tells_which_profiles_it_looked_at() -> None:
    assert "ok profiles.yaml: 1 profile, valid: plain" in brief(examine(inventory()))
    fault = ProfileFault("p.yaml, line 3", "profiles.a.networks: is no list; write one")
    broken = examine(inventory(ProfilesRead("p.yaml", faults=(fault,))))
    assert "fail p.yaml, line 3: profiles.a.networks: is no list; write one" in brief(broken)
    assert brief(examine(inventory(NONE)))[2].startswith(
        "warn ConfigMap ns/p, profiles.yaml: does not exist: neither"
    )
    installed = Installation(
        configurations=Listing(({"metadata": {"name": names.WEBHOOK_CONFIGURATION}},))
    )
    assert "fail ConfigMap ns/p, profiles.yaml: does not exist" in brief(
        examine(inventory(NONE, installed))
    )


def test_finds_half_an_installation() -> None:
    installed = Installation(
        configurations=Listing(({"metadata": {"name": names.WEBHOOK_CONFIGURATION}},))
    )
    lines = [line for line in brief(examine(inventory(ours=installed))) if line.startswith("fail")]
    subjects = [line.partition(": ")[0] for line in lines]
    assert subjects == [
        "fail Deployment of the webhook",
        "fail Deployment of the controller",
        "fail MutatingWebhookConfiguration zz-fabric-injector",
        "fail Secret fabric-injector/fabric-injector-tls",
        "fail Lease fabric-injector/fabric-injector",
    ]


def test_tells_all_that_it_could_not_look_at_and_fails_nothing() -> None:
    unread: Listing[Any] = Listing(problem=REFUSED)
    one: Found[Any] = Found(problem=REFUSED)

    def all_unread(values: dict[str, Any]) -> dict[str, Any]:
        kinds = {name: unread for name, value in values.items() if isinstance(value, Listing)}
        return kinds | {name: one for name, value in values.items() if isinstance(value, Found)}

    ours = Installation(**all_unread(Installation()._asdict()))
    around = Surroundings(**all_unread(Surroundings()._asdict()))
    parts = (
        Unread("nodes", f"cannot be read, so that part is unknown: {REFUSED}"),
        Unread("pods/a", "is broken"),
    )
    found = examine(
        inventory(ProfilesRead("p", problem=REFUSED), ours, around)._replace(unread=parts)
    )
    assert exit_status(found) == 0
    told = [each for each in found if each.topic == "unread"]
    assert [(each.subject, each.message) for each in told] == [
        (part.what, part.problem) for part in parts
    ]
    assert [each.action for each in told] == [
        Code.UNREAD.action,
        "mend what the message names, or ask again later",
    ]
    assert [each.topic for each in found if each.topic != "unread"] == ["clock"]


def test_judges_by_the_api_servers_time() -> None:
    lease = {"spec": {"holderIdentity": "pod-1", "renewTime": NOW.isoformat()}}
    installed = Installation(
        configurations=Listing(({"metadata": {"name": names.WEBHOOK_CONFIGURATION}},)),
        lease=Found(lease),
    )
    lines = brief(examine(inventory(ours=installed, ahead=timedelta(hours=9))))
    assert lines[0] == "warn this machine: is 9 h ahead of the API server"
    assert "ok Lease fabric-injector/fabric-injector: is held by pod-1" in lines


@pytest.mark.parametrize("installed", [True, False])
def test_misses_multus_where_a_profile_needs_it(installed: bool) -> None:
    around = Surroundings(
        namespaces=Listing((LabelledNamespace("a", {names.PROFILE: "rail"}),)),
        networks=Listing(installed=installed),
    )
    rail = ProfilesRead(
        "p", profiles("{rail: {networks: [{network: default/rail, resource: a/b}]}}")
    )
    lines = [
        line for line in brief(examine(inventory(rail, around=around))) if line.startswith("fail")
    ]
    missing = "profile rail: network default/rail: does not exist"
    none = (
        "NetworkAttachmentDefinitions: are not installed: no network of 1 profile (rail) can exist"
    )
    assert f"fail {missing if installed else none}" in lines
    assert f"fail {none if installed else missing}" not in lines


def test_misses_the_configuration_of_an_installation() -> None:
    installed = Installation(
        deployments=Listing((Deployment("fabric-injector-webhook", "webhook"),))
    )
    [found] = [
        each
        for each in examine(inventory(ours=installed))
        if each.code is Code.CONFIGURATION_MISSING
    ]
    assert (found.level, found.subject) == (
        "fail",
        "MutatingWebhookConfiguration zz-fabric-injector",
    )


def test_demands_nothing_of_multus_where_gke_makes_the_networks() -> None:
    interfaces = (
        '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"rdma-0"}]'
    )
    annotations = f"{{networking.gke.io/interfaces: '{interfaces}', networking.gke.io/default-interface: eth0}}"
    read = ProfilesRead(
        "p",
        profiles(
            f"{{a: {{pod: {{metadata: {{annotations: {annotations}}}}}, rendezvous: {{addressSource: gke}}}}}}"
        ),
    )
    found = examine(inventory(read, around=Surroundings(networks=Listing(installed=False))))
    assert [
        each for each in found if each.topic in ("multus", "networks") and each.level != "ok"
    ] == []
    assert {Code.MULTUS_UNUSED, Code.RANKS_MEET} <= {each.code for each in found}


def test_looks_at_the_claims_of_profiles_as_far_as_they_are_served() -> None:
    text = "cards: {claims: [{name: nic, requests: [{name: r, deviceClassName: dra.net}]}]}"
    read = profiles(text)
    missing = "fail profile cards: claim nic: names DeviceClass dra.net, which does not exist: pods that get the claim stay Pending"
    template = template_name(read.profiles["cards"].claims[0])
    around = Surroundings(
        namespaces=Listing((LabelledNamespace("ml", {names.PROFILE: "cards"}),)),
        device_offers=DeviceOffers((), ()),
    )

    def told(read: Profiles, around: Surroundings) -> list[str]:
        return brief(examine(inventory(ProfilesRead("p", read), around=around)))

    assert missing in told(read, around)
    absent = (
        f"warn ResourceClaimTemplate ml/{template}: is not there: pods that name it stay Pending"
    )
    assert absent in told(read, around._replace(claim_templates={("ml", template): None}))
    assert absent not in told(read, around)
    unserved = told(
        replace(read, claims_problem="the cluster serves none"),
        around._replace(claim_templates={("ml", template): None}),
    )
    assert "warn profile cards: no pod gets its claims: the cluster serves none" in unserved
    assert {missing, absent}.isdisjoint(unserved)


def test_kueue_is_asked_about_claims_where_it_is_there() -> None:
    read = profiles(
        "{cards: {claims: [{name: nic, requests: [{name: r, deviceClassName: dra.net}]}]}}"
    )
    queue = {"metadata": {"name": "q", "namespace": "ml"}, "spec": {"clusterQueue": "c"}}
    around = Surroundings(
        namespaces=Listing((LabelledNamespace("ml", {names.PROFILE: "cards"}),)),
        local_queues=Listing((queue,)),
    )

    def is_told(queues: Listing[Any]) -> bool:
        found = examine(
            inventory(ProfilesRead("p", read), around=around._replace(cluster_queues=queues))
        )
        return any("in ml Kueue counts the claims of plain pods" in each.message for each in found)

    assert is_told(Listing(()))
    assert not is_told(Listing(installed=False))
    assert not is_told(Listing(problem=REFUSED))


def test_what_a_tenant_asked_of_the_installation_is_not_warned_of() -> None:
    unread = (Unread("Deployments", REFUSED), Unread(next(iter(OF_INSTALLATION)), REFUSED))
    whole = inventory()._replace(unread=unread)
    own = whole._replace(subject=Subject(workload="ml"))

    def warned(asked: Inventory) -> set[str]:
        return {each.subject for each in examine(asked) if each.code is Code.UNREAD}

    assert warned(whole) - warned(own) == {
        part.what for part in unread if part.what in OF_INSTALLATION
    }


def test_a_webhook_that_is_to_take_opted_in_pods_must_be_told_so() -> None:
    shipped = yaml.safe_load(
        (ROOT / "manifests/base/mutating-webhook-configuration.yaml").read_text()
    )
    opted = copy.deepcopy(shipped)
    opted["webhooks"][0]["namespaceSelector"]["matchExpressions"][0]["operator"] = "DoesNotExist"
    deployments = Listing((Deployment("fabric-injector-controller", "controller"),))

    def codes(configuration: Any) -> set[Any]:
        ours = Installation(configurations=Listing((configuration,)), deployments=deployments)
        return {each.code for each in examine(inventory(ours=ours))}

    assert codes(opted) - codes(shipped) >= {Code.OPTED_IN_NOT_SERVED}


def test_a_namespace_alone_is_asked_whether_the_webhook_is_reached() -> None:
    alone = inventory()._replace(subject=Subject(workload="ml"))
    assert {each.topic for each in examine(alone)}.isdisjoint({"reachability", "configuration"})
