"""From 0.1.0, whose profiles are in a ConfigMap, to objects and back, by the steps of the manual, while jobs run and pods are created.

The manifests of 0.1.0 are kept beside the tests. Its code comes out of the repository's history; where that is not there, as in a
shallow clone, today's code does what the old manifests say (`serve --profiles FILE`), and only the manifests are the old ones.
"""

import io
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT, pods
from tests.waiting import wait_until
from tests.worlds import network
from webhook.core import names

from .client import Client
from .controlplane import BASE, ControlPlane
from .installation import NAMESPACE, Installation, install_yaml, remove
from .jobs import NETWORK, Job, as_sent
from .service import IN_CLUSTER
from .traffic import Traffic

OLD = Path(__file__).parent / "manifests" / "install-0.1.0.yaml"
LAST_WITHOUT_OBJECTS = "b43d87ccfa893b62aefd5616b52165c289f05438"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fabricprofiles.fabric-injector.io"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
PROFILES = f"""
profiles:
  shared:
    networks: [{{network: {NETWORK}, resource: rdma/hca}}]
  everything:
    pods: all
"""
MASTER, WORKER = "pods/kubeflow-pytorchjob-0.yaml", "pods/kubeflow-pytorchjob-1.yaml"
APPLY = ("apply", "--server-side", "--force-conflicts")


@pytest.fixture(scope="module")
def old_side(webhook_command: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, str]]:
    """Give the command of 0.1.0 and its environment."""
    archive = ["git", "archive", LAST_WITHOUT_OBJECTS, "webhook", "certs"]
    done = subprocess.run(archive, cwd=ROOT, capture_output=True, timeout=60)
    if done.returncode != 0:
        return webhook_command, {}
    folder = tmp_path_factory.mktemp("code-0.1.0")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as code:
        code.extractall(folder, filter="data")
    environment = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    where = [sys.executable, "-c", "import webhook; print(webhook.__file__)"]
    found = subprocess.run(where, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(folder)), "today's code would be taken for the old one"
    return [sys.executable, "-m", "webhook"], environment


class Upgrade:
    """Both versions on one cluster, and the jobs that run meanwhile."""

    def __init__(self, cluster: ControlPlane, old: Installation, new: Installation, command: list[str]) -> None:
        self.cluster, self.api, self.old, self.new = cluster, cluster.api, old, new
        self._command = command
        self._jobs = 0

    def job(self) -> Job:
        """Give a job in a namespace of its own; no pod of it exists."""
        self._jobs += 1
        name = f"upgraded-{self._jobs}"
        self.cluster.create_namespace(name, {names.PROFILE: "shared"})
        return Job(self.api, name, "bert-master")

    def converted(self, text: str, *options: str) -> str:
        """Run `profiles convert` on the text."""
        command = [*self._command, "profiles", "convert", *options]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    def convert(self) -> None:
        """Do the steps that come first on the way to objects."""
        self.cluster.kubectl(*APPLY, f"--filename={BASE / 'custom-resource-definition.yaml'}")
        crd = f"crd/{DEFINITION.rpartition('/')[2]}"
        self.cluster.kubectl("wait", "--for=condition=Established", crd, "--timeout=30s")
        where = ("--namespace", NAMESPACE, "get", "configmap", names.PROFILES_CONFIG_MAP, "--output=yaml")
        objects = self.converted(self.cluster.kubectl(*where).stdout)
        self.cluster.kubectl("apply", "--filename=-", input=objects)

    def convert_back(self) -> None:
        """Do the steps that come first on the way back."""
        listed = self.cluster.kubectl("get", "fabricprofiles", "--output=yaml").stdout
        put_config_map(self.api, self.converted(listed, "--to", "file"))

    def replace_controller(self, before: Installation, after: Installation) -> None:
        """Start the one, then end the other, as a Deployment does."""
        after.start_controller()
        assert before.stop("controller") == 0

    def replace_webhook(self, before: Installation, after: Installation) -> None:
        """Start the one, then end the other, which the API server's open connections call until it closes them."""
        after.start_webhook()
        assert before.stop("webhook") == 0
        wait_until(lambda: answered(after) > 0, "the new webhook to be called", 30)

    def apply(self, file: Path, component: str | None = None) -> None:
        only = [f"--selector=app.kubernetes.io/component={component}"] if component else []
        self.cluster.kubectl(*APPLY, f"--filename={file}", *only)


def answered(installation: Installation) -> float:
    """Give how many reviews the webhook has answered."""
    text = installation.said("webhook", "/metrics")
    found = re.findall(r"^fabric_injector_admission_requests_total\{.*\} (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))


def put_config_map(api: Client, profiles: str) -> None:
    name = names.PROFILES_CONFIG_MAP
    content = {"metadata": {"name": name}, "data": {names.PROFILES_FILE: profiles}}
    if api.request("PUT", f"{CONFIG_MAPS}/{name}", {"apiVersion": "v1", "kind": "ConfigMap", **content}).status == 404:
        api.expect("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **content})


def create(job: Job, fixture: str, **metadata: Any) -> dict[str, Any]:
    """Create a pod of the job; give it as it was admitted."""
    sent = as_sent(pods.load(fixture), **metadata)
    created: dict[str, Any] = job.api.expect("POST", f"/api/v1/namespaces/{job.namespace}/pods", sent)
    return created


def job_of(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["labels"][names.JOB])


@pytest.fixture
def upgrade(
    cluster: ControlPlane, webhook_command: list[str], old_side: tuple[list[str], dict[str, str]], tmp_path: Path
) -> Iterator[Upgrade]:
    """Install 0.1.0 with its ConfigMap; both processes of it run."""
    api = cluster.api
    if api.request("DELETE", DEFINITION).status == 200:
        wait_until(lambda: api.request("GET", DEFINITION).status == 404, "the definition of other tests to go", 30)
    api.ensure(network(NETWORK))
    if api.request("GET", "/api/v1/namespaces/everything").status == 404:
        cluster.create_namespace("everything", {names.PROFILE: "everything"})
    cluster.kubectl("apply", "--server-side", f"--filename={OLD}")
    put_config_map(api, PROFILES)
    command, environment = old_side
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with ExitStack() as stack:
        before = {**environment, **IN_CLUSTER}
        old = stack.enter_context(Installation(cluster, tmp_path / "old", command, "", install=OLD, environment=before))
        new = stack.enter_context(Installation(cluster, tmp_path / "new", webhook_command, "", environment=IN_CLUSTER))
        old.start_controller()
        old.start_webhook()
        yield Upgrade(cluster, old, new, webhook_command)
    remove(cluster, install_yaml().read_text())
    api.request("DELETE", f"{CONFIG_MAPS}/{names.PROFILES_CONFIG_MAP}")
    for number in range(1, 9):
        cluster.kubectl("delete", "namespace", f"upgraded-{number}", "--ignore-not-found", "--wait=false")


@pytest.mark.timeout(400)
def test_no_job_is_split_and_no_pod_refused_on_the_way_there_and_back(upgrade: Upgrade) -> None:
    """Jobs of two: one of whose rank 0 the address was known before, one where it comes after, one whose worker was first."""
    for there in (True, False):
        before, after = (upgrade.old, upgrade.new) if there else (upgrade.new, upgrade.old)
        known, unknown, reverse = upgrade.job(), upgrade.job(), upgrade.job()
        for job in (known, unknown):
            job.key = job_of(create(job, MASTER))
        reverse.key = job_of(create(reverse, WORKER))
        known.attach(known.master, "10.1.0.1")
        known.wait_until_told("10.1.0.1")
        with Traffic(upgrade.api, "everything", per_second=10, threads=2) as traffic:
            wait_until(lambda: traffic.admitted > 5, "admissions before", 30)
            if there:
                upgrade.convert()
                upgrade.apply(install_yaml(), "controller")
                upgrade.replace_controller(before, after)
                upgrade.apply(install_yaml())
                upgrade.replace_webhook(before, after)
            else:
                upgrade.convert_back()
                upgrade.apply(OLD, "webhook")
                upgrade.replace_webhook(before, after)
                upgrade.apply(OLD)
                upgrade.replace_controller(before, after)
            wanted = traffic.admitted + 20
            wait_until(lambda traffic=traffic, wanted=wanted: traffic.admitted > wanted, "admissions afterwards", 60)  # type: ignore[misc]
        assert traffic.failures == []
        for job in (known, unknown):
            assert job_of(create(job, WORKER)) == job.key
        assert job_of(create(reverse, MASTER)) == reverse.key
        for number, job in enumerate((unknown, reverse)):
            job.attach(job.master, f"10.1.1.{number}")
            job.wait_until_told(f"10.1.1.{number}")
        known.wait_until_told("10.1.0.1")
        for job in (known, unknown, reverse):
            assert len(job.told()) == 2


@pytest.mark.timeout(240)
def test_where_nobody_converts_the_old_webhook_serves_on(upgrade: Upgrade) -> None:
    """The new one says why it is not ready, and is once the profiles are objects."""
    with Traffic(upgrade.api, "everything", per_second=10, threads=2) as traffic:
        wait_until(lambda: traffic.admitted > 5, "admissions before", 30)
        upgrade.apply(install_yaml(), "controller")
        upgrade.replace_controller(upgrade.old, upgrade.new)
        upgrade.apply(install_yaml())
        port = upgrade.new.launch_webhook()
        reason = "make objects of them with `fabric-injector profiles convert`"
        wait_until(lambda: reason in upgrade.new.said("webhook", "/readyz"), "the reason", 60)
        assert upgrade.new.status("webhook", "/readyz") == 503
        since = traffic.admitted
        wait_until(lambda: traffic.admitted > since + 20, "admissions by the old one", 60)
        upgrade.convert()
        upgrade.new.serve_webhook(port)
        assert upgrade.old.stop("webhook") == 0
        wait_until(lambda: answered(upgrade.new) > 0, "the new webhook to be called", 30)
    assert traffic.failures == []
