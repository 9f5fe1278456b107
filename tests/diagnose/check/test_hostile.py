"""`check` given answers of an API server that are broken in one place: findings or a plain error, never a traceback."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import ROOT
from tests.diagnose.hostile import HostileConnection, spoil_a_path, spoil_an_answer
from tests.diagnose.scenes import PROFILES, Scene, node
from tests.profiles import as_objects
from tests.worlds import network
from webhook.cli import check as command
from webhook.cli import main
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.reachability import probe_pod
from webhook.validate.definition import definition

BASE = ROOT / "manifests/base"
READY = {
    "observedGeneration": 1,
    "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": ""}],
}
MOUNT = {"name": "c", "mountPath": "/c"}
SETTINGS = "{apiVersion: config.fabric-injector.io/v1alpha1, kind: Configuration, multus: {defaultNetworks: 0}}"
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
    pods = [Scene(1).created(number) for number in range(2)]
    multus = {"name": "kube-multus", "image": "multus-cni", "args": ["--namespace-isolation=true"]}
    volumes = [{"name": "cfg", "configMap": {"name": "multus-cfg"}}]
    template = {"template": {"spec": {"containers": [multus], "volumes": volumes}}}
    conf = json.dumps({"type": "multus", "globalNamespaces": "default", "defaultNetworks": []})
    lease = named(
        "fabric-injector",
        "fabric-injector",
        spec={"holderIdentity": "c", "renewTime": "2026-11-21T12:00:00Z"},
    )
    secret = {"tls.crt": base64.b64encode(b"x").decode(), "tls.key": "%%%"}
    policies = ("fabric-injector-addresses", "fabric-injector-ca-bundle", "fabric-injector-created")
    kueue, volcano = "kueue.x-k8s.io/v1beta2", "scheduling.volcano.sh/v1beta1"
    groups = [{"coveredResources": ["cpu"]}]
    injected = probe_pod("shared")
    injected["metadata"]["annotations"] = {
        names.STATUS: '{"profile": "shared", "version": "1", "injected": ["devices"]}'
    }
    objects: dict[str, Any] = {
        "/version": {},
        "/api/v1/namespaces": [
            {"metadata": {"name": "research", "labels": {names.PROFILE: "shared"}}}
        ],
        "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions": [
            network("default/rdma-net", "rdma/hca")
        ],
        "/api/v1/nodes": [node()],
        f"{apps}/daemonsets": [
            named("kube-multus-ds", "kube-system", spec=template, status={"numberReady": 1})
        ],
        "/api/v1/namespaces/kube-system/configmaps/multus-cfg": named(
            "multus-cfg", data={"cni-conf.json": conf}
        ),
        "/api/v1/resourcequotas": [named("team", "research", status=QUANTITIES)],
        "/api/v1/pods": pods,
        "/api/v1/namespaces/research/pods": pods,
        "/apis/kueue.x-k8s.io": {"preferredVersion": {"groupVersion": kueue}},
        f"/apis/{kueue}/localqueues": [named("main", "research", spec={"clusterQueue": "q"})],
        f"/apis/{kueue}/clusterqueues": [named("q", spec={"resourceGroups": groups})],
        "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config": named(
            "kueue-manager-config",
            data={"c.yaml": "resources: {excludeResourcePrefixes: [example.com]}"},
        ),
        "/apis/scheduling.volcano.sh": {"preferredVersion": {"groupVersion": volcano}},
        f"/apis/{volcano}/queues": [named("default", spec={"capability": {"rdma/hca": "0"}})],
        f"{admission}/mutatingwebhookconfigurations": [
            manifest("mutating-webhook-configuration.yaml"),
            named("lws-x", webhooks=[]),
        ],
        f"{apps}/namespaces/fabric-injector/deployments": [
            deployment("webhook"),
            deployment("controller"),
        ],
        f"{own}/services": [named("fabric-injector", "fabric-injector")],
        f"{own}/secrets/{names.TLS_SECRET}": {
            "metadata": {"name": names.TLS_SECRET, "resourceVersion": "1", "annotations": {}},
            "data": secret,
        },
        "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector": lease,
        f"{admission}/validatingadmissionpolicies": [named(each) for each in policies],
        f"{admission}/validatingadmissionpolicybindings": [
            named(each, spec={"policyName": each}) for each in policies
        ],
        "/apis/fabric-injector.io/v1alpha1/fabricprofiles": [
            {**each, "status": READY} for each in as_objects(PROFILES)
        ],
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fabricprofiles.fabric-injector.io": {
            **definition(),
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        },
        f"{own}/configmaps/{names.CONFIG_MAP}": named(
            names.CONFIG_MAP, data={"config.yaml": SETTINGS}
        ),
        "POST /api/v1/namespaces/research/pods": injected,
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews": {"status": {"allowed": True}},
    }
    return json.dumps(objects)


def invoke(connection: HostileConnection, *arguments: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "connect_to_cluster", lambda: connection)
        return CliRunner().invoke(main, ["check", *arguments], color=True, env={"NO_COLOR": "1"})


def judged(connection: HostileConnection) -> list[dict[str, str]]:
    """Check twice, and hold both answers against what every answer must be."""
    text = invoke(connection)
    assert text.exit_code in (0, 1, 2)
    assert isinstance(text.exception, SystemExit | None), text.exception
    assert not set("\x1b\r\x07\u202e\x9b") & set(text.output)
    result = invoke(connection, "-o", "json")
    assert result.exit_code == text.exit_code
    if result.exit_code == 2:
        assert result.stderr.startswith("Error: ")
        return []
    found: list[dict[str, str]] = json.loads(result.stdout)["findings"]
    assert all(each["subject"] and each["message"] for each in found)
    return found


@cache
def requests() -> list[str]:
    """List the requests that an undisturbed check sends."""
    connection = installed()
    judged(connection)
    return sorted(set(connection.asked))


def test_looks_at_all_that_is_there() -> None:
    connection = installed()
    found = judged(connection)
    assert [each for each in found if each["topic"] == "unread"] == []
    unasked = set(connection.objects) - {each.removeprefix("GET ") for each in connection.asked}
    assert unasked == set()


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_an_object_that_is_broken_in_one_place(data: st.DataObject) -> None:
    connection = installed()
    path = data.draw(st.sampled_from(sorted(connection.objects)))
    spoil_a_path(connection, path, data)
    judged(connection)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_an_answer_that_is_none(data: st.DataObject) -> None:
    connection = installed()
    spoil_an_answer(connection, requests(), data)
    judged(connection)


def test_what_was_left_out_is_not_said_to_be_missing() -> None:
    """The network of a profile, and the Deployment of the webhook, are there, but cannot be read."""
    connection = installed()
    connection.objects["/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"][0]["spec"] = {
        "config": 5
    }
    connection.objects["/apis/apps/v1/namespaces/fabric-injector/deployments"][0]["status"] = []
    found = judged(connection)
    assert {each["subject"]: each["message"] for each in found if each["topic"] == "unread"} == {
        "network-attachment-definitions/rdma-net": "cannot be read, so that it is left out: spec.config is not a string",
        "deployments/fabric-injector-webhook": "cannot be read, so that it is left out: status is not an object",
    }
    assert not [each for each in found if "does not exist" in each["message"]]


def test_multus_whose_image_says_all_by_itself() -> None:
    connection = installed()
    [container] = connection.objects["/apis/apps/v1/daemonsets"][0]["spec"]["template"]["spec"][
        "containers"
    ]
    del container["args"]
    assert [each for each in judged(connection) if each["topic"] == "unread"] == []


@pytest.mark.parametrize("text", ["a: " + "9" * 5000, "[" * 100000, "- x", "resources: 5"])
def test_a_configuration_of_kueue_that_is_none(text: str) -> None:
    connection = installed()
    connection.objects["/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"][
        "data"
    ] = {"c.yaml": text}
    assert judged(connection)


@pytest.mark.parametrize(
    "text", ['{"a": ' + "9" * 5000 + "}", "[" * 100000, "5", '{"globalNamespaces": 5}']
)
def test_a_configuration_of_multus_that_is_none(text: str) -> None:
    connection = installed()
    connection.objects["/api/v1/namespaces/kube-system/configmaps/multus-cfg"]["data"] = {
        "cni-conf.json": text
    }
    assert judged(connection)
