"""The networks annotation of a pod."""

import pytest

from tests.core.builders import attachment, carry_out, outcomes, plan
from tests.pods import minimal_pod
from webhook.core import names
from webhook.core.injection.networks import inject
from webhook.core.model import Object, Outcome, Reason

ADDED = (Outcome.INJECTED, Reason.ADDED)


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


def test_lists_no_more_than_a_reader_can_take() -> None:
    before = minimal_pod(metadata={"annotations": {names.NETWORKS: "as the plan says"}})
    _, decisions = carry_out(inject, before, plan(before, *[attachment(interface="x" * 60)] * 100))
    assert decisions[0].message.endswith(", 80 more already")
    assert len(decisions[0].message) < 1500
