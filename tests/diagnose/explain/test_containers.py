"""What `explain` finds of containers that do not start, crash or were killed, the wait step among them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.scenes import Scene
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.explain.explanation import explain


def ended(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def on_the_nodes_network(policy: str | None = None, **spec: object) -> Scene:
    """Return a job whose pods use their nodes' network, and whose workers have failed."""

    def change(pod: Object) -> None:
        pod["spec"] |= {"hostNetwork": True, **({"dnsPolicy": policy} if policy else {}), **spec}

    scene = Scene(1, before=change)
    for pod in scene.pods.values():
        pod["metadata"]["annotations"].pop(names.NETWORK_STATUS, None)
        pod["status"].pop("initContainerStatuses")
    fail(scene, {"exitCode": 1})
    return scene


def fail(scene: Scene, ended: Object, phase: str = "Failed") -> None:
    for worker in scene.workers:
        worker["status"]["phase"] = phase
        state = (
            {"waiting": {"reason": "CrashLoopBackOff"}}
            if phase == "Running"
            else {"terminated": ended}
        )
        worker["status"]["containerStatuses"] = [
            {"name": "pytorch", "state": state, "lastState": {"terminated": ended}},
        ]


@pytest.mark.parametrize("phase", ["Failed", "Running"])
@pytest.mark.parametrize("policy", [None, "ClusterFirst", "Default"])
def test_a_pod_on_the_nodes_network_that_resolves_no_name_of_the_cluster(
    policy: str | None, phase: str
) -> None:
    scene = on_the_nodes_network(policy)
    fail(scene, {"exitCode": 1}, phase)
    cause, exit_ = explain(scene.reading).findings[:2]
    assert str(cause.code) == "names-unresolved"
    assert cause.message == (
        "uses its node's network (hostNetwork) and its node's DNS, which knows no name of the cluster: bert-master-0, where rank 0 is, "
        "among them"
    )
    assert cause.action.startswith("set dnsPolicy: ClusterFirstWithHostNet in the job's template")
    assert str(exit_.code) == (
        "container-failed" if phase == "Failed" else "container-not-starting"
    )


@pytest.mark.parametrize(
    ("scene", "ended"),
    [
        (on_the_nodes_network("ClusterFirstWithHostNet"), {"exitCode": 1}),
        (on_the_nodes_network("None", dnsConfig={"nameservers": ["10.96.0.10"]}), {"exitCode": 1}),
        (on_the_nodes_network(dnsConfig={"nameservers": ["10.96.0.10"]}), {"exitCode": 1}),
        (on_the_nodes_network(), {"exitCode": 137, "reason": "OOMKilled"}),
        (on_the_nodes_network(), {"exitCode": 0}),
        (Scene(1), {"exitCode": 1}),
    ],
    ids=[
        "the cluster's DNS",
        "its own DNS",
        "a further DNS",
        "memory",
        "ended well",
        "its own network",
    ],
)
def test_a_name_that_may_resolve_is_no_cause(scene: Scene, ended: Object) -> None:
    fail(scene, ended)
    assert "names-unresolved" not in {str(each.code) for each in explain(scene.reading).findings}
