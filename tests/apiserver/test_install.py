"""install.yaml on a cluster of its own: accepted whole, run as written, applied again, upgraded and removed."""

import copy
import os
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests import ROOT
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import program
from tests.cluster.installation import (
    NAMESPACE,
    POD,
    SECRET,
    Installation,
    admit,
    injected,
    install_yaml,
    remove,
    shipped,
)
from tests.waiting import wait_until
from webhook import __version__

LABELLED = "labelled"


def apply_command() -> tuple[str, ...]:
    return "apply", "--server-side", "--validate=strict", f"--filename={install_yaml()}"


@pytest.fixture
def applied(cluster: ControlPlane) -> Iterator[Client]:
    """Apply install.yaml, and remove all of it afterwards."""
    cluster.kubectl(*apply_command())
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


def test_is_accepted_whole_and_without_a_warning(cluster: ControlPlane) -> None:
    done = cluster.kubectl(*apply_command())
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(list(yaml.safe_load_all(install_yaml().read_text())))
    assert lines[0].startswith("namespace/")
    assert lines[-1].startswith("mutatingwebhookconfiguration.")
    again = cluster.kubectl(*apply_command(), "--dry-run=server")
    assert again.stderr == ""
    assert [line for line in again.stdout.splitlines() if "serverside-applied" not in line] == []
    remove(cluster, install_yaml().read_text())


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
    applied.request(
        "PATCH",
        "/api/v1/namespaces/kube-system",
        {"metadata": {"labels": {"fabric-injector.io/profile": "x"}}},
    )
    applied.request(
        "PATCH",
        f"/api/v1/namespaces/{NAMESPACE}",
        {"metadata": {"labels": {"fabric-injector.io/profile": "x"}}},
    )
    applied.ensure(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}},
        "kube-system",
    )
    wait_until(lambda: refused(applied), "the API server to know the configuration", 60)
    answer = admit(applied, LABELLED)
    assert (answer.status, "failed calling webhook" in answer.message) == (500, True), (
        answer.message
    )
    assert admit(applied, "unlabelled").status == admit(applied, "kube-system").status == 201
    for deployment in shipped("Deployment"):
        pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(deployment["spec"]["template"])}
        pod["metadata"]["generateName"] = "x-"
        assert applied.create(pod, NAMESPACE, dry_run=True).status == 201
    opted_out = {
        **POD,
        "metadata": {"generateName": "x-", "labels": {"fabric-injector.io/profile": "none"}},
    }
    assert applied.create(opted_out, LABELLED, dry_run=True).status == 201


def test_comes_up_by_itself_in_any_order(installation: Installation, applied: Client) -> None:
    """The namespace was labelled first, the configuration came next, the certificates after it, the webhook last."""
    wait_until(lambda: refused(applied), "the API server to know the configuration", 60)
    installation.start_controller()
    assert admit(applied, LABELLED).status == 500
    installation.start_webhook()
    wait_until(lambda: injected(applied), "a pod to be injected by way of the Service", 60)


def test_applied_again_it_keeps_the_certificates(
    installation: Installation, applied: Client, cluster: ControlPlane
) -> None:
    """By server-side apply, and by the older way too: nothing is changed, and no pod is refused."""
    installation.start_controller()
    installation.start_webhook()
    wait_until(lambda: injected(applied), "a pod to be injected", 60)
    before, secret = installation.configuration(), applied.expect("GET", SECRET)
    assert cluster.kubectl(*apply_command()).stderr == ""
    assert injected(applied)
    assert installation.configuration()["webhooks"] == before["webhooks"]
    assert installation.ca_bundle() != b""
    for _ in range(2):
        cluster.kubectl("apply", f"--filename={install_yaml()}")
        assert installation.configuration()["webhooks"] == before["webhooks"]
    assert applied.expect("GET", SECRET)["data"] == secret["data"]
    assert injected(applied)


def test_the_controller_can_be_upgraded_first(applied: Client, cluster: ControlPlane) -> None:
    """By its label: all that is its own, and nothing of the webhook's."""
    only = cluster.kubectl(
        *apply_command(), "--selector=app.kubernetes.io/component=controller"
    ).stdout.splitlines()
    rest = cluster.kubectl(
        *apply_command(), "--selector=app.kubernetes.io/component!=controller"
    ).stdout.splitlines()
    assert len(only) + len(rest) == len(list(yaml.safe_load_all(install_yaml().read_text())))
    assert {line.partition(".")[0].partition("/")[0] for line in only} == {
        "clusterrole",
        "clusterrolebinding",
        "deployment",
        "poddisruptionbudget",
        "role",
        "rolebinding",
        "serviceaccount",
        "validatingadmissionpolicy",
        "validatingadmissionpolicybinding",
    }
    assert [line for line in only if "webhook" in line.split()[0].partition("/")[2]] == []


def test_uninstalled_configuration_first_it_holds_nobody_up(
    installation: Installation, applied: Client, cluster: ControlPlane
) -> None:
    """Pods are created from the first step on, and the configuration's end is no fault to those that still run."""
    installation.start_controller()
    installation.start_webhook()
    wait_until(lambda: injected(applied), "a pod to be injected", 60)
    cluster.kubectl("delete", "mutatingwebhookconfiguration", "zz-fabric-injector")
    wait_until(lambda: not injected(applied), "the webhook to be forgotten", 60)
    assert admit(applied, LABELLED).status == 201
    assert (
        installation.status("webhook", "/readyz")
        == installation.status("controller", "/readyz")
        == 200
    )
    assert installation.stop("webhook") == installation.stop("controller") == 0
    cluster.kubectl(
        "delete",
        "--wait=false",
        "--filename=-",
        input=without("Namespace", "MutatingWebhookConfiguration"),
    )
    assert admit(applied, LABELLED).status == 201
