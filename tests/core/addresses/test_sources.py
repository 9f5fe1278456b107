"""Every source: what a pod gets by it, that a second pass changes nothing, and that one that is not known is told and not guessed."""

import json
from typing import Any, get_args, get_type_hints

import pytest

from tests import pods
from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names, podspec
from webhook.core.addresses import DEFAULT, SOURCES, source_named, source_of
from webhook.core.injection import wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import Secondary
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
  pod: {{metadata: {{annotations: {{networking.gke.io/interfaces: '{INTERFACES}', networking.gke.io/default-interface: eth0}}}}}}
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


def decision(verdict: Verdict, step: str) -> Decision:
    return next(each for each in verdict.decisions if each.step == step)


def variables(pod: Object) -> dict[str, Any]:
    [container] = podspec.containers(pod)
    return {
        entry["name"]: entry.get("value") or entry["valueFrom"] for entry in podspec.env(container)
    }


def test_a_profile_names_the_sources_that_there_are() -> None:
    literal = get_type_hints(RendezvousSettings)["address_source"]
    assert set(get_args(literal)) == set(SOURCES)
    assert RendezvousSettings().address_source == DEFAULT


def test_a_job_without_a_network_is_told_that_it_meets_on_none() -> None:
    told = decision(verdict_of("unattached"), "rendezvous")
    assert (told.reason, told.message) == (
        Reason.NO_IPAM,
        "no secondary network is attached to the pod",
    )


def test_a_job_of_gke_meets_on_the_interface_that_gke_makes() -> None:
    verdict = verdict_of("gke", **{names.GKE_POD_IPS: POD_IPS})
    told = podspec.annotations(verdict.pod)
    assert told[names.ADDRESS_SOURCE] == "gke"
    assert told[names.RENDEZVOUS_NETWORK] == "rdma-0@eth1/any"
    assert told[names.GKE_INTERFACES] == INTERFACES
    assert names.GKE_POD_IPS not in told, "it is of the pod whose manifest was saved"
    assert verdict.role == "master"
    found = variables(verdict.pod)
    assert (found["NCCL_SOCKET_IFNAME"], found["GLOO_SOCKET_IFNAME"]) == ("=eth1", "eth1")
    assert decision(verdict, "rendezvous").message.endswith(
        "come from eth1 of rdma-0 once GKE has given them"
    )
    [waiting] = [
        each
        for each in podspec.init_containers(verdict.pod)
        if each["name"] == names.WAIT_CONTAINER
    ]
    assert "at that pod's pod-ips annotation" in waiting["command"][2]
    assert podspec.env_value(waiting, names.ENV_ADDRESS_ANNOTATION) == "pod-ips"


def test_a_pods_own_interfaces_win() -> None:
    own = INTERFACES.replace("rdma-0", "mine").replace("eth1", "eth5")
    verdict = verdict_of("gke", **{names.GKE_INTERFACES: own})
    assert podspec.annotations(verdict.pod)[names.RENDEZVOUS_NETWORK] == "mine@eth5/any"


@pytest.mark.parametrize("text", ["", "{", "null", "[]"])
def test_where_gke_makes_no_interface_the_job_meets_as_it_would(text: str) -> None:
    verdict = verdict_of("gke", **{names.GKE_INTERFACES: text})
    said = decision(verdict, "rendezvous")
    assert (said.outcome, said.reason) == (Outcome.SKIPPED, Reason.NO_ADDRESS)
    assert "networking.gke.io/" in said.message
    assert "Multus" not in said.message + decision(verdict, "environment").message
    assert not verdict.role
    assert not wait.needs(verdict.pod)
    assert names.ADDRESS_SOURCE not in podspec.annotations(verdict.pod)


def test_without_a_source_the_job_meets_as_it_would_and_gets_all_else() -> None:
    verdict = verdict_of("nowhere")
    assert decision(verdict, "rendezvous") == Decision(
        "rendezvous",
        Outcome.SKIPPED,
        Reason.KEEPS_NAME,
        "profile nowhere says rendezvous.addressSource: none: the job meets on the pod network, as it would by itself",
    )
    assert podspec.annotations(verdict.pod)[names.NETWORKS] == "default/rdma-net"
    assert podspec.limits(podspec.containers(verdict.pod)[0])["rdma/hca"] == "1"
    plain = variables(pods.load("live/pytorchjob/bert-master-0.review.json"))
    assert variables(verdict.pod) == plain
    assert (
        not {names.ADDRESS_SOURCE, names.RENDEZVOUS_NETWORK}
        & podspec.annotations(verdict.pod).keys()
    )
    assert names.JOB not in podspec.labels(verdict.pod)
    assert not wait.needs(verdict.pod)
    told = json.loads(podspec.annotations(verdict.pod)[names.STATUS])
    assert "addressSource: none" in told["skipped"]["rendezvous"]


def test_the_default_is_as_it_was() -> None:
    verdict = verdict_of("multus", **{names.ADDRESS_SOURCE: "gke", names.GKE_POD_IPS: POD_IPS})
    told = podspec.annotations(verdict.pod)
    assert names.ADDRESS_SOURCE not in told, (
        "no annotation of ours that comes with a pod is trusted"
    )
    assert told[names.GKE_POD_IPS] == POD_IPS, "none of our business here"
    assert told[names.RENDEZVOUS_NETWORK] == "default/rdma-net@net1/any"


def member(who: str, profile: str = "gke", **annotations: str) -> Member:
    """Give what the controller reads of an injected pod, with *annotations* that others have written since."""
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
        "annotation networking.gke.io/pod-ips: rdma-0@eth1: is not a list of addresses (the JSON text is not a list); "
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
    wanted = source_named("gke").parse_wanted("rdma-0@eth1/any")
    assert wanted is not None
    assert source.secondary(source.WORDS.read(told), wanted).address == ""
    assert (
        read_member(
            pods.member_pod("m-0", "master", annotations={names.ADDRESS_SOURCE: name, **told})
        )
        is not None
    )


def test_words_of_every_source_are_whole() -> None:
    for name in (*SOURCES, "pigeon"):
        words = source_named(name).WORDS
        assert words.look_on_node.format(node="node-1").isprintable()
        assert words.writer
        assert source_of({names.ADDRESS_SOURCE: name}) is source_named(name)
    assert source_of({}) is SOURCES[DEFAULT]
