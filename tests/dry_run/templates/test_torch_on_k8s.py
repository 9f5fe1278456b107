"""The pods of torch-on-k8s' TorchJob."""

from __future__ import annotations

from tests.dry_run.templates.kinds import container, find, template, workload


def test_puts_the_arguments_of_torchelastic_first() -> None:
    roles = {"Master": {"template": template(container("torch", args=["train.py"]))}}
    policy = {"rendezvousBackend": "etcd", "rendezvousEndpoint": "etcd:2379", "numMaxReplicas": 4}
    spec = {"torchTaskSpecs": roles, "enableTorchElastic": True, "torchElasticPolicy": policy}
    [found] = find(workload("train.distributed.io/v1alpha1", "TorchJob", "b", spec)).pods
    assert found.pod["spec"]["containers"][0]["args"] == [
        "--rdzv_backend=etcd",
        "--rdzv_endpoint=etcd:2379",
        "--rdzv_id=b",
        "--nproc_per_node=1",
        "--nnodes=1:4",
        "train.py",
    ]
