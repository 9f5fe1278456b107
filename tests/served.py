"""Make a pod what a real cluster gives: what API server, admission, kubelet, runtime and networks write on each pod of its own."""

import json
import uuid

from webhook.core import names
from webhook.core.model import Object

_IMAGE_ID = "registry.example.com/train@sha256:" + 64 * "0"
_CONDITIONS = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)
_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_SPEC: Object = {
    "restartPolicy": "Never",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}


def as_served(pod: Object, number: int) -> Object:
    """Write it on the pod, as the *number*-th of the cluster, and return it; what a test has set of these stays as it is.

    Put together of the fixtures and of what Kubernetes, Calico and Multus document; it is no capture of one cluster.
    """
    metadata, spec, status = pod["metadata"], pod["spec"], pod.setdefault("status", {})
    made = uuid.uuid5(
        uuid.NAMESPACE_URL, f"{metadata.get('namespace')}/{metadata['name']}/{number}"
    )
    address = f"10.244.{number // 250 % 250}.{number % 250 + 1}"
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
    spec |= {key: value for key, value in _SPEC.items() if key not in spec}
    spec.setdefault("tolerations", []).extend(
        {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for key in ("not-ready", "unreachable")
    )
    since = metadata.get("creationTimestamp") or "2026-11-21T11:40:00Z"
    there = {each["type"] for each in status.setdefault("conditions", [])}
    is_running = status.get("phase") == "Running"
    status["conditions"] += [
        {
            "type": kind,
            "status": "True" if is_running or kind == "PodReadyToStartContainers" else "False",
            "observedGeneration": 1,
            "lastProbeTime": None,
            "lastTransitionTime": since,
        }
        for kind in _CONDITIONS
        if kind not in there and spec.get("nodeName")
    ]
    for key in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(key, ()):
            each |= {
                "ready": "running" in each["state"],
                "started": "running" in each["state"],
                "restartCount": 0,
                "lastState": {},
                "image": "registry.example.com/train/pytorch:2.6",
                "imageID": _IMAGE_ID,
                "containerID": f"containerd://{made.hex}{uuid.uuid5(made, each['name']).hex}",
                "volumeMounts": [
                    {
                        "name": f"kube-api-access-{_suffix(made)}",
                        "mountPath": _MOUNT,
                        "readOnly": True,
                        "recursiveReadOnly": "Disabled",
                    }
                ],
            }
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


def _suffix(made: uuid.UUID) -> str:
    return "".join("bcdfghjklmnpqrstvwxz2456789"[byte % 27] for byte in made.bytes[:5])


def _mount_token(spec: Object, made: uuid.UUID) -> None:
    """Add the volume of the ServiceAccount's token, as its admission does, with a suffix that is drawn for each pod."""
    name = f"kube-api-access-{_suffix(made)}"
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "namespace",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                    }
                ]
            }
        },
    ]
    spec["volumes"] = [
        *(
            each
            for each in spec.get("volumes") or ()
            if not each["name"].startswith("kube-api-access-") or "projected" not in each
        ),
        {"name": name, "projected": {"sources": sources, "defaultMode": 420}},
    ]
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        mounts = [
            each
            for each in container.get("volumeMounts") or ()
            if not each["name"].startswith("kube-api-access-")
        ]
        if all(each.get("mountPath") != _MOUNT for each in mounts):
            mounts.append({"name": name, "readOnly": True, "mountPath": _MOUNT})
        container["volumeMounts"] = mounts
        container |= {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
        container.setdefault("imagePullPolicy", "IfNotPresent")


def _attached(told: str, address: str, number: int) -> str:
    """Write network-status as Multus does: with MAC addresses, in lines."""
    entries = json.loads(told)
    for place, entry in enumerate(entries):
        if entry.get("default"):
            entry |= {"name": "k8s-pod-network", "ips": [address]}
        entry |= {
            "mac": f"0a:58:{place:02x}:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}",
            "dns": {},
        }
    return json.dumps(entries, indent=4)
