"""Complete the pods of Kubernetes' own workloads.

Source: kubernetes pkg/controller/{controller_utils,replicaset,daemon,statefulset,job,cronjob}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webhook.core.model import Object
from webhook.core.workloads.systems import BATCH, COMPLETION_INDEX, STATEFUL_POD
from webhook.dry_run.templates.pod_parts import (
    all_containers,
    append_env,
    append_to,
    field_variable,
    owner_reference,
)
from webhook.dry_run.templates.section import Section, fail
from webhook.dry_run.templates.workload import Expand, Found, Workload, checked_pod, shown_indices

_TRACKING = BATCH + "job-tracking"


def expand_pod(workload: Workload) -> Found:
    """Complete a pod of the input, which has no controller."""
    pod = checked_pod(workload.root)
    metadata = {**(pod.get("metadata") or {}), "namespace": workload.namespace}
    if workload.pod_labels:
        metadata["labels"] = {**(metadata.get("labels") or {}), **workload.pod_labels}
    if not (metadata.get("name") or metadata.get("generateName")):
        fail(workload.root.node("metadata").at("name"), "a name", None)
    yield workload.template(
        workload.root,
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]},
    )


def expand_pod_template(workload: Workload) -> Found:
    """Complete the pod of a PodTemplate, which no controller owns."""
    template = workload.root.node("template")
    yield workload.template(template, workload.pod(template, generate_name=f"{workload.name}-"))


def expand_replicated(workload: Workload) -> Found:
    """Complete one of the equal pods of a Deployment, ReplicaSet, ReplicationController or DaemonSet."""
    template = workload.spec.node("template")
    if workload.spec.number("replicas", 1) == 0:
        yield workload.ignore(workload.spec.at("replicas"), "is 0: no pod is created")
        return
    owner = workload.owner()
    if workload.kind == "Deployment":
        owner |= {"kind": "ReplicaSet"}
    pod = workload.pod(template, generate_name=f"{workload.name}-", owner=owner)
    yield workload.template(template, pod, workload.spec.number("replicas", 1))


def expand_stateful_set(workload: Workload) -> Found:
    """Complete the first two pods of a StatefulSet."""
    spec, template = workload.spec, workload.spec.node("template")
    replicas, start = spec.number("replicas", 1), spec.node("ordinals").number("start", 0)
    if replicas == 0:
        yield workload.ignore(spec.at("replicas"), "is 0: no pod is created")
    for index, like in shown_indices(replicas):
        yield workload.template(
            template, stateful_pod(workload, template, workload.name, start + index, spec), like
        )


def stateful_pod(
    workload: Workload,
    template: Section,
    set_name: str,
    ordinal: int,
    spec: Section,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Make pod *ordinal* of the StatefulSet *set_name*; *spec* holds its serviceName and volumeClaimTemplates.

    Source: stateful_set_utils.go updateIdentity, updateStorage.
    """
    name = f"{set_name}-{ordinal}"
    pod = workload.pod(
        template,
        name=name,
        generate_name=f"{set_name}-",
        owner=owner_reference("apps/v1", "StatefulSet", set_name),
        labels={
            **(labels or {}),
            "apps.kubernetes.io/pod-index": str(ordinal),
            STATEFUL_POD: name,
        },
        annotations=annotations,
    )
    pod["spec"]["hostname"] = name
    if subdomain := spec.text("serviceName"):
        pod["spec"]["subdomain"] = subdomain
    for claim in spec.nodes("volumeClaimTemplates"):
        volume = claim.node("metadata").text("name")
        append_to(
            pod["spec"],
            "volumes",
            {"name": volume, "persistentVolumeClaim": {"claimName": f"{volume}-{name}"}},
        )
    return pod


def expand_job(workload: Workload) -> Found:
    """Complete the pods of a Job: the first two indices, or one pod where it is not indexed."""
    yield from _job_pods(workload, workload.spec, workload.name)


def expand_cron_job(workload: Workload) -> Found:
    """Complete the pods of the Job that a CronJob makes."""
    yield from _job_pods(
        workload, workload.spec.node("jobTemplate").node("spec"), f"{workload.name}-0"
    )


def _job_pods(workload: Workload, spec: Section, job: str) -> Found:
    template = spec.node("template")
    parallelism = spec.number("parallelism", 1)
    if parallelism == 0:
        yield workload.ignore(spec.at("parallelism"), "is 0: no pod is created")
    elif spec.text("completionMode") != "Indexed":
        yield workload.template(template, job_pod(workload, template, job, None), parallelism)
    else:
        for index, like in shown_indices(completions(spec)):
            yield workload.template(template, job_pod(workload, template, job, index), like)


def completions(spec: Section) -> int:
    """Return how many indices an indexed Job has."""
    return spec.number("completions", spec.number("parallelism", 1))


def job_pod(
    workload: Workload,
    template: Section,
    job: str,
    index: int | None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Make pod *index* of the batch Job *job*; None where the Job is not indexed.

    Source: job_controller.go manageJob, indexed_job_utils.go.
    """
    owner = owner_reference("batch/v1", "Job", job)
    added = {
        **(labels or {}),
        BATCH + "controller-uid": owner["uid"],
        BATCH + "job-name": job,
        "controller-uid": owner["uid"],
        "job-name": job,
    }
    if index is None:
        pod = workload.pod(
            template, generate_name=f"{job}-", owner=owner, labels=added, annotations=annotations
        )
    else:
        pod = workload.pod(
            template,
            generate_name=f"{job}-{index}-",
            owner=owner,
            labels={**added, COMPLETION_INDEX: str(index)},
            annotations={**(annotations or {}), COMPLETION_INDEX: str(index)},
        )
        pod["spec"]["hostname"] = f"{job}-{index}"
        append_env(_without(all_containers(pod), "JOB_COMPLETION_INDEX"), [_INDEX_VARIABLE])
    append_to(pod["metadata"], "finalizers", _TRACKING)
    return pod


_INDEX_VARIABLE = field_variable("JOB_COMPLETION_INDEX", f"metadata.labels['{COMPLETION_INDEX}']")


def _without(containers: Sequence[Object], name: str) -> list[Object]:
    return [
        container
        for container in containers
        if all(entry.get("name") != name for entry in container.get("env") or ())
    ]


KINDS: Mapping[tuple[str, str], Expand] = {
    ("", "Pod"): expand_pod,
    ("", "PodTemplate"): expand_pod_template,
    ("", "ReplicationController"): expand_replicated,
    ("apps", "ReplicaSet"): expand_replicated,
    ("apps", "Deployment"): expand_replicated,
    ("apps", "DaemonSet"): expand_replicated,
    ("apps", "StatefulSet"): expand_stateful_set,
    ("batch", "Job"): expand_job,
    ("batch", "CronJob"): expand_cron_job,
}
