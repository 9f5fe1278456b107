"""Annotations of the profile: added where the pod has none of that key."""

import pytest
from webhook.core.injection.pod_annotations import inject

from tests.core.builders import carry_out, outcomes, plan, profile
from tests.pods import minimal_pod
from webhook.core.model import Outcome, Reason

ADDED, KEPT, OWN = (
    (Outcome.INJECTED, Reason.ADDED),
    (Outcome.KEPT, Reason.ALREADY_THERE),
    (Outcome.KEPT, Reason.USER_VALUE),
)
WANTED = {"a.io/x": "1", "y": ""}


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        pytest.param(None, WANTED, [ADDED], id="no-annotations"),
        pytest.param({"mine": "1"}, {"mine": "1", **WANTED}, [ADDED], id="beside-others"),
        pytest.param(WANTED, WANTED, [KEPT], id="there"),
        pytest.param({"y": "2"}, {"y": "2", "a.io/x": "1"}, [ADDED, OWN], id="one-of-its-own"),
        pytest.param({"a.io/x": "1"}, WANTED, [ADDED, KEPT], id="one-there"),
        pytest.param(
            {"a.io/x": "2", "y": ""},
            {"a.io/x": "2", "y": ""},
            [KEPT, OWN],
            id="one-there-one-of-its-own",
        ),
    ],
)
def test_adds_what_is_not_there(
    there: dict[str, str] | None, wanted: dict[str, str], expected: list[tuple[Outcome, Reason]]
) -> None:
    pod = minimal_pod(metadata={"annotations": there})
    result, decisions = carry_out(inject, pod, plan(pod, profile=profile(annotations=WANTED)))
    assert result["metadata"]["annotations"] == wanted
    assert outcomes(decisions) == expected
