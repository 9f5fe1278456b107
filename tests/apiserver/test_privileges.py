"""What the two shipped service accounts may do on a real API server, and that they may do nothing else."""

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests import pods
from tests.cluster.client import Client, Response
from tests.cluster.controller import ACCOUNT as CONTROLLER
from tests.cluster.controlplane import ACCESS, ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.webhook import ACCOUNT, CONFIGURATIONS, Webhook, default_configuration
from tests.waiting import wait_until
from webhook.core import names

from .hostile import SHAPES, create

PROFILES = "profiles: {shared: {networks: [{network: default/rdma-net, resource: rdma/hca}]}}"
OWN = "/api/v1/namespaces/fabric-injector"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases"
REVIEWS = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "plain-"},
    "spec": {"containers": [{"name": "main", "image": "none"}]},
}


@pytest.fixture(scope="module")
def reader(installed: ControlPlane) -> Client:
    """Give the webhook's client."""
    return installed.client(installed.service_account_token(*ACCOUNT))


@pytest.fixture(scope="module")
def writer(installed: ControlPlane) -> Client:
    """Give the controller's client."""
    return installed.client(installed.service_account_token(*CONTROLLER))


@pytest.fixture(scope="module")
def injected(
    api: Client, namespace: NamespaceFactory, installed: ControlPlane, webhook: Webhook
) -> dict[str, Any]:
    """Give a worker that went through the real webhook, with an annotation, a label and a finalizer of its user's."""
    pod = {**pods.load("pods/kubeflow-pytorchjob-1.yaml"), "apiVersion": "v1", "kind": "Pod"}
    pod.pop("status", None)
    metadata = pod["metadata"]
    pod["metadata"] = {"name": metadata["name"], "labels": {**metadata["labels"], "team": "ml"}}
    pod["metadata"] |= {
        "annotations": {"example.com/note": "x"},
        "finalizers": ["example.com/keep"],
    }
    answer = api.create(pod, namespace("shared"))
    assert answer.status == 201, answer.message
    created: dict[str, Any] = answer.json
    assert names.JOB in created["metadata"]["labels"]
    assert names.STATUS in created["metadata"]["annotations"]
    return created


def path_of(pod: dict[str, Any], *parts: str) -> str:
    metadata = pod["metadata"]
    return "/".join((f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", *parts))


def annotations(**values: str | None) -> dict[str, Any]:
    """Give a patch; the keys without the prefix."""
    keyed = {f"{names.PREFIX}{key.replace('_', '-')}": value for key, value in values.items()}
    return {"metadata": {"annotations": keyed}}


def rules(client: Client, namespace: str) -> set[tuple[str, str, str, str]]:
    """Give what the account says it may do there: group, resource, name, verb."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    status = client.expect("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body)[
        "status"
    ]
    assert not status["incomplete"]
    assert all(rule["verbs"] == ["get"] for rule in status["nonResourceRules"])
    return {
        (group, resource, name, verb)
        for rule in status["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
        if resource not in REVIEWS
    }


def granted(*lines: str) -> set[tuple[str, str, str, str]]:
    """Read lines of group/resource[=name] and verbs."""
    found = set()
    for line in lines:
        what, *verbs = line.split()
        group, _, rest = what.partition(":")
        resource, _, name = rest.partition("=")
        found |= {(group, resource, name, verb) for verb in verbs}
    return found


READER = granted(
    ":namespaces get list watch",
    ":pods get list watch",
    "fabric-injector.io:fabricprofiles list watch",
    "k8s.cni.cncf.io:network-attachment-definitions get list watch",
    "admissionregistration.k8s.io:mutatingwebhookconfigurations=zz-fabric-injector get",
)
WRITER = granted(
    ":pods get list watch",
    ":namespaces list watch",
    ":pods/status patch",
    ":events create patch",
    "fabric-injector.io:fabricprofiles get list watch",
    "fabric-injector.io:fabricprofiles/status patch",
    "k8s.cni.cncf.io:network-attachment-definitions list",
    ":nodes list",
    "resource.k8s.io:deviceclasses list",
    "resource.k8s.io:resourceslices list",
    "resource.k8s.io:resourceclaims get list watch",
    "resource.k8s.io:resourceclaimtemplates list watch create patch delete",
    "admissionregistration.k8s.io:mutatingwebhookconfigurations=zz-fabric-injector get patch",
)
WRITER_AT_HOME = WRITER | granted(
    "coordination.k8s.io:leases=fabric-injector get update",
    "coordination.k8s.io:leases create",
    ":secrets=fabric-injector-tls get update patch",
    ":secrets create",
)


def test_the_accounts_have_the_privileges_that_are_documented(
    reader: Client, writer: Client
) -> None:
    """No more and no less, in a user's namespace and in their own."""
    assert rules(reader, "default") == rules(reader, "fabric-injector") == READER
    assert rules(writer, "default") == WRITER
    assert rules(writer, "fabric-injector") == WRITER_AT_HOME


def test_the_webhook_reads_what_it_needs(reader: Client) -> None:
    """Lists and one registration."""
    for path in (
        "/api/v1/namespaces",
        "/api/v1/pods",
        "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions",
    ):
        assert reader.request("GET", path).status == 200


def test_the_webhook_can_write_nothing(
    reader: Client, api: Client, injected: dict[str, Any]
) -> None:
    """Every try is forbidden, by way of others' names too."""
    pod, space = path_of(injected), injected["metadata"]["namespace"]
    note = {"metadata": {"annotations": {"a": "b"}}}
    tries: list[tuple[str, str, Any]] = [
        ("POST", f"/api/v1/namespaces/{space}/pods", POD),
        ("PUT", pod, injected),
        ("PATCH", pod, note),
        ("PATCH", f"{pod}/status", annotations(master_addr="10.0.0.1")),
        ("DELETE", pod, None),
        ("DELETE", f"/api/v1/namespaces/{space}/pods", None),
        (
            "POST",
            f"{pod}/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "x"}},
        ),
        (
            "POST",
            f"{pod}/binding",
            {"apiVersion": "v1", "kind": "Binding", "metadata": {}, "target": {"name": "n"}},
        ),
        ("POST", f"{pod}/exec?command=sh", None),
        ("PATCH", f"/api/v1/namespaces/{space}", note),
        ("POST", f"/api/v1/namespaces/{space}/events", {}),
        (
            "PATCH",
            "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/rdma-net",
            note,
        ),
        ("PATCH", f"{CONFIGURATIONS}/zz-fabric-injector", note),
        ("POST", CONFIGURATIONS, default_configuration()),
        ("POST", LEASES, {}),
        ("GET", f"{LEASES}/fabric-injector", None),
        ("POST", f"{OWN}/secrets", {}),
        ("GET", f"{OWN}/secrets/fabric-injector-tls", None),
        ("GET", f"{OWN}/secrets", None),
        ("POST", f"{OWN}/serviceaccounts/fabric-injector-controller/token", {}),
        ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {}),
    ]
    before = api.expect("GET", pod)
    assert {
        (method, path): reader.request(method, path, body).status for method, path, body in tries
    } == {(method, path): 403 for method, path, _ in tries}
    for header in ("Impersonate-User", "Impersonate-Group"):
        as_admin = {"Impersonate-User": "admin", header: "system:masters"}
        assert (
            reader.request(
                "PATCH", pod, note, as_admin | {"Content-Type": "application/merge-patch+json"}
            ).status
            == 403
        )
    assert api.expect("GET", pod) == before


def test_the_controller_publishes_and_replaces(
    writer: Client, api: Client, injected: dict[str, Any]
) -> None:
    """Its annotations land through pods/status, and nothing else of the pod changes."""
    status, before = path_of(injected, "status"), api.expect("GET", path_of(injected))
    uid = {"uid": injected["metadata"]["uid"]}
    for address in ("192.168.7.4", "192.168.7.5"):
        patch = annotations(
            master_addr=address,
            master_host=address,
            local_addr="192.168.7.9",
            nccl_ib_hca="=mlx5_4",
        )
        answer = writer.request("PATCH", status, {"metadata": {**patch["metadata"], **uid}})
        assert answer.status == 200, answer.message
    after = api.expect("GET", path_of(injected))
    wanted = copy.deepcopy(before)
    wanted["metadata"]["annotations"] |= patch["metadata"]["annotations"]
    for pod in (wanted, after):
        del pod["metadata"]["resourceVersion"], pod["metadata"]["managedFields"]
    assert after == wanted
    refused = writer.request(
        "PATCH", status, {"metadata": {**patch["metadata"], "uid": "of-a-former-pod"}}
    )
    assert refused.status in (409, 422)


def test_the_controller_publishes_onto_a_pod_with_a_thousand_annotations(
    writer: Client, api: Client, namespace: NamespaceFactory, installed: ControlPlane
) -> None:
    """The policy's cost stays within the API server's limit."""
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0]["env"] = [
        {"name": f"V{number}", "value": "x" * 50} for number in range(5000)
    ]
    many = {f"k{number}": "" for number in range(1000)}
    pod["metadata"] |= {"labels": {names.JOB: "x"}, "annotations": many}
    created = api.create(pod, namespace())
    assert created.status == 201, created.message
    addresses = annotations(
        master_addr="10.0.0.1", master_host="10.0.0.1", local_addr="10.0.0.1", wait_ends=""
    )
    addresses["metadata"]["annotations"] |= {
        names.NCCL_IB_HCA: "=mlx5_4",
        names.UCX_NET_DEVICES: "mlx5_4:1",
    }
    answer = writer.request("PATCH", path_of(created.json, "status"), addresses)
    assert answer.status == 200, answer.message


@pytest.mark.parametrize("shape", ["annotations", "labels", "finalizers", "owners"])
def test_the_policy_refuses_a_pod_of_thousands_of_entries_before_it_compares_them(
    writer: Client, api: Client, namespace: NamespaceFactory, installed: ControlPlane, shape: str
) -> None:
    """Comparing them takes seconds of the API server's time."""
    where = namespace()
    create(api, where, [SHAPES[shape]])
    path = f"/api/v1/namespaces/{where}/pods/p0-0/status"
    answer = writer.request("PATCH", path, annotations(master_addr="10.0.0.1"))
    assert answer.status == 403
    assert (
        "denied request: the controller may change only pods with at most 1000 annotations"
        in answer.message
    )


def test_the_controller_publishes_onto_a_pod_without_annotations(
    writer: Client, api: Client, namespace: NamespaceFactory, installed: ControlPlane
) -> None:
    """The expressions do not stumble over what is absent."""
    pod = copy.deepcopy(POD)
    pod["metadata"]["labels"] = {names.JOB: "x"}
    created = api.create(pod, namespace()).json
    answer = writer.request(
        "PATCH", path_of(created, "status"), annotations(master_addr="10.0.0.1")
    )
    assert answer.status == 200, answer.message


ADDRESS = annotations(master_addr="10.9.9.9")
FORBIDDEN: dict[str, tuple[dict[str, str] | None, Any, str]] = {
    "adds a label": (None, {"metadata": {"labels": {"a": "b"}}}, "labels"),
    "changes a label": (None, {"metadata": {"labels": {"team": "other"}}}, "labels"),
    "removes a label": (None, {"metadata": {"labels": {"team": None}}}, "labels"),
    "moves to another job": (None, {"metadata": {"labels": {names.JOB: "other"}}}, "labels"),
    "removes all labels": (None, {"metadata": {"labels": None}}, "labels"),
    "adds a foreign annotation": (None, {"metadata": {"annotations": {"a": "b"}}}, "annotation"),
    "changes a foreign annotation": (
        None,
        {"metadata": {"annotations": {"example.com/note": "y"}}},
        "annotation",
    ),
    "removes a foreign annotation": (
        None,
        {"metadata": {"annotations": {"example.com/note": None}}},
        "annotation",
    ),
    "removes all annotations": (None, {"metadata": {"annotations": None}}, "annotation"),
    "writes network-status": (
        None,
        {"metadata": {"annotations": {names.NETWORK_STATUS: "[]"}}},
        "annotation",
    ),
    "changes the webhook's status": (None, annotations(status="{}"), "annotation"),
    "changes the webhook's network": (
        None,
        annotations(rendezvous_network="a/b@net1/IPv4"),
        "annotation",
    ),
    "changes rank 0's name": (None, annotations(master_name="evil.example.com"), "annotation"),
    "changes what the profile says": (None, annotations(unreachable="podNetwork"), "annotation"),
    "adds a finalizer": (
        None,
        {"metadata": {"finalizers": ["example.com/keep", "a.b/c"]}},
        "finalizers",
    ),
    "removes a finalizer": (None, {"metadata": {"finalizers": None}}, "finalizers"),
    "sets the phase": (None, {"status": {"phase": "Succeeded"}}, "status"),
    "sets the address": (
        None,
        {"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}},
        "status",
    ),
    "sets a condition": (
        STRATEGIC,
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        "status",
    ),
    "hides it behind an address": (None, {**ADDRESS, "status": {"message": "x"}}, "status"),
    "as a JSON Patch": (
        JSON_PATCH,
        [{"op": "add", "path": "/metadata/labels/a", "value": "b"}],
        "labels",
    ),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_controller_can_change_nothing_else(
    writer: Client, api: Client, injected: dict[str, Any], name: str
) -> None:
    """The policy names what it refuses; the pod stays as it was."""
    headers, patch, what = FORBIDDEN[name]
    before = api.expect("GET", path_of(injected))
    answer = writer.request("PATCH", path_of(injected, "status"), patch, headers)
    assert answer.status == 403, answer.json
    assert "ValidatingAdmissionPolicy 'fabric-injector-addresses'" in answer.message
    assert what in answer.message.split("denied request: ")[1]
    assert api.expect("GET", path_of(injected)) == before


def test_the_controller_can_change_nothing_by_server_side_apply(
    writer: Client, api: Client, injected: dict[str, Any]
) -> None:
    """Another way to the same place."""
    applied = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": injected["metadata"]["name"]},
    }
    applied["metadata"]["labels"] = {"a": "b"}  # type: ignore[index]
    path = path_of(injected, "status") + "?fieldManager=x&force=true"
    answer = writer.request("PATCH", path, json.dumps(applied), APPLY)
    assert (answer.status, "labels" in answer.message) == (403, True)


def test_the_controller_cannot_change_image_or_owner(
    writer: Client, api: Client, injected: dict[str, Any]
) -> None:
    """By pods/status the API server ignores them; every other way is forbidden."""
    before = api.expect("GET", path_of(injected))
    name = before["spec"]["containers"][0]["name"]
    spec = {"spec": {"containers": [{"name": name, "image": "evil"}]}}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}
    for patch in (spec, {"metadata": {"ownerReferences": [owner]}}):
        writer.request("PATCH", path_of(injected, "status"), patch, STRATEGIC)
        for sub in ([], ["ephemeralcontainers"], ["resize"]):
            assert writer.request("PATCH", path_of(injected, *sub), patch, STRATEGIC).status == 403
    after = api.expect("GET", path_of(injected))
    for pod in (before, after):
        del pod["metadata"]["resourceVersion"], pod["metadata"]["managedFields"]
    assert after == before
    for method, path in [
        ("PUT", path_of(injected)),
        ("PUT", path_of(injected, "status")),
        ("DELETE", path_of(injected)),
    ]:
        assert writer.request(method, path, after).status == 403


@pytest.fixture
def grown(api: Client) -> Iterator[None]:
    """Give the controller's account all rights over pods, by mistake."""
    name = f"grown-{uuid4().hex[:8]}"
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
    rule = {
        "apiGroups": [""],
        "resources": ["pods", "pods/ephemeralcontainers", "pods/resize"],
        "verbs": ["*"],
    }
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "namespace": CONTROLLER[0], "name": CONTROLLER[1]}
    role: dict[str, Any] = {**rbac, "kind": "ClusterRole", "rules": [rule]}
    binding: dict[str, Any] = {
        **rbac,
        "kind": "ClusterRoleBinding",
        "roleRef": reference,
        "subjects": [subject],
    }
    for manifest in (role, binding):
        api.ensure(manifest)
    yield
    for manifest in (binding, role):
        api.expect("DELETE", f"{api.path(manifest)}/{name}")


def test_the_policy_holds_where_the_role_has_grown(
    writer: Client, api: Client, injected: dict[str, Any], grown: None
) -> None:
    """Image, labels and ephemeral containers stay as they were."""
    name = injected["spec"]["containers"][0]["name"]
    evil = {"spec": {"containers": [{"name": name, "image": "evil"}]}}

    def refused(patch: Any, *sub: str) -> str:
        answer = writer.request("PATCH", path_of(injected, *sub), patch, STRATEGIC)
        assert answer.status == 403
        return answer.message

    wait_until(lambda: "cannot patch resource" not in refused(evil), "the role", 10)
    debug = {"name": "debug", "image": "evil"}
    assert "may not change a pod's spec" in refused(evil)
    assert "may not change a pod's spec" in refused(
        {"spec": {"ephemeralContainers": [debug]}}, "ephemeralcontainers"
    )
    assert "may not change a pod's labels" in refused({"metadata": {"labels": {"a": "b"}}})


def test_the_controller_touches_no_pod_without_the_job_label(
    writer: Client, api: Client, namespace: NamespaceFactory, installed: ControlPlane
) -> None:
    """Nor does it help to put the label on in the same breath."""
    created = api.create(POD, namespace()).json
    labelled = {"metadata": {**ADDRESS["metadata"], "labels": {names.JOB: "x"}}}
    for patch in (ADDRESS, labelled):
        answer = writer.request("PATCH", path_of(created, "status"), patch)
        assert answer.status == 403
        assert f"only pods that carry label {names.JOB}" in answer.message


def test_the_policies_bind_nobody_else(api: Client, injected: dict[str, Any]) -> None:
    """The administrator writes status, labels and annotations as before."""
    note = {"labels": {"by": "admin"}, "annotations": {"by": "admin"}}
    answer = api.request(
        "PATCH", path_of(injected, "status"), {"metadata": note, "status": {"message": "x"}}
    )
    assert answer.status == 200, answer.message
    assert answer.json["status"]["message"] == "x"


def test_the_controller_has_its_lease_and_no_other(
    writer: Client, api: Client, installed: ControlPlane
) -> None:
    """It makes, reads and updates one; it deletes none."""
    api.request("DELETE", f"{LEASES}/fabric-injector")
    lease: dict[str, Any] = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    own, other = ({**lease, "metadata": {"name": name}} for name in ("fabric-injector", "other"))
    assert writer.create(own, "fabric-injector").status == 201
    found = writer.expect("GET", f"{LEASES}/fabric-injector")
    assert (
        writer.request(
            "PUT", f"{LEASES}/fabric-injector", {**found, "spec": {"holderIdentity": "x"}}
        ).status
        == 200
    )
    api.ensure(other, "fabric-injector")
    existing = api.expect("GET", f"{LEASES}/other")
    tries: list[tuple[str, str, Any]] = [
        ("POST", LEASES, {**lease, "metadata": {"name": "new"}}),
        ("POST", LEASES, {**lease, "metadata": {"generateName": "fabric-injector"}}),
        ("GET", f"{LEASES}/other", None),
        ("PUT", f"{LEASES}/other", existing),
        ("PATCH", f"{LEASES}/other", {"spec": {"holderIdentity": "x"}}),
        ("DELETE", f"{LEASES}/fabric-injector", None),
        ("GET", LEASES, None),
        ("POST", LEASES.replace("fabric-injector", "default"), own),
    ]
    assert [writer.request(*one).status for one in tries] == [403] * len(tries)


def test_the_controller_has_its_secret_and_no_other(
    writer: Client, api: Client, installed: ControlPlane
) -> None:
    """It makes, reads and changes one, which is never handed a token."""
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret"}
    own = {**secret, "metadata": {"name": "fabric-injector-tls"}}
    token = {"type": "kubernetes.io/service-account-token"}
    account = {"annotations": {"kubernetes.io/service-account.name": ACCOUNT[1]}}
    grab = {**secret, **token, "metadata": {"name": "fabric-injector-tls", **account}}
    assert "handed a token" in writer.create(grab, "fabric-injector").message
    assert writer.create(own, "fabric-injector").status == 201
    assert (
        writer.request(
            "PATCH", f"{OWN}/secrets/fabric-injector-tls", {"data": {"a": "eA=="}}
        ).status
        == 200
    )
    found = writer.expect("GET", f"{OWN}/secrets/fabric-injector-tls")
    assert writer.request("PUT", f"{OWN}/secrets/fabric-injector-tls", found).status == 200
    api.ensure({**secret, "metadata": {"name": "other"}}, "fabric-injector")
    tries: list[tuple[str, str, Any]] = [
        ("POST", f"{OWN}/secrets", {**secret, "metadata": {"name": "new"}}),
        ("GET", f"{OWN}/secrets/other", None),
        ("PATCH", f"{OWN}/secrets/other", {"data": {"a": "eA=="}}),
        ("PUT", f"{OWN}/secrets/other", {**secret, "metadata": {"name": "other"}}),
        ("GET", f"{OWN}/secrets", None),
        ("DELETE", f"{OWN}/secrets/fabric-injector-tls", None),
        ("GET", "/api/v1/namespaces/default/secrets/fabric-injector-tls", None),
        ("POST", "/api/v1/namespaces/default/secrets", own),
        ("POST", f"{OWN}/serviceaccounts/fabric-injector-webhook/token", {}),
    ]
    assert [writer.request(*one).status for one in tries] == [403] * len(tries)
    api.expect("DELETE", f"{OWN}/secrets/fabric-injector-tls")


def test_the_controller_changes_the_ca_bundle_and_nothing_else_of_the_webhook(
    writer: Client, api: Client, webhook: Webhook, installed: ControlPlane
) -> None:
    """Who could point it elsewhere, or widen it, would rule over every pod."""
    path, configurations = f"{CONFIGURATIONS}/{webhook.name}", CONFIGURATIONS
    before = api.expect("GET", path)
    bundle = base64.b64encode(webhook.authority.pem * 2).decode()

    def patch(where: str, value: Any) -> Response:
        return writer.request(
            "PATCH", path, [{"op": "add", "path": where, "value": value}], JSON_PATCH
        )

    answer = patch("/webhooks/0/clientConfig/caBundle", bundle)
    assert answer.status == 200, answer.message
    entry, *others = before["webhooks"]
    forbidden: dict[str, Any] = {
        "/webhooks/0/clientConfig/url": "https://127.0.0.1:1/evil",
        "/webhooks/0/rules/0/resources": ["secrets"],
        "/webhooks/0/rules/0/operations": ["DELETE"],
        "/webhooks/0/failurePolicy": "Ignore" if entry["failurePolicy"] == "Fail" else "Fail",
        "/webhooks/0/matchPolicy": "Exact",
        "/webhooks/0/namespaceSelector": {},
        "/webhooks/0/objectSelector": {"matchLabels": {"a": "b"}},
        "/webhooks/0/matchConditions": [],
        "/webhooks/0/sideEffects": "NoneOnDryRun",
        "/webhooks/0/timeoutSeconds": 30,
        "/webhooks/0/reinvocationPolicy": "Never",
        "/webhooks/0/admissionReviewVersions": ["v1", "v1beta1"],
        "/webhooks/0/name": "other.fabric-injector.io",
        "/webhooks/-": {**entry, "name": "second.fabric-injector.io"},
        "/metadata/labels": {"a": "b"},
        "/metadata/annotations": {"cert-manager.io/inject-ca-from": "a/b"},
        "/metadata/finalizers": ["a.b/c"],
        "/metadata/ownerReferences": [
            {"apiVersion": "v1", "kind": "Namespace", "name": "x", "uid": "y"}
        ],
    }
    answers = {where: patch(where, value) for where, value in forbidden.items()}
    assert {where: answer.status for where, answer in answers.items()} == dict.fromkeys(
        forbidden, 403
    )
    assert all("fabric-injector-ca-bundle" in answer.message for answer in answers.values())
    assert (
        writer.request("PATCH", path, [{"op": "remove", "path": "/webhooks/0"}], JSON_PATCH).status
        == 403
    )
    after = api.expect("GET", path)
    assert after["webhooks"] == [
        {**entry, "clientConfig": {**entry["clientConfig"], "caBundle": bundle}},
        *others,
    ]
    other = {
        "apiVersion": after["apiVersion"],
        "kind": after["kind"],
        "metadata": {"name": "other"},
    }
    tries: list[tuple[str, str, Any]] = [
        ("POST", configurations, other),
        ("GET", configurations, None),
        ("PATCH", f"{configurations}/other", {"metadata": {"labels": {"a": "b"}}}),
        ("PUT", path, after),
        ("DELETE", path, None),
        (
            "DELETE",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/fabric-injector-addresses",
            None,
        ),
    ]
    assert [writer.request(*one).status for one in tries] == [403] * len(tries)


def test_the_policies_pass_the_type_check(
    controller_manager: ControlPlane, installed: ControlPlane
) -> None:
    """The API server's own check of the expressions has no warning, for any kind that they match."""
    policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    shipped = [
        "fabric-injector-addresses",
        "fabric-injector-anti-affinity",
        "fabric-injector-ca-bundle",
        "fabric-injector-claim-templates",
        "fabric-injector-copies",
        "fabric-injector-created",
        "fabric-injector-priority",
    ]
    installed.ensure_shipped("admission-policy-copies", "anti-affinity-policy", "priority-class")
    for name in shipped:
        wait_until(
            lambda path=f"{policies}/{name}": bool(checked(installed.api, path)),  # type: ignore[misc]
            f"the check of {name}",
            30,
        )
        assert checked(installed.api, f"{policies}/{name}")["typeChecking"] == {}
    assert [
        item["metadata"]["name"] for item in installed.api.expect("GET", policies)["items"]
    ] == shipped


def checked(api: Client, path: str) -> dict[str, Any]:
    policy = api.expect("GET", path)
    status: dict[str, Any] = policy.get("status", {})
    return status if status.get("observedGeneration") == policy["metadata"]["generation"] else {}


def test_what_is_shipped_can_be_applied_again(installed: ControlPlane) -> None:
    """Nothing is changed by it."""
    lines = installed.kubectl(
        "apply", *(f"--filename={file}" for file in ACCESS)
    ).stdout.splitlines()
    assert len(lines) == 17
    assert [line for line in lines if not line.endswith(" unchanged")] == []
