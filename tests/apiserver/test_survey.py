"""``survey`` as a process, on pods that a real API server keeps: with all rights, and with those of one namespace."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.diagnose.survey.clusters import KINDS, PROFILES, job
from tests.waiting import wait_until
from webhook.core import names

from .client import Client
from .conftest import NamespaceFactory
from .controlplane import ControlPlane
from .jobs import as_sent

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def research(api: Client, namespace: NamespaceFactory) -> str:
    """Give a namespace that nobody has labelled, with jobs of five training systems and one on the nodes' network."""
    definition = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    config = json.dumps({"cniVersion": "0.3.1", "type": "macvlan", "ipam": {"type": "whereabouts"}})
    api.ensure({**definition, "metadata": {"name": "rdma-net"}, "spec": {"config": config}}, "default")
    name = namespace({names.POD_SECURITY_ENFORCE: "privileged"})
    for pod in (
        *(pod for kind in KINDS for pod in job(kind, kind[:3].lower(), pods=3)),
        *job("PyTorchJob", "host", hostNetwork=True),
    ):
        sent = as_sent(pod, name=pod["metadata"]["name"])
        response = api.create(sent, name)
        assert response.status == 201, response.message
    return name


@pytest.fixture
def run(control_plane: ControlPlane, webhook_command: list[str], tmp_path: Path) -> Run:
    """Give a function that runs the command as the administrator, or with a token."""
    (tmp_path / "profiles.yaml").write_text(PROFILES)

    def run(*arguments: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        config = control_plane.kubeconfig(tmp_path / f"kubeconfig-{token is None}", token)
        return subprocess.run(
            [*webhook_command, "survey", "--profiles", str(tmp_path / "profiles.yaml"), *arguments],
            env={**os.environ, "KUBECONFIG": str(config), "KUBERNETES_SERVICE_HOST": ""},
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )

    return run


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_finds_the_jobs_of_all_namespaces(run: Run, research: str) -> None:
    found = document(run("-o", "json"))
    own = [group for group in found["groups"] if group["namespace"] == research]
    assert {(group["kind"], group["transport"], len(group["jobs"]), group["pods"]) for group in own} == {
        *((kind, "pod-network", 1, 3) for kind in KINDS),
        ("PyTorchJob", "host-network", 1, 2),
    }
    for group in own:
        if group["transport"] == "pod-network":
            assert {"networks", "devices", "rendezvous"} <= set(group["steps"]), group


def test_changes_nothing(run: Run, research: str, api: Client) -> None:
    path = f"/api/v1/namespaces/{research}/pods"
    before = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in api.expect("GET", path)["items"]}
    document(run("-n", research, "-o", "json"))
    after = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in api.expect("GET", path)["items"]}
    assert before == after


def test_rights_in_one_namespace_are_enough_for_it(
    run: Run, research: str, control_plane: ControlPlane, api: Client
) -> None:
    account = {"kind": "ServiceAccount", "name": "default", "namespace": research}
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["pods", "namespaces"], "verbs": ["get", "list"]}]
    metadata = {"name": "viewer"}
    api.ensure({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules}, research)
    role = {"apiGroup": rbac, "kind": "Role", "name": "viewer"}
    binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": metadata}
    api.ensure({**binding, "roleRef": role, "subjects": [account]}, research)
    token = control_plane.service_account_token(research, "default")
    client = control_plane.client(token)
    wait_until(lambda: client.answers(f"/api/v1/namespaces/{research}/pods"), "the binding", 60)
    refused = run(token=token)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "survey lists pods in all namespaces: ask for it, or name a namespace of yours by -n" in refused.stderr
    found = document(run("-n", research, "-o", "json", token=token))
    assert (found["summary"]["pod_network"], found["summary"]["host_network"]) == (len(KINDS), 1)
    unread = {each["what"] for each in found["unread"]}
    assert {"networks", "nodes"} <= unread
    assert found["summary"]["refused"] == 0
