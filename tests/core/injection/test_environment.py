"""Environment: the profile's variables, and the sockets of NCCL and Gloo on the interface on which the job meets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.environment import disables_rdma, gloo_may_use, inject, nccl_may_use
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks import Attachment
from webhook.core.profiles import RendezvousSettings
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod

ADDED = (Outcome.INJECTED, Reason.ADDED)
OURS = (Outcome.KEPT, Reason.ALREADY_THERE)
USERS = (Outcome.KEPT, Reason.USER_VALUE)
DISAGREES = (Outcome.WARNED, Reason.DISAGREES)
NCCL = {"name": "NCCL_SOCKET_IFNAME", "value": "=net1"}
GLOO = {"name": "GLOO_SOCKET_IFNAME", "value": "net1"}
HCA = {"name": "NCCL_IB_HCA", "value": "mlx5"}
FROM_FIELD = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['ifname']"}}}


def _pod(*entries: Object, **fields: Any) -> Object:
    there: Object = {"env": list(entries)} if entries else {}
    return minimal_pod(minimal_container(**there, **fields))


def _env(pod: Object) -> Any:
    return pod["spec"]["containers"][0].get("env")


@pytest.mark.parametrize("fields", [{}, {"env": None}, {"env": []}])
def test_names_the_interface_and_sets_the_profiles_variables(fields: Object) -> None:
    pod = minimal_pod(minimal_container(**fields), minimal_container("side"))
    admin = profile(env={"NCCL_IB_HCA": "mlx5"})
    result, decisions = carry_out(inject, pod, plan(pod, attachment(), profile=admin))
    assert _env(result) == [HCA, NCCL, GLOO]
    assert result["spec"]["containers"][1] == pod["spec"]["containers"][1]
    assert outcomes(decisions) == [ADDED]
    _, repeated = carry_out(inject, result, plan(result, attachment(), profile=admin))
    assert outcomes(repeated) == [OURS]


@pytest.mark.parametrize(
    "attachments",
    [
        pytest.param(
            [attachment("ml/own", "net1", has_ipam=False), attachment("default/rail-0", "net2")],
            id="behind-the-users",
        ),
        pytest.param(
            [
                attachment("default/fast", "eth0", default=True),
                attachment("default/rail-0", "net2"),
            ],
            id="default",
        ),
    ],
)
def test_names_the_interface_that_the_rendezvous_network_gets(
    attachments: list[Attachment],
) -> None:
    pod = _pod()
    result, _ = carry_out(inject, pod, plan(pod, *attachments))
    assert [entry["value"] for entry in _env(result)] == ["=net2", "net2"]


@pytest.mark.parametrize(
    ("there", "added", "expected"),
    [
        pytest.param([HCA], [NCCL, GLOO], [ADDED], id="appends"),
        pytest.param([NCCL], [GLOO], [ADDED, OURS], id="same-value"),
        pytest.param([{**NCCL, "value": "net"}], [GLOO], [ADDED, USERS], id="users-prefix"),
        pytest.param(
            [{**NCCL, "value": "eth"}], [GLOO], [ADDED, USERS, DISAGREES], id="other-prefix"
        ),
        pytest.param(
            [{**NCCL, "value": "^docker,lo,veth"}], [GLOO], [ADDED, USERS], id="exclusion"
        ),
        pytest.param([{**NCCL, "value": "^net"}], [GLOO], [ADDED, USERS, DISAGREES], id="excluded"),
        pytest.param(
            [{**GLOO, "value": "eth0"}], [NCCL], [ADDED, USERS, DISAGREES], id="gloo-on-eth0"
        ),
        pytest.param([{**GLOO, "value": "eth0,net1"}], [NCCL], [ADDED, USERS], id="gloo-on-both"),
        pytest.param(
            [{"name": "NCCL_SOCKET_IFNAME", **FROM_FIELD}],
            [GLOO],
            [ADDED, USERS],
            id="by-reference",
        ),
        pytest.param([{"name": "NCCL_SOCKET_IFNAME"}], [GLOO], [ADDED, USERS], id="empty"),
        pytest.param(
            [{**NCCL, "value": "$(IFNAME)"}], [GLOO], [ADDED, USERS], id="by-another-variable"
        ),
        pytest.param(
            [{**NCCL, "value": "eth0"}, NCCL], [GLOO], [ADDED, OURS], id="the-last-one-counts"
        ),
        pytest.param(
            [{**NCCL, "value": "^net"}, {**GLOO, "value": "lo"}],
            [],
            [USERS, DISAGREES, DISAGREES],
            id="both",
        ),
    ],
)
def test_keeps_and_judges_the_users_value(
    there: list[Object], added: list[Object], expected: Any
) -> None:
    pod = _pod(*there)
    result, decisions = carry_out(inject, pod, plan(pod, attachment()))
    assert _env(result) == there + added
    assert outcomes(decisions) == expected


def test_says_what_to_write_instead() -> None:
    pod = _pod({**NCCL, "value": "eth0"})
    _, decisions = carry_out(inject, pod, plan(pod, attachment()))
    assert message(decisions, Outcome.WARNED) == (
        "pod train-0: NCCL_SOCKET_IFNAME of container trainer rules out the rendezvous network's interface; "
        "write =net1 or remove it"
    )


def test_judges_the_profiles_value_on_every_pass() -> None:
    admin = profile(env={"NCCL_SOCKET_IFNAME": "eth0"})
    pod = _pod()
    result, decisions = carry_out(inject, pod, plan(pod, attachment(), profile=admin))
    assert _env(result) == [{**NCCL, "value": "eth0"}, GLOO]
    assert outcomes(decisions) == [ADDED, DISAGREES]
    _, repeated = carry_out(inject, result, plan(result, attachment(), profile=admin))
    assert outcomes(repeated) == [OURS, DISAGREES]
    assert "of profile rdma" in message(decisions, Outcome.WARNED)
    assert message(repeated, Outcome.WARNED) == message(decisions, Outcome.WARNED)


def test_keeps_the_users_value_over_the_profiles() -> None:
    there = {"name": "NCCL_IB_HCA", **FROM_FIELD}
    pod = _pod(there)
    result, decisions = carry_out(
        inject, pod, plan(pod, profile=profile(env={"NCCL_IB_HCA": "mlx5"}))
    )
    assert _env(result) == [there]
    assert outcomes(decisions) == [USERS, (Outcome.SKIPPED, Reason.NO_IPAM)]


def test_says_that_it_outweighs_env_from() -> None:
    pod = _pod(envFrom=[{"configMapRef": {"name": "nccl"}}])
    _, decisions = carry_out(inject, pod, plan(pod, attachment()))
    assert message(decisions, Outcome.INJECTED) == (
        "container trainer gets NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME, which outweigh any values of theirs in envFrom"
    )


@pytest.mark.parametrize(
    ("attachments", "spec", "reason"),
    [
        pytest.param([], {"hostNetwork": True}, Reason.HOST_NETWORK, id="host-network"),
        pytest.param([], {}, Reason.NO_IPAM, id="no-network"),
        pytest.param([attachment(has_ipam=False)], {}, Reason.NO_IPAM, id="no-ipam"),
    ],
)
def test_names_no_interface_without_a_rendezvous_network(
    attachments: list[Attachment], spec: Object, reason: Reason
) -> None:
    pod = minimal_pod(**spec)
    result, decisions = carry_out(
        inject, pod, plan(pod, *attachments, profile=profile(env={"NCCL_IB_HCA": "mlx5"}))
    )
    assert _env(result) == [HCA]
    assert outcomes(decisions) == [ADDED, (Outcome.SKIPPED, reason)]


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


@pytest.mark.parametrize("source", ["none", "gke"])
def test_names_no_interface_of_the_pod_network_to_a_pod_on_the_nodes(source: Any) -> None:
    admin = profile(
        env={"NCCL_SOCKET_IFNAME": "eth0", "GLOO_SOCKET_IFNAME": "eth0", "NCCL_IB_HCA": "mlx5"},
        rendezvous=RendezvousSettings(address_source=source),
    )
    result, decisions = carry_out(
        inject, pod := minimal_pod(hostNetwork=True), plan(pod, profile=admin)
    )
    assert _env(result) == [HCA]
    left_out = [
        one.message
        for one in decisions
        if (one.outcome, one.reason) == (Outcome.WARNED, Reason.HOST_NETWORK)
    ]
    assert [text.partition(" of profile")[0] for text in left_out] == [
        "pod train-0: NCCL_SOCKET_IFNAME=eth0",
        "pod train-0: GLOO_SOCKET_IFNAME=eth0",
    ]


def test_says_to_a_pod_on_the_nodes_network_which_interfaces_not_to_use() -> None:
    admin = profile(
        env={"NCCL_SOCKET_IFNAME": "^lo,docker"},
        rendezvous=RendezvousSettings(address_source="none"),
    )
    result, decisions = carry_out(
        inject, pod := minimal_pod(hostNetwork=True), plan(pod, profile=admin)
    )
    assert _env(result) == [{"name": "NCCL_SOCKET_IFNAME", "value": "^lo,docker"}]
    assert Outcome.WARNED not in [one.outcome for one in decisions]
