"""Make a pod what a real cluster gives: what all that serves it writes on each pod of its own."""

from __future__ import annotations

import copy
import json
import uuid
from typing import Any

import yaml

from webhook.core import names
from webhook.core.model import Object

_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_CONDITIONS = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
]
_SPEC = yaml.safe_load("""
restartPolicy: Never
terminationGracePeriodSeconds: 30
dnsPolicy: ClusterFirst
serviceAccountName: default
serviceAccount: default
securityContext: {}
schedulerName: default-scheduler
priority: 0
enableServiceLinks: true
preemptionPolicy: PreemptLowerPriority
""")
_TOLERATIONS = yaml.safe_load("""
- {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
- {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
""")
_TOKEN = yaml.safe_load("""
defaultMode: 420
sources:
- serviceAccountToken: {expirationSeconds: 3607, path: token}
- configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
- downwardAPI:
    items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]
""")


def as_served(pod: Object, number: int) -> Object:
    """Write it on the *number*-th pod of the cluster, and return the pod; what is set stays.

    Put together of the fixtures and of what Kubernetes, Calico and Multus document.
    """
    metadata, spec, status = pod["metadata"], pod["spec"], pod.setdefault("status", {})
    made = uuid.uuid5(
        uuid.NAMESPACE_URL, f"{metadata.get('namespace')}/{metadata['name']}/{number}"
    )
    address = f"10.244.{number // 250 % 250}.{number % 250 + 1}"
    since = metadata.get("creationTimestamp") or "2026-11-21T11:40:00Z"
    metadata |= {"uid": str(made), "resourceVersion": str(1_000_000 + number), "generation": 1}
    annotations = metadata.setdefault("annotations", {})
    annotations |= {
        "cni.projectcalico.org/containerID": made.hex + made.hex,
        "cni.projectcalico.org/podIP": f"{address}/32",
        "cni.projectcalico.org/podIPs": f"{address}/32",
    }
    if told := annotations.get(names.NETWORK_STATUS):
        annotations[names.NETWORK_STATUS] = _attached(told, address, number)
    _mount_token(spec, made)
    pod["spec"] = spec = {**copy.deepcopy(_SPEC), **spec}
    spec["tolerations"] = [*spec.get("tolerations", ()), *copy.deepcopy(_TOLERATIONS)]
    _run(status, made)
    status.setdefault("conditions", []).extend(_conditions(pod, since))
    if spec.get("nodeName"):
        status |= {
            "observedGeneration": 1,
            "hostIP": "10.0.0.11",
            "hostIPs": [{"ip": "10.0.0.11"}],
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": since,
        }
    status["qosClass"] = "BestEffort"
    return pod


def _conditions(pod: Object, since: str) -> list[Object]:
    """Return those that the kubelet of its node adds."""
    status = pod["status"]
    there = {each["type"] for each in status.get("conditions", ())}
    true = _CONDITIONS if status.get("phase") == "Running" else _CONDITIONS[:1]
    return [
        {
            "type": kind,
            "status": "True" if kind in true else "False",
            "observedGeneration": 1,
            "lastProbeTime": None,
            "lastTransitionTime": since,
        }
        for kind in _CONDITIONS
        if kind not in there and pod["spec"].get("nodeName")
    ]


def _run(status: Object, made: uuid.UUID) -> None:
    """Write what the runtime knows of the containers."""
    mount = {"name": _token(made), "mountPath": _MOUNT, "readOnly": True}
    for key in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(key, ()):
            each |= {
                "ready": "running" in each["state"],
                "started": "running" in each["state"],
                "restartCount": 0,
                "lastState": {},
                "image": "registry.example.com/train/pytorch:2.6",
                "imageID": f"registry.example.com/train@sha256:{64 * '0'}",
                "containerID": f"containerd://{made.hex}{uuid.uuid5(made, each['name']).hex}",
                "volumeMounts": [{**mount, "recursiveReadOnly": "Disabled"}],
            }


def _token(made: uuid.UUID) -> str:
    """Return the name of the token's volume, with a suffix that is drawn for each pod."""
    suffix = "".join("bcdfghjklmnpqrstvwxz2456789"[byte % 27] for byte in made.bytes[:5])
    return f"kube-api-access-{suffix}"


def _mount_token(spec: Object, made: uuid.UUID) -> None:
    """Mount the token of the ServiceAccount in all containers, as its admission does."""

    def others(listed: list[Any] | None) -> list[Any]:
        return [each for each in listed or () if not each["name"].startswith("kube-api-access-")]

    name = _token(made)
    spec["volumes"] = [
        *others(spec.get("volumes")),
        {"name": name, "projected": copy.deepcopy(_TOKEN)},
    ]
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        mounts = others(container.get("volumeMounts"))
        if all(each.get("mountPath") != _MOUNT for each in mounts):
            mounts.append({"name": name, "readOnly": True, "mountPath": _MOUNT})
        container["volumeMounts"] = mounts
        container["terminationMessagePath"] = "/dev/termination-log"
        container["terminationMessagePolicy"] = "File"
        container.setdefault("imagePullPolicy", "IfNotPresent")


def _attached(told: str, address: str, number: int) -> str:
    """Write network-status as Multus does: with MAC addresses, in lines."""
    entries = json.loads(told)
    of_pod = number.to_bytes(3, "big").hex(":")
    for place, entry in enumerate(entries):
        if entry.get("default"):
            entry |= {"name": "k8s-pod-network", "ips": [address]}
        entry |= {"mac": f"0a:58:{place:02x}:{of_pod}", "dns": {}}
    return json.dumps(entries, indent=4)
