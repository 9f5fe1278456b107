"""Declare each resource that is asked for."""

from webhook.kube.resource import Resource

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector of pods that run or may still run."""

_CORE = "/api/v1"
_APPS = "/apis/apps/v1"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"

NAMESPACES = Resource("namespaces", _CORE, metadata_only=True)
PODS = Resource("pods", _CORE)
EVENTS = Resource("events", _CORE)
NODES = Resource("nodes", _CORE)
SERVICES = Resource("services", _CORE, metadata_only=True)
CONFIG_MAPS = Resource("configmaps", _CORE)
SECRETS = Resource("secrets", _CORE)
RESOURCE_QUOTAS = Resource("resourcequotas", _CORE)
DEPLOYMENTS = Resource("deployments", _APPS)
DAEMON_SETS = Resource("daemonsets", _APPS)
LEASES = Resource("leases", "/apis/coordination.k8s.io/v1")
WEBHOOK_CONFIGURATIONS = Resource("mutatingwebhookconfigurations", _ADMISSION)
POLICIES = Resource("validatingadmissionpolicies", _ADMISSION, metadata_only=True)
POLICY_BINDINGS = Resource("validatingadmissionpolicybindings", _ADMISSION)
NETWORK_POLICIES = Resource("networkpolicies", "/apis/networking.k8s.io/v1")
CUSTOM_RESOURCE_DEFINITIONS = Resource("customresourcedefinitions", "/apis/apiextensions.k8s.io/v1")
NETWORKS = Resource("network-attachment-definitions", "/apis/k8s.cni.cncf.io/v1", optional=True)
"""Whole: the CNI configuration says whether a network gives addresses. None without Multus."""
FABRIC_PROFILES = Resource("fabricprofiles", "/apis/fabric-injector.io/v1alpha1", optional=True)
"""Who reads their content checks it. Not there until their definition is installed."""

CLAIMS = "/apis/resource.k8s.io"
"""The group of claims (DRA). `Reader.serves_claims` says whether the cluster has it."""
CLAIMS_V1 = f"{CLAIMS}/v1"
DEVICE_CLASSES = Resource("deviceclasses", CLAIMS_V1, optional=True)
DEVICE_SLICES = Resource("resourceslices", CLAIMS_V1, optional=True)
RESOURCE_CLAIMS = Resource("resourceclaims", CLAIMS_V1, optional=True)
RESOURCE_CLAIM_TEMPLATES = Resource("resourceclaimtemplates", CLAIMS_V1, optional=True)

KUEUE = "/apis/kueue.x-k8s.io"
"""The groups of queues are asked for their version, which `Resource.at` puts behind them."""
WORKLOADS = Resource("workloads", KUEUE, optional=True)
