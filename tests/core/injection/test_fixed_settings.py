"""Settings that were right elsewhere: what is certain to be wrong is told, with what to do, and nothing is changed."""

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, plan
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.environment import inject
from webhook.core.injection.fixed_settings import fixes_gid_index, listed, rules_out_rdma
from webhook.core.model import Decision, Object, Outcome
from webhook.core.networks import Attachment

RAIL = attachment(resource="rdma/hca")


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


@pytest.mark.parametrize(
    "value", ["," * 10_000, "=" * 10_000, "net1:" * 10_000, "9" * 100_000, "net" + "9" * 100_000]
)
def test_a_long_value_costs_no_more_than_its_size(value: str) -> None:
    for name in ("NCCL_IB_GID_INDEX", "UCX_TLS", "UCX_NET_DEVICES", "NCCL_IB_HCA"):
        assert len(judged({name: value})) <= 1
    assert len(listed(value)) <= len(value)
