"""KubeDL's jobs, and the node's network, which torch-on-k8s gives as KubeDL does."""

from __future__ import annotations

import pytest

from tests.dry_run.templates.kinds import DL_ROLES, PLAIN, TORCH_ROLES, env, find, names, workload


def test_completes_other_jobs_of_kubedl() -> None:
    roles = {"PS": {"template": PLAIN}, "Worker": {"replicas": 2, "template": PLAIN}}
    found = find(workload("training.kubedl.io/v1alpha1", "TFJob", "tf", {"tfReplicaSpecs": roles}))
    assert names(found) == ["tf-ps-0", "tf-worker-0"]
    assert env(found.pods[0].pod, "MASTER_ADDR") is None


@pytest.mark.parametrize("kind", ["kubedl", "torch-on-k8s"])
def test_uses_the_nodes_network_where_the_job_says_so(kind: str) -> None:
    if kind == "kubedl":
        manifest = workload(
            "training.kubedl.io/v1alpha1",
            "PyTorchJob",
            "b",
            {"pytorchReplicaSpecs": DL_ROLES},
            annotations={"kubedl.io/network-mode": "host"},
        )
    else:
        manifest = workload(
            "train.distributed.io/v1alpha1",
            "TorchJob",
            "b",
            {"torchTaskSpecs": TORCH_ROLES},
            annotations={"distributed.io/network-mode": "host"},
        )
    assert all(each.pod["spec"]["hostNetwork"] for each in find(manifest).pods)
