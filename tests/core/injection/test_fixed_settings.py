"""Settings that were right elsewhere: what is certain to be wrong is told, with what to do, and nothing is changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.environment import inject
from webhook.core.injection.fixed_settings import fixes_gid_index, listed, rules_out_rdma
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.networks import Attachment

RAIL = attachment(resource="rdma/hca")
WARNED = (Outcome.WARNED, Reason.DISAGREES)


def judged(
    env: dict[str, str], *attachments: Attachment, spec: Object | None = None, **tweaks: Any
) -> list[Decision]:
    """Return what is warned of; the user's values stay as they are."""
    entries = [{"name": name, "value": value} for name, value in env.items()]
    pod = minimal_pod(
        minimal_container(env=entries) if entries else minimal_container(), **(spec or {})
    )
    result, decisions = carry_out(inject, pod, plan(pod, *(attachments or (RAIL,)), **tweaks))
    assert result["spec"]["containers"][0]["env"][: len(entries)] == entries
    return [one for one in decisions if one.outcome is Outcome.WARNED]


def test_a_fixed_gid_index_of_the_user_is_told() -> None:
    decisions = judged({"NCCL_IB_GID_INDEX": "3"})
    assert outcomes(decisions) == [WARNED]
    assert message(decisions, Outcome.WARNED) == (
        "pod train-0: NCCL_IB_GID_INDEX of container trainer is fixed: the index of a pod's address differs from pod to pod, "
        "and NCCL finds it itself since 2.21; remove it"
    )


def test_a_fixed_gid_index_of_the_profile_is_told_on_every_pass() -> None:
    admin = profile(env={"NCCL_IB_GID_INDEX": "3"})
    [decision] = judged({}, profile=admin)
    assert "of profile rdma is fixed" in decision.message
    assert judged({"NCCL_IB_GID_INDEX": "3"}, profile=admin) == [decision]
    assert judged({"NCCL_IB_GID_INDEX": "-1"}, profile=admin) == [], (
        "the user's own value is what counts"
    )


@pytest.mark.parametrize(
    ("value", "fixed"),
    [
        ("3", True),
        ("0", True),
        ("+7", True),
        ("0x3", True),
        ("-1", False),
        ("", False),
        ("auto", False),
        (" -1", False),
    ],
)
def test_what_fixes_the_gid_index(value: str, fixed: bool) -> None:
    assert fixes_gid_index(value) is fixed


@pytest.mark.parametrize(
    ("value", "ruled_out"),
    [
        *(("tcp", True), ("tcp,self,sm", True), ("cuda_copy,cuda_ipc,tcp", True), ("=tcp", True)),
        *(
            ("all", False),
            ("tcp,rc", False),
            ("rc_x,tcp", False),
            ("tcp,ib", False),
            ("tcp,ud_verbs", False),
            ("tcp,srd", False),
            ("tcp,\\rc_verbs", False),
        ),
        *(("^tcp", False), ("sm,self", False), ("", False), ("dc,self", False)),
    ],
)
def test_what_leaves_ucx_without_rdma(value: str, ruled_out: bool) -> None:
    assert rules_out_rdma(value) is ruled_out


def test_ucx_without_rdma_is_told_where_the_pod_gets_devices() -> None:
    [decision] = judged({"UCX_TLS": "tcp"})
    assert decision.message == (
        "pod train-0: UCX_TLS of container trainer keeps UCX from rdma/hca: it would use sockets; remove it"
    )
    [both] = judged(
        {"UCX_TLS": "tcp"},
        attachment(resource="rdma/a"),
        attachment("default/b", "net2", resource="rdma/b"),
    )
    assert "keeps UCX from rdma/a, rdma/b: it" in both.message
    assert judged({"UCX_TLS": "tcp"}, attachment()) == [], (
        "a network without devices is used by sockets"
    )


TWO_RAILS = (attachment("default/rail-0", "net1"), attachment("default/rail-1", "rail1"))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("GLOO_SOCKET_IFNAME", "net1,net10", "net10"),
        ("GLOO_SOCKET_IFNAME", "net1,enp65s0f0", "enp65s0f0"),
        ("UCX_NET_DEVICES", "eth1", "eth1"),
        ("UCX_NET_DEVICES", "mlx5_0:1,net7", "net7"),
    ],
)
def test_an_interface_that_the_pod_will_not_have_is_told(name: str, value: str, told: str) -> None:
    [decision] = judged({name: value}, *TWO_RAILS)
    assert decision.message == (
        f"pod train-0: {name} of container trainer names {told}, and the pod's interfaces will be lo, eth0, net1, rail1; "
        "correct or remove it"
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("=net7,eth9", "net7, eth9"),
        ("ib0,eth1", "ib0, eth1"),
        ("mlx5_0", "mlx5_0"),
        ("=net", ""),
        ("eth9,eth", ""),
    ],
)
def test_nccl_is_told_of_a_list_only_where_none_of_it_exists(value: str, told: str) -> None:
    """It takes those that do."""
    found = judged(
        {"NCCL_SOCKET_IFNAME": value}, attachment("default/rail-0", "net1", has_ipam=False)
    )
    assert [f"names {told}, and the pod's" in each.message for each in found] == (
        [True] if told else []
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_SOCKET_IFNAME", "net,eth"),
        ("NCCL_SOCKET_IFNAME", "=net1,net2"),  # NCCL takes those that exist
        ("NCCL_SOCKET_IFNAME", "net1,ib0,eth1"),
        ("NCCL_SOCKET_IFNAME", "net1,eth0,lo,rail1"),
        ("NCCL_SOCKET_IFNAME", "^ib0,docker,eth7"),
        ("NCCL_SOCKET_IFNAME", "^=eth7"),
        ("NCCL_SOCKET_IFNAME", "net1,ovn-udn1,docker0,tun0"),
        ("NCCL_SOCKET_IFNAME", "$(IFNAME)"),
        ("GLOO_SOCKET_IFNAME", "net1,eth0"),
        ("UCX_NET_DEVICES", "all"),
        ("UCX_NET_DEVICES", "mlx5_0:1,mlx5_[1-3]:1,eth0"),
        ("UCX_NET_DEVICES", "^eth7"),
        ("NCCL_IB_HCA", "mlx5"),
        ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"),
        ("NCCL_IB_HCA", "ibp,rdmap,bnxt_re0,ib0"),
        ("NCCL_IB_HCA", "^net1"),
        ("NCCL_IB_HCA", ""),
    ],
)
def test_what_may_be_there_is_not_told(name: str, value: str) -> None:
    assert judged({name: value}, *TWO_RAILS) == []


@pytest.mark.parametrize(
    ("attachments", "spec"),
    [
        pytest.param(
            [attachment("default/rail-0", "net3")], {}, id="behind-the-clusters-default-networks"
        ),
        pytest.param([attachment()], {"resourceClaims": [{"name": "nic"}]}, id="a-claim"),
        pytest.param(
            [attachment()],
            {"metadata": {"annotations": {"networking.gke.io/interfaces": "[]"}}},
            id="of-gke",
        ),
        pytest.param([], {"hostNetwork": True}, id="host-network"),
    ],
)
def test_where_more_interfaces_may_come_none_is_told(
    attachments: list[Attachment], spec: Object
) -> None:
    env = {
        "UCX_NET_DEVICES": "net2" if attachments and attachments[0].interface == "net3" else "eth1"
    }
    pod = minimal_pod(
        minimal_container(env=[{"name": key, "value": value} for key, value in env.items()]), **spec
    )
    _, decisions = carry_out(inject, pod, plan(pod, *attachments))
    assert WARNED not in outcomes(decisions)


def test_an_interface_that_the_pod_lacks_is_told_where_none_has_a_number() -> None:
    [decision] = judged({"UCX_NET_DEVICES": "eth1"}, attachment("default/rail-0", "rail0"))
    assert (
        "names eth1, and the pod's interfaces will be lo, eth0, rail0; correct" in decision.message
    )


def test_an_interface_where_nccl_wants_a_device_is_told() -> None:
    [decision] = judged({"NCCL_IB_HCA": "=net1,mlx5_0"})
    assert decision.message == (
        "pod train-0: NCCL_IB_HCA of container trainer names net1, where NCCL takes RDMA devices and no interfaces; remove it"
    )


def test_a_list_that_rules_the_interface_out_is_told_once() -> None:
    [decision] = judged({"NCCL_SOCKET_IFNAME": "eth7"})
    assert "rules out the rendezvous network's interface" in decision.message


def test_a_value_by_reference_is_not_judged() -> None:
    env = [
        {
            "name": "NCCL_IB_GID_INDEX",
            "valueFrom": {"configMapKeyRef": {"name": "nccl", "key": "gid"}},
        }
    ]
    pod = minimal_pod(minimal_container(env=env))
    _, decisions = carry_out(inject, pod, plan(pod, RAIL))
    assert WARNED not in outcomes(decisions)


@pytest.mark.parametrize(
    "value", ["," * 10_000, "=" * 10_000, "net1:" * 10_000, "9" * 100_000, "net" + "9" * 100_000]
)
def test_a_long_value_costs_no_more_than_its_size(value: str) -> None:
    for name in ("NCCL_IB_GID_INDEX", "UCX_TLS", "UCX_NET_DEVICES", "NCCL_IB_HCA"):
        assert len(judged({name: value})) <= 1
    assert len(listed(value)) <= len(value)
