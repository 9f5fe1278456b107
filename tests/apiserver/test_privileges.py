"""What the two shipped service accounts may do on a real API server, and that they may do nothing else."""

import base64
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests import pods
from tests.cluster import objects
from tests.cluster.client import Client, Response
from tests.cluster.controller import ACCOUNT as CONTROLLER
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import as_sent
from tests.cluster.webhook import ACCOUNT, CONFIGURATIONS, Webhook
from tests.hostile.large import METADATA, pretender
from tests.profiles import as_text
from tests.tables import read
from tests.waiting import wait_until
from webhook.core import names

PROFILES = as_text("{shared: {networks: [{network: default/rdma-net, resource: rdma/hca}]}}")
OWN = "/api/v1/namespaces/fabric-injector"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases"
REVIEWS = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}
TABLES = read(__file__, "manifests/privileges.yaml")
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}


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
    own: dict[str, Any] = {"annotations": {"example.com/note": "x"}, "ownerReferences": []}
    own["finalizers"] = ["example.com/keep"]
    pod = as_sent(pods.load("pods/kubeflow-pytorchjob-1.yaml"), **own)
    pod["metadata"]["labels"]["team"] = "ml"
    answer = api.create(pod, namespace("shared"))
    assert answer.status == 201, answer.message
    created: dict[str, Any] = answer.json
    assert names.STATUS in created["metadata"]["annotations"]
    return created


def path_of(pod: dict[str, Any], *parts: str) -> str:
    metadata = pod["metadata"]
    return "/".join((f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", *parts))


def published(**values: str) -> dict[str, Any]:
    """Give a patch of annotations of ours, those of the table where none are given."""
    found = {f"{names.PREFIX}{key}": value for key, value in (values or PUBLISHED).items()}
    return {"metadata": {"annotations": found}}


def unversioned(pod: dict[str, Any]) -> dict[str, Any]:
    """Leave out what each write changes."""
    changing = ("resourceVersion", "managedFields")
    metadata = {key: value for key, value in pod["metadata"].items() if key not in changing}
    return {**pod, "metadata": metadata}


def rules(client: Client, namespace: str) -> set[tuple[str, str, str, str]]:
    """Give what the account says it may do there: group, resource, name, verb."""
    kind = "authorization.k8s.io/v1 SelfSubjectRulesReview"
    review = objects.made(kind, "", spec={"namespace": namespace})
    status = client.expect("POST", client.path(review), review)["status"]
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


READER, WRITER = granted(*TABLES["reader"]), granted(*TABLES["writer"])
WRITER_AT_HOME = WRITER | granted(*TABLES["writer_at_home"])
PUBLISHED: dict[str, str] = TABLES["published"][0]


def test_the_accounts_have_the_privileges_that_are_documented(
    reader: Client, writer: Client
) -> None:
    """No more and no less, in a user's namespace and in their own."""
    assert rules(reader, "default") == rules(reader, "fabric-injector") == READER
    assert rules(writer, "default") == WRITER
    assert rules(writer, "fabric-injector") == WRITER_AT_HOME


def test_what_the_accounts_may_not_do_is_forbidden(
    reader: Client, writer: Client, api: Client, injected: dict[str, Any]
) -> None:
    """Every try, by way of others' names too, and the pod stays as it was."""
    before = api.expect("GET", path_of(injected))
    accounts = {"webhook": reader, "controller": writer}
    answers = {}
    for what in TABLES["forbidden"]:
        account, method, path = what.split()
        sent = path.format(pod=path_of(injected))
        answers[what] = accounts[account].request(method, sent, {})
    assert {what: answer.status for what, answer in answers.items()} == dict.fromkeys(answers, 403)
    as_admin = {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"}
    assert reader.request("GET", path_of(injected), headers=as_admin).status == 403
    assert api.expect("GET", path_of(injected)) == before


def test_the_controller_publishes_and_replaces(
    writer: Client, api: Client, injected: dict[str, Any]
) -> None:
    """Its annotations land through pods/status, and nothing else of the pod changes."""
    status, before = path_of(injected, "status"), api.expect("GET", path_of(injected))
    uid = {"uid": injected["metadata"]["uid"]}
    for row in TABLES["published"]:
        patch = published(**{**PUBLISHED, **row, "wait-ends": "ü\n" * 1024})["metadata"]
        answer = writer.request("PATCH", status, {"metadata": {**patch, **uid}})
        assert answer.status == 200, answer.message
    before["metadata"]["annotations"] |= patch["annotations"]
    assert unversioned(api.expect("GET", path_of(injected))) == unversioned(before)
    former = {"metadata": {**patch, "uid": "of-a-former-pod"}}
    assert writer.request("PATCH", status, former).status in (409, 422)


@pytest.mark.parametrize("annotated", [0, 1000])
def test_the_controller_publishes_onto_a_pod_with_none_and_with_a_thousand_annotations(
    writer: Client,
    api: Client,
    namespace: NamespaceFactory,
    installed: ControlPlane,
    annotated: int,
) -> None:
    """No expression stumbles over what is absent, and the cost stays within the API server's limit."""
    many = {f"k{number}": "" for number in range(annotated)}
    env = [{"name": f"V{number}", "value": "x" * 50} for number in range(5 * annotated)]
    pod = objects.pod("x", {names.JOB: "x"}, many, {"env": env})
    created = api.create(pod, namespace())
    assert created.status == 201, created.message
    answer = writer.request("PATCH", path_of(created.json, "status"), published())
    assert answer.status == 200, answer.message


def test_the_policy_refuses_a_pod_of_thousands_of_entries_before_it_compares_them(
    writer: Client, api: Client, namespace: NamespaceFactory, installed: ControlPlane
) -> None:
    """Comparing them takes seconds of the API server's time."""
    where = namespace()
    path = f"/api/v1/namespaces/{where}/pods"
    for shape in ("annotations", "labels", "finalizers", "owners"):
        api.expect("POST", path, pretender(shape, shape, METADATA[shape]))
        answer = writer.request("PATCH", f"{path}/{shape}/status", ADDRESS)
        assert answer.status == 403
        assert "only pods with at most 1000 annotations" in answer.message


ADDRESS = published(**{"master-addr": "10.9.9.9"})
REFUSED = TABLES["refused"] | {
    "writes a long name": (published(**{"master-addr": "a" * 256}), "an address or a DNS name"),
    "ends a wait at length": (published(**{"wait-ends": "x" * 2049}), "2048 characters"),
}


def test_the_controller_can_change_nothing_else(
    writer: Client, api: Client, injected: dict[str, Any]
) -> None:
    """The policy names what it refuses; the pod stays as it was, image and owner included."""
    before, status = api.expect("GET", path_of(injected)), path_of(injected, "status")
    for name, (patch, what) in REFUSED.items():
        headers = JSON_PATCH if isinstance(patch, list) else {}
        answer = writer.request("PATCH", status, patch, headers)
        assert answer.status == 403, (name, answer.json)
        assert "ValidatingAdmissionPolicy 'fabric-injector-addresses'" in answer.message, name
        assert what in answer.message.split("denied request: ")[1], name
    applied = objects.made("v1 Pod", injected["metadata"]["name"])
    applied["metadata"]["labels"] = {"a": "b"}
    forced = f"{status}?fieldManager=x&force=true"
    answer = writer.request("PATCH", forced, json.dumps(applied), APPLY)
    assert (answer.status, "labels" in answer.message) == (403, True)
    spec = {"spec": {"containers": [{"name": "pytorch", "image": "evil"}]}}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}
    for patch in (spec, {"metadata": {"ownerReferences": [owner]}}):
        writer.request("PATCH", status, patch, STRATEGIC)  # the API server ignores these
    assert unversioned(api.expect("GET", path_of(injected))) == unversioned(before)


@pytest.fixture
def grown(installed: ControlPlane) -> Iterator[None]:
    """Give the controller's account all rights over pods, by mistake."""
    kubectl, account = installed.kubectl, ":".join(CONTROLLER)
    resources = "--resource=pods,pods/ephemeralcontainers,pods/resize"
    kubectl("create", "clusterrole", "grown", "--verb=*", resources)
    bound = ("--clusterrole=grown", f"--serviceaccount={account}")
    kubectl("create", "clusterrolebinding", "grown", *bound)
    yield
    kubectl("delete", "clusterrolebinding,clusterrole", "grown")


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

    wait_until(lambda: "cannot patch resource" not in refused(evil), "the role")
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
    created = api.create(objects.pod(), namespace()).json
    labelled = {"metadata": {**ADDRESS["metadata"], "labels": {names.JOB: "x"}}}
    for patch in (ADDRESS, labelled):
        answer = writer.request("PATCH", path_of(created, "status"), patch)
        assert answer.status == 403
        assert f"only pods that carry label {names.JOB}" in answer.message


def test_the_policies_bind_nobody_else(api: Client, injected: dict[str, Any]) -> None:
    """The administrator writes status, labels and annotations as before."""
    note = {"labels": {"by": "admin"}, "annotations": {"by": "admin"}}
    patch = {"metadata": note, "status": {"message": "x"}}
    answer = api.request("PATCH", path_of(injected, "status"), patch)
    assert answer.status == 200, answer.message
    assert answer.json["status"]["message"] == "x"


def test_the_controller_creates_its_lease_and_no_other(
    writer: Client, api: Client, installed: ControlPlane
) -> None:
    api.request("DELETE", f"{LEASES}/fabric-injector")
    own = objects.made("coordination.k8s.io/v1 Lease", "fabric-injector")
    assert writer.create(own, "fabric-injector").status == 201
    found = writer.expect("GET", f"{LEASES}/fabric-injector")
    writer.expect("PUT", f"{LEASES}/fabric-injector", {**found, "spec": {"holderIdentity": "x"}})
    for metadata in ({"name": "new"}, {"generateName": "fabric-injector"}):
        assert writer.request("POST", LEASES, {**own, "metadata": metadata}).status == 403


def test_the_controller_writes_its_own_events_and_no_other(
    writer: Client, api: Client, installed: ControlPlane
) -> None:
    """EventRecorder's are accepted, as test_events shows; each that is forged is not, nor a change of another's."""
    path, forged = "/api/v1/namespaces/default/events", TABLES["forged_events"]
    own = objects.made("v1 Event", "own", reason="MeetsByName", type="Warning") | {
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "x", "uid": "x"},
        "source": {"component": "fabric-injector"},
        "reportingComponent": "fabric-injector",
        "reportingInstance": "x",
    }
    assert writer.request("POST", path, own).status == 201
    answers = {name: writer.request("PATCH", f"{path}/own", forged[name]) for name in forged}
    for name, values in forged.items():
        new = {**own, **values, "metadata": {"name": "forged", "namespace": "default"}}
        answers[f"{name}, new"] = writer.request("POST", path, new)
    api.expect("POST", path, {**own, "metadata": {"name": "other"}, "reason": "Failed"})
    taken = {"reason": "MeetsByName", "message": "evil"}
    answers["a change of another's"] = writer.request("PATCH", f"{path}/other", taken)
    assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(answers, 403)
    assert all("fabric-injector-events" in answer.message for answer in answers.values())


def test_the_controller_creates_its_secret_and_no_other(
    writer: Client, api: Client, installed: ControlPlane
) -> None:
    """It is never handed a token."""
    path, named = f"{OWN}/secrets", objects.made("v1 Secret", "fabric-injector-tls")
    account = {"annotations": {"kubernetes.io/service-account.name": ACCOUNT[1]}}
    grab = {**named, "type": "kubernetes.io/service-account-token"}
    grab["metadata"] = {**named["metadata"], **account}
    assert "handed a token" in writer.create(grab, "fabric-injector").message
    assert writer.create(named, "fabric-injector").status == 201
    own = f"{path}/fabric-injector-tls"
    writer.expect("PATCH", own, {"data": {"a": "eA=="}})
    writer.expect("PUT", own, writer.expect("GET", own))
    assert writer.request("POST", path, objects.made("v1 Secret", "new")).status == 403
    api.expect("DELETE", own)


def test_the_controller_changes_the_ca_bundle_and_nothing_else_of_the_webhook(
    writer: Client, api: Client, webhook: Webhook, installed: ControlPlane
) -> None:
    """Who could point it elsewhere, or widen it, would rule over every pod."""
    path = f"{CONFIGURATIONS}/{webhook.name}"
    before = api.expect("GET", path)
    bundle = base64.b64encode(webhook.authority.pem * 2).decode()

    def patch(where: str, value: Any) -> Response:
        body = [{"op": "add", "path": where, "value": value}]
        return writer.request("PATCH", path, body, JSON_PATCH)

    answer = patch("/webhooks/0/clientConfig/caBundle", bundle)
    assert answer.status == 200, answer.message
    entry, *others = before["webhooks"]
    forbidden = {
        **TABLES["forbidden_of_the_webhook"],
        "/webhooks/0/failurePolicy": "Ignore" if entry["failurePolicy"] == "Fail" else "Fail",
        "/webhooks/-": {**entry, "name": "second.fabric-injector.io"},
    }
    answers = {where: patch(where, value) for where, value in forbidden.items()}
    assert [where for where, answer in answers.items() if answer.status != 403] == []
    assert all("fabric-injector-ca-bundle" in answer.message for answer in answers.values())
    gone = [{"op": "remove", "path": "/webhooks/0"}]
    assert writer.request("PATCH", path, gone, JSON_PATCH).status == 403
    after = api.expect("GET", path)
    trusted = {**entry["clientConfig"], "caBundle": bundle}
    assert after["webhooks"] == [{**entry, "clientConfig": trusted}, *others]


def test_the_policies_pass_the_type_check(
    controller_manager: ControlPlane, installed: ControlPlane
) -> None:
    """The API server's own check of the expressions has no warning, for any kind that they match."""
    installed.ensure_shipped("admission-policy-copies", "anti-affinity-policy", "priority-class")
    policies = [item["metadata"]["name"] for item in installed.api.expect("GET", POLICIES)["items"]]
    for name in policies:
        path = f"{POLICIES}/{name}"
        wait_until(partial(checked, installed.api, path), f"the check of {name}")
        assert checked(installed.api, path)["typeChecking"] == {}
    assert policies == [f"fabric-injector-{name}" for name in TABLES["policies"]]


def checked(api: Client, path: str) -> dict[str, Any]:
    policy = api.expect("GET", path)
    status: dict[str, Any] = policy.get("status", {})
    return status if status.get("observedGeneration") == policy["metadata"]["generation"] else {}
