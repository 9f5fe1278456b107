"""A cluster where all that `check` looks at is there, as an API server that a test may change."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests import ROOT
from tests.diagnose.connection import HostileConnection
from tests.diagnose.scenes import PROFILES, node, patched
from tests.profiles import as_objects
from tests.worlds import network
from webhook.cli import check as command
from webhook.cli import main
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check import rules
from webhook.diagnose.check.privileges import SHIPPED_POLICIES
from webhook.diagnose.check.reachability import probe_pod
from webhook.diagnose.finding import Finding
from webhook.diagnose.snapshot import Snapshot, run
from webhook.validate.definition import definition

BASE = ROOT / "manifests/base"
READY = {
    "observedGeneration": 1,
    "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": ""}],
}
MOUNT = {"name": "c", "mountPath": "/c"}
SETTINGS = """
apiVersion: config.fabric-injector.io/v1alpha1
kind: Configuration
multus: {defaultNetworks: 0}
"""
QUANTITIES = {"hard": {"requests.rdma/hca": "8"}, "used": {"requests.rdma/hca": "1"}}


def manifest(file: str) -> Object:
    found: Object = next(yaml.safe_load_all((BASE / file).read_text()))
    return found


def named(name: str, namespace: str = "", **fields: Any) -> Object:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **fields}


def deployment(role: str) -> Object:
    found = manifest(f"deployment-{role}.yaml")
    found["metadata"]["namespace"] = "fabric-injector"
    if role == "webhook":  # whatever is shipped: with all that such a Deployment may tell
        pod = found["spec"]["template"]["spec"]
        pod["volumes"] = [{"name": "c", "configMap": {"name": names.CONFIG_MAP}}]
        pod["containers"][0] |= {
            "args": ["serve", "--config=/c/config.yaml"],
            "volumeMounts": [MOUNT],
        }
    return {**found, "status": {"readyReplicas": 2}}


def installed() -> HostileConnection:
    """Return a cluster where all that `check` looks at is there."""
    return HostileConnection(json.loads(_installed()), "default")


@cache
def _installed() -> str:
    own = "/api/v1/namespaces/fabric-injector"
    apps, admission = "/apis/apps/v1", "/apis/admissionregistration.k8s.io/v1"
    template = {"template": {"spec": {"containers": [{"name": "kube-multus"}]}}}
    held = {"holderIdentity": "c", "renewTime": "2026-11-21T12:00:00Z"}
    lease = named("fabric-injector", "fabric-injector", spec=held)
    ready = {"desiredNumberScheduled": 1, "numberReady": 1}
    research = {"name": "research", "labels": {names.PROFILE: "shared"}}
    settings = named(names.CONFIG_MAP, data={"config.yaml": SETTINGS})
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    profiles = [{**each, "status": READY} for each in as_objects(PROFILES)]
    secret = {"tls.crt": base64.b64encode(b"x").decode(), "tls.key": "%%%"}
    policies = sorted(SHIPPED_POLICIES)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    injected = probe_pod("shared")
    injected["metadata"]["annotations"] = {
        names.STATUS: '{"profile": "shared", "version": "1", "injected": ["devices"]}'
    }
    objects: dict[str, Any] = {
        "/version": {},
        "/api/v1/namespaces": [{"metadata": research}],
        "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions": [
            network("default/rdma-net", "rdma/hca")
        ],
        "/api/v1/nodes": [node()],
        f"{apps}/daemonsets": [named("kube-multus-ds", "kube-system", spec=template, status=ready)],
        "/api/v1/resourcequotas": [named("team", "research", status=QUANTITIES)],
        f"{admission}/mutatingwebhookconfigurations": [
            manifest("mutating-webhook-configuration.yaml"),
            named("lws-x", webhooks=[]),
        ],
        f"{apps}/namespaces/fabric-injector/deployments": [
            deployment("webhook"),
            deployment("controller"),
        ],
        f"{own}/services/fabric-injector": named("fabric-injector", "fabric-injector"),
        f"{own}/secrets/{names.TLS_SECRET}": {
            "metadata": {"name": names.TLS_SECRET, "resourceVersion": "1", "annotations": {}},
            "data": secret,
        },
        "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector": lease,
        f"{admission}/validatingadmissionpolicies": [named(each) for each in policies],
        f"{admission}/validatingadmissionpolicybindings": [
            named(each, spec={"policyName": each}) for each in policies
        ],
        "/apis/fabric-injector.io/v1alpha1/fabricprofiles": profiles,
        f"{definitions}/fabricprofiles.fabric-injector.io": {**definition(), "status": established},
        f"{own}/configmaps/{names.CONFIG_MAP}": settings,
        "POST /api/v1/namespaces/research/pods": injected,
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews": {"status": {"allowed": True}},
    }
    return json.dumps(objects)


def invoke(connection: HostileConnection, *arguments: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "connect_to_cluster", lambda: connection)
        return CliRunner().invoke(main, ["check", *arguments], color=True, env={"NO_COLOR": "1"})


def change(connection: HostileConnection, changes: Object) -> None:
    """Patch what is at these paths, or at those that end so; None: it does not exist.

    A path with a slash may be new: its object is added.
    """
    for name, patch in changes.items():
        paths = [path for path in connection.objects if path.endswith(f"/{name}")]
        assert paths or "/" in name, f"the cluster has no {name}"
        for path in [path for path in paths if not path.startswith("POST")] or [name]:
            connection.objects[path] = patched(connection.objects.get(path), patch)


def answer(connection: HostileConnection, answers: Mapping[str, tuple[int, str]]) -> None:
    """Answer these requests with a status and a message."""

    def spoil(request: str, status: int, body: bytes) -> tuple[int, bytes]:
        if request not in answers:
            return status, body
        status, message = answers[request]
        return status, json.dumps({"message": message}).encode()

    connection.spoil = spoil


def findings(
    connection: HostileConnection, name: str, namespace: str = "", **options: Any
) -> list[Finding]:
    """Return what one rule of `check` finds there."""
    found = {each.__name__: each for each in rules()}
    assert name in found, f"no rule is called {name}"
    return run((found[name],), Snapshot(connection, namespace, **options))
