"""Devices whose number depends on the node's type, or on the accelerators: asked for where the number is certain."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core.accelerators import count_accelerators
from webhook.core.injection.devices import inject
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.profiles import ProfileQuantity, ProfileSidecar

EFA, TYPE = "vpc.amazonaws.com/efa", "node.kubernetes.io/instance-type"
BY_TYPE = ProfileQuantity(EFA, by_node_type={"p5.48xlarge": 32, "p4d.24xlarge": 4, "none": 0})
PER_GPU = ProfileQuantity(EFA, per_accelerator=4)
BOTH = ProfileQuantity(EFA, per_accelerator=1, by_node_type={"p5.48xlarge": 32})
ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
UNKNOWN = (Outcome.WARNED, Reason.UNKNOWN_QUANTITY)


def trainer(*, gpus: Any = None, **resources: Any) -> Object:
    asked = {**({"nvidia.com/gpu": gpus} if gpus is not None else {}), **resources}
    return minimal_container("trainer", resources={"limits": asked} if asked else {})


def affinity(*terms: Any) -> Object:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def term(*values: str, key: str = TYPE, operator: str = "In") -> Object:
    return {
        "matchExpressions": [
            {"key": "zone", "operator": "Exists"},
            {"key": key, "operator": operator, "values": [*values]},
        ]
    }


def run(
    pod: Object, quantity: ProfileQuantity, *attachments: Any, **tweaks: Any
) -> tuple[Object, list[Decision]]:
    return carry_out(
        inject, pod, plan(pod, *attachments, profile=profile(quantities=(quantity,), **tweaks))
    )


def asked(pod: Object, resource: str = EFA) -> Any:
    resources = pod["spec"]["containers"][0].get("resources") or {}
    found = {kind: (resources.get(kind) or {}).get(resource) for kind in ("limits", "requests")}
    assert found["limits"] == found["requests"]
    return found["limits"]


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {TYPE: "p5.48xlarge"}},
        {"affinity": affinity(term("p5.48xlarge"))},
        {"affinity": affinity(term("p5.48xlarge"), term("p5.48xlarge", "p5.48xlarge"))},
        {"nodeSelector": {TYPE: "p5.48xlarge"}, "affinity": affinity(term("p4d.24xlarge"))},
    ],
)
def test_takes_the_number_of_the_type_that_the_pod_names(spec: Object) -> None:
    result, decisions = run(minimal_pod(trainer(), **spec), BY_TYPE)
    assert asked(result) == "32"
    assert outcomes(decisions) == [ADDED]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"nodeSelector": {TYPE: "m5.large"}},
        {"nodeSelector": {"other": "p5.48xlarge"}},
        {"affinity": affinity()},
        {"affinity": affinity(term("p5.48xlarge", "p4d.24xlarge"))},
        {"affinity": affinity(term("p5.48xlarge"), term("p4d.24xlarge"))},
        {"affinity": affinity(term("p5.48xlarge"), {})},
        {"affinity": affinity(term("p5.48xlarge"), term("p5.48xlarge", key="other"))},
        {"affinity": affinity(term("p5.48xlarge", operator="NotIn"))},
        {"affinity": affinity(term("p5.48xlarge", operator="Gt"))},
        {"affinity": {"nodeAffinity": None}},
        {
            "affinity": {
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
            }
        },
    ],
)
def test_adds_nothing_where_the_type_is_not_certain_and_says_so(spec: Object) -> None:
    pod = minimal_pod(trainer(gpus=8), **spec)
    result, decisions = run(pod, BY_TYPE)
    assert result == pod
    assert outcomes(decisions) == [UNKNOWN]
    assert decisions[0].message.startswith(
        f"pod train-0: how many of {EFA} it needs is not known, and none is added: "
    )


def test_counts_by_accelerators_where_the_type_is_not_known() -> None:
    result, _ = run(minimal_pod(trainer(gpus=8)), BOTH)
    assert asked(result) == "8"
    result, _ = run(minimal_pod(trainer(gpus=8), nodeSelector={TYPE: "p5.48xlarge"}), BOTH)
    assert asked(result) == "32"
    result, _ = run(minimal_pod(trainer(gpus="8")), PER_GPU)
    assert asked(result) == "32"


def test_a_type_that_the_profile_does_not_know_gets_none_by_accelerators_either() -> None:
    pod = minimal_pod(trainer(gpus=8), nodeSelector={TYPE: "g5.48xlarge"})
    result, decisions = run(pod, BOTH)
    assert (result, outcomes(decisions)) == (pod, [UNKNOWN])
    assert message(decisions, Outcome.WARNED) == (
        f"pod train-0: how many of {EFA} it needs is not known, and none is added: profile rdma gives no number "
        f"for {TYPE}=g5.48xlarge; select nodes by {TYPE} (p5.48xlarge), or ask for {EFA} in the pod"
    )


def test_counts_by_the_node_selectors_that_are_merged_later() -> None:
    """Else a second pass over the whole pod would find another number."""
    result, _ = run(minimal_pod(trainer(gpus=8)), BOTH, node_selector={TYPE: "p5.48xlarge"})
    assert asked(result) == "32"
    rail = attachment("rails/rail-0", node_selector={TYPE: "p5.48xlarge"})
    result, _ = run(minimal_pod(trainer(gpus=8)), BOTH, rail)
    assert asked(result) == "32"


@pytest.mark.parametrize("where", ["limits", "requests"])
def test_a_request_of_the_users_own_stays(where: str) -> None:
    container = minimal_container("trainer", resources={where: {EFA: 1, "nvidia.com/gpu": 8}})
    pod = minimal_pod(container)
    result, decisions = run(pod, PER_GPU)
    assert result == pod
    assert outcomes(decisions) == [KEPT]
    side = minimal_container("side", resources={where: {EFA: 1}})
    result, decisions = run(minimal_pod(trainer(gpus=8), side), PER_GPU)
    assert asked(result) is None
    assert outcomes(decisions) == [KEPT]


@pytest.mark.parametrize(
    ("existing", "own", "expected"),
    [
        ("complete", {}, "32"),
        ("keep", {}, "32"),
        ("add", {}, "32"),
        ("complete", {EFA: 1}, 1),
        ("keep", {EFA: 1}, 1),
        ("add", {EFA: 1}, "2"),
    ],
)
def test_beside_a_network_that_takes_one_of_it(existing: str, own: Object, expected: Any) -> None:
    """carry_out sees that a second pass changes nothing, whatever is noted of what the first one has put on top."""
    pod = minimal_pod(trainer(gpus=8, **own))
    result, _ = run(
        pod, PER_GPU, attachment("rails/rail-0", resource=EFA), existing_devices=existing
    )
    assert asked(result) == expected


def test_a_training_container_of_a_sidecars_name_is_asked_too() -> None:
    sidecars = (ProfileSidecar("trainer", "registry.example.com/daemon"),)
    result, decisions = run(minimal_pod(trainer(gpus=8, **{EFA: 1})), PER_GPU, sidecars=sidecars)
    assert result["spec"]["containers"][0]["resources"]["limits"][EFA] == 1
    assert outcomes(decisions) == [KEPT]


def test_a_network_that_counts_as_many_devices_is_enough() -> None:
    per_gpu = ProfileQuantity(EFA, per_accelerator=1)
    result, _ = run(minimal_pod(trainer(gpus=1)), per_gpu, attachment("rails/rail-0", resource=EFA))
    assert asked(result) == "1"


def test_does_not_count_accelerators_that_the_profile_itself_gives() -> None:
    """A second pass, which finds them in the pod, would count others."""
    result, decisions = run(minimal_pod(trainer()), PER_GPU, resources={"nvidia.com/gpu": "8"})
    assert asked(result) is None
    assert UNKNOWN in outcomes(decisions)


def test_a_type_that_gets_none_gets_none() -> None:
    pod = minimal_pod(trainer(gpus=8), nodeSelector={TYPE: "none"})
    result, decisions = run(pod, BY_TYPE)
    assert (result, outcomes(decisions)) == (pod, [(Outcome.SKIPPED, Reason.NOT_ASKED)])


def test_takes_the_label_that_the_profile_names() -> None:
    quantity = ProfileQuantity("a/b", by_node_type={"big": 2}, node_label="example.com/kind")
    result, _ = run(
        minimal_pod(trainer(), nodeSelector={"example.com/kind": "big", TYPE: "x"}), quantity
    )
    assert asked(result, "a/b") == "2"


def test_says_what_to_write() -> None:
    _, decisions = run(minimal_pod(trainer()), BOTH)
    assert message(decisions, Outcome.WARNED) == (
        f"pod train-0: how many of {EFA} it needs is not known, and none is added: neither its nodeSelector nor its required node "
        f"affinity names one {TYPE}, and container trainer asks for no accelerators that can be counted; select nodes by {TYPE} "
        f"(p5.48xlarge), or ask for {EFA} in the pod"
    )
    _, decisions = run(minimal_pod(trainer()), PER_GPU)
    assert message(decisions, Outcome.WARNED).endswith(
        f"container trainer asks for no accelerators that can be counted; ask for {EFA} in the pod"
    )
    _, decisions = run(minimal_pod(trainer(), nodeSelector={TYPE: "m5"}), BOTH)
    assert f"profile rdma gives no number for {TYPE}=m5" in message(decisions, Outcome.WARNED)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"nvidia.com/gpu": 8}, 8),
        ({"nvidia.com/gpu": "8"}, 8),
        ({"amd.com/gpu": 4, "cpu": 3, "rdma/gpu0_nic": 1}, 4),
        ({"aws.amazon.com/neuron": 16}, 16),
        ({"nvidia.com/gpu": 2, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 50}, 2),
        ({"nvidia.com/gpu": 8, "amd.com/gpu": 0}, 8),
        ({"nvidia.com/gpu": "8", "amd.com/gpu": "0"}, 8),
        ({}, None),
        ({"cpu": 4}, None),
        ({"aliyun.com/gpu-mem": 16}, None),
        ({"tencent.com/vcuda-core": 100}, None),
        ({"nvidia.com/gpu": 4, "nvidia.com/mig-1g.5gb": 2}, None),
        ({"nvidia.com/gpu": "x"}, None),
        ({"nvidia.com/gpu": "500m"}, None),
        ({"nvidia.com/gpu": "-1"}, None),
        ({"nvidia.com/gpu": "0"}, None),
    ],
)
def test_counts_accelerators_where_that_is_certain(limits: Object, expected: int | None) -> None:
    assert count_accelerators({"resources": {"limits": limits}}) == expected
    assert count_accelerators({"resources": {"requests": limits}}) == expected
