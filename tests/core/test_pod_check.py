"""The structure check: what the API server sends passes, what cannot be a pod is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests import pods
from webhook.core.errors import MalformedReview
from webhook.core.pod_check import check_pod

CONTAINER = {"name": "c"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [CONTAINER], **spec}}


REFUSED: list[tuple[Any, str]] = [
    ([], "pod: expected an object, found a list"),
    (None, "pod: expected an object, found nothing"),
    ({"metadata": "x"}, "pod.metadata: expected an object, found a string"),
    (
        {"metadata": {"labels": {"a": 1}}},
        "pod.metadata.labels['a']: expected a string, found a number",
    ),
    (
        {"metadata": {"annotations": []}},
        "pod.metadata.annotations: expected an object, found a list",
    ),
    ({"metadata": {"name": 5}}, "pod.metadata.name: expected a string, found a number"),
    (
        {"metadata": {"generateName": 5}},
        "pod.metadata.generateName: expected a string, found a number",
    ),
    ({"metadata": {"namespace": 5}}, "pod.metadata.namespace: expected a string, found a number"),
    (
        {"metadata": {"ownerReferences": [{"controller": "true"}]}},
        "pod.metadata.ownerReferences[0].controller: expected a boolean",
    ),
    ({"spec": []}, "pod.spec: expected an object, found a list"),
    *(
        (pod(**{key: 1}), f"pod.spec.{key}: expected a string")
        for key in ("hostname", "subdomain", "restartPolicy")
    ),
    *(
        (pod(**{key: 1}), f"pod.spec.{key}: expected a boolean")
        for key in ("hostNetwork", "hostUsers", "hostIPC")
    ),
    (
        pod(securityContext={"runAsUser": "0"}),
        "pod.spec.securityContext.runAsUser: expected an integer, found a string",
    ),
    (pod(volumes=[{"name": 1}]), "pod.spec.volumes[0].name: expected a string, found a number"),
    ({"spec": {"containers": {}}}, "pod.spec.containers: expected a list, found an object"),
    ({"spec": {"containers": [None]}}, "pod.spec.containers[0]: expected an object, found nothing"),
    (
        {"spec": {"containers": [{"env": [{"name": 1}]}]}},
        "pod.spec.containers[0].env[0].name: expected a string, found a number",
    ),
    (
        {"spec": {"containers": [{"env": [{"name": "A", "value": 1}]}]}},
        "pod.spec.containers[0].env[0].value: expected a string",
    ),
    (
        {"spec": {"containers": [{"env": [{"name": "A", "valueFrom": []}]}]}},
        "pod.spec.containers[0].env[0].valueFrom: expected an object",
    ),
    *(
        (
            {"spec": {"containers": [{"env": [{"name": "A", "valueFrom": {kind: {key: 1}}}]}]}},
            f"pod.spec.containers[0].env[0].valueFrom.{kind}.{key}: expected a string, found a number",
        )
        for kind, key in (
            ("fieldRef", "fieldPath"),
            ("configMapKeyRef", "name"),
            ("secretKeyRef", "key"),
        )
    ),
    (
        {"spec": {"containers": [{"env": {}}]}},
        "pod.spec.containers[0].env: expected a list, found an object",
    ),
    (
        {"spec": {"containers": [{"volumeMounts": "a"}]}},
        "pod.spec.containers[0].volumeMounts: expected a list, found a string",
    ),
    (
        {"spec": {"containers": [{"volumeDevices": "a"}]}},
        "pod.spec.containers[0].volumeDevices: expected a list, found a string",
    ),
    (
        {"spec": {"containers": [{"command": "sh"}]}},
        "pod.spec.containers[0].command: expected a list, found a string",
    ),
    (
        {"spec": {"containers": [{"livenessProbe": "x"}]}},
        "containers[0].livenessProbe: expected an object, found a string",
    ),
    (
        {"spec": {"containers": [{"startupProbe": {"exec": []}}]}},
        "startupProbe.exec: expected an object, found a list",
    ),
    (
        {"spec": {"containers": [{"lifecycle": {"preStop": {"exec": {"command": [1]}}}}]}},
        "containers[0].lifecycle.preStop.exec.command[0]: expected a string, found a number",
    ),
    (
        {"spec": {"containers": [{"lifecycle": {"preStop": []}}]}},
        "lifecycle.preStop: expected an object, found a list",
    ),
    (
        {"spec": {"containers": [{"lifecycle": {"preStop": {"exec": ["a"]}}}]}},
        "lifecycle.preStop.exec: expected an object, found a list",
    ),
    (
        {"spec": {"containers": [{"lifecycle": {"preStop": {"exec": {"command": "a"}}}}]}},
        "lifecycle.preStop.exec.command: expected a list, found a string",
    ),
    (
        {"spec": {"containers": [{"env": [{"name": "A", "valueFrom": {"fieldRef": "a"}}]}]}},
        "env[0].valueFrom.fieldRef: expected an object, found a string",
    ),
    (
        {"spec": {"containers": [{"lifecycle": ["a"]}]}},
        "containers[0].lifecycle: expected an object, found a list",
    ),
    (
        {"spec": {"containers": [{"args": [1]}]}},
        "pod.spec.containers[0].args[0]: expected a string, found a number",
    ),
    (
        {"spec": {"containers": [{"resources": {"limits": {"a/b": []}}}]}},
        "pod.spec.containers[0].resources.limits['a/b']: expected a quantity",
    ),
    (
        {"spec": {"containers": [{"resources": {"limits": {"a/b": True}}}]}},
        "expected a quantity, found a boolean",
    ),
    (
        {"spec": {"resources": {"limits": {"memory": []}}}},
        "pod.spec.resources.limits['memory']: expected a quantity",
    ),
    ({"spec": {"resources": "8Gi"}}, "pod.spec.resources: expected an object, found a string"),
    (
        {"spec": {"containers": [{"volumeDevices": [{"name": "a"}]}]}},
        "pod.spec.containers[0].volumeDevices[0].devicePath: expected a string, found nothing",
    ),
    (
        {"spec": {"containers": [{"volumeMounts": [{"name": "a"}]}]}},
        "pod.spec.containers[0].volumeMounts[0].mountPath: expected a string, found nothing",
    ),
    (
        {"spec": {"containers": [{"securityContext": {"capabilities": {"add": "IPC_LOCK"}}}]}},
        "capabilities.add: expected a list",
    ),
    (
        {"spec": {"containers": [{"securityContext": {"capabilities": ["IPC_LOCK"]}}]}},
        "securityContext.capabilities: expected an object, found a list",
    ),
    (
        {"spec": {"containers": [{"securityContext": {"runAsUser": True}}]}},
        "securityContext.runAsUser: expected an integer, found a boolean",
    ),
    (pod(hostNetwork="yes"), "pod.spec.hostNetwork: expected a boolean, found a string"),
    (
        pod(volumes=[{"name": "v", "emptyDir": "x"}]),
        "pod.spec.volumes[0].emptyDir: expected an object",
    ),
    (
        pod(volumes=[{"name": "v", "emptyDir": {"medium": 1}}]),
        "pod.spec.volumes[0].emptyDir.medium: expected a string",
    ),
    (
        pod(volumes=[{"name": "v", "downwardAPI": []}]),
        "pod.spec.volumes[0].downwardAPI: expected an object, found a list",
    ),
    (
        pod(volumes=[{"name": "v", "downwardAPI": {"items": {}}}]),
        "pod.spec.volumes[0].downwardAPI.items: expected a list, found an object",
    ),
    (pod(volumes=[{"name": "v"}, "x"]), "pod.spec.volumes[1]: expected an object, found a string"),
    (pod(os="windows"), "pod.spec.os: expected an object, found a string"),
    (pod(os={"name": 1}), "pod.spec.os.name: expected a string, found a number"),
    *(
        (
            {"spec": {"containers": [{"securityContext": {key: "yes"}}]}},
            f"pod.spec.containers[0].securityContext.{key}: expected {what}, found a string",
        )
        for what, keys in (
            ("a boolean", ("privileged", "runAsNonRoot", "allowPrivilegeEscalation")),
            ("an integer", ("runAsUser", "runAsGroup")),
            ("an object", ("seLinuxOptions", "seccompProfile", "appArmorProfile", "capabilities")),
        )
        for key in keys
    ),
    (
        {"spec": {"containers": [{"securityContext": {"seLinuxOptions": "s0"}}]}},
        "securityContext.seLinuxOptions: expected an object, found a string",
    ),
    (
        {"spec": {"containers": [{"securityContext": {"seLinuxOptions": {"level": {"a": 1}}}}]}},
        "seLinuxOptions['level']: expected a string, found an object",
    ),
    (
        pod(volumes=[{"name": "v", "downwardAPI": {"items": [{"path": ["a"]}]}}]),
        "pod.spec.volumes[0].downwardAPI.items[0].path: expected a string, found a list",
    ),
    (
        pod(resourceClaims=[{"name": ["a"]}]),
        "pod.spec.resourceClaims[0].name: expected a string, found a list",
    ),
    (
        {"spec": {"containers": [{"resources": {"claims": [{"name": 1}]}}]}},
        "containers[0].resources.claims[0].name: expected a string, found a number",
    ),
    (
        {
            "spec": {
                "containers": [
                    {"volumeMounts": [{"name": "a", "mountPath": "/a", "subPathExpr": []}]}
                ]
            }
        },
        "volumeMounts[0].subPathExpr: expected a string, found a list",
    ),
    (
        pod(volumes=[{"name": "v", "hostPath": []}]),
        "pod.spec.volumes[0].hostPath: expected an object, found a list",
    ),
    (
        pod(volumes=[{"hostPath": {"path": []}}]),
        "pod.spec.volumes[0].hostPath.path: expected a string, found a list",
    ),
    (
        {"spec": {"containers": [{"resources": {"limits": {"cpu": 10**4300}}}]}},
        "limits['cpu']: expected a quantity of at most 64 bits, found a number",
    ),
    (
        {"spec": {"containers": [{"securityContext": {"runAsUser": 2**63}}]}},
        "runAsUser: expected an integer",
    ),
    (
        {"spec": {"containers": [{"securityContext": {"runAsUser": -(2**63) - 1}}]}},
        "runAsUser: expected an integer",
    ),
    (
        {"metadata": {"labels": {"a" * 3_000_000: 1}}},
        f"pod.metadata.labels['{'a' * 253}']: expected a string",
    ),
    (pod(tolerations={}), "pod.spec.tolerations: expected a list, found an object"),
    (pod(tolerations=["x"]), "pod.spec.tolerations[0]: expected an object, found a string"),
    (
        pod(tolerations=[{"key": 1}]),
        "pod.spec.tolerations[0].key: expected a string, found a number",
    ),
    (pod(affinity=[]), "pod.spec.affinity: expected an object, found a list"),
    (
        pod(affinity={"nodeAffinity": "x"}),
        "pod.spec.affinity.nodeAffinity: expected an object, found a string",
    ),
    *(
        (
            pod(
                affinity={
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
                }
            ),
            message,
        )
        for required, message in (
            (
                [],
                "requiredDuringSchedulingIgnoredDuringExecution: expected an object, found a list",
            ),
            ({"nodeSelectorTerms": {}}, "nodeSelectorTerms: expected a list, found an object"),
            (
                {"nodeSelectorTerms": [{"matchExpressions": [1]}]},
                "matchExpressions[0]: expected an object",
            ),
            (
                {"nodeSelectorTerms": [{}, {"matchExpressions": [1]}]},
                "[1].matchExpressions[0]: expected an object",
            ),
            (
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": 1}]}]},
                "matchExpressions[0].key: expected a string",
            ),
            (
                {"nodeSelectorTerms": [{"matchExpressions": [{"operator": 1}]}]},
                "[0].operator: expected a string",
            ),
            (
                {"nodeSelectorTerms": [{"matchExpressions": [{"values": "a"}]}]},
                "nodeSelectorTerms[0].matchExpressions[0].values: expected a list, found a string",
            ),
            (
                {"nodeSelectorTerms": [{"matchExpressions": [{"values": [1]}]}]},
                "nodeSelectorTerms[0].matchExpressions[0].values[0]: expected a string, found a number",
            ),
        )
    ),
    (pod(nodeSelector={"a": None}), "pod.spec.nodeSelector['a']: expected a string, found nothing"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[row[1][:60] for row in REFUSED])
def test_names_the_field_of_a_wrong_type(value: Any, message: str) -> None:
    with pytest.raises(MalformedReview) as refused:
        check_pod(value)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", pods.all_names())
def test_passes_every_real_pod(name: str) -> None:
    found = pods.load(name)
    assert check_pod(found) is found


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"spec": {}},
        {"metadata": None, "spec": None},
        pod(initContainers=None, volumes=None),
        *(
            {
                "spec": {
                    "resources": {"limits": {"a/b": number}},
                    "containers": [{"securityContext": {"runAsUser": number}}],
                }
            }
            for number in (-(2**63), -(2**62), 0, 2**63 - 1)
        ),
        {"spec": {"containers": None}},
    ],
)
def test_passes_what_is_missing_or_null(value: dict[str, Any]) -> None:
    assert check_pod(value) == value


@pytest.mark.parametrize(
    "source",
    [
        {"fieldRef": {"fieldPath": "metadata.name"}},
        {"fieldRef": {"fieldPath": None}},
        {"fieldRef": {"fieldPath": "a"}, "other": 1},
        {"other": {"a": 1}},
        {},
        None,
    ],
    ids=str,
)
def test_passes_what_a_variable_may_come_from(source: Any) -> None:
    check_pod(pod(containers=[{"env": [{"name": "A", "valueFrom": source}]}]))


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "In", "values": ["a", "b"]},
        {"key": "a", "values": None},
        {"key": "a", "other": 1},
        {},
    ],
    ids=str,
)
def test_passes_what_an_expression_may_hold(expression: Any) -> None:
    terms = [{"matchExpressions": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    check_pod(pod(affinity={"nodeAffinity": required}))


@pytest.mark.parametrize(
    "hook",
    [{}, None, {"exec": None}, {"exec": {}}, {"exec": {"command": ["a"]}}, {"sleep": {}}],
    ids=str,
)
def test_passes_what_a_hook_may_be(hook: Any) -> None:
    check_pod(pod(containers=[{"lifecycle": {"preStop": hook}}]))
