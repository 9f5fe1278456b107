"""Complete the pods of AIBrix' StormServices.

Source: vllm-project/aibrix pkg/controller/roleset/{utils,podset_rollsyncer}.go, pkg/controller/podset/podset_controller.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import Object
from webhook.core.workloads.systems import STORM
from webhook.dry_run.templates.pod_parts import UNKNOWN_SUFFIX, owner_reference, variable
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Workload, shown_indices

_VERSION = "orchestration.aibrix.ai/v1alpha1"
_HASH = "role-template-hash"


def expand(workload: Workload) -> Found:
    """Complete two pods of each role of the first RoleSet; of a role with ``podGroupSize``, of its first PodSet."""
    spec = workload.spec
    copies = spec.number("replicas", 1)
    if copies == 0:
        yield workload.ignore(spec.at("replicas"), "is 0: no pod is created")
        return
    for role in spec.node("template").node("spec").nodes("roles"):
        replicas, size = role.number("replicas", 1), role.number("podGroupSize", 1)
        if replicas == 0:
            yield workload.ignore(role.at("replicas"), "is 0: no pod is created")
            continue
        like = copies * (replicas if size > 1 else 1)
        for index, number in shown_indices(size if size > 1 else replicas):
            yield workload.template(
                role.node("template"), _pod(workload, role, index, size), number * like
            )


def _pod(workload: Workload, role: Section, index: int, size: int) -> Object:
    """Make pod *index* of the first PodSet of a role, or of the role itself where its pods are in no PodSet."""
    service, name = workload.name, role.text("name")
    roleset = f"{service}-roleset-{UNKNOWN_SUFFIX}"
    has_index, in_podset = role.flag("stateful"), size > 1
    replica = 0 if in_podset else index
    full_name = f"{roleset}-{name}-{UNKNOWN_SUFFIX}"
    if has_index:
        full_name += f"-{replica}"
    labels = {
        "storm-service-name": service,
        "roleset-name": roleset,
        "role-name": name,
        _HASH: UNKNOWN_SUFFIX,
    }
    own = [
        variable("STORM_SERVICE_NAME", service),
        variable("ROLESET_NAME", roleset),
        variable("ROLESET_INDEX", "0"),
        variable("ROLE_NAME", name),
        variable("ROLE_TEMPLATE_HASH", UNKNOWN_SUFFIX),
    ]
    if has_index:
        labels[STORM + "role-replica-index"] = str(replica)
        own.append(variable("ROLE_REPLICA_INDEX", str(replica)))
    owner = owner_reference(_VERSION, "RoleSet", roleset)
    pod_name = full_name if has_index else ""
    if in_podset:
        labels |= {STORM + "podset-name": full_name, STORM + "pod-group-index": str(index)}
        grouped = {
            "PODSET_NAME": full_name,
            "POD_GROUP_INDEX": str(index),
            "POD_GROUP_SIZE": str(size),
        }
        own = [variable(key, value) for key, value in grouped.items()] + own
        owner = owner_reference(_VERSION, "PodSet", full_name)
        pod_name = f"{full_name}-{index}"
    generate_name = "" if pod_name else f"{roleset}-{name}-"
    pod = workload.pod(
        role.node("template"),
        name=pod_name,
        generate_name=generate_name,
        owner=owner,
        labels=labels,
    )
    pod["spec"]["subdomain"] = service
    if pod_name:
        pod["spec"]["hostname"] = pod_name
    ours = {entry["name"] for entry in own}
    for container in pod["spec"]["containers"]:
        container["env"] = own + [
            entry for entry in container.get("env") or () if entry.get("name") not in ours
        ]
    return pod


KINDS: Mapping[tuple[str, str], Expand] = {("orchestration.aibrix.ai", "StormService"): expand}
