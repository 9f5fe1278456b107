"""Complete the pods of JobSets.

Source: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go constructJob, labelAndAnnotateObject.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.core.model import Object
from webhook.core.workloads.systems import JOBSET
from webhook.dry_run.templates.builtin import completions, job_pod
from webhook.dry_run.templates.pod_parts import UID
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Workload


@dataclass(frozen=True, slots=True)
class ReplicatedJob:
    """Hold one entry of ``replicatedJobs``; *offset*: how many Jobs come before its own."""

    name: str
    group: str
    replicas: int
    offset: int
    node: Section

    @property
    def job_spec(self) -> Section:
        """Return the spec of its Jobs."""
        return self.node.node("template").node("spec")

    @property
    def template(self) -> Section:
        """Return the template of its pods."""
        return self.job_spec.node("template")


def expand(workload: Workload) -> Found:
    """Complete two pods of each replicated Job of a JobSet: job 0 index 0, and one other."""
    yield from expand_spec(workload, workload.spec)


def expand_spec(workload: Workload, spec: Section) -> Found:
    """Complete the pods of a JobSet's spec, also of one that another controller made."""
    jobs = _replicated_jobs(spec)
    for job in jobs:
        if job.replicas == 0:
            yield workload.ignore(job.node.at("replicas"), "is 0: no pod is created")
        for job_index, index, like in _shown(job):
            yield workload.template(
                job.template, _pod(workload, spec, jobs, job, job_index, index), like
            )


def _replicated_jobs(spec: Section) -> list[ReplicatedJob]:
    jobs: list[ReplicatedJob] = []
    offset = 0
    for node in spec.nodes("replicatedJobs"):
        replicas = node.number("replicas", 1)
        jobs.append(
            ReplicatedJob(
                node.text("name"), node.text("groupName", "default"), replicas, offset, node
            )
        )
        offset += replicas
    return jobs


def _shown(job: ReplicatedJob) -> Iterator[tuple[int, int | None, int]]:
    """Yield the Job and the index of the first pod, and those of one more, with the number of pods for which each stands."""
    indexed = job.job_spec.text("completionMode", "Indexed") == "Indexed"
    each = completions(job.job_spec) if indexed else job.job_spec.number("parallelism", 1)
    if job.replicas:
        several = indexed and each > 1
        others = max(job.replicas * each - 1, 1)
        yield 0, 0 if indexed else None, 1 if several or job.replicas > 1 else max(each, 1)
        if several:
            yield 0, 1, others
        elif job.replicas > 1:
            yield 1, 0 if indexed else None, others


def _pod(
    workload: Workload,
    spec: Section,
    jobs: list[ReplicatedJob],
    job: ReplicatedJob,
    job_index: int,
    index: int | None,
) -> Object:
    name = f"{workload.name}-{job.name}-{job_index}"
    group = [other for other in jobs if other.group == job.group]
    stamped = {
        "jobset-name": workload.name,
        "jobset-uid": UID,
        "replicatedjob-name": job.name,
        "restart-attempt": "0",
        "replicatedjob-replicas": str(job.replicas),
        "global-replicas": str(sum(other.replicas for other in jobs)),
        "job-index": str(job_index),
        "job-key": hashlib.sha1(
            f"{workload.namespace}/{name}".encode(), usedforsecurity=False
        ).hexdigest(),
        "job-global-index": str(job.offset + job_index),
        "group-name": job.group,
        "group-replicas": str(sum(other.replicas for other in group)),
        "job-group-index": str(
            sum(other.replicas for other in group if other.offset < job.offset) + job_index
        ),
    }
    network = spec.node("network")
    subdomain = network.text("subdomain", workload.name)
    if spec.has("coordinator"):
        coordinator = spec.node("coordinator")
        job_number, pod_number = (
            coordinator.number("jobIndex", 0),
            coordinator.number("podIndex", 0),
        )
        stamped["coordinator"] = (
            f"{workload.name}-{coordinator.text('replicatedJob')}-{job_number}-{pod_number}.{subdomain}"
        )
    labels = {JOBSET + key: value for key, value in stamped.items()}
    pod = job_pod(workload, job.template, name, index, labels, labels)
    if network.flag("enableDNSHostnames", default=True):
        pod["spec"]["subdomain"] = subdomain
    pod["spec"].setdefault("restartPolicy", "OnFailure")
    return pod


KINDS: Mapping[tuple[str, str], Expand] = {("jobset.x-k8s.io", "JobSet"): expand}
