"""Environment: the profile's variables, and the sockets of NCCL and Gloo on the interface on which the job meets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.environment import disables_rdma, gloo_may_use, inject, nccl_may_use
from webhook.core.model import Object, Outcome, Reason

DISAGREES = (Outcome.WARNED, Reason.DISAGREES)
NCCL = {"name": "NCCL_SOCKET_IFNAME", "value": "=net1"}
GLOO = {"name": "GLOO_SOCKET_IFNAME", "value": "net1"}
HCA = {"name": "NCCL_IB_HCA", "value": "mlx5"}
FROM_FIELD = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['ifname']"}}}


def _pod(*entries: Object, **fields: Any) -> Object:
    there: Object = {"env": list(entries)} if entries else {}
    return minimal_pod(minimal_container(**there, **fields))


@pytest.mark.parametrize(
    ("value", "may"),
    [
        ("net1", True),
        ("net", True),
        ("=net1", True),
        ("=net", False),
        ("=net1,eth0", True),
        ("=eth0,net1", True),
        ("eth,net", True),
        ("eth0", False),
        ("net10", False),
        ("eth0,=net1", False),
        ("^lo", True),
        ("^lo,docker", True),
        ("^lo,net", False),
        ("^=net1", False),
        ("^=net", True),
        ("^=net10", True),
        ("net1:4000", True),
        ("eth0:4000", False),
        ("", True),
        ("x", True),
        (",,", True),
        ("^,", False),
    ],
)
def test_reads_nccls_list(value: str, may: bool) -> None:
    assert nccl_may_use(value, "net1") is may


@pytest.mark.parametrize(
    ("value", "may"),
    [
        ("net1", True),
        ("eth0,net1", True),
        ("net", False),
        ("=net1", False),
        ("^lo", False),
        ("", True),
        ("net10", False),
    ],
)
def test_reads_gloos_list(value: str, may: bool) -> None:
    assert gloo_may_use(value, "net1") is may


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *(
            (("NCCL_IB_DISABLE", value, True))
            for value in ("1", " 1", "+2", "-1", "0x1", "010", "1abc", "9")
        ),
        *(
            (("NCCL_IB_DISABLE", value, False))
            for value in ("", "0", "00", "0x0", "0x", "08", "true", "yes", "-0")
        ),
        *((("NCCL_NET", value, True)) for value in ("Socket", "socket", "SOCKET")),
        *((("NCCL_NET", value, False)) for value in ("", "IB", "Socket ", "AWS Libfabric")),
    ],
)
def test_tells_values_with_which_nccl_uses_no_rdma(name: str, value: str, expected: bool) -> None:
    assert disables_rdma(name, value) is expected


OFF = {"name": "NCCL_IB_DISABLE", "value": "1"}


@pytest.mark.parametrize(
    ("entry", "resource", "admin", "is_told"),
    [
        pytest.param(OFF, "rdma/hca", {}, True, id="device-of-a-network"),
        pytest.param({"name": "NCCL_NET", "value": "Socket"}, "rdma/hca", {}, True, id="plugin"),
        pytest.param(OFF, "", {"resources": {"rdma/hca": "1"}}, True, id="device-of-the-profile"),
        pytest.param(OFF, "", {}, False, id="no-device"),
        pytest.param(
            OFF, "", {"resources": {"memory": "1Gi"}}, False, id="no-device-of-the-profile"
        ),
        pytest.param(
            OFF, "nvidia.com/hostdev", {"ipc_lock": False}, False, id="fabric-without-rdma"
        ),
        pytest.param({**OFF, "value": "0"}, "rdma/hca", {}, False, id="left-on"),
        pytest.param(
            {"name": "NCCL_IB_DISABLE", **FROM_FIELD}, "rdma/hca", {}, False, id="by-reference"
        ),
        pytest.param(HCA, "rdma/hca", {"env": {"NCCL_IB_DISABLE": "1"}}, False, id="by-the-admin"),
    ],
)
def test_warns_of_a_job_that_turns_rdma_off(
    entry: Object, resource: str, admin: Object, is_told: bool
) -> None:
    pod = _pod(entry, NCCL, GLOO)
    _, decisions = carry_out(
        inject, pod, plan(pod, attachment(resource=resource), profile=profile(**admin))
    )
    assert (DISAGREES in outcomes(decisions)) is is_told
    if is_told:
        assert message(decisions, Outcome.WARNED) == (
            f"pod train-0: {entry['name']} of container trainer keeps NCCL from rdma/hca: it would use sockets; remove it"
        )
