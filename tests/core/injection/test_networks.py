"""The networks annotation of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile
from tests.pods import minimal_pod
from webhook.core import names
from webhook.core.injection.networks import inject
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks import Attachment
from webhook.core.profiles import ProfileNetwork

ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
DOUBT = (Outcome.WARNED, Reason.INTERFACE_CONFLICT)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(minimal_pod(), id="no annotations"),
        pytest.param(minimal_pod(metadata={"annotations": None}), id="annotations null"),
        pytest.param(minimal_pod(metadata={"annotations": {"a": "b"}}), id="other annotations"),
        pytest.param(
            minimal_pod(metadata={"annotations": {names.NETWORKS: ""}}), id="empty annotation"
        ),
        pytest.param(
            minimal_pod(metadata={"annotations": {names.NETWORKS: "own"}}),
            id="a network of its own",
        ),
    ],
)
def test_writes_the_resulting_annotation(before: Object) -> None:
    after, decisions = carry_out(
        inject, before, plan(before, attachment(), networks="own,default/rail-0")
    )
    assert after["metadata"]["annotations"] == {
        **(before["metadata"].get("annotations") or {}),
        names.NETWORKS: "own,default/rail-0",
    }
    assert outcomes(decisions) == [ADDED]
    assert decisions[0].message == f"annotation {names.NETWORKS} gets default/rail-0 (net1)"


def test_names_only_what_it_added() -> None:
    before = minimal_pod()
    own = Attachment(attachment("research/own").network, "net1")
    a_plan = plan(before, own, attachment(interface="net2"), networks="own,default/rail-0")
    _, decisions = carry_out(inject, before, a_plan)
    assert decisions[0].message == f"annotation {names.NETWORKS} gets default/rail-0 (net2)"


def test_keeps_an_annotation_that_has_all() -> None:
    before = minimal_pod(metadata={"annotations": {names.NETWORKS: "default/rail-0"}})
    after, decisions = carry_out(inject, before, plan(before, attachment()))
    assert after == before
    assert outcomes(decisions) == [KEPT]
    assert decisions[0].message == f"annotation {names.NETWORKS} has default/rail-0 (net1) already"


@pytest.mark.parametrize(
    "attached", [(), (attachment("kube-system/calico", "eth0", default=True),)]
)
def test_skips_where_nobody_asks(attached: tuple[Attachment, ...]) -> None:
    before = minimal_pod()
    after, decisions = carry_out(inject, before, plan(before, *attached))
    assert after == before
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]


@pytest.mark.parametrize(
    ("annotations", "networks", "warned"),
    [
        pytest.param({}, (ProfileNetwork("rails", "rail-0"),), True, id="the profile asks"),
        pytest.param({names.NETWORKS: "own"}, (), True, id="the pod asks"),
        pytest.param({}, (), False, id="nobody asks"),
    ],
)
def test_skips_pods_on_the_host_network(annotations: Any, networks: Any, warned: bool) -> None:
    before = minimal_pod(metadata={"annotations": annotations}, hostNetwork=True)
    after, decisions = carry_out(inject, before, plan(before, profile=profile(networks=networks)))
    assert after == before
    expected = [(Outcome.SKIPPED, Reason.HOST_NETWORK), (Outcome.WARNED, Reason.HOST_NETWORK)]
    assert outcomes(decisions) == expected[: 1 + warned]
    if warned:
        assert message(decisions, Outcome.WARNED) == (
            "pod train-0: spec.hostNetwork is true, so Multus attaches no network; remove it to get the networks"
        )


@pytest.mark.parametrize(
    ("attached", "doubt"),
    [
        pytest.param(
            (attachment("a/x", "net1"), attachment("b/y", "net1")),
            "networks a/x and b/y both get interface 'net1'",
            id="twice",
        ),
        pytest.param(
            (attachment("kube-system/calico", "eth0", default=True), attachment("a/x", "eth0")),
            "networks kube-system/calico and a/x both get interface 'eth0'",
            id="the default network's",
        ),
        pytest.param(
            (attachment("a/x", "eth0"),),
            "network a/x asks for interface 'eth0', which every pod has already",
            id="eth0",
        ),
        pytest.param(
            (attachment("a/x", "lo"),),
            "network a/x asks for interface 'lo', which every pod has already",
            id="lo",
        ),
        *(
            pytest.param(
                (attachment("a/x", name),),
                f"network a/x asks for interface {name!r}, which no node can make",
                id=what,
            )
            for what, name in {
                "long": "i" * 16,
                "long in bytes": "é" * 8,
                "dots": "..",
                "slash": "a/b",
                "colon": "a:b",
                "space": "a b",
                "no-break space": "a\u00a0b",
            }.items()
        ),
    ],
)
def test_warns_of_an_interface_that_cannot_come_up(
    attached: tuple[Attachment, ...], doubt: str
) -> None:
    before = minimal_pod(metadata={"annotations": {names.NETWORKS: "as the plan says"}})
    after, decisions = carry_out(inject, before, plan(before, *attached))
    assert after == before
    assert outcomes(decisions) == [KEPT, DOUBT]
    assert message(decisions, Outcome.WARNED) == f"pod train-0: {doubt}; ask for another name"


@pytest.mark.parametrize("name", ["net1", "rail-0", "my_if", "Eth0", "i" * 15, "eth0.100", "é"])
def test_has_no_doubt_of_an_ordinary_interface(name: str) -> None:
    before = minimal_pod()
    _, decisions = carry_out(
        inject, before, plan(before, attachment(interface=name), networks="default/rail-0")
    )
    assert outcomes(decisions) == [ADDED]


def test_lists_no_more_than_a_reader_can_take() -> None:
    before = minimal_pod(metadata={"annotations": {names.NETWORKS: "as the plan says"}})
    _, decisions = carry_out(inject, before, plan(before, *[attachment(interface="x" * 60)] * 100))
    assert decisions[0].message.endswith(", 80 more already")
    assert len(decisions[0].message) < 1500


def test_warns_of_no_more_than_a_reader_can_take() -> None:
    before = minimal_pod()
    _, decisions = carry_out(
        inject, before, plan(before, *[attachment(interface=f"a/{n}") for n in range(100)])
    )
    assert outcomes(decisions) == [KEPT, *[DOUBT] * 5]


def test_shows_an_interface_that_is_no_text_to_print() -> None:
    before = minimal_pod()
    _, decisions = carry_out(inject, before, plan(before, attachment(interface="a\nb")))
    assert "('a\\nb')" in decisions[0].message
