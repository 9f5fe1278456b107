"""Completed templates equal the pods that each system really sends: those of tests/fixtures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dry_run.templates.kinds import (
    DL_ROLES,
    ROLES,
    TORCH_ROLES,
    container,
    template,
    workload,
)
from tests.pods import FIXTURES, load
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.dry_run.templates import Template, find_templates, parse_documents

UNKNOWABLE = {
    "controller-revision-hash",
    "leaderworkerset.sigs.k8s.io/template-revision-hash",
    "jobset.sigs.k8s.io/job-key",
    "scheduling.k8s.io/group-name",
    "grove.io/pod-template-hash",
}
"""Hashes, and keys that hold a uid or depend on an operator's flags."""


def bash(command: str) -> list[str]:
    return ["bash", "-c", command]


MASTER_ADDR = [
    {"name": "MASTER_ADDR", "value": "ddp-0.ddp"},
    {"name": "MASTER_PORT", "value": "29500"},
]
STATEFUL_TEMPLATE = {
    "metadata": {"labels": {"app": "ddp"}},
    **template(
        container(
            "pytorch",
            env=MASTER_ADDR,
            command=bash(
                "torchrun --nnodes=2 --node_rank=${HOSTNAME##*-} --master_addr=$MASTER_ADDR train.py"
            ),
        )
    ),
}
LEADER = container(
    "pytorch",
    command=bash(
        "torchrun --nnodes=$LWS_GROUP_SIZE --node_rank=$LWS_WORKER_INDEX --nproc_per_node=8 "
        "--master_addr=$LWS_LEADER_ADDRESS --master_port=29500 train.py"
    ),
)
GROVE_ADDR = [
    {
        "name": "MASTER_ADDR",
        "value": "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)",
    }
]
PODCLIQUESET = {
    "template": {
        "cliques": [
            {
                "name": name,
                "spec": {
                    "replicas": 1,
                    "podSpec": template(
                        container(
                            "pytorch",
                            env=GROVE_ADDR,
                            command=bash(
                                f"torchrun --nnodes=2 --node_rank={rank} --master_addr=$MASTER_ADDR train.py"
                            ),
                        )
                    )["spec"],
                },
            }
            for name, rank in (("leader", "0"), ("worker", "$((GROVE_PCLQ_POD_INDEX + 1))"))
        ],
        "podCliqueScalingGroups": [{"name": "model", "cliqueNames": ["leader", "worker"]}],
    }
}
JOBSET = {
    "coordinator": {"replicatedJob": "workers", "jobIndex": 0, "podIndex": 0},
    "replicatedJobs": [
        {
            "name": "workers",
            "template": {
                "spec": {
                    "completions": 2,
                    "parallelism": 2,
                    "template": template(
                        container(
                            "pytorch",
                            command=[
                                "bash",
                                "-xc",
                                "torchrun --rdzv_id=123 --nnodes=2 --nproc_per_node=8 --master_addr=$MASTER_ADDR "
                                "--master_port=$MASTER_PORT --node_rank=$RANK train.py",
                            ],
                            env=[
                                {"name": "MASTER_ADDR", "value": "ddp-workers-0-0.ddp"},
                                {"name": "MASTER_PORT", "value": "3389"},
                                {
                                    "name": "RANK",
                                    "valueFrom": {
                                        "fieldRef": {
                                            "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"
                                        }
                                    },
                                },
                                {"name": "PYTHONUNBUFFERED", "value": "0"},
                            ],
                        ),
                        restartPolicy="Never",
                    ),
                }
            },
        }
    ],
}
CASES: dict[str, tuple[Object, list[str]]] = {
    "StatefulSet": (
        workload(
            "apps/v1",
            "StatefulSet",
            "ddp",
            {"replicas": 4, "serviceName": "ddp", "template": STATEFUL_TEMPLATE},
        ),
        ["pods/statefulset-0.yaml", "pods/statefulset-1.yaml"],
    ),
    "indexed Job": (
        workload(
            "batch/v1",
            "Job",
            "ddp",
            {
                "completions": 2,
                "parallelism": 2,
                "completionMode": "Indexed",
                "template": template(
                    container(
                        "pytorch",
                        env=[{"name": "MASTER_ADDR", "value": "ddp-0.ddp-svc"}, MASTER_ADDR[1]],
                        command=bash(
                            "torchrun --nnodes=2 --node_rank=$JOB_COMPLETION_INDEX --master_addr=$MASTER_ADDR train.py"
                        ),
                    ),
                    subdomain="ddp-svc",
                    restartPolicy="Never",
                ),
            },
        ),
        ["pods/indexed-job-0.yaml", "pods/indexed-job-1.yaml"],
    ),
    "JobSet": (
        workload("jobset.x-k8s.io/v1alpha2", "JobSet", "ddp", JOBSET),
        ["pods/jobset-0.yaml", "pods/jobset-1.yaml"],
    ),
    "LeaderWorkerSet": (
        workload(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "mnmt",
            {
                "replicas": 1,
                "leaderWorkerTemplate": {"size": 2, "workerTemplate": template(LEADER)},
            },
        ),
        ["pods/lws-0.yaml", "pods/lws-1.yaml"],
    ),
    "PodCliqueSet": (
        workload("grove.io/v1alpha1", "PodCliqueSet", "train", PODCLIQUESET),
        ["pods/grove-0.yaml", "pods/grove-1.yaml"],
    ),
    "TrainJob": (
        workload(
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            "llama",
            {
                "runtimeRef": {"name": "torch-distributed"},
                "trainer": {
                    "numNodes": 2,
                    "image": "registry.example.com/train/pytorch:2.6",
                    "command": ["torchrun", "/workspace/train.py"],
                    "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}},
                },
            },
        ),
        ["pods/kubeflow-trainer-0.yaml", "pods/kubeflow-trainer-1.yaml"],
    ),
    "PyTorchJob": (
        workload("kubeflow.org/v1", "PyTorchJob", "bert", {"pytorchReplicaSpecs": ROLES}),
        ["pods/kubeflow-pytorchjob-0.yaml", "pods/kubeflow-pytorchjob-1.yaml"],
    ),
    "PyTorchJob of a real operator": (
        workload(
            "kubeflow.org/v1",
            "PyTorchJob",
            "bert",
            {"pytorchReplicaSpecs": {**ROLES, "Worker": {**ROLES["Worker"], "replicas": 2}}},
            namespace="pytorchjob",
        ),
        ["live/pytorchjob/bert-master-0.review.json", "live/pytorchjob/bert-worker-0.review.json"],
    ),
    "KubeDL": (
        workload(
            "training.kubedl.io/v1alpha1", "PyTorchJob", "bert", {"pytorchReplicaSpecs": DL_ROLES}
        ),
        ["pods/kubedl-pytorchjob-0.yaml", "pods/kubedl-pytorchjob-1.yaml"],
    ),
    "torch-on-k8s": (
        workload(
            "train.distributed.io/v1alpha1", "TorchJob", "bert", {"torchTaskSpecs": TORCH_ROLES}
        ),
        ["pods/torch-on-k8s-0.yaml", "pods/torch-on-k8s-1.yaml"],
    ),
    "Volcano Job with the pytorch plugin": (
        workload(
            "batch.volcano.sh/v1alpha1",
            "Job",
            "bert",
            {
                "plugins": {
                    "pytorch": ["--master=master", "--worker=worker", "--port=23456"],
                    "env": [],
                },
                "tasks": [
                    {
                        "name": name,
                        "replicas": 1,
                        "template": template(container(name), restartPolicy="OnFailure"),
                    }
                    for name in ("master", "worker")
                ],
            },
        ),
        ["pods/volcano-pytorch-0.yaml", "pods/volcano-pytorch-1.yaml"],
    ),
    "StatefulSet of a real controller": (
        workload(
            "apps/v1",
            "StatefulSet",
            "ddp",
            {"replicas": 2, "serviceName": "ddp", "template": STATEFUL_TEMPLATE},
            namespace="statefulset",
        ),
        ["live/statefulset/ddp-0.review.json", "live/statefulset/ddp-1.review.json"],
    ),
    "TorchX job of a real Volcano": (
        json.loads(
            (FIXTURES / "live/torchx-volcano/jobs-train-fgwp3pq7vkl4vc.review.json").read_text()
        )["request"]["object"],
        [
            "live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-0-0.review.json",
            "live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-1-0.review.json",
        ],
    ),
}


def completed(manifest: Object) -> list[Template]:
    templates = find_templates(parse_documents(json.dumps(manifest)))
    assert [
        each
        for each in templates.ignored
        if "is shown with the one that Trainer ships" not in each.message
    ] == []
    return list(templates.pods)


def facts(pod: Object) -> Object:
    """Return what recognition and injection read of a pod, in a form in which pods can be compared."""
    metadata, spec = pod["metadata"], pod["spec"]
    return {
        "name": metadata.get("name"),
        "generateName": metadata.get("generateName"),
        "namespace": metadata["namespace"],
        "labels": known(metadata.get("labels")),
        "annotations": known(metadata.get("annotations")),
        "owner": [
            (owner["apiVersion"], owner["kind"], owner["name"])
            for owner in metadata.get("ownerReferences") or ()
            if owner.get("controller")
        ],
        "finalizers": metadata.get("finalizers"),
        "hostname": spec.get("hostname"),
        "subdomain": spec.get("subdomain"),
        "restartPolicy": spec.get("restartPolicy", "Always"),
        "volumes": [
            name for name in (volume["name"] for volume in spec.get("volumes") or ()) if own(name)
        ],
        "containers": [container_facts(each) for each in spec["containers"]],
        "initContainers": [container_facts(each) for each in spec.get("initContainers") or ()],
    }


def container_facts(each: Object) -> Object:
    return {
        "name": each["name"],
        "image": each["image"],
        "command": each.get("command"),
        "args": each.get("args"),
        "env": {entry["name"]: source(entry) for entry in each.get("env") or ()},
        "devices": {
            key: str(value)
            for key, value in each["resources"].get("requests", {}).items()
            if "/" in key
        },
        "mounts": [
            mount["mountPath"] for mount in each.get("volumeMounts") or () if own(mount["name"])
        ],
    }


def source(entry: Object) -> Any:
    reference = (entry.get("valueFrom") or {}).get("fieldRef")
    return reference["fieldPath"] if reference else entry.get("valueFrom") or entry.get("value")


def known(texts: dict[str, str] | None) -> dict[str, str]:
    return {
        key: "uid" if key.endswith("uid") and "template" not in key else value
        for key, value in (texts or {}).items()
        if key not in UNKNOWABLE
    }


def own(volume: str) -> bool:
    return not volume.startswith("kube-api-access-")


@pytest.mark.parametrize(("manifest", "fixtures"), CASES.values(), ids=CASES.keys())
def test_completes_a_template_into_the_pods_that_its_controller_sends(
    manifest: Object, fixtures: list[str]
) -> None:
    assert [facts(found.pod) for found in completed(manifest)] == [
        facts(load(name)) for name in fixtures
    ]


@pytest.mark.parametrize(("manifest", "fixtures"), CASES.values(), ids=CASES.keys())
def test_makes_pods_that_are_recognised_as_the_real_ones_are(
    manifest: Object, fixtures: list[str]
) -> None:
    for found, name in zip(completed(manifest), fixtures, strict=True):
        expected, member = recognise(load(name)), recognise(found.pod)
        assert isinstance(expected, TrainingPod)
        assert isinstance(member, TrainingPod)
        assert (member.system, member.container, member.reason) == (
            expected.system,
            expected.container,
            expected.reason,
        )
        assert expected.rendezvous is not None
        assert member.rendezvous is not None
        for attribute in ("role", "rank_zero", "hosts", "by_operator", "is_certain"):
            assert getattr(member.rendezvous, attribute) == getattr(expected.rendezvous, attribute)


@pytest.mark.parametrize(("manifest", "fixtures"), CASES.values(), ids=CASES.keys())
def test_gives_all_shown_pods_of_a_job_one_key(manifest: Object, fixtures: list[str]) -> None:
    members = [recognise(found.pod) for found in completed(manifest)]
    keys = {
        member.rendezvous.job
        for member in members
        if isinstance(member, TrainingPod) and member.rendezvous
    }
    assert len(keys) == 1
    assert [
        member.rendezvous.role
        for member in members
        if isinstance(member, TrainingPod) and member.rendezvous
    ] == [
        "master",
        "worker",
    ]


TORCHX = {
    "volcano-ddp-2x1": ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"],
    "volcano-ddp-4x8": ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"],
    "volcano-two-role": [
        "rl-job-t4rcs9x6sv1m-trainer-0-0",
        "rl-job-t4rcs9x6sv1m-trainer-1-0",
        "rl-job-t4rcs9x6sv1m-reader-0-0",
        "rl-job-t4rcs9x6sv1m-reader-1-0",
    ],
    "mcad-ddp-2x1": ["train-ngq0cd6wfpxcvj-0", "train-ngq0cd6wfpxcvj-1"],
    "mcad-ddp-4x8": ["train-ngq0cd6wfpxcvj-0", "train-ngq0cd6wfpxcvj-1"],
    "mcad-network": ["train-ngq0cd6wfpxcvj-0", "train-ngq0cd6wfpxcvj-1"],
    "mcad-two-role": ["rl-job-ngq0cd6wfpxcvj-0", "rl-job-ngq0cd6wfpxcvj-1"] * 2,
    "nightly-volcano-ddp-2x1": ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"],
    "nightly-volcano-ddp-4x8": ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"],
    "nightly-volcano-elastic": ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"],
    "nightly-volcano-static": ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"],
    "nightly-volcano-two-role": [
        "rl-job-t4rcs9x6sv1m-trainer-0-0",
        "rl-job-t4rcs9x6sv1m-trainer-1-0",
        "rl-job-t4rcs9x6sv1m-reader-0-0",
        "rl-job-t4rcs9x6sv1m-reader-1-0",
    ],
}


@pytest.mark.parametrize(("name", "pods"), TORCHX.items(), ids=TORCHX)
def test_shows_the_first_two_replicas_of_each_torchx_role(name: str, pods: list[str]) -> None:
    text = (FIXTURES / f"torchx/{name}.yaml").read_text()
    found = find_templates(parse_documents(text)).pods
    assert [each.pod["metadata"]["name"] for each in found] == pods
    members = [recognise(each.pod) for each in found[:2]]
    assert {member.system for member in members} == {"torchx"}
    assert [
        member.rendezvous.role
        for member in members
        if isinstance(member, TrainingPod) and member.rendezvous
    ] == [
        "master",
        "worker",
    ]


def test_covers_every_torchx_fixture() -> None:
    assert {path.stem for path in FIXTURES.glob("torchx/*.yaml")} == set(TORCHX)


def test_completes_a_torchx_task_as_volcano_does() -> None:
    found = find_templates(
        parse_documents((FIXTURES / "torchx/volcano-ddp-2x1.yaml").read_text())
    ).pods
    expected = load("pods/volcano-pod-0.yaml")
    pod = found[0].pod
    assert found[0].source == "Job/train-t4rcs9x6sv1m spec.tasks[0].template"
    assert known(pod["metadata"]["labels"]) == known(expected["metadata"]["labels"])
    assert known(pod["metadata"]["annotations"]) == known(expected["metadata"]["annotations"])
    assert [entry["name"] for entry in pod["spec"]["containers"][0]["env"][-6:]] == [
        "VC_TRAIN_0_HOSTS",
        "VC_TRAIN_0_NUM",
        "VC_TRAIN_1_HOSTS",
        "VC_TRAIN_1_NUM",
        "VK_TASK_INDEX",
        "VC_TASK_INDEX",
    ]


def test_leaves_the_input_as_it_is() -> None:
    documents = [json.loads(json.dumps(manifest)) for manifest, _ in CASES.values()]
    before = json.dumps(documents)
    find_templates(documents)
    assert json.dumps(documents) == before
