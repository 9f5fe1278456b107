"""What a namespace's user may read by the shipped roles, and what `dry-run` and `explain` make of it, on a real API server."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.installation import MANIFESTS
from tests.cluster.jobs import as_sent
from tests.cluster.objects import made
from tests.cluster.processes import COMMAND, run_command
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

    def __init__(self, cluster: ControlPlane, namespace: str, role: str, folder: Path) -> None:
        self.namespace, self._folder = namespace, folder
        self._cluster, self._token = cluster, cluster.allow(namespace, role)
        self.client = cluster.client(self._token)
        path = f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions"
        wait_until(lambda: self.client.answers(path), f"role {role} to be put together", 120)
        for number in range(2):
            pod = as_sent(load(f"pods/kubeflow-pytorchjob-{number}.yaml"))
            cluster.api.ensure({**pod, "apiVersion": "v1", "kind": "Pod"}, namespace)

    def run(self, *arguments: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of ours as the user, or as the bearer of a token."""
        config = self._cluster.kubeconfig(self._folder / "kubeconfig", token or self._token)
        return run_command([*COMMAND, *arguments], config)


@pytest.fixture(scope="module")
def user(
    cluster: ControlPlane,
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> User:
    """Give a user who may view; the roles to edit and to administrate hold all of that one."""
    folder = tmp_path_factory.mktemp("user")
    return User(cluster, namespace("shared"), "view", folder)


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


@pytest.mark.parametrize("role", ["view", "admin"])
def test_no_user_of_a_namespace_may_change_a_profile(
    role: str,
    cluster: ControlPlane,
    switch: None,
    namespace: NamespaceFactory,
    tmp_path: Path,
) -> None:
    client = User(cluster, namespace(), role, tmp_path).client
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


def test_a_user_may_read_what_kueue_says_of_a_job(user: User) -> None:
    asked = {"group": "kueue.x-k8s.io", "resource": "workloads", "verb": "list"}
    attributes = {"resourceAttributes": {**asked, "namespace": user.namespace}}
    review = made("authorization.k8s.io/v1 SelfSubjectAccessReview", "", spec=attributes)
    answer = user.client.expect("POST", user.client.path(review), review)
    assert answer["status"]["allowed"]


def test_aggregates_no_right_to_write() -> None:
    for each in yaml.safe_load_all((MANIFESTS / "base/rbac-users.yaml").read_text()):
        verbs = {verb for rule in each["rules"] for verb in rule["verbs"]}
        assert verbs <= {"get", "list", "watch"}
        added = {key for key in each["metadata"]["labels"] if "aggregate" in key}
        assert added <= {f"{RBAC}/aggregate-to-view"}
