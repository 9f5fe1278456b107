"""Complete the pods of Grove's PodCliqueSets.

Source: ai-dynamo/grove operator/api/common/namegen.go, operator/internal/controller/podclique/components/pod/pod.go,
podcliquescalinggroup/components/podclique/podclique.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webhook.core.model import Object
from webhook.core.workloads.systems import GROVE, PODCLIQUESET
from webhook.dry_run.templates.pod_parts import (
    all_containers,
    append_to,
    field_variable,
    owner_reference,
    variable,
)
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Workload, shown_indices

_POD_INDEX = GROVE + "podclique-pod-index"
_GATE = {"name": "grove.io/podgang-pending-creation"}
_GROUP = GROVE + "podcliquescalinggroup"
_GROUP_INDEX = GROVE + "podcliquescalinggroup-replica-index"


@dataclass(frozen=True, slots=True)
class _Group:
    """Hold a scaling group: *pods* that one replica of it has."""

    name: str
    cliques: list[str]
    replicas: int
    pods: int


def expand(workload: Workload) -> Found:
    """Complete two pods of each clique, of the first replica of the PodCliqueSet and of each of its scaling groups."""
    spec = workload.spec
    copies, cliques = spec.number("replicas", 1), spec.node("template").nodes("cliques")
    if copies == 0:
        yield workload.ignore(spec.at("replicas"), "is 0: no pod is created")
        return
    sizes = {each.text("name"): each.node("spec").number("replicas", 1) for each in cliques}
    groups = [_group(each, sizes) for each in _scaling_groups(spec.node("template"))]
    for clique in cliques:
        name = clique.text("name")
        group = next((each for each in groups if name in each.cliques), None)
        if sizes[name] == 0 or (group is not None and group.replicas == 0):
            yield workload.ignore(
                clique.at("spec.replicas"), "is 0, or its scaling group has none: no pod is created"
            )
            continue
        like = copies * (group.replicas if group is not None else 1)
        for index, number in shown_indices(sizes[name]):
            yield workload.template(clique, _pod(workload, clique, group, index), number * like)


def _scaling_groups(template: Section) -> list[Section]:
    return template.nodes("podCliqueScalingGroups") or template.nodes(
        "podCliqueScalingGroupConfigs"
    )


def _group(node: Section, sizes: Mapping[str, int]) -> _Group:
    cliques = node.words("cliqueNames")
    return _Group(
        node.text("name"),
        cliques,
        node.number("replicas", 1),
        sum(sizes.get(one, 0) for one in cliques),
    )


def _pod(workload: Workload, clique: Section, group: _Group | None, index: int) -> Object:
    name = workload.name
    replica = f"{name}-0"
    owner = f"{replica}-{group.name}" if group is not None else name
    full_name = f"{owner}-0-{clique.text('name')}"
    labels = {
        **clique.texts("labels"),
        "app.kubernetes.io/component": "pcs-podclique" if group is None else "pcsg-podclique",
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/name": full_name,
        PODCLIQUESET: name,
        GROVE + "podclique": full_name,
        GROVE + "podgang": replica,
        GROVE + "podcliqueset-replica-index": "0",
        _POD_INDEX: str(index),
    }
    own = [
        variable("GROVE_PCS_NAME", name),
        variable("GROVE_PCS_INDEX", "0"),
        variable("GROVE_PCLQ_NAME", full_name),
        variable("GROVE_HEADLESS_SERVICE", f"{replica}.{workload.namespace}.svc.cluster.local"),
        field_variable("GROVE_PCLQ_POD_INDEX", f"metadata.labels['{_POD_INDEX}']"),
    ]
    if group is not None:
        labels |= {_GROUP: owner, _GROUP_INDEX: "0"}
        own += [
            field_variable("GROVE_PCSG_NAME", f"metadata.labels['{_GROUP}']"),
            variable("GROVE_PCSG_TEMPLATE_NUM_PODS", str(group.pods)),
            field_variable("GROVE_PCSG_INDEX", f"metadata.labels['{_GROUP_INDEX}']"),
        ]
    metadata = {"annotations": clique.texts("annotations")}
    spec = clique.node("spec").node("podSpec")
    pod = workload.pod(
        Section({"metadata": metadata, "spec": spec.value}, spec.path),
        generate_name=f"{full_name}-{index}-",
        owner=owner_reference("grove.io/v1alpha1", "PodClique", full_name),
        labels=labels,
    )
    pod["spec"].update(hostname=f"{full_name}-{index}", subdomain=replica)
    append_to(pod["spec"], "schedulingGates", _GATE)
    ours = {entry["name"] for entry in own}
    for container in all_containers(pod):
        container["env"] = own + [
            entry for entry in container.get("env") or () if entry.get("name") not in ours
        ]
    return pod


KINDS: Mapping[tuple[str, str], Expand] = {("grove.io", "PodCliqueSet"): expand}
