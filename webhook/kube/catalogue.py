"""Declare each resource that is asked for, with the types of the fields that are read."""

from collections.abc import Mapping

from webhook.kube.resource import TEXT_MAP, Resource, Shape

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector of pods that run or may still run."""

_CORE = "/api/v1"
_APPS = "/apis/apps/v1"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def _texts(*fields: str) -> dict[str, Shape]:
    return dict.fromkeys(fields, str)


_QUANTITIES: Shape = {"*": (str, int, float)}
_ENDED: Shape = {
    **_texts("reason", "message", "startedAt", "finishedAt"),
    "exitCode": int,
}
_STATE: Shape = {
    "waiting": {"reason": str, "message": str},
    "running": {"startedAt": str},
    "terminated": _ENDED,
}
_CONTAINER_STATUS: Shape = {"name": str, "restartCount": int, "state": _STATE, "lastState": _STATE}
_CONDITION = _texts("type", "status", "reason", "message", "lastTransitionTime")
_SELECTOR: Shape = {
    "matchLabels": TEXT_MAP,
    "matchExpressions": [{"key": str, "operator": str, "values": [str]}],
}
_SERVICE: Shape = {"namespace": str, "name": str, "path": str, "port": int}
_WEBHOOK: Shape = {
    "name": str,
    "clientConfig": {"service": _SERVICE, "caBundle": str, "url": str},
    "namespaceSelector": _SELECTOR,
    "objectSelector": _SELECTOR,
    "rules": [{key: [str] for key in ("apiGroups", "apiVersions", "operations", "resources")}],
    "admissionReviewVersions": [str],
    "matchConditions": [{"name": str, "expression": str}],
    "timeoutSeconds": int,
    **_texts("failurePolicy", "matchPolicy", "sideEffects", "reinvocationPolicy"),
}
_CONTAINER: Shape = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str}],
    "volumeMounts": [{"name": str, "mountPath": str}],
}
_CONFIG_MAP_VOLUME: Shape = {"name": str, "items": [{"key": str, "path": str}]}
_TEMPLATE: Shape = {
    "spec": {
        **_texts("serviceAccountName", "priorityClassName"),
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "volumes": [{"name": str, "configMap": _CONFIG_MAP_VOLUME}],
    }
}

NAMESPACES = Resource("namespaces", _CORE, metadata_only=True)
PODS = Resource(
    "pods",
    _CORE,
    namespaced=True,
    shape={
        "spec": {
            "nodeName": str,
            "schedulerName": str,
            "schedulingGates": [{"name": str}],
            "tolerations": [_texts("key", "operator", "value", "effect")],
            "resourceClaims": [_texts("name", "resourceClaimName", "resourceClaimTemplateName")],
        },
        "status": {
            "resourceClaimStatuses": [_texts("name", "resourceClaimName")],
            **_texts("phase", "reason", "message"),
            "conditions": [_CONDITION],
            "containerStatuses": [_CONTAINER_STATUS],
            "initContainerStatuses": [_CONTAINER_STATUS],
            "extendedResourceClaimStatus": {},
        },
    },
)
EVENTS = Resource(
    "events",
    _CORE,
    shape={
        "involvedObject": _texts("kind", "name", "namespace", "uid"),
        "source": {"component": str},
        "series": {"lastObservedTime": str},
        "count": int,
        **_texts("reason", "message", "type", "reportingComponent", "lastTimestamp", "eventTime"),
    },
)
NODES = Resource(
    "nodes",
    _CORE,
    shape={
        "spec": {"unschedulable": bool, "taints": [_texts("key", "value", "effect")]},
        "status": {"allocatable": _QUANTITIES, "conditions": [_CONDITION]},
    },
)
SERVICES = Resource("services", _CORE, metadata_only=True)
CONFIG_MAPS = Resource("configmaps", _CORE, shape={"data": TEXT_MAP})
SECRETS = Resource("secrets", _CORE, shape={"data": TEXT_MAP})
RESOURCE_QUOTAS = Resource(
    "resourcequotas",
    _CORE,
    namespaced=True,
    shape={"spec": {"hard": _QUANTITIES}, "status": {"hard": _QUANTITIES, "used": _QUANTITIES}},
)
DEPLOYMENTS = Resource(
    "deployments",
    _APPS,
    namespaced=True,
    shape={
        "spec": {"replicas": int, "template": _TEMPLATE},
        "status": dict.fromkeys(("readyReplicas", "unavailableReplicas"), int),
    },
)
DAEMON_SETS = Resource(
    "daemonsets",
    _APPS,
    namespaced=True,
    shape={
        "spec": {"template": _TEMPLATE},
        "status": dict.fromkeys(("desiredNumberScheduled", "numberReady"), int),
    },
)
LEASES = Resource(
    "leases",
    "/apis/coordination.k8s.io/v1",
    shape={"spec": {"holderIdentity": str, "renewTime": str, "leaseDurationSeconds": int}},
)
WEBHOOK_CONFIGURATIONS = Resource(
    "mutatingwebhookconfigurations", _ADMISSION, shape={"webhooks": [_WEBHOOK]}
)
POLICIES = Resource("validatingadmissionpolicies", _ADMISSION, metadata_only=True)
POLICY_BINDINGS = Resource(
    "validatingadmissionpolicybindings", _ADMISSION, shape={"spec": {"policyName": str}}
)
NETWORKS = Resource(
    "network-attachment-definitions",
    "/apis/k8s.cni.cncf.io/v1",
    namespaced=True,
    shape={"spec": {"config": str}},
    optional=True,
)
"""Whole: the CNI configuration says whether a network gives addresses. None without Multus."""

FABRIC_PROFILES = Resource("fabricprofiles", "/apis/fabric-injector.io/v1alpha1", optional=True)
"""Who reads their content checks it. Not there until their definition is installed."""
_PEERS: Shape = [{"podSelector": _SELECTOR, "namespaceSelector": _SELECTOR, "ipBlock": {}}]
NETWORK_POLICIES = Resource(
    "networkpolicies",
    "/apis/networking.k8s.io/v1",
    namespaced=True,
    shape={
        "spec": {
            "podSelector": _SELECTOR,
            "policyTypes": [str],
            "ingress": [{"from": _PEERS}],
            "egress": [{"to": _PEERS}],
        }
    },
)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "customresourcedefinitions",
    "/apis/apiextensions.k8s.io/v1",
    shape={
        "spec": {"versions": [{"name": str, "served": bool, "schema": {"openAPIV3Schema": {}}}]},
        "status": {"conditions": [_CONDITION]},
    },
)

CLAIMS = "/apis/resource.k8s.io"
"""The group of claims (DRA). `ClaimsApi` says whether the cluster serves it."""
CLAIMS_V1 = f"{CLAIMS}/v1"
_CEL: Shape = {"cel": {"expression": str}}
DEVICE_CLASSES = Resource(
    "deviceclasses",
    CLAIMS_V1,
    shape={"spec": {"extendedResourceName": str, "selectors": [_CEL]}},
    optional=True,
)
DEVICE_SLICES = Resource(
    "resourceslices", CLAIMS_V1, shape={"spec": {"driver": str}}, optional=True
)
_DEVICE: Mapping[str, Shape] = _texts("driver", "pool", "device")
RESOURCE_CLAIMS = Resource(
    "resourceclaims",
    CLAIMS_V1,
    namespaced=True,
    shape={
        "spec": {"devices": {"requests": [{"name": str, "exactly": {"deviceClassName": str}}]}},
        "status": {
            "allocation": {
                "devices": {"results": [{**_DEVICE, "request": str, "adminAccess": bool}]}
            },
            "reservedFor": [_texts("resource", "name", "uid")],
            "devices": [
                {
                    **_DEVICE,
                    "networkData": {"interfaceName": str, "ips": [str], "hardwareAddress": str},
                }
            ],
        },
    },
    optional=True,
)
RESOURCE_CLAIM_TEMPLATES = Resource(
    "resourceclaimtemplates", CLAIMS_V1, namespaced=True, optional=True
)

KUEUE = "/apis/kueue.x-k8s.io"
"""The groups of queues are asked for their version, which `Resource.at` puts behind them."""
LOCAL_QUEUES = Resource(
    "localqueues", KUEUE, namespaced=True, shape={"spec": {"clusterQueue": str}}
)
CLUSTER_QUEUES = Resource(
    "clusterqueues", KUEUE, shape={"spec": {"resourceGroups": [{"coveredResources": [str]}]}}
)
WORKLOADS = Resource(
    "workloads",
    KUEUE,
    namespaced=True,
    shape={
        "spec": {"queueName": str, "active": bool, "podSets": [{"name": str}]},
        "status": {
            "conditions": [_CONDITION],
            "admissionChecks": [_texts("name", "state", "message")],
        },
    },
    optional=True,
)
_SUSPEND: Shape = {"suspend": bool}


def _jobs(name: str, group: str, spec: Shape = _SUSPEND) -> Resource:
    return Resource(name, f"/apis/{group}", namespaced=True, shape={"spec": spec}, optional=True)


_BY_POLICY: Shape = {"runPolicy": _SUSPEND}
JOBS = (
    ("TrainJob", _jobs("trainjobs", "trainer.kubeflow.org/v1alpha1")),
    ("JobSet", _jobs("jobsets", "jobset.x-k8s.io/v1alpha2")),
    ("PyTorchJob", _jobs("pytorchjobs", "kubeflow.org/v1", _BY_POLICY)),
    ("TFJob", _jobs("tfjobs", "kubeflow.org/v1", _BY_POLICY)),
    ("XGBoostJob", _jobs("xgboostjobs", "kubeflow.org/v1", _BY_POLICY)),
    ("PaddleJob", _jobs("paddlejobs", "kubeflow.org/v1", _BY_POLICY)),
    ("JAXJob", _jobs("jaxjobs", "kubeflow.org/v1", _BY_POLICY)),
    ("MPIJob", _jobs("mpijobs", "kubeflow.org/v1", _BY_POLICY)),
    ("MPIJob", _jobs("mpijobs", "kubeflow.org/v2beta1", _BY_POLICY)),
    ("RayJob", _jobs("rayjobs", "ray.io/v1")),
    ("RayCluster", _jobs("rayclusters", "ray.io/v1")),
    ("Job", _jobs("jobs", "batch/v1")),
)
"""Jobs that can be suspended, by kind; each version is asked for, installed or not."""
VOLCANO = "/apis/scheduling.volcano.sh"
POD_GROUPS = Resource(
    "podgroups",
    f"{VOLCANO}/v1beta1",
    namespaced=True,
    shape={"spec": {"queue": str}, "status": {"phase": str, "conditions": [_CONDITION]}},
    optional=True,
)
