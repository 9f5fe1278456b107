"""What the page is given of a dry run."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.dry_run.runs import run
from webhook.dry_run import render_page
from webhook.dry_run.page import path_above

NESTED = (
    *("metadata:", "  labels:", "    a: b"),
    *("spec:", "  containers:", "  - name: x", "    env:", "    - name: A"),
    *("      valueFrom:", "        fieldRef:", "          path: q"),
    *("    image: i", "  - command:", "    - a", "    name: y"),
)


def page(*arguments: Any, **keywords: Any) -> Any:
    return json.loads(render_page(run(*arguments, **keywords)))


def test_gives_the_same_as_the_document_and_texts_to_show() -> None:
    shown, told = page()["pods"][0], run().as_json()["pods"][0]
    same = set(shown) & set(told) - {"decisions"}
    assert {key: shown[key] for key in same} == {key: told[key] for key in same}
    assert yaml.safe_load(shown["yaml"]) == told["pod"]
    assert shown["diff"].startswith("--- research/")
    assert [each["step"] for each in shown["decisions"]] == [
        each["step"] for each in told["decisions"]
    ]


def test_tells_which_lines_are_the_wait_steps() -> None:
    pod = page()["pods"][0]
    lines = pod["yaml"].splitlines()
    parts = [lines[first - 1 : last] for first, last in pod["own"]]
    assert sorted(part[0].strip() for part in parts) == [
        "- name: fabric-injector-addresses",
        "- name: fabric-injector-wait",
    ]
    value = yaml.safe_load(pod["yaml"])["spec"]
    assert [yaml.safe_load("\n".join(part)) for part in sorted(parts, key=len)] == [
        [each for each in value["volumes"] if each["name"] == "fabric-injector-addresses"],
        [each for each in value["initContainers"] if each["name"] == "fabric-injector-wait"],
    ]


def test_folds_no_wait_step_that_the_manifest_brings() -> None:
    [injected] = run(yaml.safe_dump(run().as_json()["pods"][0]["pod"])).pods
    assert page(yaml.safe_dump(injected.before))["pods"][0]["own"] == []


JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: &pod {spec: {containers: [{name: pytorch, image: i, command: [torchrun, train.py]}]}}}
    Worker: {replicas: 8, template: *pod}
"""


def test_says_what_a_workload_gets() -> None:
    told = page(JOB)
    assert [pod["replicas"] for pod in told["pods"]] == [1, 8]
    [workload] = told["workloads"]
    assert workload["summary"].startswith("9 pods: 1 rank 0, 8 workers")
    assert workload["added"] == {
        "network": "default/rdma-net",
        "device": "rdma/hca: 1",
        "memory": "/dev/shm without a limit, may be locked",
        "rendezvous": "net1 of default/rdma-net",
    }


def test_says_what_to_do_where_no_label_is() -> None:
    told = page(JOB, namespace="plain")
    assert told["next"] == ["kubectl label namespace plain fabric-injector.io/profile=PROFILE"]
    assert [pod["unlabelled"] for pod in told["pods"]] == [True, True]
    assert page(JOB)["next"] == []


def test_writes_no_command_that_a_name_could_break_out_of() -> None:
    [command] = page(JOB, namespace="x; rm -rf ~\n", profile="")["next"] or [""]
    assert "\n" not in command


@pytest.mark.parametrize(
    "text",
    [
        JOB,
        json.dumps(yaml.safe_load(JOB)),
        f"a: b\n---\n{JOB}",
        f"kind: List\nitems:\n- {JOB.replace(chr(10), chr(10) + '  ')}",
    ],
)
def test_leads_from_a_denial_to_the_line(text: str) -> None:
    annotation = '"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "default/none"}}, '
    text = text.replace("{spec: {containers", f"{{{annotation}spec: {{containers").replace(
        '{"spec": {"containers', f'{{{annotation}"spec": {{"containers'
    )
    for pod in page(text)["pods"]:
        [fault] = pod["faults"]
        assert "default/none, which does not exist" in fault["message"]
        assert "default/none" in pod["yaml"].splitlines()[fault["line"] - 1]
        assert "default/none" in text.splitlines()[fault["manifestLine"] - 1]


def test_leads_to_each_of_several_denials() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {fabric-injector.io/profile: rdma-shared}
  annotations:
    k8s.v1.cni.cncf.io/networks: default/none,default/neither
spec:
  containers:
  - name: c
    image: i
"""
    [pod] = page(text)["pods"]
    assert pod["decisions"] == []
    for name, line in (("manifestLine", text), ("line", pod["yaml"])):
        shown = [line.splitlines()[fault[name] - 1].strip() for fault in pod["faults"]]
        assert shown == ["k8s.v1.cni.cncf.io/networks: default/none,default/neither"] * 2


def test_leads_to_the_one_of_two_pods_of_one_name_that_is_denied() -> None:
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {k8s.v1.cni.cncf.io/networks: default/NAME}, "
        "labels: {fabric-injector.io/profile: rdma-shared}}, spec: {containers: [{name: c, image: i}]}}\n"
    )
    text = "---\n".join(pod.replace("NAME", name) for name in ("rdma-net", "none"))
    assert [[fault["manifestLine"] for fault in each["faults"]] for each in page(text)["pods"]] == [
        [],
        [3],
    ]


def test_leads_to_the_object_where_its_namespace_does_not_exist() -> None:
    [fault] = page(JOB, namespace="nowhere")["pods"][0]["faults"]
    assert (fault["step"], fault["manifestLine"]) == ("", 3)
    named = JOB.replace("{name: bert}", "\n  name: bert\n  namespace: nowhere")
    [fault] = page(named)["pods"][0]["faults"]
    assert named.splitlines()[fault["manifestLine"] - 1] == "  namespace: nowhere"


def test_leads_to_what_was_injected() -> None:
    pod = page(JOB)["pods"][0]
    lines = pod["yaml"].splitlines()
    shown = {
        each["step"]: lines[each["line"] - 1].strip() for each in pod["decisions"] if each["line"]
    }
    assert shown["networks"] == "k8s.v1.cni.cncf.io/networks: default/rdma-net"
    assert shown["devices"] == "rdma/hca: '1'"
    assert shown["environment"] == "- name: NCCL_SOCKET_IFNAME"


def test_looks_for_no_lines_in_a_manifest_that_is_long() -> None:
    text = JOB.replace(
        "{spec: {containers",
        "{metadata: {annotations: {k8s.v1.cni.cncf.io/networks: none}}, spec: {containers",
    )
    assert page(text)["pods"][0]["faults"][0]["manifestLine"] == 6
    assert page(text + "# x\n" * 100_000)["pods"][0]["faults"][0]["manifestLine"] == 0


def test_names_the_fields_above_each_hunk() -> None:
    hunks = [line for line in page()["pods"][0]["diff"].split("\n") if line.startswith("@@")]
    assert [hunk.split(" @@ ")[1] for hunk in hunks[:3]] == [
        "metadata.labels",
        "metadata.annotations",
        "spec.containers.command",
    ]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("metadata:", []),
        ("    a: b", ["metadata", "labels"]),
        ("  - name: x", ["spec", "containers"]),
        ("    env:", ["spec", "containers"]),
        ("    - name: A", ["spec", "containers", "env"]),
        ("          path: q", ["spec", "containers", "env", "valueFrom", "fieldRef"]),
        ("    image: i", ["spec", "containers"]),
        ("    - a", ["spec", "containers", "command"]),
        ("    name: y", ["spec", "containers"]),
    ],
)
def test_finds_the_keys_that_hold_a_line(line: str, path: list[str]) -> None:
    assert path_above(list(NESTED), NESTED.index(line)) == path


def test_holds_no_character_that_does_not_show() -> None:
    name = "a\u202eb\x07"
    text = json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": []}}
    )
    assert not {"\u202e", "\x07"} & set(render_page(run(text)))


def test_tells_of_a_pod_that_is_left_no_diff_and_no_patch() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"
    [shown] = page(text)["pods"]
    assert (shown["diff"], shown["patch"], shown["allowed"]) == ("", [], True)
