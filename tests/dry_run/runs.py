"""Dry runs over one set of profiles and objects."""

from typing import Any

from tests.pods import FIXTURES
from tests.profiles import profiles
from webhook.core import names
from webhook.dry_run import DryRun, dry_run
from webhook.dry_run.screen import screen
from webhook.world.objects import ObjectsWorld

PROFILES = profiles("""
rdma-shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
other:
  networks: [{network: default/rdma-net, resource: rdma/other}]
""")
OBJECTS = [
    {
        "kind": "Namespace",
        "metadata": {"name": "research", "labels": {names.PROFILE: "rdma-shared"}},
    },
    {"kind": "Namespace", "metadata": {"name": "plain"}},
    {
        "kind": "Namespace",
        "metadata": {
            "name": "watched",
            "labels": {names.PROFILE: "rdma-shared", names.MODE: "observe"},
        },
    },
    {
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "rdma-net", "namespace": "default"},
        "spec": {"config": '{"type": "macvlan", "ipam": {"type": "nv-ipam"}}'},
    },
]
WORLD = ObjectsWorld(OBJECTS)
PYTORCH_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: &pod {spec: {containers: [
      {name: pytorch, image: i, command: [torchrun, train.py]}]}}}
    Worker: {replicas: 8, template: *pod}
"""
TORCHX = (FIXTURES / "torchx/volcano-ddp-2x1.yaml").read_text()


def run(
    text: str = TORCHX, namespace: str | None = "research", profile: str | None = None
) -> DryRun:
    return dry_run(text, namespace=namespace, profile=profile, profiles=PROFILES, world=WORLD)


def document(
    text: str = TORCHX, namespace: str | None = "research", profile: str | None = None
) -> Any:
    return run(text, namespace, profile).as_json()


def shown(result: DryRun, **options: bool) -> str:
    """Return the screen as a text."""
    lines = screen(result, PROFILES.profiles, **options)
    return "".join(f"{line.text}\n" for line in lines)
