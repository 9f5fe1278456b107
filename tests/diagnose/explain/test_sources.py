"""What `explain` says of a job whose profile leaves it on the pod network, with variables for it."""

from __future__ import annotations

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import PodNetworkScene


class PodNetworkWithVariablesScene(PodNetworkScene):
    """The same, with a variable for the pod network's interfaces."""

    written = (
        f"{PodNetworkScene.written}  container: {{env: [{{name: NCCL_SOCKET_IFNAME, value: ^lo}}]}}"
    )


def test_a_job_that_is_left_on_the_pod_network() -> None:
    assert findings(PodNetworkWithVariablesScene()) == []
