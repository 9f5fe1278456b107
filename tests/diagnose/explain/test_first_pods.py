"""Jobs of several roles whose rank 0 no variable names: the first pod of each may be it."""

from __future__ import annotations

import pytest

from tests.diagnose.findings import findings
from tests.diagnose.scenes import SPACE, Scene, ago, cluster_of
from tests.pods import drop_env, load, set_command
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.explain.job import Target, read_job
from webhook.diagnose.explain.judge import explain
from webhook.diagnose.jobs import find_jobs
from webhook.diagnose.snapshot import Snapshot

ROLES = ("driver-0-0", "workers-0-0", "workers-0-1", "workers-0-2")
BY_TEXT = "torchrun --nnodes=4 --rdzv_backend=c10d --rdzv_endpoint=ddp-driver-0-0.ddp:29500 t.py"


class RolesScene(Scene):
    """A JobSet of a driver and three workers, each role of which is a Job."""

    def __init__(self, address: str = "") -> None:
        self.address = address
        super().__init__(3, before=lambda _: None)  # not as one of another address
        self.owner = "ddp"

    def created(self, number: int) -> Object:
        role, _, index = ROLES[number].split("-")
        pod = drop_env(
            set_command(load("pods/jobset-0.yaml"), "bash", "-c", BY_TEXT), "MASTER_ADDR", "RANK"
        )
        if self.address:
            pod["spec"]["containers"][0]["env"].insert(
                0, {"name": "MASTER_ADDR", "value": self.address}
            )
            set_command(pod, "torchrun", "--nnodes=4", "--master_addr=$(MASTER_ADDR)", "t.py")
        pod["spec"]["hostname"] = f"ddp-{ROLES[number]}"
        pod["status"] = {"phase": "Pending"}
        named = {"name": f"ddp-{ROLES[number]}-x", "namespace": SPACE, "uid": f"uid-{number}"}
        metadata = {**pod["metadata"], **named, "creationTimestamp": ago(minutes=20)}
        prefix = "jobset.sigs.k8s.io"
        roles = {f"{prefix}/replicatedjob-name": role, f"{prefix}/global-replicas": "2"}
        for marks in (metadata["labels"], metadata["annotations"]):
            del marks[f"{prefix}/coordinator"]
            marks |= {**roles, "batch.kubernetes.io/job-completion-index": index}
        metadata["ownerReferences"][0] |= {"name": f"ddp-{role}-0", "uid": f"uid-of-{role}"}
        return {**pod, "metadata": metadata}


@pytest.mark.parametrize(
    ("address", "target"),
    [("", "job/ddp"), ("ddp-driver-0-0.ddp", "job/ddp"), ("ddp-driver-0-0.ddp", "job/KEY")],
)
def test_a_job_of_several_roles_is_one_with_all_its_pods(address: str, target: str) -> None:
    scene = RolesScene(address)
    keys = {pod["metadata"]["labels"].get(names.JOB) for pod in scene.pods.values()}
    assert len(keys) == (1 if address else 3), "the driver's, the workers' first pod's, and none"
    kind, _, name = target.replace("KEY", min(filter(None, keys))).partition("/")
    snapshot = Snapshot(cluster_of(scene), SPACE)
    job = read_job(snapshot, Target(kind, name))
    assert {pod.name for pod in job.pods} == set(scene.pods)
    found = explain(snapshot, job)
    assert len(found.jobs) == 1
    first = (
        ["rank 0", "worker", "worker", "worker"] if address else ["rank 0?", "rank 0?", "-", "-"]
    )
    assert [row.role for row in found.rows] == first
    assert [row.pod for row in found.rows] == sorted(scene.pods)


def test_nobody_is_missing_from_a_job_whose_members_have_no_key() -> None:
    scene = RolesScene()
    assert findings(scene, "members") == []
    del scene.pods["ddp-workers-0-2-x"]
    [found] = findings(scene, "members")
    assert "has 3 of 4 members" in found.message


def test_pods_of_one_owner_that_meet_in_two_groups_are_two_jobs() -> None:
    one, two = RolesScene("ddp-driver-0-0.ddp"), RolesScene("ddp-workers-0-0.ddp")
    pods = [*one.pods.values(), *two.pods.values()]
    assert len(find_jobs(pods)) == 2


def test_pods_without_a_key_are_found_though_another_job_owns_them() -> None:
    scene = RolesScene()
    del scene.pods["ddp-workers-0-0-x"]
    job = read_job(Snapshot(cluster_of(scene), SPACE), Target("job", "ddp"))
    assert {pod.name for pod in job.pods} == set(scene.pods)
