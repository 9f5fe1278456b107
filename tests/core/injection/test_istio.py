"""Istio: its redirection leaves the secondary interfaces alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.istio import inject
from webhook.core.model import Outcome, Reason

KEY = "traffic.sidecar.istio.io/excludeInterfaces"
INJECT = "sidecar.istio.io/inject"
ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
NO_SIDECAR = (Outcome.SKIPPED, Reason.NO_SIDECAR)
RAILS = (attachment(), attachment("default/rail-1", "net2"))
MESH = {"istio-injection": "enabled"}


@pytest.mark.parametrize(
    ("namespace", "labels", "annotations", "is_asked"),
    [
        pytest.param({}, None, None, False, id="nobody"),
        pytest.param(MESH, None, None, True, id="namespace"),
        pytest.param({"istio.io/rev": "1-24"}, None, None, True, id="namespace-revision"),
        pytest.param({"istio-injection": "disabled"}, None, None, False, id="namespace-off"),
        pytest.param(
            {"istio-injection": "disabled", "istio.io/rev": "x"},
            {INJECT: "true"},
            None,
            False,
            id="namespace-off-wins",
        ),
        pytest.param({}, {INJECT: "true"}, None, True, id="label"),
        pytest.param({}, None, {INJECT: "true"}, True, id="annotation"),
        pytest.param({}, {INJECT: "Yes"}, None, True, id="yes"),
        pytest.param({}, {"istio.io/rev": "canary"}, None, True, id="pod-revision"),
        pytest.param(MESH, {INJECT: "false"}, None, False, id="label-off"),
        pytest.param(MESH, None, {INJECT: "false"}, False, id="annotation-off"),
        pytest.param(MESH, {INJECT: "true"}, {INJECT: "false"}, True, id="label-before-annotation"),
        pytest.param(
            MESH, {INJECT: "false"}, {INJECT: "true"}, False, id="label-off-before-annotation"
        ),
        pytest.param(MESH, {INJECT: ""}, None, True, id="empty-is-unsaid"),
    ],
)
def test_acts_only_where_a_sidecar_is_asked_for(
    namespace: Any, labels: Any, annotations: Any, is_asked: bool
) -> None:
    pod = minimal_pod(labels=labels, annotations=annotations)
    result, decisions = carry_out(inject, pod, plan(pod, *RAILS, labels=namespace))
    assert outcomes(decisions) == [ADDED if is_asked else NO_SIDECAR]
    assert (result["metadata"].get("annotations") or {}).get(KEY) == (
        "net1,net2" if is_asked else None
    )


@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_acts_where_the_proxy_is_there_already(where: str) -> None:
    pod = minimal_pod(annotations={INJECT: "false"})
    pod["spec"].setdefault(where, []).append(minimal_container("istio-proxy"))
    _, decisions = carry_out(inject, pod, plan(pod, *RAILS))
    assert outcomes(decisions) == [ADDED]


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        pytest.param("", "net1,net2", ADDED, id="empty"),
        pytest.param("eth9", "eth9,net1,net2", ADDED, id="merged"),
        pytest.param("eth9, net2,", "eth9,net2,net1", ADDED, id="one-is-missing"),
        pytest.param(" net2 , net1 ", " net2 , net1 ", KEPT, id="there"),
        pytest.param("net10", "net10,net1,net2", ADDED, id="whole-names"),
    ],
)
def test_merges_with_the_users_list(there: str, wanted: str, expected: Any) -> None:
    pod = minimal_pod(annotations={KEY: there})
    result, decisions = carry_out(inject, pod, plan(pod, *RAILS, labels=MESH))
    assert result["metadata"]["annotations"] == {KEY: wanted}
    assert outcomes(decisions) == [expected]


def test_leaves_the_default_interface_to_istio() -> None:
    pod = minimal_pod()
    result, _ = carry_out(
        inject,
        pod,
        plan(pod, attachment("default/fast", "eth0", default=True), *RAILS, labels=MESH),
    )
    assert result["metadata"]["annotations"] == {KEY: "net1,net2"}


def test_warns_where_the_rules_are_fixed_already() -> None:
    pod = minimal_pod(annotations={KEY: "net2"}, initContainers=[minimal_container("istio-init")])
    result, decisions = carry_out(inject, pod, plan(pod, *RAILS))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.WARNED, Reason.ISTIO_INIT)]
    assert message(decisions, Outcome.WARNED) == (
        "pod train-0: istio-init is there already and its rules are fixed; "
        "put annotation traffic.sidecar.istio.io/excludeInterfaces: net2,net1 into the pod's template"
    )


def test_is_content_where_the_rules_were_made_with_the_annotation() -> None:
    pod = minimal_pod(
        annotations={KEY: "net1,net2"}, initContainers=[minimal_container("istio-init")]
    )
    _, decisions = carry_out(inject, pod, plan(pod, *RAILS, labels=MESH))
    assert outcomes(decisions) == [KEPT]


@pytest.mark.parametrize("attachments", [[], [attachment("default/fast", "eth0", default=True)]])
def test_skips_without_a_secondary_interface(attachments: Any) -> None:
    pod = minimal_pod()
    result, decisions = carry_out(inject, pod, plan(pod, *attachments, labels=MESH))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]
