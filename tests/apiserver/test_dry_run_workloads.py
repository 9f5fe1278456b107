"""``dry-run`` without a file as a process, on pods that a real API server keeps: with all rights, and with those of one namespace."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.diagnose.clusters import KINDS, PROFILES, job
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
    api.ensure(
        {**definition, "metadata": {"name": "rdma-net"}, "spec": {"config": config}}, "default"
    )
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
            [
                *webhook_command,
                "dry-run",
                "--profiles",
                str(tmp_path / "profiles.yaml"),
                "--profile",
                "rdma",
                *arguments,
            ],
            env={**os.environ, "KUBECONFIG": str(config), "KUBERNETES_SERVICE_HOST": ""},
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )

    return run


def test_shows_the_jobs_of_a_namespace_that_nobody_has_labelled_and_changes_nothing(
    run: Run, research: str, api: Client
) -> None:
    path = f"/api/v1/namespaces/{research}/pods"
    before = {
        pod["metadata"]["name"]: pod["metadata"]["resourceVersion"]
        for pod in api.expect("GET", path)["items"]
    }
    done = run("-A")
    assert done.returncode in (0, 1), done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{research} ")]
    assert len(rows) == len(KINDS) + 1
    assert sum("injected" in row for row in rows) >= len(KINDS)
    after = {
        pod["metadata"]["name"]: pod["metadata"]["resourceVersion"]
        for pod in api.expect("GET", path)["items"]
    }
    assert before == after


def test_rights_in_one_namespace_are_enough_for_it(
    run: Run, research: str, control_plane: ControlPlane, api: Client
) -> None:
    account = {"kind": "ServiceAccount", "name": "default", "namespace": research}
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["pods", "namespaces"], "verbs": ["get", "list"]}]
    metadata = {"name": "viewer"}
    api.ensure(
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules}, research
    )
    role = {"apiGroup": rbac, "kind": "Role", "name": "viewer"}
    binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": metadata}
    api.ensure({**binding, "roleRef": role, "subjects": [account]}, research)
    token = control_plane.service_account_token(research, "default")
    client = control_plane.client(token)
    wait_until(lambda: client.answers(f"/api/v1/namespaces/{research}/pods"), "the binding", 60)
    done = run("-n", research, token=token)
    assert done.returncode in (0, 1), done.stderr
    assert (
        sum(line.startswith(f"{research} ") for line in done.stdout.splitlines()) == len(KINDS) + 1
    )
    assert "what you may not list is missing here: " in done.stderr
    assert "deployments.apps" in done.stderr
