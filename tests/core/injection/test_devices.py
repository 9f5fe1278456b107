"""Devices: what the pod lacks of what its networks and its profile need."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, network, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.injection.devices import inject
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks import Attachment

IB, VF = "rdma/ib", "nvidia.com/rdma-vf"
RAIL = attachment(resource=IB)
ADDED_KEY = names.ADDED_DEVICES
ADDED = [(Outcome.INJECTED, Reason.ADDED)]
RAISED = [(Outcome.INJECTED, Reason.RAISED), (Outcome.WARNED, Reason.RAISED)]
KEPT = [(Outcome.KEPT, Reason.ALREADY_THERE)]
HELD_ELSEWHERE = [(Outcome.WARNED, Reason.ALREADY_THERE)]


def _pod(resources: Object | None = None, **spec: Any) -> Object:
    fields: Object = {"resources": resources} if resources is not None else {}
    return minimal_pod(minimal_container(**fields), **spec)


def _both(**amounts: Any) -> Object:
    return {"limits": dict(amounts), "requests": dict(amounts)}


def _resources(pod: Object, container: int = 0) -> Any:
    return pod["spec"]["containers"][container].get("resources")


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        pytest.param(None, _both(**{IB: "1"}), ADDED, id="no-resources"),
        pytest.param({}, _both(**{IB: "1"}), ADDED, id="empty-resources"),
        pytest.param({"limits": None, "requests": None}, _both(**{IB: "1"}), ADDED, id="null-maps"),
        pytest.param(
            {"limits": {"cpu": "4"}},
            {"limits": {"cpu": "4", IB: "1"}, "requests": {IB: "1"}},
            ADDED,
            id="beside-others",
        ),
        pytest.param(_both(**{IB: "1"}), _both(**{IB: "1"}), KEPT, id="there"),
        pytest.param(_both(**{IB: 1}), _both(**{IB: 1}), KEPT, id="there-as-a-number"),
        pytest.param(_both(**{IB: 1.0}), _both(**{IB: 1.0}), KEPT, id="there-as-a-float"),
        pytest.param(_both(**{IB: "1k"}), _both(**{IB: "1k"}), KEPT, id="more-is-there"),
        pytest.param(_both(**{IB: "1000m"}), _both(**{IB: "1000m"}), KEPT, id="there-in-milli"),
        pytest.param({"limits": {IB: 8}}, _both(**{IB: 8}), ADDED, id="limit-without-request"),
        pytest.param(
            {"requests": {IB: "2"}}, _both(**{IB: "2"}), ADDED, id="request-without-limit"
        ),
        pytest.param(_both(**{IB: "0"}), _both(**{IB: "1"}), RAISED, id="zero-is-raised"),
        pytest.param(
            {"requests": {IB: 0}}, _both(**{IB: "1"}), RAISED, id="zero-request-is-raised"
        ),
    ],
)
def test_completes_the_training_container(
    there: Object | None, wanted: Object, expected: Any
) -> None:
    pod = _pod(there)
    result, decisions = carry_out(inject, pod, plan(pod, RAIL))
    assert _resources(result) == wanted
    assert outcomes(decisions) == expected


@pytest.mark.parametrize(
    ("there", "other", "wanted"),
    [
        pytest.param({}, {}, _both(**{IB: "2"}), id="nothing-there"),
        pytest.param(_both(**{IB: "1"}), {}, _both(**{IB: "1"}), id="there"),
        pytest.param(_both(**{IB: "0"}), {}, _both(**{IB: "0"}), id="zero"),
        pytest.param({"limits": {IB: 0}}, {}, _both(**{IB: 0}), id="the-number-zero"),
        pytest.param(
            {"requests": {IB: 0}}, {}, _both(**{IB: 0}), id="a-request-of-the-number-zero"
        ),
        pytest.param({"limits": {IB: "1"}}, {}, _both(**{IB: "1"}), id="limit-only"),
        pytest.param({}, {"requests": {IB: "1"}}, {}, id="another-container"),
        pytest.param(_both(**{VF: "1"}), {}, _both(**{VF: "1", IB: "2"}), id="another-resource"),
    ],
)
def test_keeps_what_any_container_names(there: Object, other: Object, wanted: Object) -> None:
    """As network-resources-injector does without -honor-resources: createResourcePatch."""
    pod = minimal_pod(
        minimal_container(resources=there), minimal_container("side", resources=other)
    )
    result, decisions = carry_out(
        inject, pod, plan(pod, RAIL, RAIL, profile=profile(existing_devices="keep"))
    )
    assert _resources(result) == wanted
    assert _resources(result, 1) == other
    assert (HELD_ELSEWHERE[0] in outcomes(decisions)) is bool(other), (
        "only what another container has is told"
    )
    assert "annotations" not in result["metadata"]


ADDS = profile(existing_devices="add")


@pytest.mark.parametrize(
    ("there", "other", "wanted"),
    [
        pytest.param({}, {}, "2", id="nothing-there"),
        pytest.param(_both(**{IB: "3"}), {}, "5", id="on-top"),
        pytest.param({"limits": {IB: 1}}, {}, "3", id="limit-only"),
        pytest.param({}, _both(**{IB: "4"}), "2", id="another-containers-are-its-own"),
    ],
)
def test_adds_to_what_the_container_asks_for_itself(
    there: Object, other: Object, wanted: str
) -> None:
    """As network-resources-injector does with -honor-resources, updateResourcePatch; but once, however often it is called."""
    pod = minimal_pod(
        minimal_container(resources=there), minimal_container("side", resources=other)
    )
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, RAIL, profile=ADDS))
    assert _resources(result) == _both(**{IB: wanted})
    assert _resources(result, 1) == other
    assert outcomes(decisions) == ADDED
    assert result["metadata"]["annotations"] == {names.ADDED_DEVICES: f"{IB}=2"}


def test_adds_what_another_injector_brought_since() -> None:
    pod = minimal_pod(
        minimal_container(resources=_both(**{IB: "3"})),
        metadata={"annotations": {ADDED_KEY: f"{IB}=1,{VF}=1"}},
    )
    result, _ = carry_out(
        inject, pod, plan(pod, RAIL, attachment("rails/b", "net2", resource=VF), RAIL, profile=ADDS)
    )
    assert _resources(result) == _both(**{IB: "4", VF: "1"})
    assert result["metadata"]["annotations"] == {ADDED_KEY: f"{IB}=2,{VF}=1"}


@pytest.mark.parametrize(
    "text", ["", "x", f"{IB}=", f"{IB}=-1", f"{IB}=1.5", f"{IB}={'9' * 30}", f"{IB}=x,=,,", "²=²"]
)
def test_reads_nothing_from_a_note_that_says_no_number(text: str) -> None:
    pod = minimal_pod(
        minimal_container(resources=_both(**{IB: "3"})), metadata={"annotations": {ADDED_KEY: text}}
    )
    result, _ = carry_out(inject, pod, plan(pod, RAIL, profile=ADDS))
    assert _resources(result) == _both(**{IB: "4"})


def test_a_note_of_more_than_is_there_takes_nothing_away() -> None:
    pod = minimal_pod(
        minimal_container(resources=_both(**{IB: "1"})),
        metadata={"annotations": {ADDED_KEY: f"{IB}=9"}},
    )
    result, _ = carry_out(inject, pod, plan(pod, RAIL, RAIL, profile=ADDS))
    assert _resources(result) == _both(**{IB: "2"})


def test_removes_a_note_that_its_profile_does_not_make() -> None:
    note = {"annotations": {ADDED_KEY: f"{IB}=9", "mine": "1"}}
    for attachments, chosen in (((RAIL,), profile()), ((), ADDS)):
        pod = minimal_pod(minimal_container(), metadata=note)
        result, _ = carry_out(inject, pod, plan(pod, *attachments, profile=chosen))
        assert result["metadata"]["annotations"] == {"mine": "1"}


def test_hugepages_are_completed_in_every_mode() -> None:
    for existing in ("complete", "keep", "add"):
        pod = _pod(
            {
                "limits": {"hugepages-2Mi": "2Mi", "memory": "1Gi"},
                "requests": {"hugepages-2Mi": "2Mi"},
            }
        )
        chosen = profile(existing_devices=existing, resources={"hugepages-2Mi": "4Mi"})
        result, _ = carry_out(inject, pod, plan(pod, profile=chosen))
        assert _resources(result)["limits"]["hugepages-2Mi"] == "4Mi"
        assert "annotations" not in result["metadata"]


@pytest.mark.parametrize(
    ("attachments", "resources", "wanted"),
    [
        pytest.param([RAIL], {}, {IB: "1"}, id="one-network"),
        pytest.param(
            [attachment(f"rails/rail-{n}", f"net{n}", resource=VF) for n in range(1, 17)],
            {},
            {VF: "16"},
            id="16-times",
        ),
        pytest.param(
            [
                attachment("rails/rail-0", "net1", resource="o.io/r0"),
                attachment("rails/rail-1", "net2", resource="o.io/r1"),
            ],
            {},
            {"o.io/r0": "1", "o.io/r1": "1"},
            id="one-resource-per-rail",
        ),
        pytest.param(
            [Attachment(network(), "net1", (("o.io/a", 1), ("o.io/b", 2)))],
            {},
            {"o.io/a": "1", "o.io/b": "2"},
            id="a-joined-name",
        ),
        pytest.param(
            [attachment(), attachment("default/rail-1", "net2")],
            {IB: "1"},
            {IB: "1"},
            id="once-however-many-networks",
        ),
        pytest.param([RAIL, RAIL], {IB: "1"}, {IB: "2"}, id="maximum-with-the-networks"),
        pytest.param([RAIL], {IB: "4"}, {IB: "4"}, id="maximum-with-the-profile"),
        pytest.param(
            [], {"vpc.amazonaws.com/efa": "32"}, {"vpc.amazonaws.com/efa": "32"}, id="no-network"
        ),
        pytest.param(
            [attachment(resource="o.io/eth0", default=True)],
            {},
            {"o.io/eth0": "1"},
            id="default-network",
        ),
    ],
)
def test_needs_what_networks_and_profile_say(
    attachments: list[Attachment], resources: Any, wanted: Object
) -> None:
    pod = _pod()
    result, decisions = carry_out(
        inject, pod, plan(pod, *attachments, profile=profile(resources=resources))
    )
    assert _resources(result) == _both(**wanted)
    listed = ", ".join(f"{name}: {amount}" for name, amount in wanted.items())
    assert message(decisions, Outcome.INJECTED) == f"container trainer asks for {listed}"


@pytest.mark.parametrize(
    ("other", "wanted"),
    [
        pytest.param({"limits": {VF: "1"}}, "2", id="an-app-container"),
        pytest.param({"requests": {VF: "1"}, "limits": {VF: "1"}}, "2", id="counted-once"),
        pytest.param({"limits": {"rdma/ib": "1"}}, "3", id="another-resource"),
        pytest.param({"limits": {VF: "3"}}, None, id="enough"),
    ],
)
@pytest.mark.parametrize("where", ["container", "sidecar"])
def test_adds_only_what_all_running_containers_lack(
    other: Object, wanted: str | None, where: str
) -> None:
    helper = minimal_container("helper", resources=other)
    if where == "container":
        pod = minimal_pod(helper, minimal_container())
    else:
        pod = minimal_pod(
            minimal_container(), initContainers=[{**helper, "restartPolicy": "Always"}]
        )
    index = len(pod["spec"]["containers"]) - 1
    rails = [attachment("default/vf", f"net{n}", resource=VF) for n in (1, 2, 3)]
    result, decisions = carry_out(inject, pod, plan(pod, *rails, container=index))
    assert _resources(result, index) == (_both(**{VF: wanted}) if wanted else None)
    assert outcomes(decisions) == [
        *(ADDED if wanted else KEPT),
        *(HELD_ELSEWHERE if wanted != "3" else ()),
    ]


@pytest.mark.parametrize("existing", ["complete", "keep"])
def test_says_which_other_container_has_the_device_already(existing: Any) -> None:
    pod = minimal_pod(
        minimal_container(), minimal_container("metrics", resources={"limits": {IB: "1"}})
    )
    result, decisions = carry_out(
        inject, pod, plan(pod, RAIL, profile=profile(existing_devices=existing))
    )
    assert result == pod
    assert outcomes(decisions) == KEPT + HELD_ELSEWHERE
    assert message(decisions, Outcome.WARNED) == (
        "pod train-0: container metrics asks for rdma/ib: container trainer, which trains, has 0 of 1, and cannot open those of "
        "metrics; move the request, or name metrics in annotation fabric-injector.io/container"
    )


def test_says_nothing_of_a_container_that_has_a_device_of_its_own_beside() -> None:
    pod = minimal_pod(
        *[minimal_container(name, resources=_both(**{IB: "1"})) for name in ("trainer", "other")]
    )
    _, decisions = carry_out(inject, pod, plan(pod, RAIL))
    assert outcomes(decisions) == KEPT


def test_does_not_count_init_containers_that_end() -> None:
    pod = minimal_pod(initContainers=[minimal_container("smcr-init", resources=_both(**{IB: "1"}))])
    result, _ = carry_out(inject, pod, plan(pod, RAIL))
    assert _resources(result) == _both(**{IB: "1"})


def test_counts_each_of_several_resources_once() -> None:
    pod = _pod({"requests": {IB: "1"}})
    result, _ = carry_out(
        inject, pod, plan(pod, attachment(resource=VF), profile=profile(resources={IB: "2"}))
    )
    assert _resources(result) == _both(**{VF: "1", IB: "2"})


def test_raises_to_own_amount_and_shortfall() -> None:
    pod = minimal_pod(
        minimal_container(resources=_both(**{VF: "1"})),
        minimal_container("side", resources={"limits": {VF: 1}}),
    )
    rails = [attachment("default/vf", f"net{n}", resource=VF) for n in range(1, 5)]
    result, decisions = carry_out(inject, pod, plan(pod, *rails))
    assert _resources(result) == _both(**{VF: "3"})
    assert outcomes(decisions) == RAISED + HELD_ELSEWHERE
    assert decisions[1].message == (
        "pod train-0: container trainer asked for too little; raised nvidia.com/rdma-vf from 1 to 3"
    )


@pytest.mark.parametrize(
    "there",
    [
        {"limits": {"hugepages-2Mi": "1Gi", "cpu": 1}},
        {"limits": {"hugepages-2Mi": "1Mi", "cpu": 1}, "requests": {"hugepages-2Mi": "1Gi"}},
    ],
)
def test_tells_what_was_raised_in_the_units_of_who_wrote_it(there: Object) -> None:
    pod = minimal_pod(minimal_container(resources=there))
    _, decisions = carry_out(
        inject, pod, plan(pod, profile=profile(resources={"hugepages-2Mi": "5120Mi"}))
    )
    assert decisions[1].message.endswith("raised hugepages-2Mi from 1Gi to 5120Mi")


@pytest.mark.parametrize(
    ("there", "resources", "wanted"),
    [
        pytest.param(
            {"limits": {"memory": "1Gi"}},
            {"hugepages-2Mi": "5120Mi"},
            {
                "limits": {"memory": "1Gi", "hugepages-2Mi": "5120Mi"},
                "requests": {"hugepages-2Mi": "5120Mi"},
            },
            id="hugepages-in-the-profiles-words",
        ),
        pytest.param(
            {"requests": {"cpu": "2"}},
            {"cpu": "4"},
            {"requests": {"cpu": "4"}},
            id="request-without-limit-stays-so",
        ),
        pytest.param(
            {"requests": {"cpu": "4"}},
            {"cpu": "2500m"},
            {"requests": {"cpu": "4"}},
            id="enough-cpu",
        ),
        pytest.param(None, {"memory": "1.5Gi"}, _both(memory="1.5Gi"), id="memory"),
        pytest.param(_both(cpu="500m"), {"cpu": "1500m"}, _both(cpu="1500m"), id="a-part-of-a-cpu"),
    ],
)
def test_gives_the_profiles_native_resources(there: Any, resources: Any, wanted: Any) -> None:
    helper = minimal_container(
        "helper", resources=_both(**{"hugepages-2Mi": "1Gi", "memory": "64Gi", "cpu": "64"})
    )
    pod = minimal_pod(minimal_container(resources=there), helper)
    result, _ = carry_out(inject, pod, plan(pod, profile=profile(resources=resources)))
    assert _resources(result) == wanted


def test_hugepages_are_left_out_where_the_api_server_would_refuse_them() -> None:
    """It wants a cpu or memory request of the same container: what runs today runs afterwards."""
    pod = _pod()
    given = profile(resources={"hugepages-2Mi": "4Mi", "hugepages-1Gi": "1Gi"})
    result, decisions = carry_out(inject, pod, plan(pod, profile=given))
    assert outcomes(decisions) == [(Outcome.WARNED, Reason.HUGEPAGES)]
    assert "hugepages-2Mi, hugepages-1Gi" in decisions[0].message
    assert result == pod


def test_hugepages_are_given_beside_memory_that_the_profile_gives() -> None:
    pod = _pod()
    given = profile(resources={"hugepages-2Mi": "4Mi", "memory": "1Gi"})
    result, decisions = carry_out(inject, pod, plan(pod, profile=given))
    assert outcomes(decisions) == ADDED
    assert _resources(result)["limits"] == {"hugepages-2Mi": "4Mi", "memory": "1Gi"}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"resourceClaims": [{"name": "nic"}]}, id="pod-claims"),
        pytest.param({}, id="container-claims"),
    ],
)
def test_warns_that_claims_are_not_counted(spec: Object) -> None:
    claims = {} if spec else {"claims": [{"name": "nic"}]}
    pod = _pod(claims, **spec)
    result, decisions = carry_out(inject, pod, plan(pod, RAIL))
    assert _resources(result) == {**claims, **_both(**{IB: "1"})}
    assert outcomes(decisions) == [*ADDED, (Outcome.WARNED, Reason.DRA_CLAIM)]
    assert message(decisions, Outcome.WARNED) == (
        "pod train-0: resource claim nic is not counted as a device; container trainer asks for rdma/ib: 1 besides; "
        "for a network whose device comes by a claim, write count: 0 in profile rdma"
    )


@pytest.mark.parametrize("name", [None, 5, [], {}, "x" * 300])
def test_a_claim_of_any_name_is_told(name: Any) -> None:
    _, decisions = carry_out(
        inject, _pod({}, resourceClaims=[{"name": name}]), plan(_pod({}), RAIL)
    )
    assert f"resource claim {name} is not counted" in message(decisions, Outcome.WARNED)


@pytest.mark.parametrize(
    "claim",
    [
        {"name": "compute-domain-channel", "resourceClaimTemplateName": "train"},
        {"name": "channel", "resourceClaimTemplateName": "nccl-test-compute-domain-channel"},
        {"name": "imex-channel-0", "resourceClaimName": "x"},
    ],
    ids=["by its name", "by its template", "of an older driver"],
)
def test_a_channel_between_gpus_is_no_network_card(claim: Object) -> None:
    pod = _pod({"claims": [{"name": claim["name"]}]}, resourceClaims=[claim])
    _, decisions = carry_out(inject, pod, plan(pod, RAIL))
    assert outcomes(decisions) == ADDED
    beside = _pod(
        {"claims": [{"name": claim["name"]}]},
        resourceClaims=[claim, {"name": "rdma"}, {"name": "gpu"}],
    )
    _, decisions = carry_out(inject, beside, plan(beside, RAIL))
    assert "resource claims rdma, gpu are not counted as devices" in message(
        decisions, Outcome.WARNED
    )


def test_is_silent_about_claims_where_nothing_is_added() -> None:
    pod = _pod(_both(**{IB: "1"}), resourceClaims=[{"name": "nic"}])
    _, decisions = carry_out(inject, pod, plan(pod, RAIL))
    assert outcomes(decisions) == KEPT


@pytest.mark.parametrize("found", ["1.5", "1500m", 0.5, "one", "", "-1", -1, "1" * 300])
@pytest.mark.parametrize("key", ["limits", "requests"])
def test_denies_a_quantity_that_is_no_whole_number(found: Any, key: str) -> None:
    pod = minimal_pod(minimal_container(), minimal_container("side", resources={key: {IB: found}}))
    with pytest.raises(Denied) as caught:
        carry_out(inject, pod, plan(pod, RAIL))
    assert caught.value.reason is Reason.BAD_RESOURCE
    assert caught.value.message == (
        f"pod train-0: container side: resources.{key}[rdma/ib] is {str(found)[:40]!r}; "
        "write a whole number, or leave it out and profile rdma fills it in"
    )


def test_leaves_quantities_alone_that_it_does_not_need() -> None:
    pod = _pod(_both(**{"example.com/foo": "1.5", "cpu": "x"}))
    result, _ = carry_out(inject, pod, plan(pod))
    assert result == pod


@pytest.mark.parametrize(
    ("attachments", "spec", "why"),
    [
        pytest.param(
            [], {}, "no network is attached, and profile rdma gives no resources", id="no-network"
        ),
        pytest.param(
            [],
            {"hostNetwork": True},
            "the pod is on the host network, and profile rdma gives no resources",
            id="host",
        ),
        pytest.param(
            [
                attachment("default/x"),
                attachment("default/x", "net2"),
                attachment("default/y", "net3"),
            ],
            {},
            "network default/x, default/y takes no device, and profile rdma gives no resources",
            id="networks-without-a-resource",
        ),
        pytest.param(
            [Attachment(network(), "net1", ((IB, 0),))],
            {"resourceClaims": [{"name": "nic"}]},
            "network default/rail-0 takes no device, and profile rdma gives no resources",
            id="count-0",
        ),
    ],
)
def test_says_why_nothing_is_needed(attachments: list[Attachment], spec: Object, why: str) -> None:
    pod = _pod(**spec)
    result, decisions = carry_out(inject, pod, plan(pod, *attachments))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]
    assert decisions[0].message == why


def test_counts_anew_when_another_injector_has_added_the_device() -> None:
    pod = _pod()
    result, _ = carry_out(inject, pod, plan(pod, RAIL))
    result["spec"]["containers"].insert(
        0, minimal_container("injected", resources=_both(**{IB: "1"}))
    )
    again, decisions = carry_out(inject, result, plan(result, RAIL, container=1))
    assert again == result
    assert outcomes(decisions) == KEPT
