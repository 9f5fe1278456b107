"""Environment: the profile's variables, and the sockets of NCCL and Gloo on the interface on which the job meets."""

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.environment import disables_rdma, gloo_may_use, inject, nccl_may_use
from webhook.core.model import Object, Outcome, Reason
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod

DISAGREES = (Outcome.WARNED, Reason.DISAGREES)
NCCL = {"name": "NCCL_SOCKET_IFNAME", "value": "=net1"}
GLOO = {"name": "GLOO_SOCKET_IFNAME", "value": "net1"}
HCA = {"name": "NCCL_IB_HCA", "value": "mlx5"}
FROM_FIELD = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['ifname']"}}}


def _pod(*entries: Object, **fields: Any) -> Object:
    there: Object = {"env": list(entries)} if entries else {}
    return minimal_pod(minimal_container(**there, **fields))


MAY = "net1 net =net1 =net1,eth0 =eth0,net1 eth,net ^lo ^lo,docker ^=net ^=net10 net1:4000 x ,,"
MAY_NOT = "=net eth0 net10 eth0,=net1 ^lo,net ^=net1 eth0:4000 ^,"
ON = ["", "0", "00", "0x0", "0x", "08", "true", "yes", "-0"]


def test_reads_the_lists_of_nccl_and_gloo() -> None:
    assert [value for value in ("", *MAY.split()) if not nccl_may_use(value, "net1")] == []
    assert [value for value in MAY_NOT.split() if nccl_may_use(value, "net1")] == []
    assert [value for value in ("", "net1", "eth0,net1") if not gloo_may_use(value, "net1")] == []
    assert [
        value for value in ("net", "=net1", "^lo", "net10") if gloo_may_use(value, "net1")
    ] == []


def test_tells_values_with_which_nccl_uses_no_rdma() -> None:
    off = ("1", " 1", "+2", "-1", "0x1", "010", "1abc", "9")
    assert [value for value in off if not disables_rdma("NCCL_IB_DISABLE", value)] == []
    assert [value for value in ON if disables_rdma("NCCL_IB_DISABLE", value)] == []
    sockets = ("Socket", "socket", "SOCKET")
    assert [value for value in sockets if not disables_rdma("NCCL_NET", value)] == []
    others = ("", "IB", "Socket ", "AWS Libfabric")
    assert [value for value in others if disables_rdma("NCCL_NET", value)] == []


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


LINES = {
    "export NCCL_IB_DISABLE=1": "NCCL_IB_DISABLE of the command of container trainer keeps NCCL from",
    "NCCL_NET=Socket torchrun t.py": "NCCL_NET of the command of container trainer keeps NCCL from",
    "export NCCL_SOCKET_IFNAME=eth0": "NCCL_SOCKET_IFNAME of the command of container trainer rules out",
    "export A=1 GLOO_SOCKET_IFNAME='eth0'": "GLOO_SOCKET_IFNAME of the command of container trainer rules",
    "export NCCL_SOCKET_IFNAME=net1": "",
    "export NCCL_SOCKET_IFNAME=$I": "",
    "if false; then\n  export NCCL_IB_DISABLE=1\nfi": "",
}
"""Lines of a command, and what is warned of."""


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_command_brings_the_warning_that_a_variable_brings(line: str) -> None:
    pod = _pod(NCCL, GLOO)
    pod["spec"]["containers"][0]["command"] = ["bash", "-c", f"set -e\n{line}\ntorchrun t.py"]
    _, decisions = carry_out(inject, pod, plan(pod, attachment(resource="rdma/hca")))
    warned = [one.message for one in decisions if one.outcome is Outcome.WARNED]
    assert len(warned) == bool(LINES[line])
    assert all(LINES[line] in message for message in warned)


@pytest.mark.parametrize(
    ("address", "training_pod", "is_told"),
    [
        ("10.0.0.1", TrainingPod("jobset"), True),
        ("head.example", TrainingPod("jobset", rendezvous=Rendezvous("j", "worker", "a-0")), True),
        ("a-0.a", TrainingPod("jobset", rendezvous=Rendezvous("j", "worker", "a-0")), False),
        ("localhost", TrainingPod("jobset"), False),
        ("10.0.0.1", None, False),
    ],
)
def test_an_address_in_the_command_is_the_users_own(
    address: str, training_pod: TrainingPod | None, is_told: bool
) -> None:
    pod = _pod(NCCL, GLOO, command=["sh", "-c", f"MASTER_ADDR={address} python t.py"])
    rendezvous = training_pod.rendezvous if training_pod else None
    made = plan(pod, attachment(), training_pod=training_pod, rendezvous=rendezvous)
    _, decisions = carry_out(inject, pod, made)
    told = f"MASTER_ADDR of the command of container trainer names {address}: the user's own address is kept"
    assert ((Outcome.SKIPPED, Reason.USER_VALUE) in outcomes(decisions)) is is_told
    assert (told in [one.message for one in decisions]) is is_told
