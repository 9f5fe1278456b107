"""The one generator of pods, reviews and API objects that nobody means.

`forged` uses our own names where a user may use them too; `broken` changes types and texts;
`large` repeats one place, or makes it long. All are judged in the cluster that is made here.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names
from webhook.core.model import Object
from webhook.world.objects import ObjectsWorld

Path: TypeAlias = tuple[Any, ...]
"""The keys and indexes that lead to a place of a JSON value."""

PROFILES = profiles("""
plain: {networks: [{network: rails/rail-0}]}
full:
  networks: [{network: rails/rail-0}, {network: rails/rail-1@rail1, resource: rdma/hca}]
  existingDevices: add
  sharedMemory: {sizeLimit: 16Gi}
  deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]
  ncclConf: true
  rendezvous: {unreachable: fail}
  container:
    env:
      - {name: NCCL_IB_HCA, value: mlx5}
      - {name: NCCL_DEBUG, value: INFO}
      - {name: PET_RDZV_CONF, value: timeout=900}
    resources: {limits: {hugepages-2Mi: 1Gi, rdma/other: 1}}
    volumeMounts:
      - {name: sys, mountPath: /host}
      - {name: data, mountPath: /data}
      - {name: own, mountPath: /own}
  pod:
    metadata: {annotations: {example.com/fabric: rails}}
    spec:
      nodeSelector: {fabric: rails}
      tolerations: [{key: gpu, operator: Exists}, {key: fabric, value: rails, effect: NoSchedule}]
      volumes:
        - {name: sys, hostPath: {path: /sys}}
        - {name: dshm, emptyDir: {}}
        - {name: data, configMap: {name: a}}
      initContainers:
        - name: daemon
          image: "a.io/b:1"
          restartPolicy: Always
          volumeMounts: [{name: sys, mountPath: /s}]
          securityContext: {capabilities: {add: [NET_ADMIN]}}
          resources: {limits: {rdma/hca: 1}, requests: {rdma/hca: 1}}
  quantities: [{resource: a.io/efa, perAccelerator: 4, byNodeType: {a: 2}, nodeLabel: rack}]
  claims:
    - {name: nic, requests: [{name: nic, deviceClassName: a.io}]}
    - name: pair
      requests: [{name: r, deviceClassName: b.io}]
      constraints: [{matchAttribute: a.io/numa}]
everyone:
  pods: all
  trainingContainer: side
  networks: [{network: rails/rail-1, count: 2}]
  existingDevices: keep
  sharedMemory: {enabled: false}
  rendezvous: {rankZero: name, ipFamily: IPv6, waitImage: "registry.example.com/busybox:1"}
installed:
  pods: all
  networks: [{network: rails/rail-0}]
  podSecurity: skip
  rendezvous: {waitImage: installed, ipFamily: IPv6}
  pod:
    spec:
      volumes: [{name: sys, hostPath: {path: /sys}}, {name: sys-2, emptyDir: {}}]
      initContainers:
        - {name: root, image: a.io/b, restartPolicy: Always, securityContext: {privileged: true}}
        - {name: side, image: a.io/b, restartPolicy: Always}
  quantities: [{resource: a.io/efa, perAccelerator: 2}]
own:
  ncclConf: true
  rendezvous: {enabled: false}
  claims: [{name: nic, requests: [{name: nic, deviceClassName: a.io}]}]
""")
SPACES = {
    "plain": {},
    "full": {},
    "everyone": {},
    "installed": {names.POD_SECURITY_ENFORCE: "baseline"},
    "own": {},
}
"""The namespaces, each with the profile of its name, and their further labels."""


def world(train: str = "plain", **more: str) -> ObjectsWorld:
    """Return a cluster with all namespaces and networks; ``train`` has the profile *train*.

    Each namespace is labelled with *more* too, as ``mode="observe"``.
    """
    objects = [network(f"rails/rail-{number}", f"nvidia.com/rail_{number}") for number in range(2)]
    objects.append(namespace("train", train, **more))
    for name, labels in SPACES.items():
        space = namespace(name, name, **more)
        space["metadata"]["labels"].update(labels)
        objects.append(space)
    return ObjectsWorld(objects)


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


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every place of a JSON value with what stands there, the outermost first."""
    yield path, value
    keys: Iterable[Any] = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield from places(value[key], (*path, key))


def replaced(value: Any, path: Path, new: Any) -> Any:
    """Return *value* with *new* at this place; only what stands on the way to it is copied."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed
