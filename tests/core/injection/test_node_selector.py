"""Node selector: nodes that have the networks, or a denial that names both sides of a conflict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, outcomes, plan, profile
from tests.pods import minimal_pod
from webhook.core.errors import Denied
from webhook.core.injection.node_selector import inject
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks import Attachment

ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)


def _rail(number: int, **node_selector: str) -> Attachment:
    return attachment(f"rails/rail-{number}", f"net{number}", node_selector=node_selector)


@pytest.mark.parametrize(
    ("spec", "attachments", "of_profile", "wanted", "expected"),
    [
        pytest.param({}, [_rail(1, rack="a")], {}, {"rack": "a"}, ADDED, id="a-networks"),
        pytest.param(
            {"nodeSelector": None}, [_rail(1, rack="a")], {}, {"rack": "a"}, ADDED, id="null"
        ),
        pytest.param({}, [], {"fabric": "ib"}, {"fabric": "ib"}, ADDED, id="the-profiles"),
        pytest.param(
            {"nodeSelector": {"zone": "z"}},
            [_rail(1, rack="a"), _rail(2, rack="a", card="cx7")],
            {"fabric": "ib", "rack": "a"},
            {"zone": "z", "fabric": "ib", "rack": "a", "card": "cx7"},
            ADDED,
            id="all",
        ),
        pytest.param(
            {"nodeSelector": {"rack": "a"}},
            [_rail(1, rack="a")],
            {},
            {"rack": "a"},
            KEPT,
            id="there",
        ),
        pytest.param({}, [_rail(1, feature="")], {}, {"feature": ""}, ADDED, id="empty-value"),
        pytest.param(
            {"nodeSelector": {"feature": ""}},
            [_rail(1, feature="")],
            {},
            {"feature": ""},
            KEPT,
            id="empty-value-there",
        ),
    ],
)
def test_merges(
    spec: Object, attachments: list[Attachment], of_profile: Any, wanted: Any, expected: Any
) -> None:
    pod = minimal_pod(**spec)
    result, decisions = carry_out(
        inject, pod, plan(pod, *attachments, profile=profile(node_selector=of_profile))
    )
    assert result["spec"]["nodeSelector"] == wanted
    assert outcomes(decisions) == [expected]


def test_says_what_it_adds_and_for_whom() -> None:
    pod = minimal_pod()
    _, decisions = carry_out(
        inject, pod, plan(pod, _rail(1, rack="a"), profile=profile(node_selector={"fabric": "ib"}))
    )
    assert (
        decisions[0].message
        == "spec.nodeSelector gets fabric=ib (profile rdma), rack=a (network rails/rail-1)"
    )


@pytest.mark.parametrize(
    ("spec", "attachments", "of_profile", "found"),
    [
        pytest.param(
            {"nodeSelector": {"rack": "b"}},
            [_rail(1, rack="a")],
            {},
            "'a' for network rails/rail-1, but is 'b' in the pod's spec.nodeSelector",
            id="pod-and-network",
        ),
        pytest.param(
            {"nodeSelector": {"rack": ""}},
            [],
            {"rack": "a"},
            "'a' for profile rdma, but is '' in the pod's spec.nodeSelector",
            id="pod-and-profile",
        ),
        pytest.param(
            {},
            [_rail(1, rack="a"), _rail(2, rack="b")],
            {},
            "'a' for network rails/rail-1, but is 'b' in network rails/rail-2",
            id="two-networks",
        ),
        pytest.param(
            {},
            [_rail(1, rack="b")],
            {"rack": "a"},
            "'a' for profile rdma, but is 'b' in network rails/rail-1",
            id="profile-and-network",
        ),
    ],
)
def test_denies_a_conflict(
    spec: Object, attachments: list[Attachment], of_profile: Any, found: str
) -> None:
    pod = minimal_pod(**spec)
    with pytest.raises(Denied) as caught:
        carry_out(inject, pod, plan(pod, *attachments, profile=profile(node_selector=of_profile)))
    assert caught.value.reason is Reason.NODE_SELECTOR_CONFLICT
    assert caught.value.message == (
        f"pod train-0: spec.nodeSelector[rack] must be {found}; no node can be both: change one of them"
    )


def test_skips_where_nobody_selects_nodes() -> None:
    pod = minimal_pod(nodeSelector={"zone": "z"})
    result, decisions = carry_out(inject, pod, plan(pod, attachment()))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]
