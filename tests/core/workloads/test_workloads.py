"""Recognition: each training system's pods, as its controller writes them."""

import pytest

from tests import pods
from tests.core.workloads.recognised import member, rendezvous

PAIRS = [
    ("pods/grove-{}.yaml", "grove", "train-0-model-0-leader-0", "train-0"),
    ("pods/indexed-job-{}.yaml", "job", "ddp-0", "ddp"),
    ("pods/jobset-{}.yaml", "jobset", "ddp-workers-0-0", "ddp"),
    ("pods/kubedl-pytorchjob-{}.yaml", "kubedl", "bert-master-0", "bert"),
    ("pods/kubeflow-pytorchjob-{}.yaml", "pytorchjob", "bert-master-0", "bert"),
    ("pods/kubeflow-trainer-{}.yaml", "trainjob", "llama-node-0-0", "llama"),
    ("pods/lws-{}.yaml", "leaderworkerset", "mnmt-0", "mnmt-0"),
    ("pods/statefulset-{}.yaml", "statefulset", "ddp-0", "ddp"),
    (
        "pods/stormservice-{}.yaml",
        "stormservice",
        "llm-roleset-x2k7p-prefill-7c9d6f5b4-0-0",
        "llm-roleset-x2k7p-prefill-7c9d6f5b4-0",
    ),
    ("pods/torch-on-k8s-{}.yaml", "torch-on-k8s", "bert-master-0", "bert"),
    ("pods/torchx-volcano-{}.yaml", "torchx", "role 0 replica 0", "trainer-d4q9zxk1tw"),
    ("pods/volcano-pod-{}.yaml", "torchx", "role 0 replica 0", "train-t4rcs9x6sv1m"),
    ("pods/volcano-pytorch-{}.yaml", "volcano", "bert-master-0", "bert"),
    ("live/statefulset/ddp-{}.review.json", "statefulset", "ddp-0", "ddp"),
]


@pytest.mark.parametrize(
    ("pattern", "system", "rank_zero", "name"), PAIRS, ids=[pair[0] for pair in PAIRS]
)
def test_recognises_both_ranks_of_one_job(
    pattern: str, system: str, rank_zero: str, name: str
) -> None:
    master, worker = (pods.load(pattern.format(index)) for index in (0, 1))
    assert (member(master).system, member(worker).system) == (system, system)
    assert (rendezvous(master).role, rendezvous(worker).role) == ("master", "worker")
    assert rendezvous(master).job == rendezvous(worker).job
    assert rendezvous(master).job.rpartition("-")[0] == name, "as people know it"
    assert rendezvous(master).rank_zero == rendezvous(worker).rank_zero == rank_zero


def test_recognises_the_live_pytorchjob_and_its_second_worker() -> None:
    found = [
        rendezvous(pods.load(f"live/pytorchjob/bert-{name}.review.json"))
        for name in ("master-0", "worker-0", "worker-1")
    ]
    assert [each.role for each in found] == ["master", "worker", "worker"]
    assert len({each.job for each in found}) == 1
