"""Make pods large: one place repeated or made long, as often as a request of 3 MB holds."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from tests import pods
from tests.hostile import Place, places, replaced
from tests.tables import read
from webhook.core import names
from webhook.core.model import Object

Build: TypeAlias = Callable[[int], Object]

RICH = read(__file__, "large.yaml")
TEXTS = RICH["texts"]
_LONG = "x" * 250_000
METADATA: dict[str, Object] = {
    "annotations": {"annotations": {f"k{number}": "" for number in range(20_000)}},
    "labels": {"labels": {f"k{number}": "" for number in range(15_000)}},
    "finalizers": {"finalizers": [f"a.b/c{number}" for number in range(15_000)]},
    "owners": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "P", "name": f"n{number}", "uid": f"u{number}"}
            for number in range(8000)
        ]
    },
    "one value": {"annotations": {"filler": _LONG}},
    "full": {"annotations": {"filler": "x" * (256 * 1024 - 600)}},
    "variables": {"env": [{"name": f"V{number}", "value": "x"} for number in range(8000)]},
    "no address": {
        "annotations": {names.MASTER_ADDR: _LONG[:100_000], names.WAIT_ENDS: _LONG[:100_000]}
    },
    "network-status": {"annotations": {names.NETWORK_STATUS: "[" * 60_000}},
    "addresses": {
        "annotations": {
            names.NETWORK_STATUS: json.dumps(
                [{"name": "default/rdma-net", "interface": "net1", "ips": ["10.0.0.999"] * 9000}]
            )
        }
    },
    "long name": {"name": "n" * 240},
}
"""What a pod of a forged label has besides: fields of its metadata; ``env`` is its container's."""


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
    spec.update(copy.deepcopy(RICH["spec"]))
    container = spec["containers"][0]
    container["env"] = [*(container.get("env") or ()), *copy.deepcopy(RICH["env"])]
    container.update(copy.deepcopy(RICH["container"]))
    spec["containers"].append({**copy.deepcopy(container), "name": "side", "resources": {}})
    spec["initContainers"] = [copy.deepcopy(RICH["early"]), *(spec.get("initContainers") or ())]
    return pod


def pretender(name: str, job: str, shape: Object) -> Object:
    """Return a pod of METADATA's *shape* that pretends to be rank 0, attached, told nothing."""
    marks = pods.member_metadata(name, "master", job, address="10.66.6.6")
    metadata = {
        **{key: value for key, value in shape.items() if key != "env"},
        "name": f"{shape.get('name', '')}{name}",
        "labels": {**marks["labels"], **shape.get("labels", {})},
        "annotations": {**marks["annotations"], **shape.get("annotations", {})},
    }
    container = pods.minimal_container(env=shape.get("env", []))
    pod = pods.minimal_pod(container, metadata=metadata)
    del pod["metadata"]["namespace"]
    return pod


def shapes(pod: Object) -> Iterator[tuple[str, Build]]:
    """Yield every way to make one place of *pod* large: a name, and what builds the pod.

    What builds it takes how many parts or characters the place is to have.
    """
    yield "spec/affinity families and sizes", partial(_for_many_types, pod)
    for path, value in places(pod):
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
            for name, text in TEXTS.items():
                yield f"{where} {name}", _replace(pod, path, partial(_lengthened, value, text))


def _for_many_types(pod: Object, times: int) -> Object:
    """Allow so many families of instance types and as many sizes, which Karpenter's labels name."""
    label = "karpenter.k8s.aws/instance-"
    values = {"family": [f"p{number}" for number in range(times // 2)]}
    values["size"] = [f"{number}xlarge" for number in range(times - times // 2)]
    term = [{"key": label + key, "operator": "In", "values": each} for key, each in values.items()]
    path = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    found: Object = replaced(pod, path, {"nodeSelectorTerms": [{"matchExpressions": term}]})
    return found


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


def _replace(pod: Object, path: Place, make: Callable[[int], Any]) -> Build:
    return lambda times: replaced(pod, path, make(times))
