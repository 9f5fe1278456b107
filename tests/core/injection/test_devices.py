"""Devices: what the pod lacks of what its networks and its profile need."""

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core.errors import Denied
from webhook.core.injection.devices import inject
from webhook.core.model import Object, Outcome, Reason

IB, VF = "rdma/ib", "nvidia.com/rdma-vf"
RAIL = attachment(resource=IB)


def _pod(resources: Object | None = None, **spec: Any) -> Object:
    fields: Object = {"resources": resources} if resources is not None else {}
    return minimal_pod(minimal_container(**fields), **spec)


def _both(**amounts: Any) -> Object:
    return {"limits": dict(amounts), "requests": dict(amounts)}


def _resources(pod: Object, container: int = 0) -> Any:
    return pod["spec"]["containers"][container].get("resources")


def test_gives_hugepages_in_the_profiles_words_whatever_another_container_has() -> None:
    helper = minimal_container("helper", resources=_both(**{"hugepages-2Mi": "1Gi"}))
    pod = minimal_pod(minimal_container(resources={"limits": {"memory": "1Gi"}}), helper)
    given = profile(resources={"hugepages-2Mi": "5120Mi"})
    result, _ = carry_out(inject, pod, plan(pod, profile=given))
    assert _resources(result) == {
        "limits": {"memory": "1Gi", "hugepages-2Mi": "5120Mi"},
        "requests": {"hugepages-2Mi": "5120Mi"},
    }


@pytest.mark.parametrize("name", [None, 5, [], {}, "x" * 300])
def test_a_claim_of_any_name_is_told(name: Any) -> None:
    _, decisions = carry_out(
        inject, _pod({}, resourceClaims=[{"name": name}]), plan(_pod({}), RAIL)
    )
    assert f"resource claim {name} is not counted" in message(decisions, Outcome.WARNED)


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
