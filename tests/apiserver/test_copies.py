"""Copies of injected pods, made as users make them: none of them waits for an address that nobody publishes."""

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory, program
from tests.cluster.processes import run_command
from tests.cluster.webhook import Webhook
from tests.profiles import as_text
from tests.waiting import wait_until
from webhook.core import names, podspec
from webhook.core.injection import wait

from .test_admission import create, manifest

PROFILES = as_text("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
file:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  ncclConf: true
installed:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  rendezvous: {waitImage: installed}
""")


def injected(api: Client, namespace: str, name: str = "kubeflow-pytorchjob-1") -> dict[str, Any]:
    """Create a pod of a fixture; give what the API server stored."""
    return create(api, manifest(f"pods/{name}.yaml"), namespace)


def saved(pod: dict[str, Any], **labels: str) -> dict[str, Any]:
    """Give the manifest that a user saves and applies again, with more labels."""
    kept = {key: pod["metadata"].get(key) or {} for key in ("labels", "annotations")}
    kept["labels"] = kept["labels"] | labels
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "saved", **kept},
        "spec": pod["spec"],
    }


@pytest.mark.parametrize("profile", ["shared", "file", "installed"])
def test_kubectl_debug_makes_a_pod_that_starts(
    api: Client,
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    webhook: Webhook,
    tmp_path: Path,
    profile: str,
) -> None:
    where = namespace(profile)
    before = injected(api, where)
    assert wait.needs(before) == ["master-addr"]
    command = [str(program("kubectl")), "-n", where, "debug", before["metadata"]["name"]]
    command += ["--copy-to=copy", "--container=pytorch", "--attach=false", "--", "sleep", "1d"]
    home = str(tmp_path)  # where kubectl keeps what it discovers
    done = run_command(command, control_plane.admin, HOME=home)
    assert done.returncode == 0, done.stderr
    assert "is a copy of an injected pod" in done.stderr
    copy = api.expect("GET", f"/api/v1/namespaces/{where}/pods/copy")
    assert wait.needs(copy) == []
    assert not any(podspec.is_published(entry) for entry in copy["spec"]["containers"][0]["env"])
    assert names.NCCL_CONF_VOLUME not in str(copy["spec"])
    assert copy["spec"]["containers"][0]["command"] == ["sleep", "1d"]


def test_copies_that_the_webhook_is_not_shown_are_refused_with_what_to_do(
    api: Client, control_plane: ControlPlane, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    control_plane.ensure_shipped("admission-policy-copies")
    where, elsewhere = namespace("shared"), namespace()
    pod = injected(api, where)
    copies = (
        (saved(pod, **{names.PROFILE: names.PROFILE_NONE}), where),
        (saved(pod), elsewhere),
        (saved(injected(api, namespace("installed"))), elsewhere),
    )
    wait_until(
        lambda: api.create(copies[0][0], where, dry_run=True).status == 422, "the policy to count"
    )
    for copy, target in copies:
        answer = api.create(copy, target)
        assert answer.status == 422, answer.message
        assert "apply the manifest that the pod was made from" in answer.message
    assert wait.needs(create(api, saved(pod), where)) == ["master-addr"], (
        "a member of the job, as any other"
    )
    written = create(api, manifest("pods/mpijob-worker-0.yaml"), namespace("file"))
    assert names.WAIT_CONTAINER in [one["name"] for one in written["spec"]["initContainers"]]
    create(api, saved(written), elsewhere)  # it waits for nothing
