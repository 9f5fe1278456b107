"""What a namespace's user may read by the shipped roles, and what `dry-run` and `explain` make of it, on a real API server."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.crds import KUEUE, crd_files
from tests.cluster.fixtures import NamespaceFactory, needed
from tests.cluster.installation import MANIFESTS
from tests.cluster.jobs import as_sent
from tests.cluster.objects import made
from tests.cluster.processes import run_command
from tests.pods import FIXTURES, load
from tests.profiles import as_text
from tests.waiting import wait_until
from tests.worlds import network
from webhook.core import names

SYSTEM = "fabric-injector"
PROFILES = "/apis/fabric-injector.io/v1alpha1/fabricprofiles"
TEXT = as_text("""
shared: {networks: [{network: default/rdma-net, resource: rdma/hca}]}
""")
SETTINGS = "{apiVersion: config.fabric-injector.io/v1alpha1, kind: Configuration, multus: {}}"
RBAC = "rbac.authorization.k8s.io"
JOB = str(FIXTURES / "torchx/volcano-ddp-2x1.yaml")


@pytest.fixture(scope="module")
def cluster(controller_manager: ControlPlane, api: Client) -> Iterator[ControlPlane]:
    """Install kind, roles, a profile and its network; the controller manager puts roles together."""
    api.ensure(made("v1 Namespace", SYSTEM))
    controller_manager.define_profiles(TEXT)
    settings = made("v1 ConfigMap", names.CONFIG_MAP)
    api.ensure({**settings, "data": {"config.yaml": SETTINGS}}, SYSTEM)
    api.ensure(network("default/rdma-net"))
    controller_manager.ensure_shipped("rbac-users")
    yield controller_manager
    api.expect("DELETE", f"{PROFILES}/shared")


@pytest.fixture
def switch(cluster: ControlPlane, api: Client) -> Iterator[None]:
    """Bind the viewer's role to all users, as the component does."""
    text = (MANIFESTS / "components/profile-viewer/profile-viewer.yaml").read_text()
    cluster.kubectl("apply", "--filename=-", input=text)
    yield
    cluster.kubectl("delete", "--filename=-", input=text)


class User:
    """A user whom a role is bound to in one namespace, which carries the profile's label and holds a job."""

    def __init__(
        self, cluster: ControlPlane, namespace: str, role: str, folder: Path, command: list[str]
    ) -> None:
        self.namespace, self._folder, self._command = namespace, folder, command
        self._cluster, self._token = cluster, cluster.allow(namespace, role=role)
        self.client = cluster.client(self._token)
        path = f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions"
        wait_until(lambda: self.client.answers(path), f"role {role} to be put together", 120)
        for number in range(2):
            pod = as_sent(load(f"pods/kubeflow-pytorchjob-{number}.yaml"))
            cluster.api.ensure({**pod, "apiVersion": "v1", "kind": "Pod"}, namespace)

    def run(self, *arguments: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of ours as the user, or as the bearer of a token."""
        config = self._cluster.kubeconfig(self._folder / "kubeconfig", token or self._token)
        return run_command([*self._command, *arguments], config)


@pytest.fixture(scope="module")
def user(
    cluster: ControlPlane,
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
    webhook_command: list[str],
) -> User:
    """Give a user who may view; the roles to edit and to administrate hold all of that one."""
    folder = tmp_path_factory.mktemp("user")
    return User(cluster, namespace("shared"), "view", folder, webhook_command)


def test_without_the_switch_a_user_is_told_what_to_ask_for(user: User) -> None:
    wait_until(
        lambda: user.client.request("GET", PROFILES).status == 403,
        "the binding of another test to be gone",
    )
    done = user.run("dry-run", "-f", JOB, "-n", user.namespace)
    assert done.returncode == 2
    assert 'cannot list resource "fabricprofiles"' in done.stderr
    assert "ask for ClusterRole fabric-injector-profile-viewer" in done.stderr
    explained = user.run("explain", "job/bert", "-n", user.namespace, "-o", "json")
    assert explained.returncode == 1, explained.stderr
    assert "profiles" in {
        each["subject"]
        for each in json.loads(explained.stdout)["findings"]
        if each["code"] == "unread"
    }


def test_with_the_switch_dry_run_goes_on_without_the_networks_of_others(
    user: User, switch: None
) -> None:
    wait_until(lambda: user.client.answers(PROFILES), "the binding")
    done = user.run("dry-run", "-f", JOB, "-n", user.namespace, "-o", "json")
    assert done.returncode == 0, done.stderr
    pods = json.loads(done.stdout)["pods"]
    assert [pod["profile"] for pod in pods] == ["shared", "shared"]
    assert all("rdma/hca" in json.dumps(pod["pod"]) for pod in pods)
    [note] = done.stderr.splitlines()
    assert note.startswith("networks you cannot read are assumed to exist")
    assert ": default/rdma-net; " in note


def test_with_the_switch_explain_judges_by_the_profiles(user: User, switch: None) -> None:
    wait_until(lambda: user.client.answers(PROFILES), "the binding")
    done = user.run("explain", "job/bert", "-n", user.namespace, "-o", "json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["findings"]
    assert {each["subject"] for each in found if each["code"] == "unread"} == {
        "network default/rdma-net",
        "nodes",
    }
    missed = [each["message"] for each in found if each["code"] == "webhook-missed"]
    assert missed  # one, or one for each pod where the second begins between them
    assert all("today it would get profile shared" in message for message in missed)


def test_networks_of_the_own_namespace_are_read(
    cluster: ControlPlane, user: User, switch: None, api: Client
) -> None:
    api.ensure(network(f"{user.namespace}/own", "rdma/own"))
    name = f"own-{user.namespace}"
    cluster.define_profiles(as_text(f"{name}: {{networks: [{{network: own}}]}}"))
    done = user.run("dry-run", "-f", JOB, "-n", user.namespace, "--profile", name)
    api.expect("DELETE", f"{PROFILES}/{name}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rdma/own" in done.stdout


@pytest.mark.parametrize("role", ["view", "admin"])
def test_no_user_of_a_namespace_may_change_a_profile(
    role: str,
    cluster: ControlPlane,
    switch: None,
    namespace: NamespaceFactory,
    tmp_path: Path,
    webhook_command: list[str],
) -> None:
    client = User(cluster, namespace(), role, tmp_path, webhook_command).client
    wait_until(lambda: client.answers(f"{PROFILES}/shared"), "the binding")
    maps = f"/api/v1/namespaces/{SYSTEM}/configmaps"
    tries = [
        ("POST", PROFILES),
        ("PATCH", f"{PROFILES}/shared"),
        ("PATCH", f"{PROFILES}/shared/status"),
        ("PUT", f"{PROFILES}/shared"),
        ("DELETE", f"{PROFILES}/shared"),
        ("DELETE", PROFILES),
        ("PATCH", f"{maps}/{names.CONFIG_MAP}"),
        ("GET", maps),
        ("GET", f"{maps}/other"),
        ("GET", f"/api/v1/namespaces/{SYSTEM}/secrets/fabric-injector-tls"),
        ("GET", "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"),
    ]
    assert [client.request(*one, {}).status for one in tries] == [403] * len(tries)
    assert client.request("GET", f"{maps}/{names.CONFIG_MAP}").status == 200


WORKLOADS = "kueue.x-k8s.io/v1beta2"
SAID = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 8 more needed"


@pytest.fixture(scope="module")
def kueue(cluster: ControlPlane) -> Iterator[None]:
    """Install Kueue's own definition of Workloads; nobody admits them."""
    files = needed(lambda: list(crd_files(KUEUE)))
    applied = [f"--filename={file}" for file in files]
    cluster.kubectl("apply", "--server-side", *applied)
    wait_until(lambda: cluster.api.answers(f"/apis/{WORKLOADS}/workloads"), "the CRD to be served")
    yield
    cluster.kubectl("delete", *applied)


def hold_back(api: Client, namespace: str, name: str) -> None:
    """Make a suspended Job, and what Kueue would of it."""
    container = {"name": "main", "image": "i"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = made("batch/v1 Job", name)
    suspended = api.expect(
        "POST",
        f"/apis/batch/v1/namespaces/{namespace}/jobs",
        {**job, "spec": {"suspend": True, "template": template}},
    )
    uid = suspended["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    path = f"/apis/{WORKLOADS}/namespaces/{namespace}/workloads"
    labels = {"kueue.x-k8s.io/job-uid": uid}
    metadata = {"name": f"job-{name}-a1b2c", "labels": labels, "ownerReferences": [owner]}
    spec = {"queueName": "team", "podSets": [{"name": "main", "count": 2, "template": template}]}
    workload = {"apiVersion": WORKLOADS, "kind": "Workload", "metadata": metadata, "spec": spec}
    api.expect("POST", path, workload)
    told = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "WaitingForQuota",
        "message": SAID,
    }
    conditions = [{**told, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    api.expect("PATCH", f"{path}/job-{name}-a1b2c/status", {"status": {"conditions": conditions}})


def test_a_user_is_told_why_kueue_holds_a_job_back(
    user: User, switch: None, kueue: None, api: Client
) -> None:
    hold_back(api, user.namespace, "roberta")
    wait_until(
        lambda: user.client.answers(f"/apis/{WORKLOADS}/namespaces/{user.namespace}/workloads"),
        "the role",
    )
    where = ("-n", user.namespace)
    explained = user.run("explain", "job/roberta", *where, "-o", "json")
    assert explained.returncode == 1, explained.stderr
    [first, *others] = json.loads(explained.stdout)["findings"]
    assert (first["level"], first["code"], first["subject"]) == (
        "fail",
        "kueue-waiting",
        "Workload job-roberta-a1b2c",
    )
    assert first["message"] == f"Kueue does not admit Job roberta (LocalQueue team): {SAID}"
    assert {each["code"] for each in others} <= {"unread"}
    shown = json.loads(user.run("status", *where, "-o", "json").stdout)
    [held] = [job for job in shown["jobs"] if job["name"] == "roberta"]
    assert (held["members"], held["first"]) == (0, first)


def test_who_may_not_read_workloads_is_told_so(
    kueue: None, cluster: ControlPlane, user: User, api: Client
) -> None:
    few = cluster.create_namespace(f"test-few-{user.namespace}", {names.PROFILE: "shared"})
    token = cluster.allow(few, ":pods,events,namespaces get list")
    hold_back(api, few, "roberta")
    wait_until(lambda: cluster.client(token).answers(f"/api/v1/namespaces/{few}/pods"), "the role")
    done = user.run("explain", "job/roberta", "-n", few, "-o", "json", token=token)
    if done.returncode == 2:
        assert "nor may Kueue's Workloads be read" in done.stderr
    else:  # the Job controller's Event that the Job is suspended is there already
        told = {each["subject"]: each["message"] for each in json.loads(done.stdout)["findings"]}
        assert "answered 403" in told["Kueue's Workloads"]


def test_aggregates_no_right_to_write() -> None:
    for each in yaml.safe_load_all((MANIFESTS / "base/rbac-users.yaml").read_text()):
        verbs = {verb for rule in each["rules"] for verb in rule["verbs"]}
        assert verbs <= {"get", "list", "watch"}
        added = {key for key in each["metadata"]["labels"] if "aggregate" in key}
        assert added <= {f"{RBAC}/aggregate-to-view"}
