"""Claims: the profile's are referenced in pods of jobs of several pods, and never beside what the pod asks for itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests import pods
from tests.core.builders import carry_out, message, outcomes, plan, profile
from tests.core.test_review import judge
from tests.pods import minimal_container, minimal_pod
from tests.worlds import profiles, world
from webhook.core import names
from webhook.core.claim_templates import CLAIMS_UNSERVED, template_name
from webhook.core.draft import Draft
from webhook.core.injection.claims import inject
from webhook.core.model import Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import (
    ClaimConstraint,
    ClaimRequest,
    ProfileClaim,
    ProfileQuantity,
    ProfileSidecar,
)
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod

NIC = ProfileClaim("nic", (ClaimRequest("nic", "dranet.net", count=2),))
GPU = ProfileClaim("gpu", (ClaimRequest("gpu", "gpu.nvidia.com"),))
ALIGNED = ProfileClaim(
    "pair",
    (ClaimRequest("gpu", "example.com"), ClaimRequest("nic", "dranet.net")),
    (ClaimConstraint("resource.kubernetes.io/pcieRoot"),),
)
MEMBER = TrainingPod("pytorchjob", rendezvous=Rendezvous("j-1", "worker", "j-master-0"))
ALONE = TrainingPod("pytorchjob", reason=Reason.SINGLE_NODE, message="the job runs on one node")
REFERENCE = {"name": "fabric-nic", "resourceClaimTemplateName": template_name(NIC)}


def plan_of(
    pod: Object, *claims: ProfileClaim, training_pod: TrainingPod | None = MEMBER, **tweaks: Any
) -> Plan:
    fields = {
        name: tweaks.pop(name) for name in ("resources", "quantities", "sidecars") if name in tweaks
    }
    return plan(pod, profile=profile(claims=claims, **fields), training_pod=training_pod, **tweaks)


def test_references_the_template_in_the_pod_and_its_training_container() -> None:
    pod = minimal_pod(minimal_container("logs"), minimal_container("trainer"))
    result, decisions = carry_out(inject, pod, plan_of(pod, NIC, container=1))
    assert result["spec"]["resourceClaims"] == [REFERENCE]
    assert result["spec"]["containers"][1]["resources"] == {"claims": [{"name": "fabric-nic"}]}
    _, again = carry_out(inject, result, plan_of(result, NIC, container=1))
    assert message(again, Outcome.KEPT) == "the pod has fabric-nic already"
    assert result["spec"]["containers"][0] == pod["spec"]["containers"][0]
    assert outcomes(decisions) == [(Outcome.INJECTED, Reason.ADDED)]
    assert (
        decisions[0].message
        == f"container trainer gets claim fabric-nic (template {template_name(NIC)})"
    )


def test_gives_several_claims_beside_a_pods_accelerator() -> None:
    other = ProfileClaim("rail", (ClaimRequest("r", "rail.example.com"),))
    pod = minimal_pod(minimal_container(resources={"limits": {"nvidia.com/gpu": "8"}}))
    result, decisions = carry_out(inject, pod, plan_of(pod, NIC, other))
    assert [each["name"] for each in result["spec"]["resourceClaims"]] == [
        "fabric-nic",
        "fabric-rail",
    ]
    assert result["spec"]["containers"][0]["resources"] == {
        "limits": {"nvidia.com/gpu": "8"},
        "claims": [{"name": "fabric-nic"}, {"name": "fabric-rail"}],
    }
    assert outcomes(decisions) == [(Outcome.INJECTED, Reason.ADDED)]


@pytest.mark.parametrize(
    ("training_pod", "reason", "why"),
    [
        (
            None,
            Reason.NOT_TRAINING,
            "it is not known to be one of a job of several pods, and a claim keeps a pod from nodes without such devices",
        ),
        (
            ALONE,
            Reason.SINGLE_NODE,
            "the job has one pod, which needs no network, and a claim would keep it from nodes without such devices",
        ),
    ],
)
def test_a_pod_that_is_not_one_of_several_gets_none(
    training_pod: TrainingPod | None, reason: Reason, why: str
) -> None:
    pod = minimal_pod()
    result, decisions = carry_out(inject, pod, plan_of(pod, NIC, training_pod=training_pod))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, reason)]
    assert decisions[0].message == f"the claims of profile rdma are left out: {why}"


def test_a_job_that_meets_where_it_would_anyway_gets_its_claims() -> None:
    pod = minimal_pod()
    system = TrainingPod(
        "leaderworkerset", reason=Reason.NO_MASTER, message="no variable names rank 0"
    )
    result, _ = carry_out(inject, pod, plan_of(pod, NIC, training_pod=system))
    assert result["spec"]["resourceClaims"] == [REFERENCE]


@pytest.mark.parametrize(
    ("tweaks", "reason", "told"),
    [
        (
            {"hostNetwork": True},
            Reason.HOST_NETWORK,
            "a driver gives no card to a pod on the node's network (hostNetwork: true); remove hostNetwork",
        ),
        ({"os": {"name": "windows"}}, Reason.WINDOWS, "it is a Windows pod"),
        (
            {"resourceClaims": [{"name": "mine", "resourceClaimTemplateName": "nics"}]},
            Reason.DRA_CLAIM,
            "it brings claim mine of its own, which may be for the same devices; remove one of the two",
        ),
        (
            {"resourceClaims": [{"name": each, "resourceClaimName": each} for each in ("a", "b")]},
            Reason.DRA_CLAIM,
            "it brings claims a, b of its own, which may be for the same devices; remove one of the two",
        ),
        (
            {"resourceClaims": [{"name": "fabric-nic", "resourceClaimName": "shared"}]},
            Reason.DRA_CLAIM,
            "it brings claim fabric-nic of its own, which may be for the same devices; remove one of the two",
        ),
        (
            {
                "resourceClaims": [
                    {"name": "fabric-nic", "resourceClaimTemplateName": "imex-channel"}
                ]
            },
            Reason.DRA_CLAIM,
            "it brings claim fabric-nic of its own, which may be for the same devices; remove one of the two",
        ),
    ],
)
def test_leaves_all_out_and_says_why(tweaks: Object, reason: Reason, told: str) -> None:
    pod = minimal_pod(**tweaks)
    result, decisions = carry_out(inject, pod, plan_of(pod, NIC))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.WARNED, reason)]
    assert decisions[0].message == f"pod train-0: the claims of profile rdma are left out: {told}"


def test_says_that_the_cluster_serves_no_claims() -> None:
    pod = minimal_pod()
    result, decisions = carry_out(inject, pod, plan_of(pod, NIC, claims_problem=CLAIMS_UNSERVED))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.WARNED, Reason.CLAIMS_UNSERVED)]
    assert CLAIMS_UNSERVED in decisions[0].message


def test_a_channel_of_a_compute_domain_is_no_card() -> None:
    channel = {"name": "channel", "resourceClaimTemplateName": "compute-domain-channel"}
    pod = minimal_pod(
        minimal_container(resources={"claims": [{"name": "channel"}]}), resourceClaims=[channel]
    )
    result, _ = carry_out(inject, pod, plan_of(pod, NIC))
    assert result["spec"]["resourceClaims"] == [channel, REFERENCE]
    assert result["spec"]["containers"][0]["resources"]["claims"] == [
        {"name": "channel"},
        {"name": "fabric-nic"},
    ]


@pytest.mark.parametrize("where", ["containers", "initContainers"])
@pytest.mark.parametrize("key", ["limits", "requests"])
@pytest.mark.parametrize("resource", ["rdma/hca", "deviceclass.resource.kubernetes.io/dranet.net"])
def test_never_beside_a_device_that_the_pod_asks_for_itself(
    where: str, key: str, resource: str
) -> None:
    holder = minimal_container("holder", resources={key: {resource: 1}})
    pod = minimal_pod()
    pod["spec"][where] = [*pod["spec"].get(where, []), holder]
    result, decisions = carry_out(inject, pod, plan_of(pod, NIC))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.WARNED, Reason.OWN_DEVICE)]
    assert decisions[0].message.endswith(
        f"it asks for {resource} itself, which may be the same device, and would count twice; remove one of the two"
    )


@pytest.mark.parametrize(
    "tweaks",
    [
        {"resources": {"rdma/hca": "1"}},
        {"quantities": (ProfileQuantity("rdma/hca", per_accelerator=1),)},
        {"sidecars": (ProfileSidecar("daemon", "a/b", resources={"rdma/hca": "1"}),)},
    ],
)
def test_a_device_of_the_same_profile_is_given_knowingly(tweaks: Any) -> None:
    pod = minimal_pod(minimal_container(resources={"limits": {"rdma/hca": "1"}}))
    result, _ = carry_out(inject, pod, plan_of(pod, NIC, **tweaks))
    assert result["spec"]["resourceClaims"] == [REFERENCE]


def test_no_amount_of_a_device_is_no_request() -> None:
    pod = minimal_pod(minimal_container(resources={"limits": {"rdma/hca": "0", "memory": "1Gi"}}))
    result, _ = carry_out(inject, pod, plan_of(pod, NIC))
    assert result["spec"]["resourceClaims"] == [REFERENCE]


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (GPU, "it asks for gpu.nvidia.com, and the pod for nvidia.com/gpu itself"),
        (ALIGNED, "match by resource.kubernetes.io/"),
    ],
)
def test_a_claim_of_accelerators_goes_only_to_pods_that_ask_for_none(
    claim: ProfileClaim, told: str
) -> None:
    own = minimal_pod(minimal_container(resources={"limits": {"nvidia.com/gpu": "1"}}))
    result, decisions = carry_out(inject, own, plan_of(own, NIC, claim))
    assert result["spec"]["resourceClaims"] == [REFERENCE]
    assert outcomes(decisions) == [
        (Outcome.INJECTED, Reason.ADDED),
        (Outcome.WARNED, Reason.OWN_DEVICE),
    ]
    assert told in message(decisions, Outcome.WARNED)
    assert f"claim {claim.name} of profile rdma is left out" in message(decisions, Outcome.WARNED)
    none = minimal_pod()
    result, decisions = carry_out(inject, none, plan_of(none, NIC, claim))
    assert len(result["spec"]["resourceClaims"]) == 2
    assert outcomes(decisions) == [(Outcome.INJECTED, Reason.ADDED)]


def test_a_copy_takes_the_template_of_today() -> None:
    earlier = {
        "name": "fabric-nic",
        "resourceClaimTemplateName": "fabric-injector-nic-0123456789abcdef",
    }
    pod = minimal_pod(
        minimal_container(resources={"claims": [{"name": "fabric-nic"}]}),
        resourceClaims=[{"name": "x"}, earlier],
    )
    pod["spec"]["resourceClaims"].pop(0)
    result, decisions = carry_out(inject, pod, plan_of(pod, NIC))
    assert result["spec"]["resourceClaims"] == [REFERENCE]
    assert outcomes(decisions) == [(Outcome.INJECTED, Reason.ADDED)]


def test_a_copy_that_is_to_have_none_has_none() -> None:
    pod = minimal_pod(
        minimal_container(resources={"claims": [{"name": "fabric-nic"}, {"name": "x"}]}),
        initContainers=[
            minimal_container(
                "early", resources={"claims": [{"name": "fabric-nic", "request": "nic"}]}
            )
        ],
        resourceClaims=[REFERENCE, {"name": "x", "resourceClaimTemplateName": "compute-domain-x"}],
    )
    result, _ = carry_out(inject, pod, plan_of(pod, NIC, training_pod=ALONE))
    assert result["spec"]["resourceClaims"] == [
        {"name": "x", "resourceClaimTemplateName": "compute-domain-x"}
    ]
    assert result["spec"]["containers"][0]["resources"]["claims"] == [{"name": "x"}]
    assert result["spec"]["initContainers"][0]["resources"]["claims"] == []


def test_a_copy_loses_a_claim_that_the_profile_gives_no_more() -> None:
    pod = minimal_pod(
        resourceClaims=[
            {
                "name": "fabric-old",
                "resourceClaimTemplateName": "fabric-injector-old-0123456789abcdef",
            }
        ]
    )
    result, _ = carry_out(inject, pod, plan_of(pod, NIC))
    assert result["spec"]["resourceClaims"] == [REFERENCE]


def test_a_label_shows_the_controller_which_pods_name_our_templates() -> None:
    cluster = world(profile="rdma")
    claims = profiles(
        "profiles: {rdma: {claims: [{name: nic, requests: [{name: nic, deviceClassName: a.io}]}]}}"
    )
    member = judge(pods.load("pods/kubeflow-pytorchjob-1.yaml"), cluster, claims).pod
    assert member["metadata"]["labels"][names.CLAIMS] == names.CLAIMS_REFERENCED
    alone = judge(minimal_pod(labels={names.PROFILE: "rdma"}), cluster, claims).pod
    assert names.CLAIMS not in alone["metadata"]["labels"]
    without = judge(member, cluster, profiles("profiles: {rdma: {}}")).pod
    assert names.CLAIMS not in without["metadata"]["labels"]


def test_a_profile_without_claims_asks_for_nothing() -> None:
    pod = minimal_pod()
    [decision] = inject(Draft(pod), plan_of(pod))
    assert (decision.outcome, decision.reason) == (Outcome.SKIPPED, Reason.NOT_ASKED)
