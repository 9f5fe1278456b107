"""What the page is given of a dry run."""

import json
from typing import Any

import yaml

from tests.dry_run.runs import PYTORCH_JOB, run
from webhook.dry_run import render_page


def page(*arguments: Any, **keywords: Any) -> Any:
    return json.loads(json.dumps(render_page(run(*arguments, **keywords))))


def test_gives_the_same_as_the_document_and_texts_to_show() -> None:
    shown, told = page()["pods"][0], run().as_json()["pods"][0]
    same = set(shown) & set(told) - {"decisions"}
    assert {key: shown[key] for key in same} == {key: told[key] for key in same}
    assert yaml.safe_load(shown["yaml"]) == told["pod"]
    assert shown["diff"].startswith("--- research/")
    assert [each["step"] for each in shown["decisions"]] == [
        each["step"] for each in told["decisions"]
    ]


def test_says_what_each_kind_of_pod_gets() -> None:
    told = page(PYTORCH_JOB)
    assert [pod["replicas"] for pod in told["pods"]] == [1, 8]
    [workload] = told["workloads"]
    assert workload["summary"].startswith("9 pods: 1 rank 0, 8 workers")
    master, worker = workload["kinds"]
    assert master["heading"] == "bert-master-0, rank 0"
    assert worker["heading"] == "bert-worker-0 and 7 more, worker"
    assert list(worker["gets"]) == ["networks", "devices", "rendezvous", "memory", "environment"]


def test_says_what_to_do_where_no_label_is() -> None:
    told = page(PYTORCH_JOB, namespace="plain")
    assert told["next"] == ["kubectl label namespace plain fabric-injector.io/profile=PROFILE"]
    assert [pod["unlabelled"] for pod in told["pods"]] == [True, True]
    assert page(PYTORCH_JOB)["next"] == []


def test_gives_the_denial_of_a_pod() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {fabric-injector.io/profile: rdma-shared}
  annotations: {k8s.v1.cni.cncf.io/networks: default/none}
spec: {containers: [{name: c, image: i}]}
"""
    [pod] = page(text)["pods"]
    assert pod["decisions"] == []
    [fault] = pod["faults"]
    assert "default/none, which does not exist" in fault
    [fault, _] = [pod["faults"] for pod in page(PYTORCH_JOB, namespace="nowhere")["pods"]]
    assert "namespace nowhere does not exist" in fault[0]


def test_holds_no_character_that_does_not_show() -> None:
    name = "a\u202eb\x07"
    pod = {"metadata": {"name": name}, "spec": {"containers": []}}
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", **pod})
    assert not {"\u202e", "\x07"} & set(str(render_page(run(text))))
