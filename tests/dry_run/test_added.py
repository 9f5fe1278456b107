"""What the page says in a line of what pods get."""

from __future__ import annotations

from dataclasses import replace

import pytest

from webhook.core import names
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.dry_run.added import added
from webhook.dry_run.judge import PodResult


def decided(step: str, outcome: Outcome) -> Decision:
    return Decision(step, outcome, Reason.ADDED, "")


def pod(
    *networks: str, decisions: tuple[Decision, ...] = (), allowed: bool = True, **spec: object
) -> PodResult:
    before: Object = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main"}]}}
    annotations = {names.NETWORKS: ",".join(networks)} if networks else {}
    after = {
        "metadata": {"name": "a", "annotations": annotations},
        "spec": {**before["spec"], **spec},
    }
    return PodResult("pod a", "ml", before, after, allowed, decisions=decisions)


NETWORKS = (decided("networks", Outcome.INJECTED),)
SHM = {"name": names.SHM_VOLUME, "emptyDir": {"medium": "Memory"}}


@pytest.mark.parametrize(
    ("of", "network", "device", "memory"),
    [
        (pod("rails/a,b", decisions=NETWORKS), "rails/a, ml/b", "", ""),
        (pod("a,b,c,d", decisions=NETWORKS), "4: ml/a … ml/d", "", ""),
        (pod("a", decisions=(decided("networks", Outcome.KEPT),)), "ml/a", "", ""),
        (pod("a", decisions=(decided("networks", Outcome.WARNED),)), "", "", ""),
        (pod("a/b/c", decisions=NETWORKS), "", "", ""),
        (
            pod(
                containers=[
                    {"name": "main", "resources": {"limits": {"rdma/hca": "1", "cpu": "2"}}}
                ]
            ),
            "",
            "rdma/hca: 1",
            "",
        ),
        (pod(volumes=[SHM]), "", "", "/dev/shm without a limit"),
        (pod(volumes=[{**SHM, "emptyDir": {"sizeLimit": "8Gi"}}]), "", "", "/dev/shm of 8Gi"),
        (pod(volumes=[{"name": "data"}]), "", "", ""),
        (pod(x=1, decisions=(decided("ipc-lock", Outcome.INJECTED),)), "", "", "may be locked"),
        (pod(x=1, decisions=(decided("ipc-lock", Outcome.KEPT),)), "", "", ""),
    ],
)
def test_says_what_a_pod_gets(of: PodResult, network: str, device: str, memory: str) -> None:
    assert added([of, of], "at rank 0") == {
        "network": network,
        "device": device,
        "memory": memory,
        "rendezvous": "at rank 0",
    }


@pytest.mark.parametrize(
    "of", [pod("a", decisions=NETWORKS, allowed=False), replace(pod(), after=pod().before)]
)
def test_a_pod_that_is_denied_or_stays_gets_nothing(of: PodResult) -> None:
    assert set(added([of], "at rank 0").values()) == {""}
