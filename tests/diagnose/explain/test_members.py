"""What `explain` finds of members that are missing, doubled, ended or ending, rank 0 above all."""

from __future__ import annotations

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import Scene, ago
from webhook.core import names


def test_two_live_ranks_zero() -> None:
    scene = Scene()
    twin = scene.created(0)
    twin["metadata"] |= {
        "name": "bert-master-1",
        "uid": "uid-9",
        "creationTimestamp": ago(minutes=1),
    }
    twin = scene.admitted(twin)
    twin["metadata"]["labels"] |= {
        names.JOB: scene.master["metadata"]["labels"][names.JOB],
        names.RENDEZVOUS: "master",
    }
    scene.bind(twin, ago(seconds=20))
    scene.pods["bert-master-1"] = twin
    [found] = findings(scene, "members")
    assert found.code.name == "rank-zero-twice"
    assert (
        "has 2 live rank-0 pods (bert-master-0, bert-master-1); bert-master-1, the newest, counts"
        in found.message
    )
    assert found.action == "delete the others: kubectl delete pod -n research bert-master-0"


def test_a_number_of_members_that_no_job_has_is_none() -> None:
    """Python reads no number of more than 4,300 digits, and a tenant may write one."""
    scene = Scene()
    for pod in scene.pods.values():
        [container, *_] = pod["spec"]["containers"]
        next(entry for entry in container["env"] if entry["name"] == "PET_NNODES")["value"] = (
            "9" * 5000
        )
        pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = "9" * 5000
    assert findings(scene, "members") == []
