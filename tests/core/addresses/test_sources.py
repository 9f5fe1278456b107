"""Every source: what a pod gets by it; one that is not known is told and not guessed."""

from typing import get_args, get_type_hints

import pytest

from tests import pods
from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names
from webhook.core.addresses import DEFAULT, SOURCES, source_named
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import Secondary, parse_wanted
from webhook.core.profiles import RendezvousSettings
from webhook.core.reconcile import Jobs, Suspect, read_member
from webhook.core.reconcile.complaint import about_status
from webhook.core.reconcile.member import Member
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld

INTERFACES = (
    '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"rdma-0"}]'
)
KNOWN = profiles(
    f"""
multus: {{networks: [{{network: default/rdma-net}}]}}
unattached: {{container: {{env: [{{name: NCCL_DEBUG, value: INFO}}]}}}}
gke:
  pod:
    metadata:
      annotations:
        networking.gke.io/interfaces: '{INTERFACES}'
        networking.gke.io/default-interface: eth0
  container: {{resources: {{limits: {{networking.gke.io.networks/rdma-0: 1}}}}}}
  rendezvous: {{addressSource: gke}}
nowhere:
  networks: [{{network: default/rdma-net, resource: rdma/hca}}]
  rendezvous: {{addressSource: none}}
"""
)
POD_IPS = '[{"networkName":"rdma-0","ip":"10.1.0.7"}]'


def verdict_of(profile: str, who: str = "bert-master-0", **annotations: str) -> Verdict:
    """Decide about a pod of a PyTorchJob; a second pass over it changes nothing."""
    pod = pods.load(f"live/pytorchjob/{who}.review.json")
    pod["metadata"].setdefault("annotations", {}).update(annotations)
    world = ObjectsWorld([namespace("train", profile), network("default/rdma-net")])
    verdict = decide(pod, "train", KNOWN, world)
    assert verdict.allowed, verdict.message
    again = decide(verdict.pod, "train", KNOWN, world)
    assert again.operations == []
    return verdict


def test_a_profile_names_the_sources_that_there_are() -> None:
    literal = get_type_hints(RendezvousSettings)["address_source"]
    assert set(get_args(literal)) == set(SOURCES)
    assert RendezvousSettings().address_source == DEFAULT


def member(who: str, profile: str = "gke", **annotations: str) -> Member:
    """Give what the controller reads of an injected pod, with *annotations* of others."""
    pod = verdict_of(profile, who).pod
    pod["metadata"] |= {
        "namespace": "train",
        "uid": who,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    pod["metadata"]["annotations"] |= annotations
    pod["metadata"].pop("deletionTimestamp", None)
    found = read_member({"metadata": pod["metadata"]})
    assert found is not None
    return found


def test_the_controller_publishes_what_the_pods_own_source_tells() -> None:
    jobs = Jobs()
    zero = member("bert-master-0")
    assert (zero.wanted, zero.reported, zero.secondary) == ("rdma-0@eth1", False, Secondary())
    jobs.update(("train", "bert-worker-0"), member("bert-worker-0"))
    assert jobs.update(("train", "bert-master-0"), zero) == []
    status = '[{"name":"default/rdma-net","interface":"net1","ips":["10.9.9.9"]}]'
    multus = member("bert-master-0", **{names.NETWORK_STATUS: status})
    assert jobs.update(("train", "bert-master-0"), multus) == [], "of another source than the pod's"
    units = jobs.update(
        ("train", "bert-master-0"), member("bert-master-0", **{names.GKE_POD_IPS: POD_IPS})
    )
    written = {
        unit.name: dict(found.annotations) for unit in units if (found := jobs.publication(unit))
    }
    assert written == {
        "bert-master-0": {
            names.MASTER_ADDR: "10.1.0.7",
            names.MASTER_HOST: "10.1.0.7",
            names.LOCAL_ADDR: "10.1.0.7",
        },
        "bert-worker-0": {names.MASTER_ADDR: "10.1.0.7", names.MASTER_HOST: "10.1.0.7"},
    }


def test_a_fault_of_pod_ips_is_told_without_a_word_of_multus() -> None:
    complaint = about_status(member("bert-master-0", **{names.GKE_POD_IPS: "{}"}))
    assert complaint is not None
    assert complaint.message.startswith(
        "annotation networking.gke.io/pod-ips: rdma-0@eth1: is not a list of addresses "
    )
    assert "Multus" not in complaint.message


@pytest.mark.parametrize("profile", ["gke", "multus"])
def test_a_source_that_is_not_known_is_told_and_not_guessed(profile: str) -> None:
    ips = {
        names.GKE_POD_IPS: POD_IPS,
        names.NETWORK_STATUS: '[{"name":"default/rdma-net","interface":"net1","ips":["10.9.9.9"]}]',
    }
    found = member("bert-master-0", profile, **{names.ADDRESS_SOURCE: "pigeon", **ips})
    assert found.secondary.address == ""
    assert found.wanted
    complaint = about_status(found)
    assert complaint is not None
    assert "annotation fabric-injector.io/address-source: " in complaint.message
    assert "'pigeon', a source of addresses that this version does not know" in complaint.message
    assert Suspect(found, found).is_stuck


@pytest.mark.parametrize("name", ["none", "claim", "pigeon"])
def test_a_source_that_tells_nothing_gives_no_address(name: str) -> None:
    """Whatever somebody has written on the pod."""
    source, told = source_named(name), {names.NETWORK_STATUS: "[]", names.GKE_POD_IPS: POD_IPS}
    assert (
        source.choose(pods.minimal_pod(), KNOWN.profiles["gke"], ResolvedNetworks()).network is None
    )
    wanted = parse_wanted("rdma-0@eth1/any")
    assert wanted is not None
    assert source.secondary(source.words.read(told), wanted).address == ""
    assert (
        read_member(
            pods.member_pod("m-0", "master", annotations={names.ADDRESS_SOURCE: name, **told})
        )
        is not None
    )


def test_words_of_every_source_are_whole() -> None:
    for name in (*SOURCES, "pigeon"):
        words = source_named(name).words
        assert words.look.isprintable()
        assert words.writer
