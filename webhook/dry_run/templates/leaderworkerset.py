"""Complete the pods of LeaderWorkerSets, as they are behind its own pod webhook.

Source: kubernetes-sigs/lws pkg/controllers, pkg/webhooks/pod_webhook.go, pkg/utils/pod/pod_utils.go AddLWSVariables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from webhook.core.model import Object
from webhook.core.workloads.systems import LWS
from webhook.dry_run.templates.builtin import stateful_pod
from webhook.dry_run.templates.pod_parts import all_containers, variable
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Workload

_OWN_VARIABLES = frozenset(("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"))


def expand(workload: Workload) -> Found:
    """Complete the leader and the first worker of the first group, which is a job of its own."""
    spec = workload.spec
    both = spec.node("leaderWorkerTemplate")
    size = both.number("size", 1)
    groups = spec.number("replicas", 1)
    if groups == 0 or size == 0:
        yield workload.ignore(spec.at("replicas"), "asks for 0 groups: no pod is created")
        return
    worker = both.node("workerTemplate")
    leader = both.node("leaderTemplate") if both.has("leaderTemplate") else worker
    yield workload.template(leader, _pod(workload, leader, 0, size), groups)
    if size > 1:
        yield workload.template(worker, _pod(workload, worker, 1, size), groups * (size - 1))


def _pod(workload: Workload, template: Section, index: int, size: int) -> Object:
    name = workload.name
    leader = f"{name}-0"
    labels = {
        LWS + "name": name,
        LWS + "group-index": "0",
        LWS + "group-key": hashlib.sha1(
            f"{workload.namespace}/{leader}".encode(), usedforsecurity=False
        ).hexdigest(),
        LWS + "worker-index": str(index),
    }
    annotations = {LWS + "size": str(size)}
    if index:
        annotations[LWS + "leader-name"] = leader
    pod = stateful_pod(
        workload, template, leader if index else name, index, Section({}), labels, annotations
    )
    policy = workload.spec.node("networkConfig").text("subdomainPolicy", "Shared")
    subdomain = leader if policy == "UniquePerReplica" else name
    pod["spec"]["subdomain"] = subdomain
    own = [
        variable("LWS_LEADER_ADDRESS", f"{leader}.{subdomain}.{workload.namespace}"),
        variable("LWS_GROUP_SIZE", str(size)),
        variable("LWS_WORKER_INDEX", str(index)),
    ]
    for container in all_containers(pod):
        users = [
            entry for entry in container.get("env") or () if entry.get("name") not in _OWN_VARIABLES
        ]
        container["env"] = own + users
    return pod


KINDS: Mapping[tuple[str, str], Expand] = {("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): expand}
