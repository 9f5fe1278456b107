"""What `explain` says of RDMA devices: which were told, why none, and which variables leave out those that the pod has."""

from __future__ import annotations

from tests.diagnose.explain.explanations import findings, texts
from tests.diagnose.scenes import Scene, ago
from webhook.core.injection.environment import nccl_may_use

ASKING = """
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]
"""


class Asking(Scene):
    """A job whose profile asks for device names."""

    written = ASKING


def test_a_wait_for_names_alone_is_told_as_such() -> None:
    scene = Asking(1)
    pod = scene.pods["bert-worker-0"]
    scene.wait(pod, ago(minutes=5))
    scene.tell(pod, "192.168.0.1")
    assert "warn pod bert-worker-0: waits for the names of its RDMA devices, for 5 min" in [
        text.replace("fail", "warn") for text in texts(findings(scene, "wait"))
    ]


def test_what_is_published_lets_each_library_use_the_device() -> None:
    assert nccl_may_use("=mlx5_4,mlx5_7", "mlx5_7")
    assert not nccl_may_use("=mlx5_4,mlx5_7", "mlx5_70")
    assert nccl_may_use("=", "mlx5_4")
