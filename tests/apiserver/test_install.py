"""install.yaml on a cluster of its own: accepted whole, run as written, applied again, upgraded and removed."""

import copy
import os
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests import ROOT
from tests.apiserver.installation import Installation, admit, injected, remove
from tests.apiserver.mounts import SECRET
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import program
from tests.cluster.installation import NAMESPACE, install_yaml, shipped
from tests.cluster.objects import account
from tests.waiting import wait_until
from webhook import __version__

LABELLED = "labelled"


def apply_command() -> tuple[str, ...]:
    return "apply", "--server-side", "--validate=strict", f"--filename={install_yaml()}"


@pytest.fixture(scope="module")
def applied(cluster: ControlPlane) -> Iterator[Client]:
    """Apply install.yaml, which is accepted whole and without a warning, and remove all of it afterwards."""
    done = cluster.kubectl(*apply_command())
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(list(yaml.safe_load_all(install_yaml().read_text())))
    assert lines[0].startswith("namespace/")
    assert lines[-1].startswith("mutatingwebhookconfiguration.")
    yield cluster.api
    remove(cluster, install_yaml().read_text())


def without(*kinds: str) -> str:
    return yaml.safe_dump_all(
        each for each in yaml.safe_load_all(install_yaml().read_text()) if each["kind"] not in kinds
    )


def refused(api: Client) -> bool:
    return admit(api, LABELLED).status != 201


def test_make_manifests_prints_it_with_the_image_that_is_named(programs: None) -> None:
    kubectl = program("kubectl")
    image = "registry.example.com:5000/fabric-injector"
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, "manifests", f"IMAGE={image}"],
        env={**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = f": fabric-injector:{__version__}\n"
    assert install_yaml().read_text().count(here) == 3, (
        "two Deployments, and what the webhook is told of its own image"
    )
    assert done.stdout == install_yaml().read_text().replace(here, f": {image}:{__version__}\n")


def test_pods_of_both_deployments_pass_podsecurity_restricted(applied: Client) -> None:
    """As the ReplicaSet's controller creates them; the namespace enforces it."""
    for deployment in shipped("Deployment"):
        template = deployment["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(template)}
        pod["metadata"] = {**template["metadata"], "generateName": "x-"}
        answer = applied.create(pod, NAMESPACE, dry_run=True)
        assert (answer.status, answer.warnings) == (201, []), answer.message
        assert answer.json["spec"]["priority"] == 1_000_000_000
        (container,) = pod["spec"]["containers"]
        container["securityContext"]["allowPrivilegeEscalation"] = True
        assert "violates PodSecurity" in applied.create(pod, NAMESPACE, dry_run=True).message


def test_before_the_certificates_only_labelled_namespaces_wait(
    applied: Client, cluster: ControlPlane
) -> None:
    """The configuration is there, its caBundle is not, and nothing answers: what makes them come is not held up."""
    label = {"metadata": {"labels": {"fabric-injector.io/profile": "x"}}}
    for space in ("kube-system", NAMESPACE):
        applied.expect("PATCH", f"/api/v1/namespaces/{space}", label)
    applied.ensure(account(), "kube-system")
    wait_until(lambda: refused(applied), "the API server to know the configuration")
    answer = admit(applied, LABELLED)
    assert (answer.status, "failed calling webhook" in answer.message) == (500, True), (
        answer.message
    )
    assert admit(applied, "unlabelled").status == admit(applied, "kube-system").status == 201
    series = {"name": "pods.fabric-injector.io", "type": "admit"}
    count = "apiserver_admission_webhook_rejection_count"  # which the alerts ask for
    assert cluster.metric(count, **series, error_type="calling_webhook_error") > 0
    bucket = "apiserver_admission_webhook_admission_duration_seconds_bucket"
    assert cluster.metric(bucket, **series, le="0.1") >= 0
    for deployment in shipped("Deployment"):
        pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(deployment["spec"]["template"])}
        pod["metadata"]["generateName"] = "x-"
        assert applied.create(pod, NAMESPACE, dry_run=True).status == 201
    assert admit(applied, LABELLED, "none").status == 201


def test_comes_up_in_any_order_is_applied_again_and_goes_without_holding_anybody_up(
    installation: Installation, applied: Client, cluster: ControlPlane
) -> None:
    """The namespace was labelled first, the configuration came next, the certificates after it, the webhook last."""
    wait_until(lambda: refused(applied), "the API server to know the configuration")
    controller = installation.start_controller()
    assert admit(applied, LABELLED).status == 500
    webhook = installation.start_webhook()
    wait_until(lambda: injected(applied), "a pod to be injected by way of the Service")

    before, secret = installation.configuration(), applied.expect("GET", SECRET)
    for command in (apply_command(), ("apply", f"--filename={install_yaml()}")):
        cluster.kubectl(*command)  # server-side, and the older way: no pod is refused
        assert installation.configuration()["webhooks"] == before["webhooks"]
        assert injected(applied)
    assert installation.ca_bundle() != b""
    assert applied.expect("GET", SECRET)["data"] == secret["data"]

    cluster.kubectl("delete", "mutatingwebhookconfiguration", "zz-fabric-injector")
    wait_until(lambda: not injected(applied), "the webhook to be forgotten")
    assert admit(applied, LABELLED).status == 201
    assert (webhook.status("/readyz"), controller.status("/readyz")) == (200, 200)
    assert (installation.stop_webhook(webhook), controller.stop()) == (0, 0)
    rest = without("Namespace", "MutatingWebhookConfiguration")
    cluster.kubectl("delete", "--wait=false", "--filename=-", input=rest)
    assert admit(applied, LABELLED).status == 201
