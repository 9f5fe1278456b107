"""What ``check`` makes of whole inventories, and of what could not be read."""

from datetime import timedelta
from typing import Any

import pytest

from tests.certs.simulation import NOW
from tests.diagnose.check.findings import brief
from tests.worlds import profiles
from webhook.core import names
from webhook.diagnose.check import examine
from webhook.diagnose.check.deployments import Deployment
from webhook.diagnose.check.inventory import Installation, Inventory, Subject, Surroundings
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.check.privileges import Access
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import exit_status
from webhook.diagnose.listing import Found, Listing, Unread
from webhook.world.profiles_read import ProfileFault, ProfilesRead

HERE = ProfilesRead("profiles.yaml", profiles("profiles: {plain: {}}"))
NONE = ProfilesRead("ConfigMap ns/p, profiles.yaml", missing="does not exist")
REFUSED = "GET /x answered 403: no"


def inventory(
    read: ProfilesRead = HERE,
    ours: Installation | None = None,
    around: Surroundings | None = None,
    ahead: timedelta = timedelta(),
) -> Inventory:
    return Inventory(Subject(), NOW + ahead, NOW, read, ours or Installation(), around or Surroundings())


def test_says_kindly_that_nothing_is_installed() -> None:
    found = examine(inventory(ours=Installation(installer={Access("create", "", "namespaces"): "yes"})))
    assert exit_status(found) == 0
    lines = brief(found)
    assert any(
        line.startswith("ok fabric-injector: is not installed yet (no MutatingWebhookConfiguration") for line in lines
    )
    assert "ok you: may do all 1 things that installation takes" in lines
    assert {each.topic for each in found}.isdisjoint({"certificates", "deployments", "lease", "reachability"})


def test_tells_which_profiles_it_looked_at() -> None:
    assert "ok profiles.yaml: 1 profile, valid: plain" in brief(examine(inventory()))
    fault = ProfileFault("p.yaml, line 3", "profiles.a.networks: is no list; write one")
    broken = examine(inventory(ProfilesRead("p.yaml", faults=(fault,))))
    assert "fail p.yaml, line 3: profiles.a.networks: is no list; write one" in brief(broken)
    assert brief(examine(inventory(NONE)))[2].startswith("warn ConfigMap ns/p, profiles.yaml: does not exist: neither")
    installed = Installation(configurations=Listing(({"metadata": {"name": names.WEBHOOK_CONFIGURATION}},)))
    assert "fail ConfigMap ns/p, profiles.yaml: does not exist" in brief(examine(inventory(NONE, installed)))


def test_finds_half_an_installation() -> None:
    installed = Installation(configurations=Listing(({"metadata": {"name": names.WEBHOOK_CONFIGURATION}},)))
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
    parts = (Unread("nodes", f"cannot be read, so that part is unknown: {REFUSED}"), Unread("pods/a", "is broken"))
    found = examine(inventory(ProfilesRead("p", problem=REFUSED), ours, around)._replace(unread=parts))
    assert exit_status(found) == 0
    told = [each for each in found if each.topic == "unread"]
    assert [(each.subject, each.message) for each in told] == [(part.what, part.problem) for part in parts]
    assert [bool(each.action) for each in told] == [True, False]
    assert [each.topic for each in found if each.topic != "unread"] == ["clock"]


def test_judges_by_the_api_servers_time() -> None:
    lease = {"spec": {"holderIdentity": "pod-1", "renewTime": NOW.isoformat()}}
    installed = Installation(
        configurations=Listing(({"metadata": {"name": names.WEBHOOK_CONFIGURATION}},)), lease=Found(lease)
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
    rail = ProfilesRead("p", profiles("profiles: {rail: {networks: [{network: default/rail, resource: a/b}]}}"))
    lines = [line for line in brief(examine(inventory(rail, around=around))) if line.startswith("fail")]
    missing = "profile rail: network default/rail: does not exist"
    none = "NetworkAttachmentDefinitions: are not installed: no network of 1 profile (rail) can exist"
    assert f"fail {missing if installed else none}" in lines
    assert f"fail {none if installed else missing}" not in lines


def test_misses_the_configuration_of_an_installation() -> None:
    installed = Installation(deployments=Listing((Deployment("fabric-injector-webhook", "webhook"),)))
    [found] = [each for each in examine(inventory(ours=installed)) if each.code is Code.CONFIGURATION_MISSING]
    assert (found.level, found.subject) == ("fail", "MutatingWebhookConfiguration zz-fabric-injector")


def test_demands_nothing_of_multus_where_gke_makes_the_networks() -> None:
    interfaces = '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"rdma-0"}]'
    annotations = f"{{networking.gke.io/interfaces: '{interfaces}', networking.gke.io/default-interface: eth0}}"
    read = ProfilesRead(
        "p", profiles(f"profiles: {{a: {{annotations: {annotations}, rendezvous: {{addressSource: gke}}}}}}")
    )
    found = examine(inventory(read, around=Surroundings(networks=Listing(installed=False))))
    assert [each for each in found if each.topic in ("multus", "networks") and each.level != "ok"] == []
    assert {Code.MULTUS_UNUSED, Code.RANKS_MEET} <= {each.code for each in found}
