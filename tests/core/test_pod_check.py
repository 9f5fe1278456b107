"""The structure check: what the API server sends passes, what cannot be a pod is refused by name."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

import webhook.core
from tests import pods
from webhook.core import pod_types
from webhook.core.errors import MalformedReview
from webhook.core.pod_check import check_pod

CONTAINER = {"name": "c"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [CONTAINER], **spec}}


REQUIRED = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
WRONG_TYPES = r"""
metadata | "x" | an object, found a string
metadata.labels['a'] | 1 | a string, found a number
metadata.annotations | [] | an object, found a list
metadata.name | 5 | a string, found a number
metadata.generateName | 5 | a string, found a number
metadata.namespace | 5 | a string, found a number
metadata.ownerReferences[0].controller | "true" | a boolean, found a string
spec | [] | an object, found a list
spec.hostname | 1 | a string, found a number
spec.subdomain | 1 | a string, found a number
spec.restartPolicy | 1 | a string, found a number
spec.hostNetwork | 1 | a boolean, found a number
spec.hostUsers | 1 | a boolean, found a number
spec.hostIPC | 1 | a boolean, found a number
spec.securityContext.runAsUser | "0" | an integer, found a string
spec.volumes[0].name | 1 | a string, found a number
spec.containers | {} | a list, found an object
spec.containers[0] | null | an object, found nothing
spec.containers[0].env[0].name | 1 | a string, found a number
spec.containers[0].env | {} | a list, found an object
spec.containers[0].volumeMounts | "a" | a list, found a string
spec.containers[0].volumeDevices | "a" | a list, found a string
spec.containers[0].command | "sh" | a list, found a string
spec.containers[0].livenessProbe | "x" | an object, found a string
spec.containers[0].startupProbe.exec | [] | an object, found a list
spec.containers[0].lifecycle.preStop.exec.command[0] | 1 | a string, found a number
spec.containers[0].lifecycle.preStop | [] | an object, found a list
spec.containers[0].lifecycle.preStop.exec | ["a"] | an object, found a list
spec.containers[0].lifecycle.preStop.exec.command | "a" | a list, found a string
spec.containers[0].lifecycle | ["a"] | an object, found a list
spec.containers[0].args[0] | 1 | a string, found a number
spec.containers[0].resources.limits['a/b'] | [] | a quantity, found a list
spec.containers[0].resources.limits['a/b'] | true | a quantity, found a boolean
spec.resources.limits['memory'] | [] | a quantity, found a list
spec.resources | "8Gi" | an object, found a string
spec.containers[0].securityContext.capabilities.add | "IPC_LOCK" | a list, found a string
spec.containers[0].securityContext.capabilities | ["IPC_LOCK"] | an object, found a list
spec.containers[0].securityContext.runAsUser | true | an integer, found a boolean
spec.volumes[0].emptyDir | "x" | an object, found a string
spec.volumes[0].emptyDir.medium | 1 | a string, found a number
spec.volumes[0].downwardAPI | [] | an object, found a list
spec.volumes[0].downwardAPI.items | {} | a list, found an object
spec.volumes[1] | "x" | an object, found a string
spec.os | "windows" | an object, found a string
spec.os.name | 1 | a string, found a number
spec.containers[0].securityContext.privileged | "yes" | a boolean, found a string
spec.containers[0].securityContext.runAsNonRoot | "yes" | a boolean, found a string
spec.containers[0].securityContext.allowPrivilegeEscalation | "yes" | a boolean, found a string
spec.containers[0].securityContext.runAsUser | "yes" | an integer, found a string
spec.containers[0].securityContext.runAsGroup | "yes" | an integer, found a string
spec.containers[0].securityContext.seLinuxOptions | "yes" | an object, found a string
spec.containers[0].securityContext.seccompProfile | "yes" | an object, found a string
spec.containers[0].securityContext.appArmorProfile | "yes" | an object, found a string
spec.containers[0].securityContext.seLinuxOptions['level'] | {"a": 1} | a string, found an object
spec.volumes[0].downwardAPI.items[0].path | ["a"] | a string, found a list
spec.resourceClaims[0].name | ["a"] | a string, found a list
spec.containers[0].resources.claims[0].name | 1 | a string, found a number
spec.volumes[0].hostPath | [] | an object, found a list
spec.volumes[0].hostPath.path | [] | a string, found a list
spec.containers[0].securityContext.runAsUser | 9223372036854775808 | a number of at most 64 bits, found a number
spec.containers[0].securityContext.runAsUser | -9223372036854775809 | a number of at most 64 bits, found a number
spec.tolerations | {} | a list, found an object
spec.tolerations[0] | "x" | an object, found a string
spec.tolerations[0].key | 1 | a string, found a number
spec.affinity | [] | an object, found a list
spec.affinity.nodeAffinity | "x" | an object, found a string
REQUIRED | [] | an object, found a list
REQUIRED.nodeSelectorTerms | {} | a list, found an object
REQUIRED.nodeSelectorTerms[0].matchExpressions[0] | 1 | an object, found a number
REQUIRED.nodeSelectorTerms[1].matchExpressions[0] | 1 | an object, found a number
REQUIRED.nodeSelectorTerms[0].matchExpressions[0].key | 1 | a string, found a number
REQUIRED.nodeSelectorTerms[0].matchExpressions[0].operator | 1 | a string, found a number
REQUIRED.nodeSelectorTerms[0].matchExpressions[0].values | "a" | a list, found a string
REQUIRED.nodeSelectorTerms[0].matchExpressions[0].values[0] | 1 | a string, found a number
spec.nodeSelector['a'] | null | a string, found nothing
"""
"""A field, a value of a wrong type, and what is told of it."""


def at(path: str, value: Any) -> Any:
    """Return a pod that holds nothing but a value at a path like ``spec.volumes[0].name``."""
    for index, key, name in reversed(re.findall(r"\[(\d+)\]|\['(.+?)'\]|(\w+)", path)):
        value = [*[{}] * int(index), value] if index else {key or name: value}
    return value


def of_map(path: str) -> str:
    """Return a path as it is told: the key of a map is not."""
    return re.sub(r"\['.+?'\]", "[...]", path)


ENV, MOUNT = "spec.containers[0].env[0]", "spec.containers[0].volumeMounts[0]"
REFUSED: list[tuple[Any, str]] = [
    *(
        (at(path, json.loads(value)), f"pod.{of_map(path)}: expected {told}")
        for path, value, told in (
            row.split(" | ") for row in WRONG_TYPES.replace("REQUIRED", REQUIRED).split("\n")[1:-1]
        )
    ),
    ([], "pod: expected an object, found a list"),
    ({"spec": {"hostname": ("no", "JSON")}}, "pod.spec.hostname: expected a string"),
    ({"spec": {"nodeSelector": {1: "a"}}}, "pod.spec.nodeSelector: expected a string"),
    (None, "pod: expected an object, found nothing"),
    (at(ENV, {"name": "A", "value": 1}), f"pod.{ENV}.value: expected a string"),
    (at(ENV, {"name": "A", "valueFrom": []}), f"pod.{ENV}.valueFrom: expected an object"),
    (
        at(ENV, {"name": "A", "valueFrom": {"fieldRef": "a"}}),
        f"pod.{ENV}.valueFrom.fieldRef: expected an object, found a string",
    ),
    (
        at(ENV, {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": 1}}}),
        f"pod.{ENV}.valueFrom.fieldRef.fieldPath: expected a string, found a number",
    ),
    (
        at("spec.containers[0].volumeDevices[0].name", "a"),
        "volumeDevices[0].devicePath: expected a string, found nothing",
    ),
    (at(f"{MOUNT}.name", "a"), f"pod.{MOUNT}.mountPath: expected a string, found nothing"),
    (
        at(MOUNT, {"name": "a", "mountPath": "/a", "subPathExpr": []}),
        f"pod.{MOUNT}.subPathExpr: expected a string, found a list",
    ),
    (
        at("spec.containers[0].resources.limits.cpu", 10**4300),
        "limits[...]: expected a number of at most 64 bits, found a number",
    ),
    (
        {"metadata": {"labels": {"a" * 3_000_000: 1}}},
        "pod.metadata.labels[...]: expected a string",
    ),
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
    check_pod(pod(containers=[{"lifecycle": {"preStop": hook, "stopSignal": "SIGUSR1"}}]))


FIELDS = {
    "Container": """args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports
        readinessProbe resizePolicy resources restartPolicy restartPolicyRules
        securityContext startupProbe stdin stdinOnce terminationMessagePath
        terminationMessagePolicy tty volumeDevices volumeMounts workingDir""",
    "Metadata": """annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers
        generateName generation labels managedFields name namespace ownerReferences
        resourceVersion selfLink uid""",
    "Spec": """activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy
        enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID
        hostUsers hostname hostnameOverride imagePullSecrets initContainers nodeName
        nodeSelector os overhead preemptionPolicy priority priorityClassName
        readinessGates resourceClaims resources restartPolicy runtimeClassName
        schedulerName schedulingGates securityContext serviceAccount serviceAccountName
        setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds
        tolerations topologySpreadConstraints volumes workloadRef""",
    "_Variable": "name value valueFrom",
    "_BlockDevice": "devicePath name",
    "_Mount": """mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr""",
}
"""All fields of each part. Source: Kubernetes 1.36 API reference, core/v1 and meta/v1."""
CHECKED_FOLDERS = ("core", "injection", "networks", "workloads")
NAMED_FOR_ANOTHER_REASON = {
    "_BlockDevice": {"name"},  # of everything else
    "Container": {
        "terminationMessagePath",
        "terminationMessagePolicy",
    },  # of a container that is added
    "Metadata": {
        "deletionTimestamp",
        "generation",
        "uid",
    },  # of a pod that the controller sees, of a profile, of an owner
    "_Mount": {"readOnly", "subPath"},  # of a mount that is added
    "Spec": {"dnsConfig", "hostPID"},  # of a profile, of PodSecurity, which takes any value
}


@pytest.mark.parametrize("part", FIELDS)
def test_every_field_that_the_core_names_is_checked(part: str) -> None:
    checked = {one.encode_name for one in fields(getattr(pod_types, part))}
    others = set(FIELDS[part].split()) - checked - NAMED_FOR_ANOTHER_REASON.get(part, set())
    assert checked <= set(FIELDS[part].split())
    core = Path(webhook.core.__file__).parent
    files = [path for path in core.rglob("*.py") if path.parent.name in CHECKED_FOLDERS]
    named = {
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert sorted(others & named) == []
