"""A pod that the API server returned shows, beside the one sent, only what webhooks did."""

from __future__ import annotations

import copy
import json

import pytest
import yaml

from tests.pods import all_names, load
from webhook.core.model import Object
from webhook.dry_run.returned import comparable

SENT: Object = yaml.safe_load("""
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ml, labels: {a: b}}
spec:
  nodeSelector: {}
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
  containers:
  - command: [x]
    name: main
    image: i
    ports: [{containerPort: 1}]
    env: [{name: A, value: ""}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    resources: {limits: {cpu: 2000m, memory: 4096M}}
    volumeMounts: [{name: shm, mountPath: /dev/shm}]
  tolerations: [{key: gpu, operator: Exists}]
""")
RETURNED = """
kind: Pod
apiVersion: v1
metadata: {name: p, namespace: ml, labels: {a: b}}
spec:
  volumes:
  - {name: shm, emptyDir: {medium: Memory}}
  - {name: kube-api-access-x7k2p, projected: {defaultMode: 420}}
  containers:
  - name: main
    image: i
    command: [x]
    ports: [{containerPort: 1, protocol: TCP}]
    env:
    - {name: A}
    - {name: B, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
    resources: {limits: {cpu: "2", memory: 4096M}}
    volumeMounts:
    - {name: shm, mountPath: /dev/shm}
    - {name: kube-api-access-x7k2p, readOnly: true, mountPath: /var/run}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    imagePullPolicy: Always
  restartPolicy: Always
  terminationGracePeriodSeconds: 30
  dnsPolicy: ClusterFirst
  serviceAccountName: default
  serviceAccount: default
  securityContext: {}
  schedulerName: default-scheduler
  tolerations:
  - {key: gpu, operator: Exists}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  priority: 0
  enableServiceLinks: true
  preemptionPolicy: PreemptLowerPriority
"""
"""The pod as an API server writes it: its order, its defaults, its quantities."""


@pytest.fixture
def pod() -> Object:
    returned: Object = yaml.safe_load(RETURNED)
    return returned


@pytest.fixture
def sent() -> Object:
    return copy.deepcopy(SENT)


def test_shows_nothing_where_no_webhook_did_anything(pod: Object) -> None:
    assert json.dumps(comparable(pod, SENT)) == json.dumps(SENT)


def test_shows_nothing_of_lists_that_hold_defaults_alone(pod: Object, sent: Object) -> None:
    for key in ("volumes", "tolerations"):
        pod["spec"][key].pop(0)
        del sent["spec"][key]
    del sent["spec"]["containers"][0]["volumeMounts"]
    del pod["spec"]["containers"][0]["volumeMounts"][0]
    assert comparable(pod, sent) == sent


def test_shows_what_webhooks_added(pod: Object, sent: Object) -> None:
    wait = {"name": "wait", "image": "i"}
    for each in (pod, sent):
        each["metadata"]["labels"]["team"] = "x"
        each["spec"]["containers"][0]["env"].insert(0, {"name": "C", "value": "1"})
        each["spec"]["tolerations"].append({"key": "node.kubernetes.io/x"})
        each["spec"]["initContainers"] = [wait]
        each["spec"]["schedulerName"] = "kai-scheduler"
    pod["spec"]["initContainers"] = [{**wait, "resources": {}, "imagePullPolicy": "Always"}]
    assert comparable(pod, SENT) == sent


def test_shows_what_webhooks_changed_and_removed(pod: Object) -> None:
    container = pod["spec"]["containers"][0]
    container["resources"]["limits"]["cpu"] = "3"
    container["env"][0]["value"] = "2"
    container["volumeMounts"] = [{"name": "shm", "mountPath": "/x"}]
    del container["command"]
    result = comparable(pod, SENT)["spec"]["containers"][0]
    assert result["resources"]["limits"]["cpu"] == "3"
    assert result["env"][0] == {"name": "A", "value": "2"}
    assert result["volumeMounts"] == [{"name": "shm", "mountPath": "/x"}]
    assert "command" not in result


def test_shows_quantities_that_differ_or_are_none(pod: Object) -> None:
    limits = {"cpu": "x", "memory": "4097M"}
    pod["spec"]["containers"][0]["resources"]["limits"] = limits
    result = comparable(pod, SENT)["spec"]["containers"][0]
    assert result["resources"]["limits"] == limits


def test_shows_the_zero_that_the_server_makes_of_a_quantity_without_a_value(
    pod: Object, sent: Object
) -> None:
    sent["spec"]["resources"] = {"limits": {"cpu": None}}
    pod["spec"]["resources"] = {"limits": {"cpu": "0"}}
    assert comparable(pod, sent)["spec"]["resources"] == {"limits": {"cpu": "0"}}


def test_takes_the_name_that_the_server_made_for_a_default(pod: Object, sent: Object) -> None:
    sent["metadata"] = {"generateName": "p-", "namespace": "ml", "labels": {"a": "b"}}
    pod["metadata"] |= {"name": "p-x7k2p", "generateName": "p-"}
    assert comparable(pod, sent) == sent


def test_takes_the_old_name_of_the_account_for_a_default(pod: Object, sent: Object) -> None:
    sent["spec"]["serviceAccountName"] = "trainer"
    pod["spec"] |= {"serviceAccountName": "trainer", "serviceAccount": "trainer"}
    assert comparable(pod, sent) == sent


def test_leaves_both_pods_as_they_are(pod: Object, sent: Object) -> None:
    comparable(pod, sent)
    assert (pod, sent) == (yaml.safe_load(RETURNED), SENT)


@pytest.mark.parametrize("name", all_names())
def test_brings_a_pod_that_was_sent_whole_back_unchanged(name: str) -> None:
    assert comparable(load(name), load(name)) == load(name)
