"""Pods that a tenant may send and nobody means: one place of a pod repeated or made long, as often as a request of 3 MB holds.

Shared by the tests of the bounds and the bench that measures what such pods cost.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from tests import pods
from tests.worlds import namespace, network
from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import Profiles, parse_profiles
from webhook.world.objects import ObjectsWorld

Path: TypeAlias = tuple[str | int, ...]
Build: TypeAlias = Callable[[int], Object]

PROFILES = """
allowed: {hostPaths: [/sys], sidecarImages: ["a.io/*"]}
profiles:
  plain: {networks: [{network: rails/rail-0}]}
  full:
    networks: [{network: rails/rail-0}, {network: rails/rail-1@rail1, resource: rdma/hca}]
    resources: {hugepages-2Mi: 1Gi, rdma/other: 1}
    existingDevices: add
    sharedMemory: {sizeLimit: 16Gi, limitExisting: true}
    env: {NCCL_IB_HCA: mlx5, NCCL_DEBUG: INFO}
    annotations: {example.com/fabric: rails}
    ncclConf: true
    nodeSelector: {fabric: rails}
    volumes: [{name: sys, hostPath: {path: /sys}}, {name: dshm, emptyDir: {}}, {name: data, configMap: {name: a}}]
    mounts: [{name: sys, mountPath: /host}, {name: data, mountPath: /data}, {name: own, mountPath: /own}]
    sidecars:
      - {name: daemon, image: "a.io/b:1", mounts: [{name: sys, mountPath: /s}], capabilities: [NET_ADMIN], resources: {rdma/hca: 1}}
    tolerations: [{key: gpu, operator: Exists}, {key: fabric, value: rails, effect: NoSchedule}]
    quantities: [{resource: a.io/efa, perAccelerator: 4, byNodeType: {a: 2}, nodeLabel: rack}]
"""
TEXTS = {
    "letters": "a",
    "the variable": "MASTER_ADDR ",
    "its reference": "$(MASTER_ADDR)",
    "its expansion": "$MASTER_ADDR;",
    "open expansions": "${",
    "open substitutions": "$(",
    "quotes": "'",
    "double quotes": '"',
    "backquotes": "`",
    "backslashes": "\\",
    "brackets": "[",
    "braces": "{",
    "commas": ",",
    "spaces": " ",
    "options": "--nnodes ",
    "dots": "a.",
    "slashes": "/dev/shm/",
    "hosts": "VC_A_0_HOSTS ",
    "digits": "9",
    "beyond the plane": "\U0001f4a9",
    "lines": "torchrun\n",
}
"""Texts that some reader may stumble over, each repeated."""


def profiles() -> Profiles:
    """Return one profile that asks for little and one that asks for everything."""
    return parse_profiles(PROFILES)


def world(profile: str, **labels: str) -> ObjectsWorld:
    """Return a cluster whose namespace ``train`` has this profile."""
    rails = [network(f"rails/rail-{number}", f"nvidia.com/rail_{number}") for number in range(2)]
    return ObjectsWorld([namespace("train", profile, **labels), *rails])


def rich(name: str = "pods/kubeflow-pytorchjob-1.yaml") -> Object:
    """Return a training pod in which every field stands that any part of the core reads."""
    pod = pods.load(name)
    pod["metadata"].setdefault("labels", {})["example.com/a"] = "a"
    pod["metadata"].setdefault("annotations", {}).update(
        {
            names.NETWORKS: "rails/rail-0",
            names.ISTIO_EXCLUDE_INTERFACES: "eth9",
            names.ISTIO_INJECT: "true",
            names.ADDED_DEVICES: "rdma/hca=1",
            names.STATUS: '{"injected": ["networks"]}',
        }
    )
    spec = pod["spec"]
    spec.update(
        nodeSelector={"rack": "a"},
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}
                    ]
                }
            }
        },
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        securityContext={"runAsUser": 0},
        imagePullSecrets=[{"name": "a"}],
        hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a"]}],
        volumes=[
            {"name": "dshm", "emptyDir": {"medium": "Memory"}},
            {"name": "ib", "hostPath": {"path": "/dev/infiniband"}},
        ],
    )
    container = spec["containers"][0]
    container["env"] = [*(container.get("env") or ()), {"name": "NCCL_DEBUG", "value": "INFO"}]
    container["env"].append(
        {
            "name": "HEAD",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['example.com/a']"}},
        }
    )
    container.update(
        command=["sh", "-c", "torchrun --nnodes 2 --master_addr $MASTER_ADDR train.py"],
        args=["--epochs", "3"],
        volumeMounts=[
            {"name": "ib", "mountPath": "/dev/infiniband"},
            {"name": "data", "mountPath": "/data"},
        ],
        resources={
            "limits": {"nvidia.com/gpu": "8", "memory": "64Gi", "hugepages-2Mi": "1Gi"},
            "requests": {"cpu": "8", "memory": "64Gi"},
            "claims": [{"name": "gpu"}],
        },
        securityContext={
            "capabilities": {"add": ["SYS_PTRACE"], "drop": ["NET_RAW"]},
            "runAsUser": 0,
        },
        readinessProbe={"exec": {"command": ["true"]}},
        lifecycle={"preStop": {"exec": {"command": ["true"]}}},
        envFrom=[{"configMapRef": {"name": "a"}}],
    )
    side = {**copy.deepcopy(container), "name": "side", "resources": {}}
    spec["containers"].append(side)
    early = {
        "name": "early",
        "image": "a",
        "restartPolicy": "Always",
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec["initContainers"] = [early, *(spec.get("initContainers") or ())]
    return pod


def review(pod: Object) -> bytes:
    """Return the API server's question about *pod*."""
    request = {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "train",
        "operation": "CREATE",
        "object": pod,
    }
    value = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def shapes(pod: Object, texts: Mapping[str, str] = TEXTS) -> Iterator[tuple[str, Build]]:
    """Yield every way to make one place of *pod* large: a name, and what builds the pod with so many parts or characters."""
    for path, value in _places(pod):
        where = "/".join(map(str, path))
        if isinstance(value, list) and value:
            yield f"{where} alike", _replace(pod, path, partial(_repeated, value))
            yield f"{where} distinct", _replace(pod, path, partial(_distinct, value))
            yield (
                f"{where} empty",
                _replace(pod, path, partial(_repeated, [*value, _emptied(value[-1])])),
            )
        elif isinstance(value, dict) and path:
            yield f"{where} keys", _replace(pod, path, partial(_with_keys, value))
        elif isinstance(value, str):
            for name, text in texts.items():
                yield f"{where} {name}", _replace(pod, path, partial(_lengthened, value, text))


def _places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in items:
        yield from _places(child, (*path, key))


def _repeated(value: list[Any], times: int) -> list[Any]:
    return [*value, *[value[-1]] * times]


def _distinct(value: list[Any], times: int) -> list[Any]:
    return [*value, *(_renamed(value[-1], number) for number in range(times))]


def _renamed(item: Any, number: int) -> Any:
    if isinstance(item, str):
        return f"{item}{number}"
    if not isinstance(item, dict):
        return item
    return {
        key: f"{value}-{number}" if key in _IDENTIFYING else value for key, value in item.items()
    }


_IDENTIFYING = ("name", "key", "mountPath", "ip", "uid")


def _emptied(item: Any) -> Any:
    """Return the shortest that passes for *item*."""
    if isinstance(item, dict):
        return {key: "" for key in ("name", "mountPath") if key in item}
    return "" if isinstance(item, str) else item


def _with_keys(value: Object, times: int) -> Object:
    last = next(reversed(value.values()), "a")
    return {**value, **{f"example.com/k{number}": last for number in range(times)}}


def _lengthened(value: str, text: str, times: int) -> str:
    return value + text * (times // len(text))


def _replace(pod: Object, path: Path, make: Callable[[int], Any]) -> Build:
    def build(times: int) -> Object:
        changed: Object = _copied(pod, path)
        holder: Any = changed
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = make(times)
        return changed

    return build


def _copied(value: Any, path: Path) -> Any:
    """Copy what stands on the way to *path*."""
    if not path:
        return value
    changed = value.copy()
    changed[path[0]] = _copied(value[path[0]], path[1:])
    return changed
